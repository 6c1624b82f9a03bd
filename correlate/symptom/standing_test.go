package symptom_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

func (s *hall) measures(c interface {
	Placement(telemetry.Entity, explain.Values)
}, of string, want explain.Values) {
	s.t.Helper()
	v := explain.Values{}
	c.Placement(entity(of), v)
	for m, w := range want {
		if got, ok := v[m]; !ok || !near(got, w) {
			s.t.Errorf("%s: %s is %v (seen: %v), want %v", of, m, got, ok, w)
		}
	}
}

// TestALoopAccountsForWhatItsUnitDoesNot: one loop's four GPUs slow down: its
// recall and its precision are 1; its unit's recall is 1, too, but half of what is
// under it is not affected.
func TestALoopAccountsForWhatItsUnitDoesNot(t *testing.T) {
	s := newHall(t)
	s.clocks(0.5, "gpu:n0/0", "gpu:n0/1", "gpu:n1/0", "gpu:n1/1")
	s.reports("gpu:n1/1", "gpu_sm_clock_hertz", 2e9, 0.8e9)
	c := s.contrast()
	dose := func(part float64) float64 { return (1/part - 1) / 0.25 }
	s.measures(c, "loop:l0", explain.Values{explain.Recall: 1, explain.Precision: 1, explain.ClockExplained: dose(0.4)})
	s.measures(c, "rack:r0", explain.Values{explain.Recall: 1, explain.Precision: 1})
	s.measures(c, "cdu:c0", explain.Values{explain.Recall: 1, explain.Precision: 0.5})
	s.measures(c, "pump:c0/0", explain.Values{explain.Recall: 1, explain.Precision: 0.5})
	s.measures(c, "pdu:p0", explain.Values{explain.Recall: 1, explain.Precision: 0.5})
	s.measures(c, "pdu:p1", explain.Values{explain.Recall: 0, explain.Precision: 0, explain.ClockExplained: 0})
	s.measures(c, "gpu:n0/0", explain.Values{explain.Recall: 0.25, explain.Precision: 1, explain.ClockExplained: dose(0.5)})
	s.measures(c, "job:train", explain.Values{explain.Recall: 1, explain.Precision: 4. / 12, explain.Stalled: 0, explain.Slowdown: 1.25})
}

// TestWhoIsAfflicted: a small change of all clocks is the job's own; a large one of
// most of them has a common cause.
func TestWhoIsAfflicted(t *testing.T) {
	for _, c := range []struct {
		name     string
		all, one float64
		want     float64 // recall of gpu n0/0
	}{
		{"one falls", 1, 0.9, 1},
		{"one falls by less than is clear", 1, 0.98, 0},
		{"all fall a little, one more", 0.98, 0.94, 1},
		{"all fall a little, one a little more", 0.98, 0.965, 0},
		{"all rise, one stays", 1.1, 1, 0},
		{"all fall", 0.8, 0.8, 1. / 12},
	} {
		s := newHall(t)
		s.clocks(c.all, s.gpus()...)
		s.reports("gpu:n0/0", "gpu_sm_clock_hertz", 2e9, 2e9*c.one)
		v := explain.Values{}
		s.contrast().Placement(entity("gpu:n0/0"), v)
		if !near(v[explain.Recall], c.want) {
			t.Errorf("%s: recall %v, want %v", c.name, v[explain.Recall], c.want)
		}
	}
	s := newHall(t) // a clock that always wandered by 10 %
	s.clocks(1)
	s.reportsLike("gpu:n0/0", "gpu_sm_clock_hertz", func(sec int) (float64, bool) {
		if sec > degradedAt {
			return 1.93e9, true
		}
		return 2e9 + 4e8*float64(sec%3-1), true
	})
	s.measures(s.contrast(), "gpu:n0/0", explain.Values{explain.Recall: 0})
	s.reports("gpu:n0/0", "gpu_clock_event_reasons", 4, 0x24) // and now reports heat
	s.measures(s.contrast(), "gpu:n0/0", explain.Values{explain.Recall: 1})
}

// TestLateRanksStandUnderTheirGPUs: ranks are late against their past and their
// peers, and are under the entities that their GPUs are under.
func TestLateRanksStandUnderTheirGPUs(t *testing.T) {
	s := newHall(t)
	for n := range 6 {
		for g := range 2 {
			compute := 2.0
			if n == 3 {
				compute = 2.9
			}
			for k := range 23 {
				x := 2.0
				if 5*k >= degradedAt-5 {
					x = compute
				}
				s.steps.Observe(telemetry.Series{Entity: entity(fmt.Sprintf("rank:train/%d%d", n, g)), Metric: "rank_compute_seconds"}, second(5*k+6), x)
			}
		}
	}
	c := s.contrast()
	s.measures(c, "node:n3", explain.Values{explain.LateRecall: 1, explain.LatePrecision: 1})
	s.measures(c, "loop:l1", explain.Values{explain.LateRecall: 1, explain.LatePrecision: 0.5})
	s.measures(c, "rank:train/30", explain.Values{explain.LateRecall: 0.5, explain.LatePrecision: 1})
	s.measures(c, "node:n2", explain.Values{explain.LateRecall: 0, explain.LatePrecision: 0})
}

