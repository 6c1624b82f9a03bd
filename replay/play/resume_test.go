package play_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/engine/enginetest"
	"github.com/quintet-dc/quintet/replay/play"
	"github.com/quintet-dc/quintet/telemetry"
)

// interrupted plays a recording into a log that is killed over and over: at
// given counts of records stored, counted over all runs. Each run continues
// with the state that the first one gave, through JSON, and the log's last tick.
func interrupted(t *testing.T, path string, kills []int, d telemetry.Duration) *memory {
	t.Helper()
	m, stored := &memory{}, 0
	var state *play.State
	for {
		ctx, cancel := context.WithCancel(t.Context())
		c := movedBy(t, path, d)
		c.Into, c.Last = m, m.last()
		c.Renew = 30 * second
		if state != nil {
			c.State = state
		}
		c.Begun = func(s play.State) error {
			b, err := json.Marshal(s)
			if err != nil {
				return err
			}
			state = &play.State{}
			return json.Unmarshal(b, state)
		}
		m.appended = func(rs []*telemetry.Record) error {
			if len(kills) == 0 || stored+len(rs) <= kills[0] {
				stored += len(rs)
				return nil
			}
			for _, r := range rs[:max(0, kills[0]-stored)] { // stored before the kill
				m.log = append(m.log, *r)
			}
			stored, kills = max(stored, kills[0]), kills[1:]
			cancel()
			return context.Canceled
		}
		killed := len(kills)
		err := play.Run(ctx, c)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if len(kills) == killed {
			return m
		}
	}
}

func TestKilledAtAnyRecordNoneIsMissing(t *testing.T) {
	want := played(t, movedBy(t, recorded, 90*second))
	random := rand.New(rand.NewPCG(3, 4))
	eachKind(t, func(t *testing.T, path string) {
		rounds := 5
		if path == recorded {
			rounds = 1 // reading it takes time
		}
		for range rounds {
			kills := make([]int, 1+random.IntN(5))
			for i := range kills {
				kills[i] = random.IntN(len(want.log))
			}
			slices.Sort(kills)
			m := interrupted(t, path, slices.Clone(kills), 90*second)
			if a, b := set(m.text(t)), set(want.text(t)); !maps.Equal(a, b) {
				t.Fatalf("killed at %v: %d different records, %d wanted", kills, len(a), len(b))
			}
			if ticks(t, m) != ticks(t, want) {
				t.Errorf("killed at %v: ticks come in another order, or twice", kills)
			}
		}
		m := interrupted(t, path, []int{5, 1001}, 90*second)
		if d := enginetest.Diff(mapped(t, published(t, m), -90*second), wanted(t)); d != "" {
			t.Error(d)
		}
	})
}

func set(texts []string) map[string]bool {
	out := map[string]bool{}
	for _, s := range texts {
		out[s] = true
	}
	return out
}

// ticks is the ticks' order as a string.
func ticks(t *testing.T, m *memory) string {
	t.Helper()
	var b strings.Builder
	for i := range m.log {
		if m.log[i].Kind == telemetry.TickRecord {
			b.WriteString(m.log[i].Tick.At.String() + "\n")
		}
	}
	return b.String()
}

func TestStateOfAnotherRecordingIsRefused(t *testing.T) {
	for name, change := range map[string]func(*play.State){
		"another beginning": func(s *play.State) { s.First++ },
		"half a grid":       func(s *play.State) { s.Shift += second / 2 },
	} {
		c := movedBy(t, recorded, 10*second)
		c.Into = &memory{}
		change(c.State)
		if err := play.Run(t.Context(), c); !errors.Is(err, play.ErrState) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	refused := errors.New("disk full")
	c := config(open(t, recorded), &memory{appended: func([]*telemetry.Record) error { return refused }})
	if err := play.Run(t.Context(), c); !errors.Is(err, refused) || !strings.Contains(err.Error(), recorded) {
		t.Errorf("a log that refuses: %v", err)
	}
	c = config(open(t, recorded), &memory{})
	c.Speed = 1 / zero()
	if err := play.Run(t.Context(), c); err == nil {
		t.Error("an infinite speed: no error")
	}
	c = config(open(t, recorded), &memory{})
	c.Begun = func(play.State) error { return io.ErrShortWrite }
	if err := play.Run(t.Context(), c); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("a state that cannot be kept: %v", err)
	}
}

