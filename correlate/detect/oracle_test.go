package detect_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/quintet-dc/quintet/correlate/detect"
	"github.com/quintet-dc/quintet/telemetry"
)

// verdict is the answer of an oracle: at which sample a finding begins and ends,
// and with what it is compared when it begins.
type verdict struct {
	begins, ends int // ends is -1 while it lasts
	before       float64
}

// naiveShift is the shift detector in float64, as defined by the package comment
// and D.1's robust mean, one series at a time.
func naiveShift(xs []float64) (out []verdict) {
	const alpha = 1.0 / 87
	clip := func(x, l float64) float64 { return math.Max(-l, math.Min(l, x)) }
	mean, dev := 0.0, 0.0
	for i, x := range xs[:30] {
		away := x - mean
		if i == 0 {
			mean = x
			continue
		}
		mean, dev = mean+away/float64(i+1), dev+(math.Abs(away)-dev)/float64(i+1)
	}
	rise, fall, open, back := 0.0, 0.0, false, 0
	for i := 30; i < len(xs); i++ {
		away := xs[i] - mean
		sd := math.Max(1.2533*dev, 0.02*math.Abs(mean))
		if sd == 0 {
			sd = math.Max(math.Abs(away)/4, 1e-30)
		}
		if open {
			if back++; math.Abs(away) >= 1.5*sd {
				back = 0
			}
			if back == 5 {
				open, out[len(out)-1].ends = false, i
			}
			mean += clip(away, 3*sd) * alpha / 16
			continue
		}
		before := mean
		mean += clip(away, 3*sd) * alpha
		z := clip(away/sd, 4)
		dev += (math.Abs(z)*sd - dev) * alpha
		rise, fall = math.Max(0, rise+z-1.5), math.Max(0, fall-z-1.5)
		if math.Abs(away) <= 0.1*math.Abs(before) {
			rise, fall = math.Min(rise, 6.5), math.Min(fall, 6.5)
			continue
		}
		if away > 0 && rise > 9 || away < 0 && fall > 9 {
			out = append(out, verdict{i, -1, before})
			rise, fall, open, back = 0, 0, true, 0
		}
	}
	return out
}

// naiveBurst remembers every rate that was learned and takes the largest of
// what is left of each. The first rate is xs[1]: a counter's first sample has
// none.
func naiveBurst(xs []float64) (out []verdict) {
	type learned struct {
		at   int
		rate float64
	}
	var past []learned
	largest := func(seen int) (e float64) {
		for _, p := range past {
			e = math.Max(e, p.rate*math.Pow(1-1.0/256, float64(seen-p.at)))
		}
		return e
	}
	clock := 0 // does not run while something is suspected
	doubt, open, peak, held := 0, false, 0.0, 0.0
	for i := 1; i < len(xs); i++ {
		x, e := xs[i], largest(clock)
		switch {
		case i > 30 && x > 2*e:
			if doubt == 0 {
				held, peak = e, 0
			}
			peak = math.Max(peak, x)
			if doubt = min(doubt+2, 8); doubt >= 4 && !open {
				open = true
				out = append(out, verdict{i, -1, held})
			}
		case doubt > 0:
			if doubt--; doubt == 0 {
				past = append(past, learned{clock, peak})
				if open {
					open, out[len(out)-1].ends = false, i
				}
			}
		default:
			clock++
			past = append(past, learned{clock, x})
		}
	}
	return out
}

// naiveLevel judges a gauge of which a rise is better.
func naiveLevel(xs []float64) (out []verdict) {
	usual := 0.0
	for _, x := range xs[:30] {
		usual += x / 30
	}
	doubt, better, open, held := 0, 0, false, 0.0
	for i := 30; i < len(xs); i++ {
		x := xs[i]
		off := (x - usual) / usual
		if off < -0.1 {
			if doubt == 0 {
				held = usual
			}
			better = 0
			if doubt = min(doubt+2, 8); doubt >= 4 && !open {
				open = true
				out = append(out, verdict{i, -1, held})
			}
			continue
		}
		if math.Abs(off) > 0.05 && off <= 0.1 {
			continue // neither
		}
		if doubt > 0 {
			if doubt--; doubt == 0 && open {
				open, out[len(out)-1].ends = false, i
			}
		}
		switch {
		case off > 0.1 && better == 60:
			usual, better = x, 0
		case off > 0.1:
			better++
		default:
			if better = 0; doubt == 0 {
				usual += (x - usual) / 87
			}
		}
	}
	return out
}

