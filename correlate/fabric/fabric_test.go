package fabric_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/quintet-dc/quintet/correlate/fabric"
	"github.com/quintet-dc/quintet/correlate/snapshot"
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

// late lets every host send two links' worth of seconds in each step of ten, from
// the seventh second on, and host h0 so many seconds later: before the onset and
// after it.
func late(t *testing.T, before, after int) *world {
	t.Helper()
	w := quiet(t, 2, 1, 5)
	for h := range w.hosts {
		name := fmt.Sprintf("nic:h%d/n0", h)
		w.report(name, txBytes, 1, grids, 0)
		for first := 1; first <= grids; first += 10 {
			delay := 0
			if h == 0 {
				delay = before
				if first > half {
					delay = after
				}
			}
			w.report(name, txBytes, first+6+delay, first+7+delay, speed)
		}
	}
	return w
}

func (w *world) lags(t *testing.T, hosts ...int) ([]float64, bool) {
	t.Helper()
	m := fabric.Survey(w.graph, w)
	var ends []int
	for _, h := range hosts {
		ends = append(ends, index(t, m, fmt.Sprintf("nic:h%d/n0", h)))
	}
	shares := m.Shares(w, grid, fabric.Work{Span: fabric.Span{From: at(0), To: at(half)}, Ends: ends, Step: 10})
	lags, ok := m.Lags(w, grid, fabric.LagSpan{From: at(0), Onset: at(half), To: at(grids)},
		fabric.Peers{Ends: ends, Shares: shares, Clocks: make([]float64, len(ends))})
	var out []float64
	for _, l := range lags {
		out = append(out, l.Seconds)
	}
	return out, ok
}

func TestLagIsByHowMuchLaterAHostSends(t *testing.T) {
	for _, c := range []struct {
		before, after int
		want          float64
	}{{0, 0, 0}, {0, 1, 1}, {0, 2, 2}, {2, 2, 0}, {1, 2, 1}, {2, 0, -2}, {0, -3, -3}} {
		got, ok := late(t, c.before, c.after).lags(t, 0, 1, 2, 3, 4)
		if !ok {
			t.Fatalf("from %d to %d: nothing is seen", c.before, c.after)
		}
		for h, lag := range got {
			if want := c.want * float64(1-min(h, 1)); math.Abs(lag-want) > 0.2 {
				t.Errorf("from %d to %d: h%d sends %v s later, want %v", c.before, c.after, h, lag, want)
			}
		}
	}
}

func TestLagIsExactOverWholeSteps(t *testing.T) {
	if got, ok := late(t, 0, 2).lags(t, 0, 1, 2, 3, 4); !ok || math.Abs(got[0]-2) > 1e-9 {
		t.Errorf("got %v, %v", got, ok)
	}
}

// TestLagNeedsNoFineSamples: the course within a step need not be sampled: samples
// every four seconds, spread evenly over their grids, give nearly the same lags.
func TestLagNeedsNoFineSamples(t *testing.T) {
	w := late(t, 0, 2)
	for h := range w.hosts {
		name := fmt.Sprintf("nic:h%d/n0", h)
		for k := 1; k <= grids; k += 4 {
			last := min(k+3, grids)
			var sum float64
			for i := k; i <= last; i++ {
				sum += w.sample(entity(name), txBytes, i)
			}
			w.report(name, txBytes, k, last, sum/float64(last-k+1))
		}
	}
	got, ok := w.lags(t, 0, 1, 2, 3, 4)
	if !ok || math.Abs(got[0]-2) > 0.5 || slices.Max(got[1:]) > 0.5 {
		t.Errorf("got %v, %v", got, ok)
	}
}

// A host that has always sent twice as much is not late for it.
func TestLagKnowsSharesOfTheWork(t *testing.T) {
	w := late(t, 0, 0)
	for k := 1; k <= grids; k++ {
		w.report("nic:h3/n0", txBytes, k, k, 2*w.sample(entity("nic:h3/n0"), txBytes, k))
	}
	got, ok := w.lags(t, 0, 1, 2, 3, 4)
	for h, lag := range got {
		if !ok || math.Abs(lag) > 1e-9 {
			t.Errorf("h%d sends %v s later", h, lag)
		}
	}
}

func TestLagIsNotMadeUp(t *testing.T) {
	if _, ok := late(t, 0, 2).lags(t, 0, 1); ok {
		t.Error("a lag of two hosts: which of them is late cannot be known")
	}
	w := late(t, 0, 2)
	w.report("nic:h2/n0", txBytes, 5, 7, math.NaN())
	if got, ok := w.lags(t, 0, 1, 2, 3, 4); !ok || math.Abs(got[0]-2) > 0.2 || math.Abs(got[2]) > 1e-9 {
		t.Errorf("with three samples missing: %v, %v", got, ok)
	}
	w.report("nic:h2/n0", txBytes, 1, 9, math.NaN())
	if _, ok := w.lags(t, 0, 1, 2, 3, 4); ok {
		t.Error("a lag of what was not seen")
	}
	w = late(t, 0, 2)
	for h := range w.hosts {
		w.report(fmt.Sprintf("nic:h%d/n0", h), txBytes, 1, grids, 0)
	}
	if _, ok := w.lags(t, 0, 1, 2, 3, 4); ok {
		t.Error("a lag of no bytes")
	}
	m := fabric.Survey(w.graph, w)
	for _, s := range []fabric.LagSpan{{}, {From: at(0), Onset: at(2), To: at(30)}, {From: at(0), Onset: at(30), To: at(31)}, {From: at(9), Onset: at(5), To: at(1)}} {
		if _, ok := m.Lags(w, grid, s, fabric.Peers{Ends: []int{0, 1, 2, 3}, Shares: []float64{1, 1, 1, 1, 1}, Clocks: make([]float64, 5)}); ok {
			t.Errorf("a lag in %v", s)
		}
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
