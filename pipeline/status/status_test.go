package status_test

import (
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/status"
	"github.com/quintet-dc/quintet/pipeline/survey"
	"github.com/quintet-dc/quintet/telemetry"
)

func entity(t *testing.T, name string) telemetry.Entity {
	t.Helper()
	e, err := telemetry.ParseEntity(name)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// covered is current data of every domain but those named.
func covered(without ...telemetry.Domain) (out []survey.DomainReach) {
	latest := telemetry.Time(100e9)
	for _, d := range telemetry.Domains() {
		x := survey.DomainReach{Domain: d, Reach: survey.Reach{Sources: 4, Series: 20, Latest: &latest}}
		for _, w := range without {
			if w == d {
				x.Stale = 4
			}
		}
		out = append(out, x)
	}
	return out
}

// slowGPU is an open incident: gpu:n1/3 slows job:train, and node:n2 waits.
func slowGPU(t *testing.T, kind string, confidence float64) explain.Incident {
	onset := telemetry.Interval{Earliest: 50e9, Latest: 52e9}
	return explain.Incident{ID: "inc-1", State: explain.StateOpen, Kind: kind, Severity: explain.SeverityWarning, Opened: 60e9, Onset: onset,
		Root:         explain.Root{Entity: entity(t, "gpu:n1/3"), Domain: telemetry.Computing, Signature: "gpu-slow", Confidence: confidence, Onset: onset},
		Alternatives: []explain.Alternative{{Entity: entity(t, "node:n7"), Signature: "slow-rank", Confidence: 0.1}},
		Chain:        []explain.Link{{Entity: entity(t, "job:train"), Domain: telemetry.Software}},
		Impact:       explain.Impact{Jobs: []explain.JobImpact{{Job: entity(t, "job:train"), State: "slow"}}, Entities: []telemetry.Entity{entity(t, "node:n2")}}}
}

func TestOf(t *testing.T) {
	hot := status.Alert{ID: "alert-1", Title: "GPU hot", Domain: telemetry.Cooling, Entities: []telemetry.Entity{entity(t, "gpu:n1/3")}, Since: 70e9}
	unrooted := slowGPU(t, explain.KindIncident, 0)
	unrooted.Root = explain.Root{}
	slow := []status.Job{{Entity: entity(t, "job:train"), State: "slow"}}
	incident, risk := []explain.Incident{slowGPU(t, explain.KindIncident, 0.9)}, []explain.Incident{slowGPU(t, explain.KindRisk, 0.9)}
	reach := survey.Reach{Sources: 2, Series: 9}
	node := func(name string, least float64) status.Scope {
		return status.Scope{Entity: entity(t, name), Reach: reach, Confidence: least}
	}
	for name, c := range map[string]struct {
		facts  status.Facts
		about  status.Scope
		state  status.State
		role   status.Role
		reason string
	}{
		"site, all current":        {status.Facts{Domains: covered()}, status.Scope{}, status.Healthy, "", "no incident, risk or alert"},
		"site, nothing known":      {status.Facts{}, status.Scope{}, status.NoData, "", "coverage is not known"},
		"site, no engine":          {status.Facts{Unreachable: "no engine answers", Domains: covered()}, status.Scope{}, status.NoData, "", "no engine answers"},
		"site, no engine any more": {status.Facts{Unreachable: "no engine answers", Incidents: incident}, status.Scope{}, status.Degraded, status.Cause, "gpu n1/3 (gpu-slow); no engine answers"},
		"site, one domain stale":   {status.Facts{Domains: covered(telemetry.Cooling)}, status.Scope{}, status.NoData, "", "not receiving cooling"},
		"site, alarm":              {status.Facts{Domains: covered(), Alarms: []string{"replica diverged"}}, status.Scope{}, status.Alerting, "", "replica diverged"},
		"site, risk over alert":    {status.Facts{Domains: covered(), Incidents: risk, Alerts: []status.Alert{hot}}, status.Scope{}, status.AtRisk, status.Cause, "gpu n1/3 (gpu-slow); 1 alert"},
		"site, incident over all":  {status.Facts{Domains: covered(telemetry.Power), Incidents: incident, Alerts: []status.Alert{hot}, Jobs: slow}, status.Scope{}, status.Degraded, status.Cause, "train slow; 1 incident, 1 alert; not receiving power"},
		"site, job without cause":  {status.Facts{Domains: covered(), Jobs: slow}, status.Scope{}, status.Degraded, "", "train slow (cause under investigation)"},
		"site, risk in incident":   {status.Facts{Domains: covered(), Incidents: append(incident, risk...)}, status.Scope{}, status.Degraded, status.Cause, "gpu n1/3 (gpu-slow)"},
		"domain, cause":            {status.Facts{Domains: covered(), Incidents: incident}, status.Scope{Domain: telemetry.Computing}, status.Degraded, status.Cause, "cause of incident: gpu n1/3 (gpu-slow)"},
		"domain, affected":         {status.Facts{Domains: covered(), Incidents: incident}, status.Scope{Domain: telemetry.Software}, status.Degraded, status.Affected, "affected by incident: gpu n1/3 (gpu-slow)"},
		"domain, untouched":        {status.Facts{Domains: covered(), Incidents: incident}, status.Scope{Domain: telemetry.Network}, status.Healthy, "", "data from 4 sources"},
		"domain, never received":   {status.Facts{}, status.Scope{Domain: telemetry.Power}, status.NoData, "", "nothing received"},
		"domain, stale":            {status.Facts{Domains: covered(telemetry.Power)}, status.Scope{Domain: telemetry.Power}, status.NoData, "", "none of 4 sources reports"},
		"domain, alert":            {status.Facts{Domains: covered(), Alerts: []status.Alert{hot}}, status.Scope{Domain: telemetry.Cooling}, status.Alerting, "", "1 alert: GPU hot"},
		"node, cause":              {status.Facts{Domains: covered(), Incidents: incident}, node("node:n1", 0.8), status.Degraded, status.Cause, "cause of incident: gpu n1/3 (gpu-slow)"},
		"node, below confidence":   {status.Facts{Domains: covered(), Incidents: incident}, node("node:n1", 0.95), status.Degraded, status.Suspect, "possible cause of incident, most likely: gpu n1/3 (gpu-slow)"},
		"node, alternative":        {status.Facts{Domains: covered(), Incidents: incident}, node("node:n7", 0), status.Degraded, status.Suspect, "possible cause of incident, most likely: gpu n1/3 (gpu-slow)"},
		"node, affected":           {status.Facts{Domains: covered(), Incidents: incident}, node("node:n2", 0), status.Degraded, status.Affected, "affected by incident: gpu n1/3 (gpu-slow)"},
		"node, other name prefix":  {status.Facts{Domains: covered(), Incidents: incident}, node("node:n", 0), status.Healthy, "", "data from 2 sources"},
		"node, risk":               {status.Facts{Domains: covered(), Incidents: risk}, node("node:n1", 0), status.AtRisk, status.Cause, "risk: gpu n1/3 (gpu-slow)"},
		"node, no data":            {status.Facts{Domains: covered()}, status.Scope{Entity: entity(t, "node:n9")}, status.NoData, "", "nothing received"},
		"job, under investigation": {status.Facts{Domains: covered(), Incidents: []explain.Incident{unrooted}}, node("job:train", 0), status.Degraded, status.Affected, "incident inc-1, cause under investigation"},
	} {
		got := status.Of(&c.facts, c.about)
		if got.State != c.state || got.Role != c.role || got.Reason != c.reason {
			t.Errorf("%s: %s, role %q, %q; want %s, %q, %q", name, got.State, got.Role, got.Reason, c.state, c.role, c.reason)
		}
		if healthy := got.State == status.Healthy || got.State == status.NoData; healthy && got.Since != nil {
			t.Errorf("%s: since %v", name, got.Since)
		}
	}
}

func TestOfSinceAndConfidence(t *testing.T) {
	f := status.Facts{Domains: covered(), Incidents: []explain.Incident{slowGPU(t, explain.KindRisk, 0.7), slowGPU(t, explain.KindIncident, 0.9)}}
	f.Incidents[0].ID, f.Incidents[0].Onset.Earliest = "inc-0", 10e9
	got := status.Of(&f, status.Scope{Entity: entity(t, "node:n1"), Reach: survey.Reach{Sources: 1, Series: 1}})
	if got.Incident != "inc-1" || got.Confidence == nil || *got.Confidence != 0.9 || got.Since == nil || *got.Since != 50e9 {
		t.Errorf("the incident counts before the risk: %+v", got)
	}
	if got.Incidents != 1 || got.Risks != 1 {
		t.Errorf("%d incidents, %d risks; want 1 and 1", got.Incidents, got.Risks)
	}
}
