package detect_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/quintet-dc/quintet/correlate/detect"
	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/correlate/window"
)

// ratio is a bit error ratio whose logarithm goes from one decade to another in
// n seconds, with a deviation of each sample in decades.
func ratio(r *rand.Rand, n int, from, to, noise float64) (out []float64) {
	for i := range n {
		out = append(out, math.Pow(10, from+(to-from)*float64(i)/float64(n)+noise*r.NormFloat64()))
	}
	return out
}

// TestALinkThatWearsOutDrifts: an hour at 1e-7, then two decades in 40 minutes: the
// drift is reported more than half an hour before the cliff, once, with the level
// before it.
func TestALinkThatWearsOutDrifts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	s := newSite(t)
	d := s.device("leaf", 1, ber)
	s.feed(d, ratio(r, 3600, -7, -7, 0.1)...)
	s.wants()
	s.feed(d, ratio(r, 600, -7, -6.5, 0.1)...)
	f := s.only("drift begins")
	if f.Before < 0.8e-7 || f.Before > 1.2e-7 || f.Now < f.Before {
		t.Errorf("before %v, now %v", f.Before, f.Now)
	}
	if f.Onset.Earliest > at(3700) || f.Onset.Latest < at(3500) {
		t.Errorf("onset %v to %v, want about %v", f.Onset.Earliest, f.Onset.Latest, at(3600))
	}
	s.feed(d, ratio(r, 1800, -6.5, -5, 0.1)...)
	s.wants() // told once
	s.feed(d, ratio(r, 120, -7, -7, 0.1)...)
	s.wants("drift ends")
}

// TestASlowDriftIsFound: a decade in four hours.
func TestASlowDriftIsFound(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	s := newSite(t)
	d := s.device("leaf", 1, ber)
	s.feed(d, ratio(r, 4*3600, -6, -5, 0.1)...)
	s.only("drift begins")
}

// TestWhatIsFarFromTheCliffDoesNotDrift: the same rise per hour where the cliff
// is days away, a step that stays, a fall, and what comes and goes with the day.
func TestWhatIsFarFromTheCliffDoesNotDrift(t *testing.T) {
	for name, feed := range map[string]func(r *rand.Rand) []float64{
		"below the floor": func(r *rand.Rand) []float64 { return ratio(r, 4000, -11, -9, 0.1) },
		"a slow rise":     func(r *rand.Rand) []float64 { return ratio(r, 4*3600, -7, -6.9, 0.1) },
		"a fall":          func(r *rand.Rand) []float64 { return ratio(r, 4000, -5, -7, 0.1) },
		"a step that stays": func(r *rand.Rand) []float64 {
			return append(ratio(r, 1800, -7, -7, 0.1), ratio(r, 3600, -6.5, -6.5, 0.1)...)
		},
		"the day": func(r *rand.Rand) (out []float64) {
			for i := range 24 * 3600 {
				out = append(out, math.Pow(10, -7+0.1*math.Sin(2*math.Pi*float64(i)/86400)+0.1*r.NormFloat64()))
			}
			return out
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.feed(s.device("leaf", 1, ber), feed(rand.New(rand.NewPCG(3, 1)))...)
			s.wants()
		})
	}
}

// TestSoundLinksDoNotDrift: 60 links for a day, the noise of each sample a
// quarter of a decade or less, one sample in ten seconds.
func TestSoundLinksDoNotDrift(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates 60 days of a link")
	}
	r := rand.New(rand.NewPCG(4, 1))
	s := newSite(t)
	d := s.unknownDevice("leaf", 60, ber)
	d.schema.Cadence = 10 * second
	s.know(d)
	row := make([]float64, 60)
	for second := range 86400 {
		if second%10 == 0 {
			for i := range row {
				row[i] = math.Pow(10, -6-float64(i%3)+0.25*float64(i)/60*r.NormFloat64())
			}
			s.say(d, row...)
		}
		s.close()
	}
	s.wants()
}

// TestADriftOutlivesARestart: the same findings with a snapshot in the middle of
// it.
func TestADriftOutlivesARestart(t *testing.T) {
	s := newSite(t)
	d := s.device("leaf", 1, ber)
	r := rand.New(rand.NewPCG(1, 1))
	s.feed(d, ratio(r, 3600, -7, -7, 0.1)...)
	s.feed(d, ratio(r, 300, -7, -6.5, 0.1)...)
	w := snapshot.NewWriter()
	s.w.Snapshot(w)
	s.d.Snapshot(w)
	rest := ratio(r, 300, -6.5, -6, 0.1)
	s.feed(d, rest...)
	want := s.only("drift begins")

	again := newSite(t)
	again.now = 3900
	c := snapshot.NewReader(w.Data())
	again.w = window.New(window.Config{Catalogue: again.cat})
	again.d = detect.New(detect.Config{})
	again.w.Snapshot(c)
	again.d.Snapshot(c)
	if c.Err() != nil || c.Remaining() != 0 {
		t.Fatal(c.Err(), c.Remaining())
	}
	d.frame.Sequence = 3900
	again.feed(d, rest...)
	if got := again.only("drift begins"); line(&got) != line(&want) {
		t.Errorf("got %v, want %v", line(&got), line(&want))
	}
}
