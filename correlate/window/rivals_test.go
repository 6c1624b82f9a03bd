package window

import (
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

// both is a port that two sources state: gnmi promptly every second, redfish
// in a slower class every five.
func both(t *testing.T, slowFirst bool) (s *site, prompt, slow *telemetry.Schema) {
	s = newSite(t, Config{})
	prompt = s.schema("gnmi", telemetry.Prompt, uints(bytesTotal), ether1)
	slow = s.schema("redfish", telemetry.Slow, uints(bytesTotal), ether1)
	prompt.Cadence, slow.Cadence = second, 5*second
	schemas := []*telemetry.Schema{prompt, slow}
	if slowFirst {
		schemas[0], schemas[1] = slow, prompt
	}
	for _, p := range schemas {
		if o := s.w.AddSchema(p); o != Accepted {
			t.Fatalf("schema: %v", o)
		}
	}
	return s, prompt, slow
}

// shut closes what is due when the prompt class closes that second, and returns who
// took over.
func (s *site) shut(g int) (switched []Switch) {
	at := sec(float64(g)).Add(s.w.cfg.Lateness[telemetry.Prompt])
	for _, class := range []telemetry.LatenessClass{telemetry.Prompt, telemetry.Slow} {
		switched = append(switched, s.w.Close(class, at.Add(-s.w.cfg.Lateness[class]), Serial).Switched...)
	}
	return switched
}

// TestASeriesChangesItsSourceAfterThreeSilentCadences also shows that no rate
// is taken across the change (the two count from different beginnings), and
// that it goes back when the preferred source has been there for a while.
func TestASeriesChangesItsSourceAfterThreeSilentCadences(t *testing.T) {
	for _, slowFirst := range []bool{false, true} {
		s, prompt, slow := both(t, slowFirst)
		var at []int
		for g := range 61 {
			if g < 20 || g >= 35 {
				s.say(prompt, float64(g), uint64(1000*g))
			}
			if g%5 == 0 {
				s.say(slow, float64(g), uint64(1_000_000_000+400*g))
			}
			for _, c := range s.shut(g) {
				at = append(at, g)
				if c.Series.Entity != ether1 || c.From == c.To || !s.w.Judged(c.ToSlot) || s.w.Judged(c.FromSlot) {
					t.Errorf("at %d: %+v", g, c)
				}
			}
			v, f := s.w.Value(s.slot(ether1, bytesTotal))
			if v == v && v != 1000 && v != 400 && f != Gapped {
				t.Errorf("at %d: a rate of %v %v, which neither source had", g, v, f)
			}
		}
		// Last received at 19, stale beyond three seconds: 23. Back at 35, for ten
		// cadences: 45.
		if len(at) != 2 || at[0] != 23 || at[1] != 45 {
			t.Errorf("changed at %v, want 23 and 45", at)
		}
		s.want(ether1, bytesTotal, 1000, Fresh)
		if got := s.w.Counts().Switches; got != 2 {
			t.Errorf("%d switches counted, want 2", got)
		}
	}
}

func TestASeriesStaysWithASourceThatLosesASample(t *testing.T) {
	s, prompt, slow := both(t, false)
	for g := range 31 {
		if g%7 != 3 {
			s.say(prompt, float64(g), uint64(1000*g))
		}
		if g%5 == 0 {
			s.say(slow, float64(g), uint64(400*g))
		}
		if c := s.shut(g); len(c) > 0 {
			t.Fatalf("at %d: %+v", g, c)
		}
	}
}

// TestOnlyTheJudgedSourceReportsSteps: two reporters of one job's steps are not
// two jobs.
func TestOnlyTheJudgedSourceReportsSteps(t *testing.T) {
	s := newSite(t, Config{})
	a, b := s.add("a", uints(stepSecs), train), s.add("b", uints(stepSecs), train)
	s.close(0)
	for g := 1; g <= 5; g++ {
		s.say(a, float64(g)-0.5, 3)
		s.say(b, float64(g)-0.4, 4)
		c := s.close(float64(g))
		if g > 1 && (len(c.Steps) != 1 || c.Steps[0].Value != 3) {
			t.Errorf("grid %d: steps %+v", g, c.Steps)
		}
	}
}