// hot is a signature that requires a falling flow or a clock that explains the
// loss.
func hot() []explain.Signature {
	flow := explain.Feature{Name: "flow", Reading: reading("coolant_flow_liters_per_minute", explain.OfRoot, "", explain.TakeRatio), None: 0.97, Full: 0.8, For: 4, Against: -6, Required: true}
	recall := explain.Feature{Name: "covers", Measure: explain.Recall, None: 0.4, Full: 0.9, For: 2, Against: -6, Required: true}
	clock := explain.Feature{Name: "clock", Measure: explain.ClockExplained, None: 0.1, Full: 0.5, For: 3, Against: -5, Required: true}
	return []explain.Signature{
		{Name: "flow", Roots: []telemetry.Kind{telemetry.Loop, telemetry.CDU}, Prior: -3, Features: []explain.Feature{flow, recall}},
		{Name: "clock", Roots: []telemetry.Kind{telemetry.GPU}, Prior: -3, Features: []explain.Feature{clock}},
	}
}

// TestSuspectsShowWhatIsRequired: only entities that show all that a signature
// requires are suspects, and only those that the job depends on.
func TestSuspectsShowWhatIsRequired(t *testing.T) {
	s := newHall(t)
	s.sigs = hot()
	s.clocks(0.5, "gpu:n0/0", "gpu:n0/1", "gpu:n1/0", "gpu:n1/1")
	s.reports("loop:l0", "coolant_flow_liters_per_minute", 40, 20)
	s.reports("loop:l1 loop:l2", "coolant_flow_liters_per_minute", 40, 40)
	s.reports("loop:l3", "coolant_flow_liters_per_minute", 40, 5) // not the job's
	var got []string
	for _, e := range s.contrast().Suspects() {
		got = append(got, e.String())
	}
	if want := []string{"gpu:n0/0", "gpu:n0/1", "gpu:n1/0", "gpu:n1/1", "loop:l0"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// The order in which edges are reported, and entities that the job is not coupled
// to, change nothing.
func TestStrangersAndOrderChangeNothing(t *testing.T) {
	values := func(change func(*hall)) string {
		s := newHall(t)
		s.sigs = hot()
		s.clocks(0.5, "gpu:n0/0", "gpu:n0/1", "gpu:n1/0", "gpu:n1/1")
		s.reports("loop:l0", "coolant_flow_liters_per_minute", 40, 20)
		s.reports("loop:l1 loop:l2", "coolant_flow_liters_per_minute", 40, 40)
		change(s)
		c := s.contrast()
		out := ""
		for _, e := range c.Suspects() {
			v := explain.Values{}
			c.Measure(e, v)
			out += fmt.Sprintln(e, v)
		}
		return out + fmt.Sprintln(c.Strongest())
	}
	want := values(func(*hall) {})
	for seed := range uint64(5) {
		r := rand.New(rand.NewPCG(seed, 1))
		if got := values(func(s *hall) {
			r.Shuffle(len(s.edges), func(i, j int) { s.edges[i], s.edges[j] = s.edges[j], s.edges[i] })
		}); got != want {
			t.Fatalf("seed %d: other edges first:\n%s\nwant\n%s", seed, got, want)
		}
	}
	if got := values(func(s *hall) {
		s.edge("rack:r9 contains node:n9")
		s.edge("node:n9 contains gpu:n9/0")
		s.reports("gpu:n9/0", "gpu_sm_clock_hertz", 2e9, 1e8)
		s.edge("job:other runs gpu:n9/0")
	}); got != want {
		t.Errorf("with a stranger in trouble:\n%s\nwant\n%s", got, want)
	}
}

// TestTheStrongestSymptomIsTheCause: a fault without a signature makes the entity
// with the strongest symptom a suspect: a loop before the GPUs that it makes hot;
// on a calm site there is none.
func TestTheStrongestSymptomIsTheCause(t *testing.T) {
	s := newHall(t)
	s.sigs = hot()
	s.clocks(1)
	s.reports("loop:l0 loop:l1 loop:l2", "coolant_flow_liters_per_minute", 40, 40)
	for _, g := range s.gpus() {
		s.reports(g, "gpu_temperature_celsius", 60, 60)
	}
	if got := s.contrast().Strongest(); len(got) != 0 {
		t.Errorf("of a calm site: %+v", got)
	}
	for _, g := range s.gpus()[:4] {
		s.reports(g, "gpu_temperature_celsius", 60, 85)
		s.reports(g, "gpu_sm_clock_hertz", 2e9, 1.4e9)
	}
	s.reports("loop:l0", "coolant_flow_liters_per_minute", 40, 20)
	got := s.contrast().Strongest()
	if len(got) == 0 || got[0].Entity != entity("loop:l0") || got[0].Domain != telemetry.Cooling || got[0].Weight <= 0.5 {
		t.Fatalf("got %+v", got)
	}
}

// TestAMachineThatFellSilentIsSuspected rather than its parts, and one whose parts
// became stale one by one is not.
func TestAMachineThatFellSilentIsSuspected(t *testing.T) {
	for _, silent := range [][]string{{"gpu:n0/0", "gpu:n0/1"}, {"gpu:n0/0"}} {
		s := newHall(t)
		s.clocks(1)
		for _, g := range silent {
			s.reportsLike(g, "gpu_sm_clock_hertz", func(sec int) (float64, bool) { return 2e9, sec <= degradedAt })
		}
		got := s.contrast().Strongest()
		machine := len(got) > 0 && got[0].Entity == entity("node:n0") && got[0].Weight == 1
		if machine != (len(silent) == 2) {
			t.Errorf("%v fell silent: %+v", silent, got)
		}
	}
}

// TestStaleCoversIsSharedByTwoMachines: one of two machines without data covers half
// of the GPUs without data.
func TestStaleCoversIsSharedByTwoMachines(t *testing.T) {
	s := newHall(t)
	s.clocks(1)
	for _, g := range []string{"gpu:n0/0", "gpu:n0/1", "gpu:n1/0", "gpu:n1/1"} {
		s.reportsLike(g, "gpu_sm_clock_hertz", func(sec int) (float64, bool) { return 2e9, sec <= degradedAt })
	}
	s.measures(s.contrast(), "node:n0", explain.Values{explain.StaleRecall: 0.5})
	s.measures(s.contrast(), "node:n2", explain.Values{explain.StaleRecall: 0})
}

// TestTheWayIsStated checks the observations on the path from the loop to the job.
func TestTheWayIsStated(t *testing.T) {
	s := newHall(t)
	s.sigs = hot()
	s.clocks(0.5, "gpu:n0/0", "gpu:n0/1", "gpu:n1/0")
	s.reports("gpu:n1/0", "gpu_sm_clock_hertz", 2e9, 0.6e9)
	s.reports("loop:l0", "coolant_flow_liters_per_minute", 40, 20)
	c := s.contrast()
	if o, ok := c.StrongestReading(entity("loop:l0"), &hot()[0].Features[0]); !ok || o.Entity != entity("loop:l0") || o.Before != 40 || o.Now != 20 {
		t.Errorf("telling: %+v, %v", o, ok)
	}
	if o, ok := c.Slowest(entity("loop:l0")); !ok || o.Entity != entity("gpu:n1/0") || !near(o.Now/o.Before, 0.3) {
		t.Errorf("slowest: %+v, %v", o, ok)
	}
	if _, ok := c.Slowest(entity("loop:l1")); ok {
		t.Error("a loop whose gpus are well has a slowest one")
	}
	for _, x := range []struct {
		cause, effect string
		want          telemetry.Relation
	}{
		{"loop:l0", "gpu:n1/0", telemetry.Cools}, {"cdu:c0", "gpu:n1/0", telemetry.Cools}, {"pdu:p0", "gpu:n0/0", telemetry.Feeds},
		{"node:n0", "gpu:n0/0", telemetry.Contains}, {"fan:n0/f", "gpu:n0/0", telemetry.Cools}, {"gpu:n0/0", "rank:train/00", telemetry.Runs},
	} {
		if got, ok := c.Relation(entity(x.cause), entity(x.effect)); !ok || got != x.want {
			t.Errorf("%s to %s: %q, %v, want %q", x.cause, x.effect, got, ok, x.want)
		}
	}
	if r, ok := c.Relation(entity("loop:l0"), entity("gpu:n2/0")); ok {
		t.Errorf("a loop %s what it does not cool", r)
	}
}

// TestDomainsThatAreWell: a domain is ruled out where it was seen to be normal,
// with its numbers.
func TestDomainsThatAreWell(t *testing.T) {
	s := newHall(t)
	c := s.contrast()
	for _, d := range telemetry.Domains() {
		if why, ok := c.Quiet(d); ok {
			t.Errorf("nothing was seen, yet %v is well: %s", d, why)
		}
	}
	s.clocks(1)
	for _, g := range s.gpus() {
		s.reports(g, "gpu_temperature_celsius", 60, 61)
		s.reports(g, "gpu_clock_event_reasons", 4, 4)
	}
	s.reports("loop:l0 loop:l1 loop:l2", "coolant_flow_liters_per_minute", 40, 39.6)
	c = s.contrast()
	for d, want := range map[telemetry.Domain]string{
		telemetry.Computing: "all 12 GPUs keep their clocks: the slowest runs at 100 % of its clock before",
		telemetry.Power:     "none of 12 GPUs was braked by its power supply",
		telemetry.Cooling:   "the hottest of 12 GPUs is at 61 °C, was at 60; none is slowed by heat; the flow of 3 loops is at least 99 % of what it was",
	} {
		if why, ok := c.Quiet(d); !ok || why != want {
			t.Errorf("%v: %q, %v, want %q", d, why, ok, want)
		}
	}
	s.reports("gpu:n4/0", "gpu_clock_event_reasons", 4, 0x84)
	s.reports("gpu:n4/1", "gpu_temperature_celsius", 60, 80)
	s.clocks(0.6, "gpu:n4/0")
	c = s.contrast()
	for _, d := range []telemetry.Domain{telemetry.Computing, telemetry.Power, telemetry.Cooling} {
		if why, ok := c.Quiet(d); ok {
			t.Errorf("%v is in trouble, yet well: %s", d, why)
		}
	}
}

// TestWhatALoopDoesNotSlowIsLeft: a loop's GPUs are slowed by heat, and one of them
// by something else: it reports no heat. Without the loop, that one is left. One
// that reports heat is the loop's, and so is one that reports no reasons; and all
// are where the root does not heat.
func TestWhatALoopDoesNotSlowIsLeft(t *testing.T) {
	for _, c := range []struct {
		name  string
		heats bool
		heat  float64 // gpu n0/0's reasons; 0: it states none
		left  bool
	}{
		{"slow of itself", true, 0x4, true},
		{"slowed by heat", true, 0x24, false},
		{"it states no reasons", true, 0, false},
		{"the root does not heat", false, 0x4, false},
	} {
		s := newHall(t)
		s.clocks(0.7, "gpu:n0/0", "gpu:n0/1", "gpu:n1/0", "gpu:n1/1")
		for _, g := range []string{"gpu:n0/1", "gpu:n1/0", "gpu:n1/1"} {
			s.reports(g, "gpu_clock_event_reasons", 0x4, 0x44)
		}
		if c.heat != 0 {
			s.reports("gpu:n0/0", "gpu_clock_event_reasons", 0x4, c.heat)
		}
		x := s.contrast()
		x.Exclude(entity("loop:l0"), c.heats)
		v := explain.Values{}
		x.Placement(entity("gpu:n0/0"), v)
		if left := v[explain.Recall] == 1; left != c.left || x.Spared(entity("gpu:n0/0")) != c.left || x.Spared(entity("gpu:n0/1")) {
			t.Errorf("%s: its recall of what is left is %g", c.name, v[explain.Recall])
		}
		x.Exclude(entity("loop:l1"), c.heats)
		if x.Spared(entity("gpu:n0/0")) {
			t.Errorf("%s: spared by a loop that it does not stand under", c.name)
		}
	}
}

// TestAUsualCheckpointIsNoIdling: two checkpoints fall into the degradation, none
// into the time before it. All GPUs are idle while the job writes them, as long as
// usual by its own reports: only those of the host whose input is late are idle for
// more of the time. A checkpoint that takes longer than usual is counted as idling.
func TestAUsualCheckpointIsNoIdling(t *testing.T) {
	for _, c := range []struct {
		usual     float64
		precision float64 // of the job
	}{{4, 2. / 12}, {2, 1}} {
		s := newHall(t)
		saves := telemetry.Series{Entity: entity("job:train"), Metric: "job_checkpoint_seconds"}
		s.steps.Observe(saves, second(2), c.usual)
		for _, end := range []int{109, 117} {
			s.steps.Observe(saves, second(end), 4)
		}
		for _, g := range s.gpus() {
			busy := 1.0
			if g == "gpu:n0/0" || g == "gpu:n0/1" {
				busy = 0.9
			}
			s.reportsLike(g, "gpu_engine_active_ratio", func(sec int) (float64, bool) {
				switch {
				case sec > 105 && sec <= 109 || sec > 113 && sec <= 117:
					return 0, true
				case sec > degradedAt:
					return busy, true
				}
				return 1, true
			})
		}
		s.measures(s.contrast(), "job:train", explain.Values{explain.IdlePrecision: c.precision})
	}
}
