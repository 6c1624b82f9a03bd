package detect_test

import (
	"math"
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

func TestASuddenShiftIsFoundAndEndsWhenItIsOver(t *testing.T) {
	for name, m := range map[string]telemetry.MetricName{"gauge": temp, "rate": traffic} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			d := s.device("leaf", 1, m)
			s.feed(d, around(100, 1000, 0.03)...)
			s.wants()
			s.feed(d, around(3, 1400, 0.03)...)
			s.wants() // not confirmed
			s.feed(d, around(1, 1400, 0.03)...)
			f := s.only("shift begins")
			if f.Onset.Earliest > at(100) || f.Onset.Latest != at(101) {
				t.Errorf("onset %v to %v, want %v to %v", f.Onset.Earliest, f.Onset.Latest, at(100), at(101))
			}
			if math.Abs(f.Before-1000) > 30 || math.Abs(f.Now-1400) > 50 || f.Score < 1 {
				t.Errorf("before %v, now %v, score %v", f.Before, f.Now, f.Score)
			}
			s.feed(d, around(30, 1400, 0.03)...)
			s.wants() // told once
			if s.lasting() != 1 {
				t.Error("it does not last")
			}
			s.feed(d, hold(5, 1000)...)
			if f := s.only("shift ends"); f.Ended != at(s.now) {
				t.Errorf("ended at %v, want %v", f.Ended, at(s.now))
			}
			if s.lasting() != 0 {
				t.Error("it lasts")
			}
		})
	}
}

func TestAFallIsAShift(t *testing.T) {
	s := newSite(t)
	d := s.device("leaf", 1, temp)
	s.feed(d, around(60, 1000, 0.03)...)
	s.feed(d, around(10, 500, 0.03)...)
	if f := s.only("shift begins"); f.Now > f.Before {
		t.Errorf("a fall from %v to %v", f.Before, f.Now)
	}
}

func TestASpikeIsNoShift(t *testing.T) {
	for _, usual := range []float64{0, 1, 1000} {
		s := newSite(t)
		d := s.device("leaf", 1, temp)
		s.feed(d, hold(60, usual)...)
		s.feed(d, usual+5000)
		s.feed(d, hold(60, usual)...)
		s.feed(d, usual+5000, usual+5000)
		s.feed(d, hold(60, usual)...)
		s.wants()
	}
}

// A sum of small rises, none of which is worth a finding, must not let one
// sample confirm.
func TestASpikeOnASmallRiseIsNoShift(t *testing.T) {
	s := newSite(t)
	d := s.device("leaf", 1, temp)
	s.feed(d, hold(60, 1000)...)
	s.feed(d, hold(12, 1080)...)
	s.feed(d, 2000)
	s.feed(d, hold(12, 1040)...)
	s.wants()
	s.feed(d, 500)
	s.feed(d, hold(60, 1040)...)
	s.wants()
}

func TestFromNothingToSomethingIsAShift(t *testing.T) {
	s := newSite(t)
	d := s.device("leaf", 1, temp)
	s.feed(d, hold(60, 0)...)
	s.feed(d, hold(3, 7)...)
	s.wants()
	s.feed(d, 7)
	if f := s.only("shift begins"); f.Onset.Latest != at(61) {
		t.Errorf("onset by %v, want %v", f.Onset.Latest, at(61))
	}
}

// A day of ten-second samples that rise and fall by three tenths.
func TestASlowDailyChangeIsNoShift(t *testing.T) {
	s := newSite(t)
	d := s.device("leaf", 1, temp)
	noise := around(8640, 1, 0.01)
	for i, n := range noise {
		s.feed(d, 100*n*(1+0.3*math.Sin(2*math.Pi*float64(i)/8640)))
	}
	s.wants()
}

func TestANewSeriesIsNotJudged(t *testing.T) {
	s := newSite(t)
	d := s.device("leaf", 1, temp)
	s.feed(d, hold(15, 10)...)
	s.feed(d, hold(14, 1000)...)
	s.wants()
}

