package window

import (
	"math"
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

// Span is At without holding: a counter's grids are the same, a gauge is seen
// only where it was sampled, and what is not closed is not there.
func TestSpanIsAtWithoutHolding(t *testing.T) {
	s := newSite(t, Config{})
	p := s.add("leaf0", uints(bytesTotal, temp), ether1)
	for n := range 13 {
		s.say(p, float64(5*n), uint64(500*n), uint64(n))
		s.close(float64(5 * n))
	}
	rate, gauge := s.slot(ether1, bytesTotal), s.slot(ether1, temp)
	for k, v := range s.w.Span(nil, rate, sec(10), sec(60)) {
		if want, ok := s.w.At(rate, sec(float64(11+k))); !ok || float64(v) != want {
			t.Errorf("rate at %d s: %v, want %v", 11+k, v, want)
		}
	}
	seen := 0
	for k, v := range s.w.Span(nil, gauge, sec(10), sec(60)) {
		if v == v {
			seen++
			if want, _ := s.w.At(gauge, sec(float64(11+k))); float64(v) != want {
				t.Errorf("gauge at %d s: %v, want %v", 11+k, v, want)
			}
		}
	}
	if seen != 10 {
		t.Errorf("a gauge sampled every 5 s was seen in %d of 50 grids, want 10", seen)
	}
	if n := len(s.w.Span(nil, rate, sec(50), sec(90))); n != 10 {
		t.Errorf("%d grids beyond the closed one, want the 10 that are closed", n)
	}
}

// Held is At, grid by grid: held gauges, counters' rates, and what is not known.
func TestKeptIsAtGridByGrid(t *testing.T) {
	s := newSite(t, Config{History: 40})
	p := s.add("leaf0", uints(bytesTotal, temp), ether1)
	for n := range 13 {
		if n < 5 || n > 8 { // long enough for the gauge to be forgotten
			s.say(p, float64(5*n), uint64(500*n), uint64(n))
		}
		s.close(float64(5 * n))
	}
	for _, slot := range []int{s.slot(ether1, bytesTotal), s.slot(ether1, temp)} {
		known := 0
		for k, v := range s.w.Held(nil, slot, sec(1), 80) {
			want, ok := s.w.At(slot, sec(float64(1+k)))
			if !ok {
				want = math.NaN()
			} else {
				known++
			}
			if math.Float64bits(v) != math.Float64bits(want) && (v == v || want == want) {
				t.Errorf("slot %d at %d s: %v, want %v", slot, 1+k, v, want)
			}
		}
		if known == 0 || known >= 80 {
			t.Errorf("slot %d: %d of 80 grids are known: nothing was tried", slot, known)
		}
	}
}

// Unmoved is a counter of which every rate is 0, until it increases, and no gauge.
func TestUnmovedIsACounterThatNeverIncreased(t *testing.T) {
	s := newSite(t, Config{})
	p := s.add("leaf0", uints(bytesTotal, drops32, temp), ether1)
	still := func(want bool) {
		t.Helper()
		for name, want := range map[telemetry.MetricName]bool{bytesTotal: false, drops32: want, temp: false} {
			if got := s.w.Unmoved(s.slot(ether1, name)); got != want {
				t.Errorf("%s unmoved: %v, want %v", name, got, want)
			}
		}
	}
	for n := range uint64(400) {
		drops := uint64(7)
		if n >= 20 {
			drops = 8
		}
		s.say(p, float64(n), 500*n, drops, 0)
		s.close(float64(n))
		if n > 1 {
			still(n < 20)
		}
	}
}
