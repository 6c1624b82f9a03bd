package web_test

import (
	"encoding/json"
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/status"
	"github.com/quintet-dc/quintet/pipeline/survey"
	"github.com/quintet-dc/quintet/telemetry"
)

// healthOf computes the state of a scripted site as the server does, from its
// incidents, its jobs and current data of every domain but those without.
func healthOf(incidents, jobs []any, without ...telemetry.Domain) status.Site {
	var f status.Facts
	for _, x := range incidents {
		var in explain.Incident
		if b, err := json.Marshal(x); err == nil && json.Unmarshal(b, &in) == nil && in.State == explain.StateOpen {
			f.Incidents = append(f.Incidents, in)
		}
	}
	for _, x := range jobs {
		var j struct {
			Job   telemetry.Entity
			State string
		}
		b, err := json.Marshal(x)
		if err == nil && json.Unmarshal(b, &j) == nil && j.State == "slow" {
			f.Jobs = append(f.Jobs, status.Job{Entity: j.Job, State: j.State})
		}
	}
	latest := telemetry.Time(today.UnixNano())
	for _, d := range telemetry.Domains() {
		x := survey.DomainReach{Domain: d, Reach: survey.Reach{Sources: 8, Series: 400, Latest: &latest}}
		for _, w := range without {
			if w == d {
				x.Reach = survey.Reach{}
			}
		}
		f.Domains = append(f.Domains, x)
	}
	return status.OfSite(&f)
}

// listed returns the list that an answer has under a key.
func listed(a answer, key string) []any {
	body, _ := a.body.(object)
	list, _ := body[key].([]any)
	return list
}

// health returns the state of the site; the caller holds mu.
func (s *site) health() status.Site {
	incidents := append([]any{}, listed(s.answers["/api/v1/incidents"], "incidents")...)
	for _, in := range s.sent {
		incidents = append(incidents, in)
	}
	return healthOf(incidents, listed(s.answers["/api/v1/jobs"], "jobs"), s.without...)
}

// withHealth returns an answer of /api/v1/status with the state of the site.
func (s *site) withHealth(body any) any {
	known, ok := body.(object)
	if !ok || known["health"] != nil {
		return body
	}
	out := object{"health": s.health()}
	for k, v := range known {
		out[k] = v
	}
	return out
}

// remember keeps an incident that is sent, the newest of its id.
func (s *site) remember(data json.RawMessage) {
	var in explain.Incident
	if json.Unmarshal(data, &in) == nil && in.ID != "" {
		s.sent[in.ID] = in
	}
}

func TestHealthOfAScriptedSite(t *testing.T) {
	if got := healthOf(nil, nil, telemetry.Power); got.State != status.NoData || got.Domains[3].State != status.NoData || got.Domains[0].State != status.Healthy {
		t.Errorf("%+v", got)
	}
}
