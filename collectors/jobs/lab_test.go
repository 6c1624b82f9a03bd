package jobs

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/lab/board"
	"github.com/quintet-dc/quintet/lab/live"
	scheduler "github.com/quintet-dc/quintet/lab/wire/slurm"
	"github.com/quintet-dc/quintet/telemetry"
)

// wire puts a board's scheduler and logs on the wire and has a collector read
// each, from the entries that the fleet gives.
func wire(t *testing.T, b *board.Board, c scheduler.Config, change func(map[string]any)) []ear {
	t.Helper()
	c.Dir, c.Every, c.Logs = t.TempDir(), 100*time.Millisecond, true
	f, err := scheduler.New(b, c)
	if err != nil {
		t.Fatal(err)
	}
	collectorstest.Start(t, f.Run)
	if n := len(f.Addresses()); n < 2 {
		t.Errorf("%d addresses", n)
	}
	var out []ear
	for _, entry := range f.Entries() {
		if change != nil {
			change(entry)
		}
		c, err := DecodeConfig(collectorstest.Entry(t, entry))
		if err != nil {
			t.Fatalf("%v\n%v", err, entry)
		}
		col, err := New(c, dial.Guard{})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, start(t, col))
	}
	return out
}

// placed are the board's runs edges, as ear.runs has them.
func placed(b *board.Board) []string {
	var out []string
	for _, e := range b.Edges(telemetry.Runs) {
		out = append(out, fmt.Sprintf("%s > %s %s", e.From, e.To, e.Attr("rank")))
	}
	slices.Sort(out)
	return out
}

// TestTheLabsJobs: where jobs run, what happens to them and how long their steps
// take comes out of the scheduler and the logs as the board has it.
func TestTheLabsJobs(t *testing.T) {
	t.Run("Megatron-LM", func(t *testing.T) { theLabsJobs(t, scheduler.Config{}) })
	t.Run("TorchTitan", func(t *testing.T) { theLabsJobs(t, scheduler.Config{TorchTitan: true}) })
}

func theLabsJobs(t *testing.T, c scheduler.Config) {
	t.Helper()
	now := time.Now()
	site, err := live.New(16, 3, now)
	if err != nil {
		t.Fatal(err)
	}
	b := site.Board()
	ears := wire(t, b, c, nil)
	jobs := b.Entities(telemetry.Job)
	if len(ears) != 1+len(jobs) || len(jobs) == 0 {
		t.Fatalf("%d entries for %d jobs", len(ears), len(jobs))
	}
	slurmctld := ears[0]
	slurmctld.Until("list of jobs", func() bool { return len(slurmctld.Sweeps) > 1 })
	if got, want := slurmctld.runs(), placed(b); !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("placed %v\nwant %v", got, want)
	}
	told := map[telemetry.Entity]map[telemetry.Time]map[telemetry.MetricName]float64{}
	keep := func() {
		for _, x := range jobs {
			s, ok := b.Read(x, "job_step_seconds")
			if !ok {
				continue
			}
			if told[x] == nil {
				told[x] = map[telemetry.Time]map[telemetry.MetricName]float64{}
			}
			told[x][s.At] = map[telemetry.MetricName]float64{"job_step_seconds": s.Float()}
			for _, m := range []telemetry.MetricName{"job_mfu_ratio", "job_tokens_per_second"} {
				if r, ok := b.Read(x, m); ok && !r.Gap {
					told[x][s.At][m] = r.Float()
				}
			}
		}
	}
	keep()
	for i := range 20 {
		if err := site.Advance(now.Add(time.Duration(i+1) * time.Second)); err != nil {
			t.Fatal(err)
		}
		keep()
		for _, e := range ears[1:] { // the log is written after the tick
			from := 0
			e.Until("a sweep", func() bool { from = len(e.Sweeps); return true })
			e.Until("another sweep", func() bool { return len(e.Sweeps) > from+1 })
		}
	}
	for i, x := range jobs {
		e := ears[1+i]
		e.Mu.Lock()
		compare(t, x, told[x], e.Series)
		for why, n := range e.Dropped {
			t.Errorf("%s: %d dropped as %s", x, n, why)
		}
		e.Mu.Unlock()
	}
}

