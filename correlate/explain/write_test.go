package explain_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/telemetry"
)

var update = flag.Bool("update", false, "rewrite the golden files; read the diff")

// house returns signatures of this test's own, so that a change of those that ship
// does not change the expected texts.
func house() []explain.Signature {
	one := explain.Feature{Measure: explain.BlameShare, Full: 1, For: 9, Against: -9, Required: true}
	of := func(name string, d telemetry.Domain, kind telemetry.Kind, sentence string, c ...explain.Feature) explain.Signature {
		return explain.Signature{Name: name, Domain: d, Expect: explain.ExpectIncident, Roots: []telemetry.Kind{kind}, Features: c, Sentence: sentence}
	}
	receiver := of("slow-receiver", telemetry.Network, telemetry.NIC, "{root} receives slower than it is sent data; it sent pause {pause_sent|percent} of the time.", one)
	receiver.Needs = []explain.Need{{Metric: "pcie_link_width", On: telemetry.NIC, WouldTell: "slow-receiver from pcie-downgrade"}}
	receiver.Actions = []explain.ActionTemplate{
		{Kind: "drain", Target: "node", Text: "Move {job} off {node}."},
		{Kind: "reset", Target: "root", Text: "Reset {root}: loss explained {explained}, {pause_sent|percent}."},
		{Kind: "wait", Target: "job", Text: "{nothing} speaks for {job}; {{root} and {root."},
	}
	link := of("link-degraded", telemetry.Network, telemetry.Port, "{root} reaches {ceiling_ratio|percent} of what it reached.", one,
		explain.Feature{Measure: explain.CeilingRatio, None: 0.95, Full: 0.75, For: 3, Against: -9})
	full := of("incast", telemetry.Network, telemetry.Port, "{root} carries {load_ratio} times its share.", one,
		explain.Feature{Measure: explain.CeilingRatio, None: 0.7, Full: 0.9, For: 3, Against: -9})
	tenant := of("noisy-neighbour", telemetry.Network, telemetry.Job, "{root} sends {rise} links more.",
		explain.Feature{Measure: explain.Rise, Full: 0.5, For: 20, Required: true}, explain.Feature{Measure: explain.RiseShare, None: 0.6, Full: 0.9, Required: true})
	rank := of("slow-rank", telemetry.Software, telemetry.Node, "{root} is late in every step.",
		explain.Feature{Measure: explain.ComputeExcess, Full: 0.4, For: 9, Against: -9}, explain.Feature{Measure: explain.LateStart, Full: 0.4, For: 4, Against: -4})
	rank.Needs = []explain.Need{{Metric: "rank_compute_seconds", On: telemetry.Rank, WouldTell: "a rank that computes longer from one that starts late"}}
	work := of("workload-change", telemetry.Software, telemetry.Job, "its work has changed.",
		explain.Feature{Measure: explain.ComputeUniform, None: 0.5, Full: 0.9, For: 20, Against: -20, Required: true})
	work.Expect = explain.ExpectBenign
	return []explain.Signature{receiver, link, full, tenant, rank, work}
}

// teller knows the hosts by name, and has data of steps, of compute times and of
// the given series only.
func (s *site) writer(received ...telemetry.Series) *explain.Writer {
	return &explain.Writer{
		Catalogue: telemetry.DefaultCatalogue(),
		Node: func(e telemetry.Entity) telemetry.Entity {
			if e.Kind == telemetry.NIC {
				return telemetry.Entity{Kind: telemetry.Node, Name: e.Prefix()}
			}
			return e
		},
		Has: func(x telemetry.Series) bool {
			if x.Metric == "job_step_seconds" {
				return true
			}
			return slices.Contains(received, x) || x.Entity.Kind == telemetry.Rank && x.Metric == "rank_compute_seconds"
		},
	}
}

