package window

import (
	"math"
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

func TestACounterBecomesARate(t *testing.T) {
	s := newSite(t, Config{})
	p := s.add("leaf0", uints(bytesTotal), ether1)
	s.say(p, 0, 1000)
	s.close(0)
	s.want(ether1, bytesTotal, nan, First)
	s.say(p, 1, 1500)
	s.close(1)
	s.want(ether1, bytesTotal, 500, Fresh)
	s.say(p, 2, 1500)
	s.close(2)
	s.want(ether1, bytesTotal, 0, Fresh)
}

func TestLargeCountersLoseNothing(t *testing.T) {
	s := newSite(t, Config{})
	p := s.add("leaf0", uints(bytesTotal), ether1)
	s.say(p, 0, 1<<63)
	s.say(p, 1, 1<<63+7)
	s.close(1)
	s.want(ether1, bytesTotal, 7, Fresh)
}

func TestDecimalAndFloatCounters(t *testing.T) {
	s := newSite(t, Config{})
	cols := []telemetry.Column{{Metric: pauseSecs, Type: telemetry.Decimal, Exp: 6}, {Metric: bytesTotal, Type: telemetry.Float}}
	p := s.add("leaf0", cols, ether1)
	s.say(p, 0, 100_000, math.Float64bits(0.5))
	s.say(p, 2, 600_000, math.Float64bits(4.5))
	s.close(2)
	s.want(ether1, pauseSecs, 0.25, Fresh)
	s.want(ether1, bytesTotal, 2, Fresh)
}

func TestAFrameIsSeenWhenItsGridIsClosedAndNotBefore(t *testing.T) {
	s := newSite(t, Config{})
	p := s.add("leaf0", uints(temp), ether1)
	s.say(p, 1, 40)
	s.say(p, 2, 50)
	s.close(1)
	s.want(ether1, temp, 40, Fresh)
	s.close(2)
	s.want(ether1, temp, 50, Fresh)
}

func TestTheEdgesOfAGridBelongToTheEarlierOne(t *testing.T) {
	s := newSite(t, Config{})
	p := s.add("leaf0", uints(temp), ether1)
	s.say(p, 1, 1)
	s.say(p, 1.000000001, 2)
	s.close(1)
	s.want(ether1, temp, 1, Fresh)
	s.close(2)
	s.want(ether1, temp, 2, Fresh)
}

func TestSeveralGaugesInAGridAreAveraged(t *testing.T) {
	s := newSite(t, Config{})
	p := s.add("leaf0", uints(temp, up), ether1)
	s.say(p, 0.2, 10, 1)
	s.say(p, 0.5, 20, 1)
	s.say(p, 0.9, 60, 0)
	s.close(1)
	s.want(ether1, temp, 30, Fresh)
	s.wantAt(ether1, temp, 1, 30)
	s.want(ether1, up, 0, Fresh) // a state is the last one, never a mean
}

func TestSeveralRatesInAGridAreWeightedByTime(t *testing.T) {
	s := newSite(t, Config{})
	p := s.add("leaf0", uints(bytesTotal), ether1)
	s.say(p, 0, 0)
	s.close(0)
	s.say(p, 0.25, 100) // 400/s for 0.25 s
	s.say(p, 0.75, 100) // 0/s for 0.5 s
	s.close(1)
	s.want(ether1, bytesTotal, 100/0.75, Fresh)
	s.wantAt(ether1, bytesTotal, 1, 100/0.75)
	s.say(p, 1.75, 1100) // 1000/s, 0.25 s of it in the grid before
	s.close(2)
	s.want(ether1, bytesTotal, 1000, Fresh)
	s.wantAt(ether1, bytesTotal, 1, 350) // 400·¼ + 0·½ + 1000·¼
}

func TestJitterAgainstTheGridIsRepairedInThePast(t *testing.T) {
	s := newSite(t, Config{})
	p := s.add("leaf0", uints(bytesTotal), ether1)
	s.say(p, 120.191, 0)
	s.close(121)
	s.say(p, 121.143, 952) // 1000/s
	s.close(122)
	s.want(ether1, bytesTotal, 1000, Fresh)
	s.wantAt(ether1, bytesTotal, 122, 1000)
	s.say(p, 122.175, 952+2064) // 2000/s
	s.close(123)
	s.want(ether1, bytesTotal, 2000, Fresh)
	s.wantAt(ether1, bytesTotal, 122, 0.143*1000+0.857*2000)
}

func TestASlowCounterFillsTheGridsItSpans(t *testing.T) {
	s := newSite(t, Config{})
	p := s.schema("leaf0", telemetry.Prompt, uints(bytesTotal, temp), ether1)
	p.Cadence = 10 * second
	s.w.AddSchema(p)
	s.say(p, 10, 0, 5)
	s.close(19)
	s.want(ether1, bytesTotal, nan, Missing) // one sample makes no rate
	s.wantAt(ether1, bytesTotal, 15, nan)
	s.say(p, 20, 5000, 6)
	s.close(20)
	s.want(ether1, bytesTotal, 500, Fresh)
	for g := 11.0; g <= 20; g++ {
		s.wantAt(ether1, bytesTotal, g, 500)
		s.wantAt(ether1, temp, g, map[bool]float64{false: 5, true: 6}[g == 20])
	}
	s.wantAt(ether1, bytesTotal, 10, nan)
	s.close(29)
	s.want(ether1, bytesTotal, 500, Held)
	s.wantAt(ether1, bytesTotal, 25, nan) // not known before the next sample
}

func TestALostSampleIsAGapNotAZero(t *testing.T) {
	s := newSite(t, Config{})
	p := s.add("leaf0", uints(bytesTotal, temp), ether1)
	for i := range 11 {
		s.say(p, float64(i), uint64(i)*100, 7)
	}
	s.close(11)
	s.want(ether1, bytesTotal, 100, Held)
	s.want(ether1, temp, 7, Held)
	s.say(p, 12, 1400, 8)
	s.close(12)
	s.want(ether1, bytesTotal, 200, Fresh)
	s.wantAt(ether1, bytesTotal, 11, 200)
	s.close(15)
	s.want(ether1, temp, 8, Held)
	s.close(16)
	s.want(ether1, temp, nan, Missing)
	s.want(ether1, bytesTotal, nan, Missing)
	s.say(p, 22, 2400, 9)
	s.close(22)
	s.want(ether1, bytesTotal, 100, Gapped)
	s.wantAt(ether1, bytesTotal, 17, 100)
}

func TestAnExplicitGapIsCountedAndHasNoValue(t *testing.T) {
	s := newSite(t, Config{})
	p := s.add("leaf0", uints(bytesTotal, temp), ether1, ether2)
	s.say(p, 0, 0, 0, 5, 5)
	s.say(p, 1, 100, gap, 6, gap)
	s.close(1)
	s.want(ether1, bytesTotal, 100, Fresh)
	s.want(ether2, temp, 5, Held)
	if got := s.w.Counts().Gaps; got != 2 {
		t.Errorf("%d gaps, want 2", got)
	}
	s.say(p, 2, 200, 300, 6, 6)
	s.close(2)
	s.want(ether2, bytesTotal, 150, Fresh)
}

func TestAResetYieldsNoRate(t *testing.T) {
	s := newSite(t, Config{})
	p := s.add("leaf0", uints(bytesTotal), ether1)
	s.say(p, 0, 1_000_000)
	s.say(p, 1, 1_001_000)
	s.say(p, 2, 500)
	s.close(2)
	s.want(ether1, bytesTotal, nan, Reset)
	s.wantAt(ether1, bytesTotal, 2, nan)
	s.say(p, 3, 1500)
	s.close(3)
	s.want(ether1, bytesTotal, 1000, Fresh)
	if got := s.w.Counts().Resets; got != 1 {
		t.Errorf("%d resets, want 1", got)
	}
}

func TestACounterWrapsAtItsWidth(t *testing.T) {
	for _, c := range []struct {
		what       string
		metric     telemetry.MetricName
		prev, next uint64
		rate       float64 // of the second before
		want       float64 // NaN: reset
	}{
		{"declared 32 bits", drops32, 1<<32 - 20, 10, 25, 30},
		{"declared 32 bits, quiet until then", drops32, 1<<32 - 20, 10, 0, 30},
		{"declared 32 bits, far from its end", drops32, 1 << 20, 10, 100, nan},
		{"declared 32 bits, fast", drops32, 3 << 30, 1 << 29, 1 << 30, 1<<30 + 1<<29},
		{"declared 64 bits, kept in 32", bytesTotal, 4294947296, 0, 20000, 20000},
		{"declared 64 bits, kept in 32, implausible", bytesTotal, 1<<32 - 1<<27, 1 << 27, 100, nan},
		{"declared 64 bits, a reset below 2^32", bytesTotal, 850080000, 0, 3e6, nan},
		{"declared 64 bits, at its end", bytesTotal, math.MaxUint64 - 9, 90, 100, 100},
		{"declared 64 bits, large, reset", bytesTotal, 1 << 62, 90, 100, nan},
		{"sticks, so it never wraps", waitTicks, 1<<32 - 20, 10, 25, nan},
	} {
		t.Run(c.what, func(t *testing.T) {
			s := newSite(t, Config{})
			p := s.add("leaf0", uints(c.metric), ether1)
			s.say(p, 0, c.prev-uint64(c.rate))
			s.say(p, 1, c.prev)
			s.say(p, 2, c.next)
			s.close(2)
			f := Fresh
			if math.IsNaN(c.want) {
				f = Reset
			}
			s.want(ether1, c.metric, c.want, f)
		})
	}
}

func TestACounterThatSticksIsBlindAtItsMaximum(t *testing.T) {
	s := newSite(t, Config{})
	p := s.add("leaf0", uints(waitTicks), ether1)
	s.say(p, 0, 1<<32-100)
	s.say(p, 1, 1<<32-50)
	s.close(1)
	s.want(ether1, waitTicks, 50, Fresh)
	s.say(p, 2, 1<<32-1)
	s.say(p, 3, 1<<32-1)
	s.close(3)
	s.want(ether1, waitTicks, nan, Stuck)
	s.say(p, 4, 3)
	s.close(4)
	s.want(ether1, waitTicks, nan, Reset)
	s.say(p, 5, 5)
	s.close(5)
	s.want(ether1, waitTicks, 2, Fresh)
}

func TestStepsAreEventsInTime(t *testing.T) {
	s := newSite(t, Config{})
	p := s.add("train", []telemetry.Column{{Metric: stepSecs, Type: telemetry.Decimal, Exp: 3}}, train, telemetry.Entity{Kind: telemetry.Job, Name: "other"})
	s.close(0)
	s.say(p, 0.7, 333, absent)
	s.say(p, 0.3, absent, 250)
	s.say(p, 0.5, 331, absent)
	c := s.close(1)
	want := []struct {
		at, v float64
		name  string
	}{{0.3, 0.25, "other"}, {0.5, 0.331, "train"}, {0.7, 0.333, "train"}}
	if len(c.Steps) != len(want) {
		t.Fatalf("%d steps, want %d", len(c.Steps), len(want))
	}
	for i, x := range want {
		if g := c.Steps[i]; g.At != sec(x.at) || g.Value != x.v || g.Series.Entity.Name != x.name || g.Series.Metric != stepSecs {
			t.Errorf("step %d is %+v, want %+v", i, g, x)
		}
	}
	if c := s.close(2); len(c.Steps) != 0 {
		t.Errorf("steps are told twice: %+v", c.Steps)
	}
}

func TestUndeclaredMetricsAreCarried(t *testing.T) {
	s := newSite(t, Config{})
	p := s.add("leaf0", uints(unknown), ether1)
	s.say(p, 1, 12)
	s.close(1)
	s.want(ether1, unknown, 12, Fresh)
	slot := s.slot(ether1, unknown)
	if s.w.Metric(slot) != nil {
		t.Error("an undeclared metric has a declaration")
	}
	if _, ok := s.w.At(slot, sec(1)); ok {
		t.Error("an undeclared metric has a past")
	}
}

func TestThePastForgets(t *testing.T) {
	s := newSite(t, Config{History: 5})
	p := s.add("leaf0", uints(temp), ether1)
	for i := range 11 {
		s.say(p, float64(i), uint64(100+i))
	}
	s.close(10)
	for g := 6.0; g <= 10; g++ {
		s.wantAt(ether1, temp, g, 100+g)
	}
	s.wantAt(ether1, temp, 5, nan)
	s.wantAt(ether1, temp, 11, nan)
}

func TestTheCadenceIsMeasured(t *testing.T) {
	s := newSite(t, Config{})
	p := s.schema("leaf0", telemetry.Prompt, uints(temp), ether1)
	p.Cadence = second
	s.w.AddSchema(p)
	s.close(0)
	slot := s.slot(ether1, temp)
	if got := s.w.Cadence(slot); got != second {
		t.Errorf("stated cadence is %v, want 1 s", got)
	}
	for i := range 6 {
		s.say(p, 1+10*float64(i), 5)
		s.close(1 + 10*float64(i))
	}
	if got := s.w.Cadence(slot); got != 10*second {
		t.Errorf("measured cadence is %v, want 10 s", got)
	}
	s.close(80)
	s.want(ether1, temp, 5, Held)
}

func TestWhatIsNotANumberIsAGap(t *testing.T) {
	s := newSite(t, Config{})
	cols := []telemetry.Column{{Metric: temp, Type: telemetry.Float}, {Metric: bytesTotal, Type: telemetry.Float}}
	p := s.add("leaf0", cols, ether1)
	s.say(p, 0, math.Float64bits(40), math.Float64bits(100))
	for i, odd := range []float64{math.Inf(1), math.Inf(-1), 1e300, nan} {
		s.say(p, float64(i+1), math.Float64bits(odd), math.Float64bits(odd))
	}
	s.close(4)
	if got := s.w.Counts().Gaps; got != 8 {
		t.Errorf("%d gaps, want 8", got)
	}
	s.wantAt(ether1, temp, 3, 40)
	s.say(p, 5, math.Float64bits(41), math.Float64bits(600))
	s.close(5)
	s.want(ether1, temp, 41, Gapped)
	s.want(ether1, bytesTotal, 100, Gapped)
}

// TestWhatNoDeviceCanReachIsNoReading: a sensor that states a million degrees while it
// restarts has stated nothing.
func TestWhatNoDeviceCanReachIsNoReading(t *testing.T) {
	s := newSite(t, Config{})
	p := s.add("leaf0", uints(temp), ether1)
	for i, v := range []uint64{60, 61, 1_000_000, 62} {
		s.say(p, float64(i), v)
		s.close(float64(i))
		if v > 1000 {
			s.want(ether1, temp, 61, Held)
		} else {
			s.want(ether1, temp, float64(v), Fresh)
		}
	}
	if got := s.w.Counts().Gaps; got != 1 {
		t.Errorf("%d gaps, want 1", got)
	}
}
