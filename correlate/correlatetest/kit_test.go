package correlatetest

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/telemetry"
)

const second = telemetry.Duration(time.Second)

func at(seconds float64) telemetry.Time { return telemetry.Time(seconds * 1e9) }

// site returns a log of 60 s: three sources of the prompt class, one of the
// slow class, one frame a second each, an edge, an event, and a frame that
// comes too late.
func site(t *testing.T) (Kit, []telemetry.Record) {
	t.Helper()
	var log []telemetry.Record
	var sources []*telemetry.Schema
	for i := range 4 {
		s := &telemetry.Schema{Source: telemetry.Source{Collector: "test", Target: fmt.Sprint("h", i)}, Cadence: second}
		for e := range 3 {
			s.Entities = append(s.Entities, telemetry.Entity{Kind: telemetry.NIC, Name: fmt.Sprintf("h%d/nic%d", i, e)})
		}
		s.Columns = []telemetry.Column{{Metric: "port_tx_bytes_total", Type: telemetry.Uint}, {Metric: "job_mfu_ratio", Type: telemetry.Decimal, Exp: 6}}
		if i == 3 {
			s.Class = telemetry.Slow
		}
		sources = append(sources, s)
		log = append(log, telemetry.Record{Kind: telemetry.SchemaRecord, Schema: s})
	}
	log = append(log, telemetry.Record{Kind: telemetry.EdgeRecord, Edge: &telemetry.Edge{Relation: telemetry.Connects}})
	for n := 1; n <= 60; n++ {
		for i, s := range sources {
			log = append(log, frame(t, s, n, at(float64(n)-0.1*float64(i))))
		}
		if n == 30 {
			log = append(log, telemetry.Record{Kind: telemetry.EventRecord, Event: &telemetry.Event{Name: telemetry.EventLinkDown, At: at(29.5)}})
			log = append(log, frame(t, sources[0], 1000, at(20.5)))
		}
		log = append(log, telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: at(float64(n))}})
	}
	return Kit{Lateness: telemetry.DefaultLateness(), Seed: 7}, log
}

func frame(t *testing.T, s *telemetry.Schema, n int, instant telemetry.Time) telemetry.Record {
	t.Helper()
	f := telemetry.Frame{Fingerprint: s.Fingerprint(), Incarnation: 1, Sequence: uint64(n), Instants: []telemetry.Instant{{Source: instant, Received: instant.Add(5)}}}
	for i := range s.Len() {
		f.Words = append(f.Words, uint64(n*1000+i))
		f.States = append(f.States, telemetry.Present)
	}
	if n%7 == 0 {
		f.Words[1], f.States[1] = 0, telemetry.Gap
	}
	var e telemetry.Encoder
	b, err := e.AppendFrame(nil, s, &f)
	if err != nil {
		t.Fatal(err)
	}
	return telemetry.Record{Kind: telemetry.FrameRecord, Frame: b}
}

// sample is one value in words: what must survive any transformation.
type sample struct {
	series telemetry.Series
	at     telemetry.Time
	column telemetry.Column
	word   uint64
	state  telemetry.State
}

func samples(t *testing.T, log []telemetry.Record) map[sample]int {
	t.Helper()
	known, out := schemasOf(log), map[sample]int{}
	for _, r := range log {
		if r.Kind != telemetry.FrameRecord {
			continue
		}
		in, err := known.decode(r.Frame)
		if err != nil {
			t.Fatal(err)
		}
		n := in.schema.Len()
		for i, w := range in.frame.Words {
			state := telemetry.Present
			if in.frame.States != nil {
				state = in.frame.States[i]
			}
			out[sample{in.schema.Series(i % n), in.frame.Time(i / n), in.schema.Columns[i%n/len(in.schema.Entities)], w, state}]++
		}
	}
	return out
}

// lateFrames counts the frames that come after the tick that closes the grid
// of their oldest instant.
func lateFrames(t *testing.T, k Kit, log []telemetry.Record) (late, frames int) {
	t.Helper()
	known, now := schemasOf(log), telemetry.Time(0)
	for _, r := range log {
		switch r.Kind {
		case telemetry.TickRecord:
			now = max(now, r.Tick.At)
		case telemetry.FrameRecord:
			h, s, err := known.header(r.Frame)
			if err != nil {
				t.Fatal(err)
			}
			frames++
			if h.First.Add(k.Lateness[s.Class]) <= now {
				late++
			}
		}
	}
	return late, frames
}

