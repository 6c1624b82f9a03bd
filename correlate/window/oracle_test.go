package window

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

// reading is one sample of the oracle's counter.
type reading struct {
	t    float64 // seconds
	word uint64
}

// oracle is a naive counter of 64 bits: every query walks all readings from the
// beginning. It resets; wraps have a test of their own.
type oracle []reading

// rate returns the rate between reading i-1 and i, false where there is none.
func (o oracle) rate(i int) (float64, bool) {
	if i == 0 || o[i].word < o[i-1].word {
		return 0, false
	}
	return float64(o[i].word-o[i-1].word) / (o[i].t - o[i-1].t), true
}

// mean returns the mean rate over (from, to] of the segments that end by known,
// weighted by time, and how many seconds they cover.
func (o oracle) mean(from, to, known float64) (rate, cover float64) {
	sum := 0.0
	for i := range o {
		if o[i].t > known {
			break
		}
		r, ok := o.rate(i)
		if !ok {
			continue
		}
		if d := min(to, o[i].t) - max(from, o[i-1].t); d > 0 {
			sum += r * d
			cover += d
		}
	}
	return sum / cover, cover
}

// value is what Value should be when the grid that ends at g is closed. The
// cadence may be measured anew by this very grid's sample: before is what was
// known when the sample came.
func (o oracle) value(g, before, cadence float64) (float64, Flag) {
	last := -1
	for i := range o {
		if o[i].t <= g {
			last = i
		}
	}
	if last < 0 {
		return nan, Missing
	}
	_, ok := o.rate(last)
	if o[last].t <= g-1 {
		switch {
		case g-o[last].t > 3*cadence || !ok:
			return nan, Missing
		default:
			return o.stood(last), Held
		}
	}
	switch {
	case last == 0:
		return nan, First
	case !ok:
		return nan, Reset
	}
	v, _ := o.ended(g)
	if o[last].t-o[last-1].t > 3*before {
		return v, Gapped
	}
	return v, Fresh
}

// ended is the mean in the grid of the segments that ended in it.
func (o oracle) ended(g float64) (float64, float64) {
	sum, cover := 0.0, 0.0
	for i := range o {
		if r, ok := o.rate(i); ok && o[i].t > g-1 && o[i].t <= g {
			d := o[i].t - max(g-1, o[i-1].t)
			sum += r * d
			cover += d
		}
	}
	return sum / cover, cover
}

// stood is the value of the grid in which reading i lies.
func (o oracle) stood(i int) float64 {
	v, _ := o.ended(math.Ceil(o[i].t))
	return v
}

// TestRatesAgainstAnOracle plays random counters: several in a run, irregular
// and lost samples, resets, and asks everything that can be asked.
func TestRatesAgainstAnOracle(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { checkRates(t, rand.New(rand.NewPCG(seed, 7))) })
	}
}

func checkRates(t *testing.T, r *rand.Rand) {
	const n, until = 4, 30
	s := newSite(t, Config{})
	var es []telemetry.Entity
	for i := range n {
		es = append(es, telemetry.Entity{Kind: telemetry.Port, Name: fmt.Sprint("sw/", i)})
	}
	p := s.schema("sw", telemetry.Prompt, uints(bytesTotal), es...)
	p.Cadence = second
	s.w.AddSchema(p)
	oracles := make([]oracle, n)
	words := make([]uint64, n)
	for i := range words {
		words[i] = 1<<40 + uint64(r.IntN(1e6))
	}
	step := []float64{1, 1, 0.4}[r.IntN(3)]
	lossy := r.IntN(2) == 0
	for at := math.Round(r.Float64()*1e3) / 1e3; at < until; {
		said := make([]uint64, n)
		for i := range words {
			words[i] += uint64(r.IntN(3) * r.IntN(1e6))
			if r.IntN(40) == 0 {
				words[i] = uint64(r.IntN(1000))
			}
			said[i] = words[i]
			if lossy && r.IntN(10) == 0 {
				said[i] = []uint64{gap, absent}[r.IntN(2)]
				continue
			}
			oracles[i] = append(oracles[i], reading{at, words[i]})
		}
		s.w.AddFrame(s.frame(p, at, said...))
		d := step * (0.9 + 0.2*r.Float64())
		if lossy && r.IntN(9) == 0 {
			d += float64(r.IntN(6))
		}
		at = math.Round((at+d)*1e6) / 1e6
	}
	for g := 0.0; g <= until; g++ {
		slot := s.slot(es[0], bytesTotal)
		before := s.w.Cadence(slot)
		s.close(g)
		for i, o := range oracles {
			v, f := o.value(g, before.Seconds(), s.w.Cadence(slot).Seconds())
			s.want(es[i], bytesTotal, v, f)
			for back := 0.0; back < 5 && g-back >= 0; back++ {
				v, cover := o.mean(g-back-1, g-back, g)
				if !(cover > 1e-9) {
					v = nan
				}
				s.wantAt(es[i], bytesTotal, g-back, v)
			}
		}
		if t.Failed() {
			t.Fatalf("at grid %v", g)
		}
	}
}
