package fabric_test

import (
	"math/rand/v2"
	"testing"

	"github.com/quintet-dc/quintet/correlate/fabric"
	"github.com/quintet-dc/quintet/telemetry"
)

// rose is when the load of nic:h0/n0 is found to have risen, in grids from the
// beginning.
func rose(t *testing.T, w *world, i int) (earliest, latest float64, ok bool) {
	t.Helper()
	m := fabric.Survey(w.graph, w)
	was := m.Read(w, grid, before())
	is := m.ReadEach(fabric.Recording{History: w, Grid: grid, Before: was}, now(), func(n int, fn func(slice, lo, hi int)) { fn(0, 0, n) })
	at, ok := is.Rose(was, []int{i})
	since := func(g telemetry.Time) float64 { return float64(g.Sub(before().From)) / float64(grid) }
	return since(at.Earliest), since(at.Latest), ok
}

// A load that rises between two spans rose there, however it is noisy; the
// interval holds the moment and is no longer than the noise makes it.
func TestALoadRoseWhenItDid(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	var held, long float64
	const sites = 200
	for range sites {
		w, i := loaded(t, func(k int) float64 {
			x := 0.2 + 0.2*rng.Float64()
			if k > half {
				x += 0.3
			}
			return x
		})
		earliest, latest, ok := rose(t, w, i)
		if !ok {
			t.Fatal("a load that rose by its threefold error did not rise")
		}
		if earliest <= half && half <= latest {
			held++
		}
		long += latest - earliest
	}
	if held < 0.95*sites {
		t.Errorf("%.0f of %d intervals hold the moment", held, sites)
	}
	if long > 6*sites {
		t.Errorf("an interval is %.1f grids long", long/sites)
	}
}

// bursts is a load of bursts of four grids in eight, to which more is added after a
// grid.
func bursts(height float64, from int, more float64) func(k int) float64 {
	return func(k int) float64 {
		x := height * float64((k/4)%2)
		if k > from {
			x += more
		}
		return x
	}
}

// Bursts of a step are as high as what was added to them: then it is known to some
// bursts when it rose, and not to a grid.
func TestBurstsBlurWhenALoadRose(t *testing.T) {
	w, i := loaded(t, bursts(0.6, half, 0.2))
	earliest, latest, ok := rose(t, w, i)
	if !ok || latest-earliest < 8 || earliest > half || latest < half {
		t.Errorf("rose between %.0f and %.0f of %d, %v", earliest, latest, half, ok)
	}
}

// What is less than before did not rise, nor did what is as much.
func TestALoadThatFellDidNotRise(t *testing.T) {
	for name, load := range map[string]func(int) float64{
		"fell": func(k int) float64 { return 0.4 - 0.2*float64(k/(half+1)) },
		"even": func(int) float64 { return 0.4 },
	} {
		w, i := loaded(t, load)
		if earliest, latest, ok := rose(t, w, i); ok {
			t.Errorf("%s: rose between %.0f and %.0f", name, earliest, latest)
		}
	}
}

// A load that rises well after the second span began is no more uncertain for it: the
// mean of that span is no level that it ever had.
func TestALoadMayRiseLater(t *testing.T) {
	later := half + half*4/5
	w, i := loaded(t, bursts(0.1, later, 0.3))
	earliest, latest, ok := rose(t, w, i)
	if !ok || earliest > float64(later) || latest < float64(later) || latest-earliest > 6 {
		t.Errorf("rose between %.0f and %.0f of %d, %v", earliest, latest, later, ok)
	}
}