func ticks(log []telemetry.Record) (out []telemetry.Time) {
	for _, r := range log {
		if r.Kind == telemetry.TickRecord {
			out = append(out, r.Tick.At)
		}
	}
	return out
}

// transformations are all of the kit's, by name.
func transformations(k Kit) map[string]func([]telemetry.Record) ([]telemetry.Record, error) {
	return map[string]func([]telemetry.Record) ([]telemetry.Record, error){
		"shuffle":         k.Shuffle,
		"repeat":          k.Repeat,
		"rebatch":         k.Rebatch,
		"retime ticks":    k.RetimeTicks,
		"permute schemas": k.PermuteSchemas,
	}
}

func TestTransformationsChangeTheLogAndKeepItsFacts(t *testing.T) {
	k, log := site(t)
	want := samples(t, log)
	wantLate, _ := lateFrames(t, k, log)
	if wantLate != 1 {
		t.Fatalf("the log has %d late frames, want 1", wantLate)
	}
	for name, transform := range transformations(k) {
		t.Run(name, func(t *testing.T) {
			before := slices.Clone(log)
			got, err := transform(log)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(before, log) {
				t.Error("the log it was given has changed")
			}
			if reflect.DeepEqual(got, log) {
				t.Error("nothing has changed")
			}
			have := samples(t, got)
			for s := range have {
				if name == "repeat" && have[s] > 1 {
					have[s] = want[s]
				}
			}
			if !reflect.DeepEqual(have, want) {
				t.Errorf("%d different samples, want %d: a sample was lost, made up or stated twice", len(have), len(want))
			}
			if late, _ := lateFrames(t, k, got); name != "repeat" && late != wantLate {
				t.Errorf("%d late frames, want %d", late, wantLate)
			}
			if at := ticks(got); !slices.IsSorted(at) || at[len(at)-1] != ticks(log)[len(ticks(log))-1] {
				t.Errorf("ticks %v do not rise to the last of the log", at)
			}
			again, err := transform(log)
			if err != nil || !reflect.DeepEqual(again, got) {
				t.Errorf("the same seed gave another log (%v)", err)
			}
		})
	}
}

func TestShuffleUsesTheWholeLateness(t *testing.T) {
	k, log := site(t)
	got, err := k.Shuffle(log)
	if err != nil {
		t.Fatal(err)
	}
	known, now := schemasOf(got), telemetry.Time(0)
	delay := map[telemetry.LatenessClass]telemetry.Duration{}
	for _, r := range got {
		switch r.Kind {
		case telemetry.TickRecord:
			now = r.Tick.At
		case telemetry.FrameRecord:
			h, s, err := known.header(r.Frame)
			if err != nil {
				t.Fatal(err)
			}
			if h.First != at(20.5) {
				delay[s.Class] = max(delay[s.Class], now.Sub(h.First))
			}
		}
	}
	if delay[telemetry.Prompt] <= second || delay[telemetry.Slow] <= 20*second {
		t.Errorf("longest delays %v: the prompt class allows 2 s, the slow one 60 s", delay)
	}
}

func TestRebatchCutsAndJoins(t *testing.T) {
	k, log := site(t)
	joined, err := k.Rebatch(log)
	if err != nil {
		t.Fatal(err)
	}
	_, before := lateFrames(t, k, log)
	_, after := lateFrames(t, k, joined)
	if after >= before {
		t.Errorf("%d frames of %d: none were joined", after, before)
	}
	k.Seed++
	again, err := k.Rebatch(joined)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(samples(t, again), samples(t, log)) {
		t.Error("cut again, the frames hold other samples")
	}
}

func TestRetimedTicksPassSeveralGridsAndStandBetweenThem(t *testing.T) {
	k, log := site(t)
	got, err := k.RetimeTicks(log)
	if err != nil {
		t.Fatal(err)
	}
	var longest telemetry.Duration
	between := 0
	for i, t := range ticks(got) {
		if i > 0 {
			longest = max(longest, t.Sub(ticks(got)[i-1]))
		}
		if t%telemetry.Time(second) != 0 {
			between++
		}
	}
	if longest < 3*second || between == 0 {
		t.Errorf("longest step of ticks %v, %d between grids: want several grids, and some between", longest, between)
	}
}
