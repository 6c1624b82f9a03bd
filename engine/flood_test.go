package engine_test

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"

	"github.com/quintet-dc/quintet/correlate/window"
	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/engine/enginetest"
	"github.com/quintet-dc/quintet/engine/grants"
	"github.com/quintet-dc/quintet/telemetry"
)

// flood is a process that states, of entities that are its own to state, as much as
// it can of everything that the engine keeps.
type flood struct {
	t      *testing.T
	runner *engine.Runner
	n      int // of everything stated so far
	enc    telemetry.Encoder
	why    map[grants.Reason]int
	ahead  telemetry.Duration // by which its clock is wrong
}

// small is the budget of a flooding process in tests.
func small() grants.Budget {
	return grants.Budget{Series: 4096, Edges: 512, Records: 50, Bytes: 1 << 12, Events: 8}
}

func (f *flood) apply(r *telemetry.Record) {
	f.t.Helper()
	at, _ := f.runner.Position()
	_, why, err := f.runner.ApplyFrom(at+1, "flood", r)
	if err != nil {
		f.t.Fatal(err)
	}
	f.n++
	f.why[why]++
}

func (f *flood) schema(entities int) *telemetry.Schema {
	s := &telemetry.Schema{Source: telemetry.Source{Collector: "flood", Target: fmt.Sprint(f.n)}, Columns: []telemetry.Column{{Metric: "port_tx_bytes_total", Type: telemetry.Uint}}}
	for i := range entities {
		s.Entities = append(s.Entities, entity(telemetry.GPU, "flood/%d-%d", f.n, i))
	}
	return s
}

func (f *flood) frame(s *telemetry.Schema, at telemetry.Time, instants int) {
	f.t.Helper()
	x := telemetry.Frame{Fingerprint: s.Fingerprint(), Incarnation: 1, Sequence: uint64(f.n)}
	for i := range instants {
		x.Instants = append(x.Instants, telemetry.Instant{Source: at.Add(telemetry.Duration(i) * 1e6), Received: at})
		x.Words = append(x.Words, make([]uint64, s.Len())...)
	}
	b, err := f.enc.AppendFrame(nil, s, &x)
	if err != nil {
		f.t.Fatal(err)
	}
	f.apply(&telemetry.Record{Kind: telemetry.FrameRecord, Frame: b})
}

// wave states some of everything at a tick.
func (f *flood) wave(tick telemetry.Time, size int) {
	f.t.Helper()
	tick = tick.Add(f.ahead)
	for range size {
		s := f.schema(64)
		f.apply(&telemetry.Record{Kind: telemetry.SchemaRecord, Schema: s})
		f.frame(s, tick.Add(-1e9), 1)                         // of now
		f.frame(s, tick.Add(600e9), 16)                       // it waits for ten minutes, decoded
		f.frame(s, tick.Add(-telemetry.Duration(f.n)*1e9), 1) // late
		f.frame(f.schema(1), tick.Add(800e9), 1)              // without a schema
		for i, at := range []telemetry.Time{tick, tick.Add(1000e9), 1<<63 - 1} {
			f.apply(&telemetry.Record{Kind: telemetry.EventRecord, Event: &telemetry.Event{Entity: entity(telemetry.GPU, "flood/%d", f.n), At: at, Name: "xid", Text: fmt.Sprint(i)}})
		}
		for _, end := range []telemetry.Time{0, tick, 1<<63 - 1} {
			f.apply(&telemetry.Record{Kind: telemetry.EdgeRecord, Edge: &telemetry.Edge{From: entity(telemetry.Node, "flood"), To: entity(telemetry.GPU, "flood/%d", f.n),
				Relation: telemetry.Contains, End: end, Received: tick, Source: "flood"}})
		}
	}
}

func grantFlood(t *testing.T) *telemetry.Record {
	t.Helper()
	c, err := grants.Grants{Processes: []grants.Grant{{Process: "flood", Nodes: []string{"flood"}, Budget: small()}}}.Config(0)
	if err != nil {
		t.Fatal(err)
	}
	return &telemetry.Record{Kind: telemetry.ConfigRecord, Config: c}
}

// beside plays a log of healthy processes with a flood at every second tick, and
// returns what was published, what was found of others, and the flood. At the tick
// named restart the engine goes on from a snapshot; zero is none.
func beside(t *testing.T, log []telemetry.Record, restart int) (published, found string, f *flood) {
	return besideClock(t, log, restart, 0)
}

