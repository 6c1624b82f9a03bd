package fabric_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/quintet-dc/quintet/correlate/fabric"
	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

func TestSurveyDrawsEveryLinkFromBothEnds(t *testing.T) {
	w := build(t, 2, 2, 8)
	m := fabric.Survey(w.graph, w)
	if want := 2 * (8 + 2*2); len(m.Ends) != want {
		t.Fatalf("%d ends, want %d", len(m.Ends), want)
	}
	between, facing := 0, 0
	for i := range m.Ends {
		e := &m.Ends[i]
		if i > 0 && m.Ends[i-1].Entity.Compare(e.Entity) >= 0 {
			t.Errorf("%v stands after %v", e.Entity, m.Ends[i-1].Entity)
		}
		if e.Speed != speed || e.Peer < 0 || m.Ends[e.Peer].Peer != i {
			t.Errorf("%v: speed %v, peer %d", e.Entity, e.Speed, e.Peer)
		}
		if m.Between(i) {
			between++
		}
		if m.FacesHost(i) {
			facing++
		}
	}
	if between != 8 || facing != 8 {
		t.Errorf("%d ends between switches and %d facing hosts, want 8 and 8", between, facing)
	}
	for owner, want := range map[string]int{"switch:leaf0": 6, "switch:spine1": 2, "node:h3": 1, "node:h9": 0} {
		if got := len(m.Of(entity(owner))); got != want {
			t.Errorf("%s has %d ends, want %d", owner, got, want)
		}
	}
}

func TestAnEmptySpanSeesNothing(t *testing.T) {
	w := quiet(t, 2, 1, 2)
	m := fabric.Survey(w.graph, w)
	for _, s := range []fabric.Span{{}, {From: at(5), To: at(5)}, {From: at(9), To: at(3)}} {
		for i, r := range m.Read(w, grid, s).Of {
			if r.Seen != 0 || r.Wait != 0 || r.Util != 0 {
				t.Errorf("%v: %v reads %+v", s, m.Ends[i].Entity, r)
			}
		}
	}
}

// steps are ten seconds long, and begin offset seconds after a grid's end.
func steps(offset float64) []jobs.Step {
	var out []jobs.Step
	for s := range 3 {
		start := at(0).Add(telemetry.Duration((float64(10*s) + offset) * 1e9))
		out = append(out, jobs.Step{Start: start, End: start.Add(10e9)})
	}
	return out
}

func TestLagIsWhenTheBytesLeave(t *testing.T) {
	for _, c := range []struct {
		name        string
		first, last int // grids of each ten in which the host sends
		offset      float64
		lag         float64
	}{
		{"two seconds late in the step", 7, 8, 0, 7},
		{"at once", 1, 1, 0, 0.5},
		{"all the time", 1, 10, 0, 5},
		{"at the very end", 10, 10, 0, 9.5},
		{"steps begin inside a grid", 7, 8, 0.5, 6.5},
		{"a step's first grid is half its own", 1, 1, 0.5, 0.25 + 9.5/2}, // half of it lies at the end of the step
	} {
		w := quiet(t, 2, 1, 2)
		w.say("nic:h0/n0", txBytes, 1, grids, 0)
		for s := 0; s < grids; s += 10 {
			w.say("nic:h0/n0", txBytes, s+c.first, s+c.last, speed)
		}
		m := fabric.Survey(w.graph, w)
		got, ok := m.Lag(w, grid, steps(c.offset), index(t, m, "nic:h0/n0"))
		if !ok || math.Abs(got-c.lag) > 1e-9 {
			t.Errorf("%s: lag %v, %v, want %v", c.name, got, ok, c.lag)
		}
	}
}

func TestLagIsNotMadeUp(t *testing.T) {
	w := quiet(t, 2, 1, 2)
	m := fabric.Survey(w.graph, w)
	i := index(t, m, "nic:h0/n0")
	if _, ok := m.Lag(w, grid, nil, i); ok {
		t.Error("a lag of no step")
	}
	if lag, ok := m.Lag(w, grid, steps(0), i); !ok || math.Abs(lag-5) > 1e-9 {
		t.Errorf("lag %v, %v of an even sender", lag, ok)
	}
	w.every = 9e9
	if _, ok := m.Lag(w, grid, steps(0), i); ok {
		t.Error("a lag out of samples that average over the step")
	}
	w.every = grid
	w.say("nic:h0/n0", txBytes, 1, grids, math.NaN())
	if _, ok := m.Lag(w, grid, steps(0), i); ok {
		t.Error("a lag of what was not seen")
	}
	w.say("nic:h0/n0", txBytes, 1, grids, 0)
	if _, ok := m.Lag(w, grid, steps(0), i); ok {
		t.Error("a lag of no bytes")
	}
}