// compare compares the steps of a log with those of the board. TorchTitan reports
// no step length: it is the time between two lines, to a millisecond, of steps that
// may have a checkpoint between them. A job's tokens are rounded for each device.
func compare(t *testing.T, x telemetry.Entity, want map[telemetry.Time]map[telemetry.MetricName]float64, got map[telemetry.Series][]collectorstest.Reading) {
	t.Helper()
	for m, tolerance := range map[telemetry.MetricName]float64{"job_step_seconds": 0.0021, "job_mfu_ratio": 0.0001, "job_tokens_per_second": 8.1} {
		found := 0
		for _, h := range got[telemetry.Series{Entity: x, Metric: m}] {
			for at, values := range want {
				if d := at.Sub(h.At); d < -time.Millisecond || d > time.Millisecond {
					continue
				}
				if v, ok := values[m]; !ok || math.Abs(v-h.Float()) > tolerance {
					t.Errorf("%s %s at %s: %v, on the board %v", x, m, h.At, h.Float(), v)
				}
				found++
			}
		}
		if found < 3 && m == "job_step_seconds" || found == 0 && m == "job_mfu_ratio" {
			t.Errorf("%s %s: %d of %d steps came", x, m, found, len(want))
		}
	}
}

// said puts one event on a board, and lets a second pass.
func said(t *testing.T, b *board.Board, events ...telemetry.Event) {
	t.Helper()
	for i := range events {
		if err := b.Take(&telemetry.Record{Kind: telemetry.EventRecord, Event: &events[i]}); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Take(&telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: telemetry.Time(time.Now().UnixNano())}}); err != nil {
		t.Fatal(err)
	}
}

// TestWhatHappensToTheLabsJobs: a failure, the start after it, an end and a node
// that is held back, in each form that the versions have.
func TestWhatHappensToTheLabsJobs(t *testing.T) {
	for _, version := range []string{"", "v0.0.39", "v0.0.40"} {
		t.Run(version, func(t *testing.T) {
			b := board.New()
			job, node := telemetry.Entity{Kind: telemetry.Job, Name: "train"}, telemetry.Entity{Kind: telemetry.Node, Name: "n1"}
			now := telemetry.Time(time.Now().Truncate(time.Second).UnixNano())
			for i := range 3 {
				gpu := telemetry.Entity{Kind: telemetry.GPU, Name: fmt.Sprintf("n1/%d", i*2)}
				for _, e := range []telemetry.Edge{{From: node, To: gpu, Relation: telemetry.Contains},
					{From: job, To: gpu, Relation: telemetry.Runs, Start: now.Add(-20 * time.Second), Attrs: []telemetry.Attr{{Key: "rank", Value: fmt.Sprint(i)}}}} {
					if err := b.Take(&telemetry.Record{Kind: telemetry.EdgeRecord, Edge: &e}); err != nil {
						t.Fatal(err)
					}
				}
			}
			e := wire(t, b, scheduler.Config{}, func(m map[string]any) {
				if m["type"] == typeSlurm && version != "" {
					m["version"] = version
				}
			})[0]
			happened := func(want string) {
				t.Helper()
				e.Until(want, func() bool {
					for i := range e.Events {
						x := &e.Events[i]
						if want == fmt.Sprintf("%s %s %v", x.Entity, x.Name, x.At.Sub(now)) {
							return true
						}
					}
					return false
				})
			}
			happened("job:train job_started -20s")
			if got, want := e.runs(), placed(b); !slices.Equal(got, want) {
				t.Errorf("placed %v, want %v", got, want)
			}
			said(t, b, telemetry.Event{Entity: job, At: now.Add(-3 * time.Second), Name: telemetry.EventJobFailed},
				telemetry.Event{Entity: node, At: now.Add(-3 * time.Second), Name: telemetry.EventMaintenanceStarted, Text: "bad cable"})
			happened("job:train job_failed -3s")
			happened("node:n1 maintenance_started -3s")
			if got := e.runs(); len(got) > 0 {
				t.Errorf("still placed: %v", got)
			}
			said(t, b, telemetry.Event{Entity: job, At: now.Add(-2 * time.Second), Name: telemetry.EventJobRestarted},
				telemetry.Event{Entity: node, At: now, Name: telemetry.EventMaintenanceEnded})
			happened("job:train job_restarted -2s")
			if got, want := e.runs(), placed(b); !slices.Equal(got, want) {
				t.Errorf("placed again %v, want %v", got, want)
			}
			said(t, b, telemetry.Event{Entity: job, At: now.Add(-time.Second), Name: telemetry.EventJobEnded})
			happened("job:train job_ended -1s")
			if got := e.runs(); len(got) > 0 {
				t.Errorf("still placed: %v", got)
			}
			e.Mu.Lock()
			defer e.Mu.Unlock()
			if n := len(e.Events); n != 6 || len(e.Dropped) > 0 {
				t.Errorf("%d events, dropped %v:", n, e.Dropped)
			}
		})
	}
}