func TestABurstFromZero(t *testing.T) {
	s := newSite(t)
	d := s.device("leaf", 1, errs)
	s.feed(d, hold(60, 0)...)
	s.feed(d, 40)
	s.wants()
	s.feed(d, 60)
	f := s.only("burst begins")
	if f.Before != 0 || f.Now != 60 || f.Score != 100 || f.Onset.Earliest != at(60) || f.Onset.Latest != at(61) {
		t.Errorf("found %+v", f)
	}
	s.feed(d, hold(20, 50)...)
	s.wants()
	s.feed(d, hold(8, 0)...)
	s.only("burst ends")
}

func TestASingleErrorIsNoBurst(t *testing.T) {
	s := newSite(t)
	d := s.device("leaf", 1, errs)
	s.feed(d, hold(60, 0)...)
	s.feed(d, 1000)
	s.feed(d, hold(60, 0)...)
	s.wants()
}

func TestABurstIsMoreThanTwiceTheUsualOnes(t *testing.T) {
	s := newSite(t)
	d := s.device("leaf", 1, errs)
	for i := range 300 { // bursts of a hundred are usual here
		s.feed(d, map[bool]float64{true: 100, false: 0}[i%20 < 5])
	}
	s.wants()
	s.feed(d, hold(10, 150)...)
	s.wants()
	s.feed(d, 400, 400)
	if f := s.only("burst begins"); f.Before < 100 || f.Before > 150 {
		t.Errorf("held against %v, want about 150", f.Before)
	}
	s.feed(d, hold(8, 0)...)
	s.only("burst ends")
	s.feed(d, hold(2, 700)...)
	s.feed(d, hold(8, 0)...)
	s.wants() // it has learned how large they can be
}

func TestALevelOpensDoesNotFlapAndCloses(t *testing.T) {
	s := newSite(t)
	d := s.device("leaf", 1, limit)
	s.feed(d, hold(60, 700)...)
	s.feed(d, 500)
	s.wants()
	s.feed(d, 500)
	if f := s.only("level begins"); f.Before != 700 || f.Now != 500 || f.Onset.Latest != at(61) {
		t.Errorf("found %+v", f)
	}
	for range 30 { // between 5 % and 15 % below
		s.feed(d, 650, 600)
	}
	s.wants()
	s.feed(d, hold(10, 700)...)
	s.only("level ends")
}

func TestOneBadSampleIsNoLevel(t *testing.T) {
	s := newSite(t)
	d := s.device("leaf", 1, up)
	s.feed(d, hold(60, 1)...)
	s.feed(d, 0)
	s.feed(d, hold(10, 1)...)
	s.wants()
	s.feed(d, 0, 0)
	s.only("level begins")
	s.feed(d, hold(4, 1)...)
	s.only("level ends")
}

func TestABetterLevelIsNoFindingAndBecomesTheUsualOne(t *testing.T) {
	s := newSite(t)
	d := s.device("leaf", 1, limit)
	s.feed(d, hold(60, 500)...)
	s.feed(d, hold(80, 700)...)
	s.wants()
	s.feed(d, hold(2, 500)...)
	s.only("level begins")
}

func TestASeriesFallsSilent(t *testing.T) {
	s := newSite(t)
	d := s.device("leaf", 2, alive)
	s.feedAll(d, 40, func(int, int) float64 { return 1 })
	s.feedAll(d, 3, func(_, i int) float64 { return []float64{1, lost}[i] })
	s.wants() // three cadences
	s.feedAll(d, 1, func(_, i int) float64 { return []float64{1, lost}[i] })
	f := s.only("silence begins")
	if f.Series.Entity != port(1) || f.Onset.Earliest != at(40) || f.Onset.Latest != at(43) {
		t.Errorf("found %+v", f)
	}
	s.feedAll(d, 20, func(_, i int) float64 { return []float64{1, lost}[i] })
	s.wants()
	s.feedAll(d, 1, func(int, int) float64 { return 1 })
	s.only("silence ends")
}

func TestAGapOfTwoSamplesIsNoSilence(t *testing.T) {
	s := newSite(t)
	d := s.device("leaf", 2, alive)
	for range 10 {
		s.feedAll(d, 4, func(int, int) float64 { return 1 })
		s.feedAll(d, 2, func(_, i int) float64 { return []float64{1, lost}[i] })
	}
	s.wants()
}