// walks are random series of a kind that detectors have to do with: levels with
// noise, jumps, spikes and stretches of nothing.
func walks(seed uint64, series, seconds int) [][]float64 {
	out := make([][]float64, series)
	for s := range out {
		random := rand.New(rand.NewPCG(seed, uint64(s)))
		level, noise := math.Floor(1000*random.ExpFloat64())+50, []float64{0, 0.01, 0.05, 0.2}[s%4]
		now := level
		for range seconds {
			switch random.IntN(60) {
			case 0:
				now = level * (0.3 + 2*random.Float64())
			case 1:
				now = 0
			case 2, 3, 4:
				now = level
			}
			x := now * (1 + noise*(2*random.Float64()-1))
			if random.IntN(100) == 0 {
				x *= 5
			}
			out[s] = append(out[s], math.Floor(x))
		}
	}
	return out
}

// bursts are rates that are mostly nothing or little, with bursts of any size.
func bursts(seed uint64, series, seconds int) [][]float64 {
	out := make([][]float64, series)
	for s := range out {
		random := rand.New(rand.NewPCG(seed, uint64(s)))
		usual := math.Floor([]float64{0, 3, 200}[s%3] * (1 + random.Float64()))
		left, size := 0, 0.0
		for range seconds {
			if left--; left < 0 && random.IntN(50) == 0 {
				left, size = random.IntN(12), 2000*math.Pow(random.Float64(), 3)
			}
			x := usual * random.Float64()
			if left >= 0 {
				x += size * (0.5 + random.Float64())
			}
			out[s] = append(out[s], math.Floor(x))
		}
	}
	return out
}

func TestTheKernelsAgreeWithTheNaiveOnes(t *testing.T) {
	for _, c := range []struct {
		metric telemetry.MetricName
		shape  telemetry.Shape
		series func(seed uint64, series, seconds int) [][]float64
		naive  func([]float64) []verdict
	}{
		{temp, telemetry.ShapeShift, walks, naiveShift},
		{errs, telemetry.ShapeBurst, bursts, naiveBurst},
		{limit, telemetry.ShapeLevel, walks, naiveLevel},
	} {
		t.Run(c.shape.String(), func(t *testing.T) {
			const series, seconds = 60, 700
			values := c.series(uint64(c.shape), series, seconds)
			got := make([][]verdict, series)
			s := newSite(t)
			d := s.device("leaf", series, c.metric)
			for n := range seconds {
				s.feedAll(d, 1, func(_, i int) float64 { return values[i][n] })
				note(t, got, s.found, n)
				s.found = s.found[:0]
			}
			total := 0
			for i := range values {
				want := c.naive(values[i])
				total += len(want)
				compare(t, i, got[i], want)
			}
			if total < series/2 {
				t.Errorf("only %d findings: the series show nothing", total)
			}
			t.Logf("%d findings of %d series", total, series)
		})
	}
}

// note files the findings of second n under their series.
func note(t *testing.T, got [][]verdict, found []detect.Finding, n int) {
	t.Helper()
	for _, f := range found {
		var e int
		if _, err := fmt.Sscanf(f.Series.Entity.Name, "leaf/eth%d", &e); err != nil {
			t.Fatal(err)
		}
		if f.Ended != 0 {
			got[e][len(got[e])-1].ends = n
			continue
		}
		got[e] = append(got[e], verdict{n, -1, f.Before})
	}
}

// compare requires the same findings, and the values with which they are compared
// within what float32 can hold.
func compare(t *testing.T, series int, got, want []verdict) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("series %d: %d findings, want %d", series, len(got), len(want))
		return
	}
	for k, w := range want {
		if g := got[k]; g.begins != w.begins || g.ends != w.ends || math.Abs(g.before-w.before) > 1e-4*math.Abs(w.before)+1e-6 {
			t.Errorf("series %d: finding %d is %+v, want %+v", series, k, g, w)
		}
	}
}
