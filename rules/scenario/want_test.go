package scenario

import (
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// wanting is a scenario with these lines in its want section.
func wanting(t *testing.T, lines ...string) *Scenario {
	t.Helper()
	return parse(t, "-- site --\nfor 60s\nfault 10s\n-- want --\n"+strings.Join(lines, "\n")+"\n")
}

// came makes an incident from "ID SECONDS SIGNATURE ROOT JOB".
func came(t *testing.T, s *Scenario, text string, change ...func(*explain.Incident)) explain.Incident {
	t.Helper()
	w := strings.Fields(text)
	at, err := clock(w[1])
	if err != nil {
		t.Fatal(err)
	}
	root, err := telemetry.ParseEntity(w[3])
	if err != nil {
		t.Fatal(err)
	}
	job, err := telemetry.ParseEntity(w[4])
	if err != nil {
		t.Fatal(err)
	}
	slow := 1.5
	in := explain.Incident{
		ID: w[0], State: explain.StateOpen, Kind: explain.KindIncident, Severity: explain.SeverityWarning, Opened: s.Start.Add(at), Revision: 1,
		Root:         explain.Root{Entity: root, Signature: w[2], Domain: telemetry.Network, Confidence: 0.8},
		Impact:       explain.Impact{Jobs: []explain.JobImpact{{Job: job, State: "slow", Slowdown: &slow}}},
		Chain:        []explain.Link{{Entity: root}, {Entity: job}},
		Contributors: []explain.Contributor{{Entity: telemetry.Entity{Kind: telemetry.Job, Name: "ckpt"}}},
	}
	for _, c := range change {
		c(&in)
	}
	return in
}

func resolved(at telemetry.Duration, how string) func(*explain.Incident) {
	return func(in *explain.Incident) {
		in.State, in.Revision = explain.StateResolved, in.Revision+1
		r := in.Opened.Add(at)
		in.Resolved, in.Resolution = &r, &how
	}
}

func risk(in *explain.Incident) { in.Kind = explain.KindRisk }

const plain = "a 15s slow-receiver nic:h0/nic0 job:train"

func TestOneIncidentAndOneWant(t *testing.T) {
	for _, c := range []struct{ want, came, mismatch string }{
		{"incident opened slow-receiver", plain, ""},
		{"incident opened pfc-storm|slow-receiver root=port:x/1|nic:h0/nic0 degrades=job:train within=5s", plain, ""},
		{"incident opened *", plain, ""},
		{"incident opened degrades=job:train", plain, ""},
		{"incident opened slow-receiver domain=network severity=warning state=slow|stalled confidence=0.8 slowdown=1.4..1.6 through=job:train contributor=job:ckpt", plain, ""},
		{"incident opened slow-receiver within=4s", plain, "at 15s, later than 14s"},
		{"20s incident opened slow-receiver", plain, "at 15s, before 20s"},
		{"00:12 incident opened slow-receiver within=3s", plain, ""},
		{"incident opened pfc-storm", plain, "signature slow-receiver for pfc-storm"},
		{"incident opened slow-receiver root=nic:h1/nic0", plain, "root=nic:h0/nic0 for nic:h1/nic0"},
		{"incident opened slow-receiver degrades=job:other", plain, "degrades=job:train for job:other"},
		{"incident opened slow-receiver domain=cooling", plain, "domain=network for cooling"},
		{"incident opened slow-receiver confidence=0.81", plain, "confidence=0.8 for 0.81"},
		{"incident opened slow-receiver slowdown=1.6..2", plain, "slowdown=1.5 for 1.6..2"},
		{"incident opened slow-receiver state=stalled", plain, "state=slow for stalled"},
		{"incident opened slow-receiver blind=nic:h0/nic0", plain, "blind= for nic:h0/nic0"},
		{"incident resolved slow-receiver", plain, "it is not resolved"},
		{"risk opened slow-receiver", plain, "it is of kind incident"},
		{"no incident", plain, "came all the same: 15s incident slow-receiver root=nic:h0/nic0 degrades=job:train confidence=0.80"},
		{"no incident degrades=job:other\nothers allowed", plain, ""},
		{"no incident degrades=job:other", plain, "nobody wanted: 15s incident slow-receiver"},
		{"no risk", plain, "nobody wanted"},
	} {
		s := wanting(t, c.want)
		ms := s.Check([]explain.Incident{came(t, s, c.came)})
		switch {
		case c.mismatch == "" && len(ms) != 0:
			t.Errorf("%s: %v", c.want, ms)
		case c.mismatch != "" && (len(ms) == 0 || !strings.Contains(ms[0].String(), c.mismatch)):
			t.Errorf("%s: %v, want %q", c.want, ms, c.mismatch)
		}
	}
}

// TestFormerKeyOfAWant reads hurts= of earlier releases as degrades=, and lists the line.
func TestFormerKeyOfAWant(t *testing.T) {
	s := wanting(t, "incident opened slow-receiver hurts=job:train")
	if ms := s.Check([]explain.Incident{came(t, s, plain)}); len(ms) != 0 {
		t.Errorf("mismatches: %v", ms)
	}
	if len(s.Former) != 1 || s.Former[0].Error() != "story.txtar:5: want: hurts is now degrades" {
		t.Errorf("former keys: %v", s.Former)
	}
}

func TestNothingCame(t *testing.T) {
	s := wanting(t, "incident opened incast", "no risk")
	ms := s.Check(nil)
	if len(ms) != 1 || ms[0].String() != "story.txtar:5: did not come; nearest: nothing came" {
		t.Errorf("%v", ms)
	}
}

func TestAnIncidentFulfilsOneWant(t *testing.T) {
	s := wanting(t, "incident opened *", "incident opened slow-receiver")
	one := came(t, s, plain)
	if ms := s.Check([]explain.Incident{one}); len(ms) != 1 {
		t.Errorf("one incident met two wants: %v", ms)
	}
	// The broad want must leave the only fitting incident to the narrow one,
	// in whatever order they opened.
	for _, at := range []string{"11s", "40s"} {
		other := came(t, s, "b "+at+" incast port:l/1 job:train")
		if ms := s.Check([]explain.Incident{one, other}); len(ms) != 0 {
			t.Errorf("other at %s: %v", at, ms)
		}
	}
}

func TestTheLastRevisionCountsAndMergedOnesDoNot(t *testing.T) {
	s := wanting(t, "incident opened slow-receiver", "incident resolved slow-receiver within=30s")
	first := came(t, s, "a 15s unknown nic:h0/nic0 job:train")
	later := came(t, s, plain, resolved(20e9, "recovered"))
	merged := came(t, s, "b 16s incast port:l/1 job:train", resolved(1e9, "merged"))
	if ms := s.Check([]explain.Incident{first, merged, later}); len(ms) != 0 {
		t.Errorf("%v", ms)
	}
	late := came(t, s, plain, resolved(26e9, "recovered"))
	if ms := s.Check([]explain.Incident{late}); len(ms) != 1 || !strings.Contains(ms[0].Text, "at 41s, later than 40s") {
		t.Errorf("%v", ms)
	}
}

func TestRisksAreOnlyJudgedWhereWanted(t *testing.T) {
	s := wanting(t, "no incident")
	r := came(t, s, plain, risk)
	if ms := s.Check([]explain.Incident{r}); len(ms) != 0 {
		t.Errorf("%v", ms)
	}
	s = wanting(t, "risk opened slow-receiver", "no incident")
	if ms := s.Check([]explain.Incident{r}); len(ms) != 0 {
		t.Errorf("%v", ms)
	}
	s = wanting(t, "no risk")
	if ms := s.Check([]explain.Incident{r}); len(ms) != 1 {
		t.Errorf("%v", ms)
	}
}

func TestFindings(t *testing.T) {
	s := wanting(t, "finding shift job:train job_step_seconds within=5s", "no finding burst nic:h0/nic0 port_rx_errors_total")
	if !s.WantsFindings() || wanting(t, "no incident").WantsFindings() {
		t.Error("WantsFindings")
	}
	step := Finding{telemetry.Series{Entity: telemetry.Entity{Kind: "job", Name: "train"}, Metric: "job_step_seconds"}, "shift", s.Start.Add(12e9)}
	burst := Finding{telemetry.Series{Entity: telemetry.Entity{Kind: "nic", Name: "h0/nic0"}, Metric: "port_rx_errors_total"}, "burst", s.Start.Add(1e9)}
	if ms := s.CheckFindings([]Finding{step}); len(ms) != 0 {
		t.Errorf("%v", ms)
	}
	late := step
	late.At = s.Start.Add(16e9)
	if ms := s.CheckFindings([]Finding{late, burst}); len(ms) != 2 || ms[0].Line != 5 || ms[1].Line != 6 {
		t.Errorf("%v", ms)
	}
	if ms := s.Check(nil); len(ms) != 0 {
		t.Errorf("findings judged as incidents: %v", ms)
	}
}

func TestWantsThatSayNothingAreRefused(t *testing.T) {
	for line, want := range map[string]string{
		"accident opened x":                               `"accident": want [TIME] [no] incident`,
		"incident":                                        "incident opened or incident resolved",
		"incident opened x within":                        "want KEY=VALUE",
		"incident opened x confidence=high":               "want a least value",
		"incident opened x slowdown=3..2":                 "want a least value",
		"finding shift":                                   "finding SHAPE ENTITY METRIC",
		"finding odd job:a job_step_seconds":              `unknown shape "odd"`,
		"finding shift job:a nothing":                     `unknown metric "nothing"`,
		"finding shift job:a job_step_seconds root=job:a": "only within",
		"others":    "others allowed",
		"no others": "others allowed",
		"no":        `"": want`,
	} {
		if _, err := Parse("w", []byte("-- site --\nfor 9s\n-- want --\n"+line)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", line, err, want)
		}
	}
}