func zero() float64 { return 0 }

// frames returns two schemas of one series and a frame of each.
func frames(t *testing.T, at telemetry.Time) (schemas, frames [2]telemetry.Record) {
	t.Helper()
	for i, name := range []string{"a", "b"} {
		s := &telemetry.Schema{Source: telemetry.Source{Collector: name}, Cadence: second,
			Entities: []telemetry.Entity{{Kind: telemetry.Node, Name: name}}, Columns: []telemetry.Column{{Metric: "node_power_watts", Type: telemetry.Uint}}}
		f := telemetry.Frame{Instants: []telemetry.Instant{{Source: at}}, Words: []uint64{7}}
		b, err := new(telemetry.Encoder).AppendFrame(nil, s, &f)
		if err != nil {
			t.Fatal(err)
		}
		schemas[i] = telemetry.Record{Kind: telemetry.SchemaRecord, Schema: s}
		frames[i] = telemetry.Record{Kind: telemetry.FrameRecord, Frame: b}
	}
	return schemas, frames
}

func TestFrameBeforeItsSchemaAndFrameWithoutOne(t *testing.T) {
	const at = telemetry.Time(1e18)
	schemas, frames := frames(t, at)
	path := small(t, frames[0], frames[1], tickAt(at.Add(second)), schemas[0], tickAt(at.Add(2*second)))
	c := movedBy(t, path, 5*second)
	m := &memory{}
	c.Into = m
	var last play.Progress
	c.Progress = func(p play.Progress) { last = p }
	if err := play.Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if len(m.log) != 4 || last.Skipped != 1 || last.Records != 4 {
		t.Fatalf("%d records, progress %+v", len(m.log), last)
	}
	if h, err := m.log[0].Frame.Header(); err != nil || h.First != at.Add(5*second) {
		t.Errorf("the frame that came before its schema: %+v, %v", h, err)
	}
}

func TestCutRecordingIsPlayedAsFarAsItGoes(t *testing.T) {
	path := asTrace(t, recorded)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()*2/3); err != nil {
		t.Fatal(err)
	}
	got, want := played(t, config(open(t, path), nil)).text(t), original(t).text(t)
	if len(got) == 0 || len(got) >= len(want) {
		t.Fatalf("%d of %d records", len(got), len(want))
	}
	same(t, got, want[:len(got)])
}

func TestRenewalStatesWhatIsTrue(t *testing.T) {
	const at = telemetry.Time(1e18)
	schemas, _ := frames(t, at)
	node, nic := telemetry.Entity{Kind: telemetry.Node, Name: "n"}, telemetry.Entity{Kind: telemetry.NIC, Name: "n/0"}
	edge := func(change func(*telemetry.Edge)) telemetry.Record {
		e := telemetry.Edge{From: node, To: nic, Relation: telemetry.Contains, Source: "file"}
		change(&e)
		return telemetry.Record{Kind: telemetry.EdgeRecord, Edge: &e}
	}
	timeless := edge(func(*telemetry.Edge) {})
	renewed := edge(func(e *telemetry.Edge) { e.Source, e.Received = "lldp", at })
	ending := edge(func(e *telemetry.Edge) { e.Source = "slurm" })
	ended := edge(func(e *telemetry.Edge) { e.Source, e.End = "slurm", at })
	path := small(t, schemas[0], timeless, renewed, ending, tickAt(at), ended, tickAt(at.Add(second)), tickAt(at.Add(2*second)))
	c := movedBy(t, path, 0)
	c.Renew = 2 * second
	got := played(t, c).text(t)
	if len(got) != 8+2 {
		t.Fatalf("%d records: want the 8 recorded, a schema and an edge again", len(got))
	}
	if got[7] != got[0] || got[8] != got[1] {
		t.Error("what stands is not what was stated, in its order, before the tick")
	}
}