func (s *site) written(received ...telemetry.Series) *explain.Incident {
	in := &explain.Incident{}
	at := s.e.Unnamed()
	if len(at.At) == 0 {
		at.At = []explain.Suspect{{Entity: entity("job:train"), Weight: 1}}
	}
	s.writer(received...).Write(in, s.e, explain.Judge(house(), explain.Candidates(s.e), explain.JudgeConfig{Unknown: at, Keep: 8}))
	return in
}

// text formats an incident for a person to read.
func text(in *explain.Incident) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\n", in.Severity, in.Title)
	fmt.Fprintf(&b, "root %v, %s (%v), confidence %.3f, onset %s\n", in.Root.Entity, in.Root.Signature, in.Root.Domain, in.Root.Confidence, since(in.Root.Onset))
	for _, a := range in.Alternatives {
		fmt.Fprintf(&b, "or   %v, %s, confidence %.3f\n", a.Entity, a.Signature, a.Confidence)
	}
	for _, c := range in.Contributors {
		fmt.Fprintf(&b, "with %v, share %.3f\n", c.Entity, c.Share)
	}
	for _, l := range in.Chain {
		fmt.Fprintf(&b, "\n%v %s %s (%v), from %.3g to %.3g %s, onset %s\n", l.Entity, l.Metric, l.Shape, l.Domain, l.Before, l.Now, l.Unit, since(l.Onset))
		if !l.From.IsZero() {
			fmt.Fprintf(&b, "  %s %v, %.1f s ± %.1f s later\n", l.Relation, l.From, l.LagSeconds, l.LagUncertainty)
		}
		fmt.Fprintf(&b, "  %s\n", l.Why)
	}
	b.WriteString("\n")
	for _, j := range in.Impact.Jobs {
		fmt.Fprintf(&b, "degrades %v, %s, %s from %s to %s, expected %s, slowdown %s, %.1f GPU-seconds, share %.2f\n", j.Job, j.State, j.Measure,
			known(j.Before), known(j.Now), known(j.Expected), known(j.Slowdown), j.GPUSecondsLost, j.Share)
	}
	fmt.Fprintf(&b, "on   %v\n", in.Impact.Entities)
	for _, r := range in.RuledOut {
		fmt.Fprintf(&b, "not  %v: %s\n", r.Domain, r.Why)
	}
	for _, s := range in.BlindSpots {
		fmt.Fprintf(&b, "dark %v %s %s; would tell %s\n", s.Entity, s.Metric, s.Reason, s.WouldTell)
	}
	for _, a := range in.Actions {
		fmt.Fprintf(&b, "do   %s %v: %s\n", a.Kind, a.Target, a.Text)
	}
	return b.String()
}

// since is an interval in seconds from the beginning.
func since(i telemetry.Interval) string {
	return fmt.Sprintf("%.1f to %.1f", float64(i.Earliest-epoch)/1e9, float64(i.Latest-epoch)/1e9)
}

func known(x *float64) string {
	if x == nil {
		return "unknown"
	}
	return fmt.Sprint(*x)
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	name = filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\ngot\n%s\nwant\n%s", name, got, want)
	}
}

// stories returns sites with evidence, by the name of the golden file of each.
func stories() map[string]func(*testing.T) *site {
	change := func(f func(*testing.T) *site, with func(*site)) func(*testing.T) *site {
		return func(t *testing.T) *site { s := f(t); with(s); return s }
	}
	return map[string]func(*testing.T) *site{
		"slow-receiver": slowReceiver,
		"link-degraded": change(degradedUplink, func(s *site) {
			s.hosts([2][2]float64{{1.9, 1.9}, {1.9, 1.91}}, [2]float64{})
		}),
		"incast":          incast,
		"noisy-neighbour": noisyNeighbour,
		"slow-rank":       slowRank,
		"late-host":       lateHost,
		"workload-change": moreWork,
		"unknown":         calm,
		"unknown-suspect": change(calm, func(s *site) {
			s.e.Suspects = []explain.Suspect{{Entity: entity("job:train"), Weight: 0.25}, {Entity: entity("nic:h0/n0"), Weight: 0.2, Domain: telemetry.Network}}
		}),
		"no-fabric": change(calm, func(s *site) { s.e.Fabric = nil }),
		"stalled": change(slowReceiver, func(s *site) {
			s.e.Degradation.State, s.e.Degradation.Steps, s.e.Degradation.Sum, s.e.Degradation.Lost, s.e.Degradation.Overdue = jobs.Stalled, 0, 0, 0, 34
		}),
		"fell-silent": change(slowReceiver, func(s *site) { s.now("port:leaf0/s0").Seen = 0 }),
	}
}

