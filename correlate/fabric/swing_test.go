package fabric_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/quintet-dc/quintet/correlate/fabric"
)

// loaded lets nic:h0/n0 carry so much of its link in each grid.
func loaded(t *testing.T, load func(k int) float64) (*world, int) {
	t.Helper()
	w := quiet(t, 2, 1, 2)
	for k := 1; k <= grids; k++ {
		w.report("nic:h0/n0", txBytes, k, k, load(k)*speed)
	}
	i, ok := fabric.Survey(w.graph, w).Index(entity("nic:h0/n0"))
	if !ok {
		t.Fatal("nic:h0/n0 is not on the map")
	}
	return w, i
}

// loadErr is what the fabric takes for the standard error of what that end sends
// now against before, and what it sends more.
func loadErr(w *world, i int) (err, more float64) {
	m := fabric.Survey(w.graph, w)
	was := m.Read(w, grid, before())
	is := m.ReadEach(fabric.Recording{History: w, Grid: grid, Before: was}, now(), func(n int, fn func(slice, lo, hi int)) { fn(0, 0, n) })
	return is.LoadErr(was, i), is.Of[i].Util - was.Of[i].Util
}

// The differences that chance makes are as large as their stated error: over many
// sites their mean square is that of the error.
func TestALoadDiffersByItsError(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	var squares, stated float64
	for range 300 {
		w, i := loaded(t, func(int) float64 { return 0.4 + 0.2*rng.Float64() })
		err, more := loadErr(w, i)
		squares += more * more
		stated += err * err
	}
	if ratio := math.Sqrt(stated / squares); ratio < 0.8 || ratio > 1.25 {
		t.Errorf("the stated error is %.2f times the true one", ratio)
	}
}

// Bursts that come every four grids even out over whole periods: that a grid alone
// is full or empty is no error of a mean over twenty.
func TestBurstsOfAStepEvenOut(t *testing.T) {
	w, i := loaded(t, func(k int) float64 { return float64((k / 2) % 2) })
	if err, _ := loadErr(w, i); err > 0.02 {
		t.Errorf("a load of whole periods has an error of %.3f of the link's speed", err)
	}
	w, i = loaded(t, func(k int) float64 { return float64((k / 9) % 2) })
	if err, _ := loadErr(w, i); err < 0.1 {
		t.Errorf("a load with a rest of nine grids in eighteen has an error of %.3f only", err)
	}
}

// An end that was sampled once or twice does not show how its load varies.
func TestALoadThatWasSampledOnceProvesNothing(t *testing.T) {
	w, i := loaded(t, func(k int) float64 { return 0.2 + 0.2*float64(k/(half+1)) })
	w.every = half * grid
	err, more := loadErr(w, i)
	if more < 0.15 || err < more/2 {
		t.Errorf("%.2f more with an error of %.2f, from one sample before", more, err)
	}
}

// Two grids show no swing either: that they are equal is no error of zero.
func TestLoadErrOfTwoGridsIsNotZero(t *testing.T) {
	w, i := loaded(t, func(k int) float64 {
		if k < half-1 {
			return math.NaN()
		}
		return 0.4
	})
	if err, _ := loadErr(w, i); err < 0.1 {
		t.Errorf("an error of %.3f from two grids before", err)
	}
}

// An end that was not seen before may have sent anything: that it sends now is no rise.
func TestAnEndThatWasNotSeenBeforeHasNoRise(t *testing.T) {
	w, i := loaded(t, func(k int) float64 {
		if k <= half {
			return math.NaN()
		}
		return 0.4
	})
	if err, more := loadErr(w, i); err < 2*more {
		t.Errorf("%.2f more with an error of %.2f, of an end that was not seen before", more, err)
	}
}
