package world_test

import (
	"testing"

	"github.com/quintet-dc/quintet/lab/sim/condition"
	"github.com/quintet-dc/quintet/lab/sim/site"
)

// uplinks is what the links of two's sites that lead up did in two minutes.
type uplinks struct {
	most  []float64 // bytes in a second
	stops []float64 // share of the time told to stop
	meets []float64 // share of the seconds at whose end traffic stood there
}

func watched(t *testing.T, change func(*condition.Set)) uplinks {
	t.Helper()
	w, c := build(t, two(1))
	change(c)
	n := w.Site().Links()
	u := uplinks{make([]float64, n), make([]float64, n), make([]float64, n)}
	before := make([]float64, n)
	const seconds = 120
	for range seconds {
		st := w.Step(c)
		for l := range n {
			u.most[l] = max(u.most[l], st.Links[l].SentTotal-before[l])
			before[l] = st.Links[l].SentTotal
			u.stops[l] = st.Links[l].StoppedTotal / seconds
			if st.Links[l].Queue > 0 {
				u.meets[l] += 1. / seconds
			}
		}
	}
	return u
}

// TestWhoIsDoneIsIdle: of two pipeline stages one waits for a slow receiver. The
// other's rings are done as early as before and then send nothing: they are not
// drawn out, and nothing stands before links that carry little.
func TestWhoIsDoneIsIdle(t *testing.T) {
	const first, other = 0, 5 // nodes of the two stages
	healthy := watched(t, func(*condition.Set) {})
	struck := watched(t, func(c *condition.Set) { c.Links[site.Down(8*first)].Drain = 0.2 })
	slow, early := site.Up(8*1), site.Up(8*other)
	if struck.most[early] < healthy.most[early] {
		t.Errorf("the other stage sends at most %v in a second, before %v", struck.most[early], healthy.most[early])
	}
	if struck.most[slow] > 0.5*healthy.most[slow] {
		t.Errorf("the struck stage sends %v in a second, before %v", struck.most[slow], healthy.most[slow])
	}
}

// TestAQueueBehindPauseIsThereAtTimes: two hops before a slow receiver links are
// paused for a small part of the time; a gauge meets the queue about twice as often
// as that, not always.
func TestAQueueBehindPauseIsThereAtTimes(t *testing.T) {
	struck := watched(t, func(c *condition.Set) { c.Links[site.Down(8*4)].Drain = 0.2 })
	seen := 0
	w, _ := build(t, two(1))
	for l := 2 * w.Site().HostCables(); l < len(struck.stops); l++ {
		if stop := struck.stops[l]; stop > 0.03 && stop < 0.3 {
			seen++
			if m := struck.meets[l]; m < 0.8*stop || m > 4*stop {
				t.Errorf("link %d is told to stop %v of the time, and traffic stands there at %v of its moments", l, stop, m)
			}
		}
	}
	if seen == 0 {
		t.Fatal("no link between switches is stopped now and then")
	}
}