func TestIncidentsAreWrittenAsExpected(t *testing.T) {
	for name, story := range stories() {
		t.Run(name, func(t *testing.T) { golden(t, "written/"+name+".txt", text(story(t).written())) })
	}
}

// TestTheNetworkIsInnocentWhereItIsSeenToBe: it is not ruled out where pause of the
// ports is not counted, nor where there are queues, whatever else is at fault.
func TestTheNetworkIsInnocentWhereItIsSeenToBe(t *testing.T) {
	for what, c := range map[string]struct {
		with func(*site)
		want string
	}{
		"nothing waits":    {func(*site) {}, "of 12 ports on the job's paths none received pause, and none had a queue longer than before"},
		"a little":         {func(s *site) { s.now("port:leaf0/s0").PauseReceived = 0.03 }, "of 12 ports on the job's paths none received pause for more than 3 % of the time, and none had a queue longer than before"},
		"some stands":      {func(s *site) { s.now("nic:h0/n0").PauseSent = 0.06 }, "of 12 ports on the job's paths none received pause, and none had a queue more than 6 % longer than before"},
		"one is stopped":   {func(s *site) { s.now("port:leaf0/s0").PauseReceived = 0.3 }, ""},
		"a nic stops":      {func(s *site) { s.now("nic:h0/n0").PauseSent = 0.3 }, ""},
		"not counted":      {func(s *site) { s.uncounted() }, ""},
		"counted at a few": {func(s *site) { s.uncounted(); s.now("nic:h0/n0").Counted = 20 }, "of 1 ports on the job's paths none received pause, and none had a queue longer than before"},
	} {
		s := slowRank(t)
		c.with(s)
		in, got := s.written(), ""
		for _, r := range in.RuledOut {
			if r.Domain == telemetry.Network {
				got = r.Why
			}
		}
		if in.Root.Signature != "slow-rank" || got != c.want {
			t.Errorf("%s: %s, network %q, want %q", what, in.Root.Signature, got, c.want)
		}
	}
}

// uncounted leaves it open for how long any port received pause.
func (s *site) uncounted() {
	for i := range s.e.Fabric.Now.Of {
		s.e.Fabric.Now.Of[i].Counted = 0
	}
}

// TestTheChainLeadsFromRootToJob: the chain leads from the root to the degraded
// job, each link to the one before.
func TestTheChainLeadsFromRootToJob(t *testing.T) {
	for name, story := range stories() {
		in := story(t).written()
		last := len(in.Chain) - 1
		if last < 0 || in.Chain[last].Entity != entity("job:train") {
			t.Errorf("%s: the chain does not end at the job", name)
			continue
		}
		for k, l := range in.Chain {
			first := k == 0
			if first != l.From.IsZero() || first != (l.Relation == "") || !first && l.From != in.Chain[k-1].Entity {
				t.Errorf("%s: link %d comes %q from %v", name, k, l.Relation, l.From)
			}
			if l.Domain.String() == "" {
				t.Errorf("%s: link %d has no domain", name, k)
			}
		}
	}
}