func TestASilentSourceIsOneFinding(t *testing.T) {
	s := newSite(t)
	d := s.device("leaf", 20, alive, mixed)
	s.feedAll(d, 40, func(int, int) float64 { return 1 })
	for range 30 {
		s.close()
	}
	f := s.only("silence begins")
	if f.Slot != -1 || f.Series.Entity.Kind != telemetry.Collector || f.Onset.Earliest != at(40) {
		t.Errorf("found %+v", f)
	}
	s.feedAll(d, 5, func(int, int) float64 { return 1 })
	s.only("silence ends")
	if s.lasting() != 0 {
		t.Error("it lasts")
	}
}

// Before its cadence is known a slow source must not be called silent.
func TestASlowSourceIsNotSilent(t *testing.T) {
	s := newSite(t)
	d := s.unknownDevice("leaf", 2, alive)
	d.schema.Cadence = 0
	s.know(d)
	for n := range 300 {
		if n%10 == 0 {
			s.say(d, 1, 1)
		}
		s.close()
	}
	s.wants()
	for range 40 {
		s.close()
	}
	s.only("silence begins")
}

// Steps come when they are done; how long one takes is the job's matter.
func TestASourceOfStepsIsNotSilent(t *testing.T) {
	s := newSite(t)
	d := s.device("train", 1, steps)
	for n := range 200 {
		if n < 50 || n%40 == 0 {
			s.say(d, 1)
		}
		s.close()
	}
	s.wants()
}

func TestASourceThatNeverSpokeIsNotSilent(t *testing.T) {
	s := newSite(t)
	s.device("mute", 2, alive)
	d := s.device("leaf", 2, alive)
	s.feedAll(d, 100, func(int, int) float64 { return 1 })
	s.wants()
}

func TestASaturatedCounterIsStuckUntilItIsReset(t *testing.T) {
	s := newSite(t)
	d := s.device("leaf", 2, waits)
	d.total[0] = 1<<32 - 1 - 5100
	s.feedAll(d, 50, func(int, int) float64 { return 100 })
	s.wants()
	s.feedAll(d, 10, func(n, i int) float64 { return map[bool]float64{true: 0, false: 100}[i == 0 && n > 0] })
	if f := s.only("stuck begins"); f.Series.Entity != port(0) || f.Onset.Latest != at(51) {
		t.Errorf("found %+v", f)
	}
	d.total[0] = 0
	s.feedAll(d, 5, func(int, int) float64 { return 100 })
	s.only("stuck ends")
}

func TestAGaugeThatCeasesToMoveIsStuck(t *testing.T) {
	s := newSite(t)
	d := s.device("leaf", 1, flow)
	for i := range 120 {
		s.feed(d, float64(40+i/2%7)) // moves every other second
	}
	s.wants()
	s.feed(d, hold(55, 30)...)
	s.wants()
	s.feed(d, hold(10, 30)...)
	if f := s.only("stuck begins"); f.Onset.Earliest < at(119) || f.Onset.Latest > at(123) {
		t.Errorf("found %+v", f)
	}
	s.feed(d, 31)
	s.only("stuck ends")
}

func TestAGaugeThatNeverMovedIsNotStuck(t *testing.T) {
	for _, v := range []float64{0, 40} {
		s := newSite(t)
		s.feed(s.device("leaf", 1, flow), hold(400, v)...)
		s.wants()
	}
}

func TestAGaugeThatMovesRarelyIsNotStuck(t *testing.T) {
	s := newSite(t)
	d := s.device("leaf", 1, flow)
	for i := range 2000 {
		s.feed(d, float64(40+i/90))
	}
	s.wants()
}

func TestOneOfManyIsFarFromItsPeers(t *testing.T) {
	s := newSite(t)
	d := s.device("leaf", 8, power)
	others := around(8*200, 600, 0.02)
	odd := func(n, i int) float64 {
		if i == 5 {
			return 400
		}
		return others[8*n+i]
	}
	s.feedAll(d, 60, func(n, i int) float64 { return others[8*n+i] })
	s.wants()
	s.feedAll(d, 4, odd)
	s.wants()
	s.feedAll(d, 20, odd)
	f := s.only("peer begins")
	if f.Series.Entity != port(5) || f.Onset.Latest != at(61) || math.Abs(f.Before-600) > 12 {
		t.Errorf("found %+v", f)
	}
	s.feedAll(d, 8, func(n, i int) float64 { return others[8*n+i] })
	s.only("peer ends")
}