func TestSentCountsWhatRisesOnly(t *testing.T) {
	w := quiet(t, 2, 2, 8)
	w.sends("nic:h1/n0", 1)
	w.sends("nic:h2/n0", 0.5)
	w.sends("nic:h3/n0", 0)
	_, then, during := w.read()
	want := (1 - 1.0/3) + (0.5 - 1.0/3)
	if got := fabric.Sent(during, then, nodes("h0", "h1", "h2", "h3"), speed); !near(got, want) {
		t.Errorf("got %v links, want %v", got, want)
	}
	if got := fabric.Sent(during, then, nodes("h1", "h2"), speed/2); !near(got, 2*want) {
		t.Errorf("got %v links of half the speed, want %v", got, 2*want)
	}
	if got := fabric.Sent(during, then, nodes("h1"), 0); got != 0 {
		t.Errorf("got %v links of unknown speed", got)
	}
	m := during.Map
	if got, ok := m.Sent(w, grid, fabric.Span{From: at(0), To: at(grids)}, index(t, m, "nic:h1/n0")); !ok || !near(got, speed*(1+1.0/3)/2) {
		t.Errorf("got %v bytes per second, %v", got, ok)
	}
	if _, ok := m.Sent(w, grid, fabric.Span{From: at(grids), To: at(grids + 5)}, 0); ok {
		t.Error("bytes out of grids that were not seen")
	}
}

func TestABaselineLiesOnAnyMap(t *testing.T) {
	w := quiet(t, 2, 2, 8)
	scenes()[0].write(w)
	m, _, during := w.read()
	b := fabric.Keep(during)
	same := b.On(m)
	for i := range m.Ends {
		if same.Of[i] != during.Of[i] {
			t.Errorf("%v reads %+v, want %+v", m.Ends[i].Entity, same.Of[i], during.Of[i])
		}
	}
	w.cable(t, "nic:h00/n0", "port:leaf0/h00") // it sorts before all others
	w.graph.Advance(at(1))
	grown := fabric.Survey(w.graph, w)
	on := b.On(grown)
	for i := range grown.Ends {
		k, known := m.Index(grown.Ends[i].Entity)
		if known && on.Of[i] != during.Of[k] || !known && on.Of[i].Seen != 0 {
			t.Errorf("%v reads %+v on the grown map", grown.Ends[i].Entity, on.Of[i])
		}
	}
	// As the past of a walk it is as good as the readings themselves.
	was := fabric.Keep(m.Read(w, grid, before())).On(m)
	x, y := fabric.Walk(during, was, nodes("h0", "h7")), fabric.Walk(during, m.Read(w, grid, before()), nodes("h0", "h7"))
	for i := range x.At {
		if x.At[i] != y.At[i] {
			t.Errorf("blame at %v: %v, want %v", m.Ends[i].Entity, x.At[i], y.At[i])
		}
	}
}

func writtenBaseline(b *fabric.Baseline) []byte {
	c := snapshot.NewWriter()
	b.Snapshot(c)
	return c.Data()
}

func TestABaselineSurvivesASnapshot(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	for range 10 {
		w, _ := random(t, r)
		m, _, during := w.read()
		b := fabric.Keep(during)
		c := snapshot.NewReader(writtenBaseline(b))
		var again fabric.Baseline
		again.Snapshot(c)
		if c.Err() != nil || c.Remaining() != 0 {
			t.Fatalf("%v, %d bytes left", c.Err(), c.Remaining())
		}
		x, y := b.On(m), again.On(m)
		if x.Span != y.Span {
			t.Errorf("span %v, want %v", y.Span, x.Span)
		}
		for i := range x.Of {
			if x.Of[i] != y.Of[i] {
				t.Fatalf("%v reads %+v, want %+v", m.Ends[i].Entity, y.Of[i], x.Of[i])
			}
		}
	}
}

func FuzzBaselineSnapshot(f *testing.F) {
	w := quiet(f, 1, 1, 2)
	m, _, during := w.read()
	f.Add(writtenBaseline(fabric.Keep(during)))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		c := snapshot.NewReader(data)
		var b fabric.Baseline
		b.Snapshot(c)
		if c.Err() != nil {
			return
		}
		if again := writtenBaseline(&b); !bytes.Equal(again, data[:len(data)-c.Remaining()]) {
			t.Error("read and written again differ")
		}
		fabric.Walk(during, b.On(m), nodes("h0"))
	})
}