// TestWhatConcernsAJobNeedsOne: a risk that threatens no job has only the actions that concern none.
func TestWhatConcernsAJobNeedsOne(t *testing.T) {
	s := slowReceiver(t)
	s.e.Job = telemetry.Entity{}
	if got := s.written().Actions; len(got) != 1 || got[0].Kind != "reset" {
		t.Errorf("actions %+v, want to reset the NIC", got)
	}
}

// A lag is a difference of instants, not of seconds since 1970.
func TestLagsAreExact(t *testing.T) {
	in := slowReceiver(t).written()
	last := in.Chain[len(in.Chain)-1]
	if last.LagSeconds != 3.5 || last.LagUncertainty != 3.5 {
		t.Errorf("%v s ± %v s from [64, 66] to [66, 71]", last.LagSeconds, last.LagUncertainty)
	}
}

// TestARelapseBeganWhenItBegan: an incident that described one degradation and describes
// the next dates the job's step by the next.
func TestARelapseBeganWhenItBegan(t *testing.T) {
	s := slowReceiver(t)
	in := &explain.Incident{}
	describe := func() telemetry.Interval {
		s.writer().Write(in, s.e, explain.Judge(house(), explain.Candidates(s.e), explain.JudgeConfig{Unknown: s.e.Unnamed(), Keep: 8}))
		return in.Chain[len(in.Chain)-1].Onset
	}
	before, relapse := describe(), *s.e.Degradation
	relapse.Onset.Earliest, relapse.Onset.Latest = relapse.Onset.Earliest+400e9, relapse.Onset.Latest+400e9
	s.e.Degradation = &relapse
	if got := describe(); got != relapse.Onset {
		t.Errorf("%v, want %v; before %v", got, relapse.Onset, before)
	}
}

func TestAMetricThatWouldDistinguishIsABlindSpotOnlyWithoutData(t *testing.T) {
	s := slowReceiver(t)
	want := explain.BlindSpot{Entity: entity("nic:h7/n0"), Metric: "pcie_link_width", Reason: "no data", WouldTell: "slow-receiver from pcie-downgrade"}
	if got := s.written().BlindSpots; len(got) != 1 || got[0] != want {
		t.Errorf("got %+v", got)
	}
	if got := s.written(telemetry.Series{Entity: want.Entity, Metric: want.Metric}).BlindSpots; len(got) != 0 {
		t.Errorf("heard of: got %+v", got)
	}
}

// TestAClockThatIsOffIsABlindSpot: links of the chain from a source whose clock is
// off may have happened in another order.
func TestAClockThatIsOffIsABlindSpot(t *testing.T) {
	s := slowReceiver(t)
	root := s.written().Chain[0]
	s.e.ClockOff = func(x telemetry.Series) bool {
		return x == (telemetry.Series{Entity: root.Entity, Metric: root.Metric})
	}
	want := explain.BlindSpot{Entity: root.Entity, Metric: root.Metric, Reason: "its source's clock is off, or its samples travel, by more than a second", WouldTell: "whether it came before the rest or after"}
	if got := s.written().BlindSpots; len(got) != 2 || got[1] != want {
		t.Errorf("got %+v", got)
	}
}

// TestNoSentenceStatesWhatNobodySaw: a sentence states numbers; where one was not
// measured, the title states what was seen instead.
func TestNoSentenceStatesWhatNobodySaw(t *testing.T) {
	s := slowReceiver(t)
	sigs := house()
	for i := range sigs {
		sigs[i].Sentence = "the flow through {root} fell to {" + string(explain.ReverseRatio) + "|percent} of what it was."
	}
	answers := judge(sigs, explain.Candidates(s.e), entity("job:train"), 8)
	delete(answers[0].Values, explain.ReverseRatio)
	in := &explain.Incident{}
	s.writer().Write(in, s.e, answers)
	_, cause, _ := strings.Cut(in.Title, ": ")
	want := "slow-receiver at nic h7/n0 fits best, though not all that would show it is seen; " + in.Chain[0].Why + "."
	if cause != want {
		t.Errorf("got  %q\nwant %q", cause, want)
	}
}

