package jobs_test

import (
	"bytes"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

var update = flag.Bool("update", false, "rewrite the -want- sections; read the diff")

func TestScenarios(t *testing.T) {
	for _, f := range scenarios(t) {
		t.Run(filepath.Base(f.name), func(t *testing.T) {
			if f.scenario.skip != "" {
				t.Skip(f.scenario.skip)
			}
			got := stage{}.play(t, f.scenario)
			if *update {
				if err := os.WriteFile(f.name, []byte(f.story+"-want-\n"+got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != f.want {
				t.Errorf("got\n%swant\n%s", got, f.want)
			}
		})
	}
}

// What a usual step is, is a ratio: a job whose steps take minutes is judged
// like one whose steps take seconds. 8 keeps every bit, 10 does not. Only a stall
// waits for some seconds, a pause may take some, a new job is watched for some, however short the steps,
// and less than half a second lost is no loss.
func TestScalingTimeScalesTheAnswer(t *testing.T) {
	for _, f := range scenarios(t) {
		want := stage{}.play(t, f.scenario)
		if strings.Contains(want, "began stalled") || strings.Contains(f.story, "resting") || strings.HasPrefix(f.name, "testdata/steps/hiccup") {
			continue
		}
		for _, by := range []float64{8, 10, 1.3, 0.8} {
			if by < 1 && f.name == "testdata/steps/quiet-shift.txt" {
				continue // three of its steps cost less than that then
			}
			if got := (stage{stretch: by}).play(t, f.scenario); got != want {
				t.Errorf("%s by %v: got\n%swant\n%s", f.name, by, got, want)
			}
		}
	}
}

func TestShiftingTimeChangesNothing(t *testing.T) {
	for _, f := range scenarios(t) {
		want := stage{}.play(t, f.scenario)
		for _, by := range []telemetry.Time{1, 86_400e9, 1_700_000_000e9} {
			if got := (stage{shift: by}).play(t, f.scenario); got != want {
				t.Errorf("%s by %d ns: got\n%swant\n%s", f.name, by, got, want)
			}
		}
	}
}

func TestARestoredBookGoesOnAsIfItHadNeverStopped(t *testing.T) {
	for _, f := range scenarios(t) {
		want := stage{}.play(t, f.scenario)
		if got := (stage{restore: true}).play(t, f.scenario); got != want {
			t.Errorf("%s: got\n%swant\n%s", f.name, got, want)
		}
	}
}

func restored(t *testing.T, b *jobs.Book) *jobs.Book {
	t.Helper()
	c := snapshot.NewReader(written(b))
	out := &jobs.Book{}
	out.Snapshot(c)
	if c.Err() != nil || c.Remaining() != 0 {
		t.Fatalf("restore: %v, %d bytes left", c.Err(), c.Remaining())
	}
	return out
}

func written(b *jobs.Book) []byte {
	c := snapshot.NewWriter()
	b.Snapshot(c)
	return c.Data()
}

// A neighbour changes nothing, and jobs are reported in identity order.
func TestJobsAreJudgedAlone(t *testing.T) {
	names := []string{"c", "a", "b"}
	var b jobs.Book
	for s := 1; s <= 80; s++ {
		for i, name := range names {
			length := 1.0
			if s > 60 && i < 2 {
				length = 2
			}
			if float64(s)/length == float64(int(float64(s)/length)) {
				b.Observe(telemetry.Entity{Kind: telemetry.Job, Name: name}, epoch.Add(telemetry.Duration(s)*1e9), length, 0)
			}
		}
		var began []string
		for _, c := range b.Close(epoch.Add(telemetry.Duration(s)*1e9), idle()) {
			began = append(began, c.Job.Entity.Name)
		}
		want := s == 64
		if got := len(began) == 2 && began[0] == "a" && began[1] == "c"; got != want && (want || len(began) > 0) {
			t.Errorf("at %d s began %v", s, began)
		}
	}
	if b.Job(telemetry.Entity{Kind: telemetry.Job, Name: "b"}).Degradation != nil {
		t.Error("the healthy neighbour is degraded")
	}
}

// notWorking is the observation of a job whose GPUs are idle.
func notWorking(*jobs.Job, telemetry.Time) (telemetry.Time, bool) { return 0, false }

// idle sees no work and has no corroborating evidence.
func idle() jobs.Senses {
	return jobs.Senses{Working: notWorking}
}

// A repeat of a step and one out of order are ignored: the first report counts.
func TestAStepCountsOnce(t *testing.T) {
	var once, twice jobs.Book
	for s := 1; s <= 30; s++ {
		at := epoch.Add(telemetry.Duration(s) * 1e9)
		once.Observe(train(), at, 1, 0)
		twice.Observe(train(), at, 1, 0)
		twice.Observe(train(), at, 7, 0)
		twice.Observe(train(), at.Add(-5e8), 3, 0)
	}
	if !bytes.Equal(written(&once), written(&twice)) {
		t.Error("a repeated step left a trace")
	}
}

func TestWhatIsNoLengthIsRefusedAndCounted(t *testing.T) {
	var b jobs.Book
	for _, x := range notLengths() {
		b.Observe(train(), epoch, x, 0)
	}
	if want := uint64(len(notLengths())); b.Refused != want || b.Job(train()) != nil {
		t.Errorf("refused %d, want %d; job %v", b.Refused, want, b.Job(train()))
	}
}

func TestAnEventOfAnUnknownJobIsNothing(t *testing.T) {
	var b jobs.Book
	if got := b.Event(&telemetry.Event{Entity: train(), At: epoch, Name: telemetry.EventJobFailed}, epoch); got != nil {
		t.Errorf("got %v", got)
	}
}

func FuzzBookSnapshot(f *testing.F) {
	var b jobs.Book
	for s := 1; s <= 30; s++ {
		length := 1.0
		if s > 20 {
			length = 3
		}
		b.Observe(train(), epoch.Add(telemetry.Duration(s)*3e9), length, 0)
		b.Close(epoch.Add(telemetry.Duration(s)*3e9), idle())
	}
	f.Add(written(&b))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		c := snapshot.NewReader(data)
		var b jobs.Book
		b.Snapshot(c)
		if c.Err() != nil {
			return
		}
		if again := written(&b); !bytes.Equal(again, data[:len(data)-c.Remaining()]) {
			t.Error("read and written again differ")
		}
		use(&b)
	})
}

// use does everything with a book that may have come from hostile bytes.
func use(b *jobs.Book) {
	at := epoch
	for range 3 {
		at = at.Add(1e9)
		b.Observe(train(), at, 1, 0)
		b.Event(&telemetry.Event{Entity: train(), At: at, Name: telemetry.EventJobFailed}, at)
		for _, c := range b.Close(at, idle()) {
			if h := c.Job.Degradation; h != nil && h.State <= jobs.Restarted {
				_ = h.State.String()
			}
		}
	}
}

func notLengths() []float64 { return []float64{math.NaN(), -1, -1e-9, math.Inf(1), math.Inf(-1), 2e9} }

// A stall waits for fifteen seconds where three steps take less; with corroborating
// evidence it need not wait.
func TestAQuickJobIsNotStalledWithinFifteenSeconds(t *testing.T) {
	s, err := parseScenario("0.5 x120\nquiet 20\n")
	if err != nil {
		t.Fatal(err)
	}
	if got := (stage{}).play(t, s); !strings.Contains(got, "75 s  began stalled") {
		t.Errorf("got\n%s", got)
	}
}

// TestAJobIsWatchedBeforeItIsJudged: what its steps share with its neighbours comes
// and goes in seconds: a job whose steps are short by turns and long by turns is
// seen to be so before either is called slow.
func TestAJobIsWatchedBeforeItIsJudged(t *testing.T) {
	s, err := parseScenario(strings.Repeat("0.6 x10\n0.9 x6\n", 12))
	if err != nil {
		t.Fatal(err)
	}
	if got := (stage{}).play(t, s); strings.Contains(got, "began") {
		t.Errorf("got\n%s", got)
	}
}

// TestAJobThatSavedMayFail: that it worked is known though it reported no step.
func TestAJobThatSavedMayFail(t *testing.T) {
	var b jobs.Book
	b.Event(&telemetry.Event{Entity: train(), At: epoch, Name: telemetry.EventCheckpointEnded}, epoch)
	at := epoch.Add(60e9)
	got := b.Event(&telemetry.Event{Entity: train(), At: at, Name: telemetry.EventJobFailed}, at)
	if len(got) != 1 || got[0].Change != jobs.Began || got[0].Job.Degradation.State != jobs.Failed {
		t.Errorf("got %+v", got)
	}
}

// TestACheckpointMayEndWithAReport: a job reports every second step. Its checkpoints take
// eight seconds, wherever they are in a report: one that ends with it was in its last
// step, not in both.
func TestACheckpointMayEndWithAReport(t *testing.T) {
	var b jobs.Book
	senses := jobs.Senses{Corroborates: func(*jobs.Job, *jobs.Degradation, telemetry.Time) bool { return true }}
	now := epoch
	report := func(saved bool, before telemetry.Duration) {
		length := 8.0
		if saved {
			length = 12
		}
		end := now.Add(telemetry.Duration(2 * length * 1e9))
		if saved {
			b.ObserveCheckpoint(train(), end.Add(-before), 8)
		}
		b.Observe(train(), end, length, 0)
		for now < end {
			now = now.Add(1e9)
			for _, c := range b.Close(now, senses) {
				t.Errorf("after %v: %v", now.Sub(epoch), c.Change)
			}
		}
	}
	for k := range 60 {
		within := telemetry.Duration(8e9)
		if k > 30 {
			within = 0
		}
		report(k%6 == 5, within)
	}
}
