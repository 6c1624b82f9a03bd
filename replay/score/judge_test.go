package score

import (
	"slices"
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

const second = telemetry.Time(1e9)

// answer describes an incident in the terms of the test.
type answer struct {
	id       string
	kind     string
	job      string
	opened   int // seconds
	resolved int // seconds; 0: open
	root     string
	sig      string
	conf     float64
	others   []string // alternatives
	now      float64
	expected float64
	revision int
}

func (a answer) incident() explain.Incident {
	inc := explain.Incident{ID: a.id, Kind: a.kind, State: explain.StateOpen, Opened: telemetry.Time(a.opened) * second, Revision: a.revision,
		Root: explain.Root{Entity: entity(a.root), Domain: telemetry.Network, Signature: a.sig, Confidence: a.conf}}
	if a.kind == "" {
		inc.Kind = explain.KindIncident
	}
	if a.resolved != 0 {
		at := telemetry.Time(a.resolved) * second
		inc.Resolved, inc.State = &at, explain.StateResolved
	}
	for _, o := range a.others {
		inc.Alternatives = append(inc.Alternatives, explain.Alternative{Entity: entity(o)})
	}
	if a.job != "" {
		h := explain.JobImpact{Job: entity(a.job)}
		if a.now > 0 {
			h.Now, h.Expected = &a.now, &a.expected
		}
		inc.Impact.Jobs = []explain.JobImpact{h}
	}
	return inc
}

// run is a recording of 400 s with a job of 4 s steps and a slow receiver from
// 100 to 200 s during which steps take 8 s.
func run(answers ...answer) *Case {
	c := &Case{Dir: "slownic-1", Class: "slownic", Start: 0, End: 400 * second, Fabric: "small",
		Truth: Truth{JudgedJobs: entities("job:train"), Faults: []Fault{{Signature: "slow-receiver", AcceptSignatures: []string{"pfc-storm"},
			Entity: entity("nic:h1/nic0"), Accept: entities("node:h1"), Domain: telemetry.Network, Expect: ExpectIncident,
			Onset: 100 * second, End: 200 * second, Jobs: entities("job:train"), Slowdown: 2}}}}
	c.Edges = []telemetry.Edge{
		{From: entity("job:train"), To: entity("node:h1"), Relation: telemetry.Runs},
		{From: entity("job:train"), To: entity("node:h2"), Relation: telemetry.Runs},
		{From: entity("nic:h2/nic0"), To: entity("port:leaf0/p2"), Relation: telemetry.Connects},
	}
	for at := 4; at <= 100; at += 4 {
		c.Steps = append(c.Steps, Step{entity("job:train"), telemetry.Time(at) * second, 4})
	}
	for at := 108; at <= 204; at += 8 {
		c.Steps = append(c.Steps, Step{entity("job:train"), telemetry.Time(at) * second, 8})
	}
	for _, a := range answers {
		c.Incidents = append(c.Incidents, a.incident())
	}
	return c
}

func judged1(t *testing.T, c *Case) Verdict {
	t.Helper()
	j := judge(c, HalfA)
	if len(j.main.verdicts) != 1 {
		t.Fatalf("got %d verdicts, want one", len(j.main.verdicts))
	}
	return j.main.verdicts[0]
}

// L = (2-1) x 4 s. The answer says 7.6 - 4 = 3.6 s, which is a tenth too
// little. It opened 12 s into the fault: one step of 8 s and half of the next,
// or three usual steps.
func TestARightAnswer(t *testing.T) {
	v := judged1(t, run(answer{id: "a", job: "job:train", opened: 112, root: "nic:h1/nic0", sig: "pfc-storm", conf: 0.9, now: 7.6, expected: 4}))
	if !v.Found || v.Rank != 1 || !v.SignatureRight || !v.DomainRight || v.VictimAsRoot {
		t.Errorf("got %+v", v)
	}
	for _, f := range []struct {
		name string
		got  *float64
		want float64
	}{{"loss", v.Loss, 4}, {"estimate", v.LossEstimate, 3.6}, {"loss error", v.LossError, 0.1}, {"seconds", v.TimeToDetect, 12},
		{"steps", v.StepsToDetect, 1.5}, {"usual steps", v.UsualStepsToDetect, 3}} {
		if f.got == nil || !near(*f.got, f.want) {
			t.Errorf("%s: got %v, want %v", f.name, number(f.got, 4), f.want)
		}
	}
	if v.StepsInFault != 13 {
		t.Errorf("got %d steps in the fault, want 13", v.StepsInFault)
	}
}

// TestTheLossIsOfOneJob: the first degraded job is a serving job and reports no
// steps. The increase of its time to first token is no estimate of step time.
func TestTheLossIsOfOneJob(t *testing.T) {
	c := run(answer{id: "a", job: "job:train", opened: 112, root: "nic:h1/nic0", sig: "pfc-storm", conf: 0.9, now: 7.6, expected: 4})
	f := &c.Truth.Faults[0]
	f.Jobs = entities("job:serve", "job:train")
	first, before := 27.5, 0.25
	hurt := &c.Incidents[0].Impact.Jobs
	*hurt = append([]explain.JobImpact{{Job: entity("job:serve"), Now: &first, Expected: &before}}, *hurt...)
	if v := judged1(t, c); v.LossEstimate == nil || !near(*v.LossEstimate, 3.6) {
		t.Errorf("estimate %v, want 3.6", number(v.LossEstimate, 4))
	}
	*hurt = (*hurt)[:1]
	if v := judged1(t, c); v.Loss == nil || v.LossEstimate != nil || v.LossError != nil {
		t.Errorf("of another job: loss %v, estimate %v, error %v", number(v.Loss, 4), number(v.LossEstimate, 4), number(v.LossError, 4))
	}
}

func TestRankSignatureAndVictims(t *testing.T) {
	tests := []struct {
		name   string
		a      answer
		rank   int
		sig    bool
		victim bool
	}{
		{"accepted entity", answer{root: "node:h1", sig: "slow-receiver"}, 1, true, false},
		{"contained in an accepted entity is not right", answer{root: "gpu:h1/0", sig: "slow-receiver"}, 0, true, true},
		{"unknown at the right place", answer{root: "nic:h1/nic0", sig: "unknown"}, 1, false, false},
		{"second alternative", answer{root: "port:leaf9/p1", sig: "incast", others: []string{"port:leaf9/p2", "nic:h1/nic0"}}, 3, false, false},
		{"fourth alternative", answer{root: "port:leaf9/p1", sig: "incast", others: []string{"nic:x/1", "nic:x/2", "nic:x/3", "node:h1"}}, 5, false, false},
		{"the job itself", answer{root: "job:train", sig: "slow-rank"}, 0, false, true},
		{"a rank of the job", answer{root: "rank:train/3", sig: "slow-rank"}, 0, false, true},
		{"a host of the job", answer{root: "node:h2", sig: "slow-rank"}, 0, false, true},
		{"a nic of such a host", answer{root: "nic:h2/nic0", sig: "slow-rank"}, 0, false, true},
		{"the port that nic plugs into", answer{root: "port:leaf0/p2", sig: "incast"}, 0, false, true},
		{"a queue of the wrong port elsewhere", answer{root: "queue:leaf0/p7/3", sig: "incast"}, 0, false, false},
		{"somebody else's host", answer{root: "node:h7", sig: "slow-rank"}, 0, false, false},
	}
	for _, tc := range tests {
		tc.a.id, tc.a.job, tc.a.opened = "a", "job:train", 110
		v := judged1(t, run(tc.a))
		if v.Rank != tc.rank || v.SignatureRight != tc.sig || v.VictimAsRoot != tc.victim {
			t.Errorf("%s: rank %d, signature %v, victim %v; want %d, %v, %v", tc.name, v.Rank, v.SignatureRight, v.VictimAsRoot, tc.rank, tc.sig, tc.victim)
		}
	}
}

func TestListedVictim(t *testing.T) {
	c := run(answer{id: "a", job: "job:train", opened: 110, root: "port:spine0/p1", sig: "incast"})
	if judged1(t, c).VictimAsRoot {
		t.Error("a spine port is no victim by topology")
	}
	c.Truth.Faults[0].Victims = entities("port:spine0/p1")
	if !judged1(t, c).VictimAsRoot {
		t.Error("a listed victim is one")
	}
}

// Which incidents belong to the fault of 100 to 200 s, and so until 260 s.
func TestWhichIncidentsMeetTheFault(t *testing.T) {
	tests := []struct {
		name    string
		a       []answer
		found   string
		falses  int
		outcome Outcome
	}{
		{"nothing said", nil, "", 0, Miss},
		{"within", []answer{{id: "a", job: "job:train", opened: 110, resolved: 220}}, "a", 0, Hit},
		{"open at the end of the recording", []answer{{id: "a", job: "job:train", opened: 110}}, "a", 0, Hit},
		{"last moment of the grace", []answer{{id: "a", job: "job:train", opened: 260}}, "a", 0, Hit},
		{"after the grace", []answer{{id: "a", job: "job:train", opened: 261}}, "", 1, Miss},
		{"over before it began", []answer{{id: "a", job: "job:train", opened: 50, resolved: 99}}, "", 1, Miss},
		{"open when it began", []answer{{id: "a", job: "job:train", opened: 50, resolved: 100}}, "a", 0, Hit},
		{"another job is not judged", []answer{{id: "a", job: "job:other", opened: 110}}, "", 0, Miss},
		{"the earlier of two, though the later is right", []answer{{id: "b", job: "job:train", opened: 120, root: "nic:h1/nic0"},
			{id: "a", job: "job:train", opened: 110}}, "a", 1, False},
		{"a risk is not an incident", []answer{{id: "a", kind: explain.KindRisk, job: "job:train", opened: 110}}, "", 0, Miss},
		{"the last revision speaks", []answer{{id: "a", revision: 2, job: "job:train", opened: 110}, {id: "a", revision: 1, opened: 110}}, "a", 0, Hit},
		{"a merged incident was said too", []answer{{id: "a", job: "job:train", opened: 110}, {id: "b", job: "job:train", opened: 111, resolved: 115}}, "a", 1, False},
	}
	for _, tc := range tests {
		for i := range tc.a {
			if tc.a[i].root == "" {
				tc.a[i].root = "nic:h2/nic0"
			}
		}
		j := judge(run(tc.a...), HalfA)
		v := j.main.verdicts[0]
		if v.Incident != tc.found || len(j.main.falses) != tc.falses || j.outcome != tc.outcome {
			t.Errorf("%s: found %q, %d false, %s; want %q, %d, %s", tc.name, v.Incident, len(j.main.falses), j.outcome, tc.found, tc.falses, tc.outcome)
		}
	}
}

func TestTwoFaultsTwoIncidents(t *testing.T) {
	c := run(answer{id: "late", job: "job:train", opened: 310, root: "node:h1"}, answer{id: "early", job: "job:train", opened: 110, root: "node:h1"})
	second2 := c.Truth.Faults[0]
	second2.Onset, second2.End = 300*second, 350*second
	c.Truth.Faults = append([]Fault{second2}, c.Truth.Faults...)
	j := judge(c, HalfA)
	if len(j.main.verdicts) != 2 || j.main.verdicts[0].Incident != "early" || j.main.verdicts[1].Incident != "late" || j.outcome != Hit {
		t.Errorf("got %+v, %s", j.main.verdicts, j.outcome)
	}
	// The steps that the first fault stretched are no healthy past of the second.
	if l := j.main.verdicts[1].Loss; l == nil || !near(*l, 4) {
		t.Errorf("loss of the second: got %v, want 4", number(l, 3))
	}
}

// A fault that began first and was felt second is answered by the incident that
// opened second, whatever the two say.
func TestIncidentsAnswerFaultsInTheOrderTheyWereFelt(t *testing.T) {
	for _, tc := range []struct {
		hurt  int // of the first fault; 0 is not stated
		first string
	}{{0, "early"}, {110, "early"}, {180, "late"}} {
		c := run(answer{id: "early", job: "job:train", opened: 140, root: "node:h1"}, answer{id: "late", job: "job:train", opened: 190, root: "node:h1"})
		c.Truth.Faults[0].Degraded = telemetry.Time(tc.hurt) * second
		other := c.Truth.Faults[0]
		other.Entity, other.Accept, other.Onset, other.Degraded = entity("nic:h2/nic0"), nil, 120*second, 130*second
		c.Truth.Faults = append(c.Truth.Faults, other)
		for _, v := range judge(c, HalfA).main.verdicts {
			if is := v.Entity == c.Truth.Faults[0].Entity; is && v.Incident != tc.first {
				t.Errorf("felt at %d s: answered by %s, want %s", tc.hurt, v.Incident, tc.first)
			}
		}
	}
}

// An incident over two faults that overlap answers one of them.
func TestOneIncidentCannotAnswerTwoFaults(t *testing.T) {
	c := run(answer{id: "a", job: "job:train", opened: 150, root: "node:h1"})
	other := c.Truth.Faults[0]
	other.Entity, other.Accept, other.Onset = entity("nic:h2/nic0"), nil, 120*second
	c.Truth.Faults = append(c.Truth.Faults, other)
	j := judge(c, HalfA)
	if j.outcome != Miss || !j.main.verdicts[0].Found || j.main.verdicts[1].Found {
		t.Errorf("got %+v, %s", j.main.verdicts, j.outcome)
	}
}

func TestRisksHaveTheirOwnTable(t *testing.T) {
	c := run(answer{id: "r", kind: explain.KindRisk, opened: 110, root: "nic:h1/nic0", sig: "slow-receiver"},
		answer{id: "x", kind: explain.KindRisk, opened: 110, root: "nic:h9/nic0"},
		answer{id: "y", kind: explain.KindRisk, job: "job:train", opened: 110, root: "nic:h9/nic0"})
	c.Truth.Faults[0].Expect = ExpectRisk
	j := judge(c, HalfA)
	if len(j.main.verdicts) != 0 || len(j.main.falses) != 0 {
		t.Errorf("risks in the main table: %+v %+v", j.main.verdicts, j.main.falses)
	}
	if len(j.risks.verdicts) != 1 || j.risks.verdicts[0].Incident != "r" || j.outcome != Hit {
		t.Errorf("got %+v, %s", j.risks.verdicts, j.outcome)
	}
	// x names no judged job, so whether it is false is unknown; y does.
	if len(j.risks.falses) != 1 || j.risks.falses[0].Incident != "y" {
		t.Errorf("false risks: got %+v, want only y", j.risks.falses)
	}
}

// A risk at the root of a fault that degrades a job is not false while the fault lasts.
func TestARiskOfWhatDegradesAJobIsNotFalse(t *testing.T) {
	c := run(answer{id: "before", kind: explain.KindRisk, job: "job:train", opened: 110, root: "nic:h1/nic0", sig: "slow-receiver"},
		answer{id: "elsewhere", kind: explain.KindRisk, job: "job:train", opened: 110, root: "nic:h9/nic0"},
		answer{id: "long after", kind: explain.KindRisk, job: "job:train", opened: 900, root: "nic:h1/nic0", sig: "slow-receiver"})
	var wrong []string
	for _, f := range judge(c, HalfA).risks.falses {
		wrong = append(wrong, f.Incident)
	}
	if slices.Sort(wrong); !slices.Equal(wrong, []string{"elsewhere", "long after"}) {
		t.Errorf("false risks: %v", wrong)
	}
}

func TestBenignChanges(t *testing.T) {
	tests := []struct {
		name    string
		a       []answer
		named   bool
		falses  int
		outcome Outcome
	}{
		{"silence is fine", nil, false, 0, Clean},
		{"called what it is", []answer{{id: "a", job: "job:train", opened: 110, root: "job:train", sig: "workload-change"}}, true, 0, Hit},
		{"a fault is accused", []answer{{id: "a", job: "job:train", opened: 110, root: "node:h2", sig: "slow-rank"}}, true, 1, False},
	}
	for _, tc := range tests {
		c := run(tc.a...)
		c.Truth.Faults = []Fault{{Signature: "workload-change", Entity: entity("job:train"), Expect: ExpectBenign, Onset: 100 * second, End: 200 * second}}
		j := judge(c, HalfA)
		if v := j.benign.verdicts[0]; v.Found != tc.named || len(j.main.falses) != tc.falses || j.outcome != tc.outcome {
			t.Errorf("%s: named %v, %d false, %s", tc.name, v.Found, len(j.main.falses), j.outcome)
		}
	}
}

// A risk of 50 s that became an incident at 112 s is timed from the latter.
func TestPublishedWhenItBecameAnIncident(t *testing.T) {
	c := run(answer{id: "a", job: "job:train", opened: 50, root: "node:h1"})
	if v := judged1(t, c); !near(*v.TimeToDetect, 0) {
		t.Errorf("open before the onset: got %v s, want 0", *v.TimeToDetect)
	}
	c.Published = map[string]telemetry.Time{"a": 112 * second}
	if v := judged1(t, c); !near(*v.TimeToDetect, 12) {
		t.Errorf("got %v s, want 12", *v.TimeToDetect)
	}
}

// An incident whose cause is under investigation has found the fault and answered
// nothing: it is no victim, has no confidence that could be right or wrong, and
// its first alternative ranks second.
func TestJudgeIncidentWithoutRoot(t *testing.T) {
	c := run(answer{id: "a", job: "job:train", opened: 110, root: "node:h2", others: []string{"nic:h1/nic0", "job:train"}})
	c.Incidents[0].Root = explain.Root{}
	j := judge(c, HalfA)
	v := j.main.verdicts[0]
	if !v.Found || v.Rank != 2 || v.SignatureRight || v.DomainRight || v.VictimAsRoot || j.outcome != Hit {
		t.Errorf("got %+v, %s", v, j.outcome)
	}
	if len(j.main.forecasts) != 0 {
		t.Errorf("forecasts %v, want none", j.main.forecasts)
	}
	if *v.TimeToDetect != 10 {
		t.Errorf("detected after %v s, want 10", *v.TimeToDetect)
	}
	c.Truth.Faults = nil
	if j := judge(c, HalfA); len(j.main.falses) != 1 || len(j.main.forecasts) != 0 || j.outcome != False {
		t.Errorf("without a fault: %d false, %d forecasts, %s", len(j.main.falses), len(j.main.forecasts), j.outcome)
	}
}

// An incident that was withdrawn is a false one where nothing happened, also if
// its last revision names no job any more.
func TestJudgeWithdrawnIncident(t *testing.T) {
	withdrawn := "withdrawn"
	for _, job := range []string{"job:train", ""} {
		c := run(answer{id: "a", job: job, opened: 300, resolved: 320, root: "node:h2", sig: "slow-rank", conf: 0.7})
		c.Incidents[0].Resolution = &withdrawn
		c.Affected = map[string][]telemetry.Entity{"a": entities("job:train")}
		if j := judge(c, HalfA); len(j.main.falses) != 1 {
			t.Errorf("last revision names %q: %d false, want 1", job, len(j.main.falses))
		}
	}
}