// besideClock is beside of a flood whose clock is wrong.
func besideClock(t *testing.T, log []telemetry.Record, restart int, ahead telemetry.Duration) (published, found string, f *flood) {
	t.Helper()
	runner, err := enginetest.NewRunner(1)
	if err != nil {
		t.Fatal(err)
	}
	f = &flood{t: t, runner: runner, why: map[grants.Reason]int{}, ahead: ahead}
	if _, err := runner.Apply(1, grantFlood(t)); err != nil {
		t.Fatal(err)
	}
	var out, findings bytes.Buffer
	ticks := 0
	for i := range log {
		at, _ := f.runner.Position()
		process := "healthy"
		if log[i].Kind == telemetry.TickRecord || log[i].Kind == telemetry.ConfigRecord {
			process = ""
		}
		changed, _, err := f.runner.ApplyFrom(at+1, process, &log[i])
		if err != nil {
			t.Fatal(err)
		}
		for k := range changed {
			b, err := engine.Canonical(&changed[k])
			if err != nil {
				t.Fatal(err)
			}
			out.Write(append(b, '\n'))
		}
		for _, x := range f.runner.Output().Findings {
			if x.Series.Entity.Name[:min(5, len(x.Series.Entity.Name))] != "flood" {
				fmt.Fprintf(&findings, "%s %s %v %v %x %x %x\n", x.Series, x.Shape, x.Onset, x.Ended, x.Before, x.Now, x.Score)
			}
		}
		if log[i].Kind != telemetry.TickRecord {
			continue
		}
		if ticks++; ticks%2 == 0 {
			f.wave(log[i].Tick.At, 12)
		}
		if ticks == restart {
			f.again()
		}
	}
	return out.String(), findings.String(), f
}

// again puts another engine in place, from a snapshot.
func (f *flood) again() {
	f.t.Helper()
	b, err := f.runner.Snapshot()
	if err != nil {
		f.t.Fatal(err)
	}
	next, err := enginetest.NewRunner(1)
	if err != nil {
		f.t.Fatal(err)
	}
	if _, err := next.Restore(b); err != nil {
		f.t.Fatal(err)
	}
	f.runner = next
}

// TestApplyFromFlood: what is published and found of the others is the same to the
// last bit, whatever one process states beside them; what it states is refused for
// every reason there is, and an engine that goes on from a snapshot refuses the same.
func TestApplyFromFlood(t *testing.T) {
	refs, err := references()
	if err != nil {
		t.Fatal(err)
	}
	ref := refs["slownic-2"]
	published, found, f := beside(t, ref.Log, 0)
	if diff := enginetest.Diff(published, ref.Published); diff != "" {
		t.Errorf("incidents beside a flood: %s", diff)
	}
	for _, why := range []grants.Reason{grants.OverSeries, grants.OverEdges, grants.OverRecords, grants.OverBytes, grants.OverEvents, grants.OverWaiting, grants.OverAhead} {
		if f.why[why] == 0 {
			t.Logf("refused: %v", f.why)
			t.Errorf("the flood was never refused for %s", why)
		}
	}
	if f.why[""] == 0 {
		t.Error("all of the flood was refused: a process within its budget is served")
	}
	for _, s := range f.runner.Processes() {
		if s.Process != "flood" && len(s.Refused) > 0 {
			t.Errorf("%q lost something: %v", s.Process, s.Refused)
		}
	}
	published2, found2, again := beside(t, ref.Log, 150)
	if published2 != published || found2 != found {
		t.Error("a restart changes what is published")
	}
	for why, n := range f.why {
		if again.why[why] != n {
			t.Errorf("refused for %q: %d, after a restart %d", why, n, again.why[why])
		}
	}
}

// TestApplyFromClockOfNextYear: a process whose clock is a year ahead changes nothing of
// what is published and found of the others. Its events are refused and counted, its
// frames not taken.
func TestApplyFromClockOfNextYear(t *testing.T) {
	refs, err := references()
	if err != nil {
		t.Fatal(err)
	}
	ref := refs["slownic-2"]
	published, _, f := besideClock(t, ref.Log, 0, 365*24*3600e9)
	if diff := enginetest.Diff(published, ref.Published); diff != "" {
		t.Errorf("incidents beside a clock of next year: %s", diff)
	}
	if n := f.runner.Refused()[grants.OverAhead]; n == 0 {
		t.Error("no event of next year was refused")
	}
	if n := f.runner.Output().Counts.Window.Frames[window.Future]; n == 0 {
		t.Errorf("no frame of next year was refused: %+v", f.runner.Output().Counts.Window)
	}
}

// TestApplyFromFloodMemory: what a flood leaves in the engine does not grow with the
// flood.
func TestApplyFromFloodMemory(t *testing.T) {
	runner, err := enginetest.NewRunner(1)
	if err != nil {
		t.Fatal(err)
	}
	f := &flood{t: t, runner: runner, why: map[grants.Reason]int{}}
	if _, err := runner.Apply(1, grantFlood(t)); err != nil {
		t.Fatal(err)
	}
	tick := func(at telemetry.Time) {
		position, _ := runner.Position()
		if _, err := runner.Apply(position+1, &telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: at}}); err != nil {
			t.Fatal(err)
		}
	}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	const begin = telemetry.Time(1_800_000_000e9)
	tick(begin)
	before, filled := heap(), uint64(0)
	for i := range 60 {
		at := begin.Add(telemetry.Duration(i+1) * 1e9)
		f.wave(at, 60)
		tick(at)
		if i == 9 {
			filled = heap()
		}
	}
	after := heap()
	t.Logf("%d records; the heap grew by %d KiB, by %d KiB in the first quarter", f.n, (after-before)>>10, (filled-before)>>10)
	if most := uint64(32 << 20); after > before+most {
		t.Errorf("the heap grew by %d KiB, want at most %d", (after-before)>>10, most>>10)
	}
	runtime.KeepAlive(f)
}