// TestWritingTwiceWritesTheSame: shared evidence is not changed: a second call
// writes the same incident.
func TestWritingTwiceWritesTheSame(t *testing.T) {
	for name, story := range stories() {
		s := story(t)
		if a, b := text(s.written()), text(s.written()); a != b {
			t.Errorf("%s: first\n%s\nthen\n%s", name, a, b)
		}
	}
}

// Severity follows the thresholds of attribute.SeverityOf.
func TestSeverity(t *testing.T) {
	for _, c := range []struct {
		what  string
		state jobs.State
		gpus  int
		step  float64 // seconds, 10 expected
		want  string
	}{
		{"4 % of a few GPUs", jobs.Slow, 8, 10.4, explain.SeverityInfo},
		{"5 % slower", jobs.Slow, 8, 10.5, explain.SeverityWarning},
		{"10 GPU-hours an hour", jobs.Slow, 260, 10.4, explain.SeverityWarning},
		{"less than that", jobs.Slow, 259, 10.4, explain.SeverityInfo},
		{"100 GPU-hours an hour", jobs.Slow, 200, 20, explain.SeverityCritical},
		{"less than that", jobs.Slow, 199, 20, explain.SeverityWarning},
		{"stalled", jobs.Stalled, 1, 10, explain.SeverityCritical},
		{"failed", jobs.Failed, 1, 10, explain.SeverityCritical},
		{"restarted", jobs.Restarted, 1, 10, explain.SeverityInfo},
	} {
		s := calm(t)
		s.e.GPUs, s.e.Degradation.State, s.e.Degradation.Expected, s.e.Degradation.Steps, s.e.Degradation.Sum = c.gpus, c.state, 10, 1, c.step
		if got := s.written().Severity; got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
	if got := moreWork(t).written().Severity; got != explain.SeverityInfo {
		t.Errorf("a change of work is %s", got)
	}
}

// TestATitleNeverSaysZero: a step that was first judged late and then was not, and
// one with a loss close to zero.
func TestATitleNeverSaysZero(t *testing.T) {
	for _, c := range []struct {
		step, lost float64
		want       string
	}{
		{10, 0, "train (16 GPUs) is not slower since "},
		{10.02, 0.02, "train (16 GPUs) is less than 1 % slower since "},
		{10.1, 0.1, "train (16 GPUs) is 1 % slower since "},
	} {
		s := calm(t)
		s.e.Degradation.Expected, s.e.Degradation.Steps, s.e.Degradation.Sum, s.e.Degradation.Lost = 10, 1, c.step, c.lost
		if got := s.written().Title; !strings.HasPrefix(got, c.want) {
			t.Errorf("a step of %v s: %q, want %q", c.step, got, c.want)
		}
	}
}

// A job that failed in its first steps has no usual step for comparison.
func TestWhatIsNotKnownOfAJobIsNull(t *testing.T) {
	s := calm(t)
	*s.e.Degradation = jobs.Degradation{State: jobs.Failed, Onset: span(1, 2), LastSlow: at(2)}
	j := s.written().Impact.Jobs[0]
	if j.Before != nil || j.Expected != nil || j.Now != nil || j.Slowdown != nil {
		t.Errorf("before %s, expected %s, now %s, slowdown %s", known(j.Before), known(j.Expected), known(j.Now), known(j.Slowdown))
	}
}

// A step in nanoseconds that now takes a fortnight: rounding must not overflow,
// which machines do each in their own way (I7).
func TestHugeNumbersStayHuge(t *testing.T) {
	s := calm(t)
	s.e.Degradation.Expected, s.e.Degradation.Steps, s.e.Degradation.Sum = 1e-9, 1, 1e6
	if got := *s.written().Impact.Jobs[0].Slowdown; got < 0.9e15 {
		t.Errorf("slowdown %v", got)
	}
}