func TestFourPeersAreTooFew(t *testing.T) {
	s := newSite(t)
	s.feedAll(s.device("leaf", 4, power), 100, func(_, i int) float64 { return []float64{1, 1, 1, 100}[i] })
	s.wants()
}

// When several move, those that do not are not outliers, nor are any others: peer
// comparison reports nothing then.
func TestPeersAreSilentWhenManyMove(t *testing.T) {
	for movers := 3; movers <= 5; movers++ {
		s := newSite(t)
		d := s.device("leaf", 8, power)
		s.feedAll(d, 60, func(int, int) float64 { return 600 })
		s.feedAll(d, 60, func(_, i int) float64 { return map[bool]float64{true: 200, false: 600}[i < movers] })
		s.wants()
		s.feedAll(d, 60, func(int, int) float64 { return 200 })
		s.wants()
	}
}

func TestWhatIsNotDeclaredIsNotJudged(t *testing.T) {
	s := newSite(t)
	d := s.device("leaf", 8, unjudged, unknown)
	s.feedAll(d, 60, func(int, int) float64 { return 100 })
	s.feedAll(d, 60, func(n, i int) float64 { return float64(i * n * n) })
	s.feedAll(d, 20, func(_, i int) float64 { return []float64{1, lost}[i%2] })
	s.wants()
}

func TestFailoverBetweenTwoSourcesIsNoFinding(t *testing.T) {
	s := newSite(t)
	a, b := s.device("a", 6, mixed, traffic), s.device("b", 6, mixed, traffic)
	both := func(n, i int) float64 { return around(1, 1000, 0.01)[0] + float64((n*7+i*3)%11) }
	row := func(n int, part float64) (out []float64) {
		for i := range 12 {
			out = append(out, part*both(n, i))
		}
		return out
	}
	for n := range 200 {
		r := row(n, 1)
		if n >= 60 { // a loses its second half of ports, then comes back
			for i := range r {
				if n < 120 && i%6 >= 3 {
					r[i] = lost
				}
			}
		}
		s.say(a, r...)
		s.say(b, row(n, 1.002)...)
		s.close()
	}
	s.wants()
	if s.w.Counts().Switches == 0 {
		t.Error("no failover took place")
	}
}

// A finding on a series that is now judged from another source is over, even if its
// source never reports again.
func TestAFindingEndsWhenItsSourceIsReplaced(t *testing.T) {
	s := newSite(t)
	a, b := s.device("a", 1, temp), s.device("b", 1, temp)
	for n := range 100 {
		v := map[bool]float64{true: 50, false: 80}[n < 60]
		s.say(a, v)
		s.say(b, v)
		s.close()
	}
	s.wants("shift begins")
	for range 50 {
		s.say(b, 80)
		s.close()
	}
	s.wants("silence begins", "shift ends")
	if s.lasting() != 1 {
		t.Errorf("%d findings last, want the silence", s.lasting())
	}
}

func TestWhatIsNotANumberPoisonsNothing(t *testing.T) {
	for _, odd := range []float64{math.Inf(1), math.Inf(-1), 1e300, math.NaN()} {
		s := newSite(t)
		d := s.unknownDevice("leaf", 6, mixed)
		d.schema.Columns[0] = telemetry.Column{Metric: mixed, Type: telemetry.Float}
		s.know(d)
		values := around(6*100, 1000, 0.01)
		s.feedAll(d, 60, func(n, i int) float64 {
			if n == 5 && i == 2 {
				return odd
			}
			return values[6*n+i]
		})
		s.wants()
		s.feedAll(d, 10, func(n, i int) float64 { return map[bool]float64{true: 2000, false: values[6*n+i]}[i == 2] })
		s.wants("shift begins", "peer begins")
	}
}
