package pagerduty_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/pipeline/notify/notifytest"
	"github.com/quintet-dc/quintet/pipeline/notify/pagerduty"
	"github.com/quintet-dc/quintet/pipeline/notify/text"
	"github.com/quintet-dc/quintet/telemetry"
)

// event is one as PagerDuty reads it.
type event struct {
	Key     string `json:"routing_key"`
	Action  string `json:"event_action"`
	Dedup   string `json:"dedup_key"`
	Page    string `json:"client_url"`
	Payload struct {
		Summary, Source, Severity, Timestamp, Component, Group, Class string
		Details                                                       struct {
			Event, Text string
			Incident    *explain.Incident
		} `json:"custom_details"`
	}
}

func sent(t testing.TB, body []byte) (e event) {
	t.Helper()
	if err := json.Unmarshal(body, &e); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return e
}

const key = "0123456789abcdef0123456789abcdef"

func TestConformance(t *testing.T) {
	notifytest.Test(t, func(t *testing.T) notifytest.Far {
		s := notifytest.NewServer(t, 202)
		r, err := pagerduty.New(pagerduty.Config{URL: s.URL + "/v2/enqueue", KeyFile: notifytest.Secret(t, key)})
		if err != nil {
			t.Fatal(err)
		}
		received := func() (out []notifytest.Received) {
			for _, q := range s.Requests() {
				out = append(out, notifytest.Received{ID: sent(t, q.Body).Payload.Details.Event, Body: q.Body})
			}
			return out
		}
		return notifytest.Far{Notifier: r, Behave: s.Behave, Received: received}
	})
}

func TestEvents(t *testing.T) {
	s := notifytest.NewServer(t, 202)
	r, err := pagerduty.New(pagerduty.Config{URL: s.URL, KeyFile: notifytest.Secret(t, key), Text: text.Config{Page: "https://q"}})
	if err != nil {
		t.Fatal(err)
	}
	r.Notify(t.Context(), notifytest.Incident(t, explain.StateOpen, nil))
	r.Notify(t.Context(), notifytest.Incident(t, explain.StateResolved, nil))
	r.Notify(t.Context(), notifytest.Incident(t, explain.StateOpen, func(in *explain.Incident) { in.Severity = explain.SeverityInfo }))
	first, second, third := sent(t, s.Requests()[0].Body), sent(t, s.Requests()[1].Body), sent(t, s.Requests()[2].Body)
	if first.Key != key || first.Action != "trigger" || first.Dedup != "inc-5f1c02d9a1b7e340" || first.Page != "https://q/incidents/inc-5f1c02d9a1b7e340" {
		t.Errorf("%+v", first)
	}
	p := first.Payload
	if p.Severity != "critical" || p.Source != "nic:h13/nic0" || p.Class != "slow-receiver" || p.Group != "lab" || p.Timestamp != "2026-11-21T02:47:01Z" || !strings.Contains(p.Details.Text, "Do: Drain h13.") ||
		!strings.HasPrefix(p.Summary, "llama-70b is 3.8 times slower") || p.Details.Incident.ID != first.Dedup {
		t.Errorf("%+v", p)
	}
	if second.Action != "resolve" || second.Dedup != first.Dedup || third.Payload.Severity != "info" {
		t.Errorf("%+v, %+v", second, third)
	}
}

func TestAnAcknowledgementIsPassedOn(t *testing.T) {
	s := notifytest.NewServer(t, 202)
	r, err := pagerduty.New(pagerduty.Config{URL: s.URL, KeyFile: notifytest.Secret(t, key)})
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{`{"type":"incident.noted","data":{"id":"inc-1","acknowledged":{"by":"ann"},"assigned":null}}`, `{"type":"incident.noted","data":{"id":"inc-1","acknowledged":null,"assigned":{"to":"ben"}}}`} {
		if a := r.Notify(t.Context(), &notify.Message{ID: "inc-1.note-4.far", Type: notify.TypeNoted, Body: []byte(body)}); a.Verdict != notify.Taken {
			t.Errorf("%+v", a)
		}
	}
	if n := len(s.Requests()); n != 1 {
		t.Fatalf("%d requests: an assignment is no event there", n)
	}
	if e := sent(t, s.Requests()[0].Body); e.Action != "acknowledge" || e.Dedup != "inc-1" || e.Key != key {
		t.Errorf("%+v", e)
	}
}

func TestBounds(t *testing.T) {
	s := notifytest.NewServer(t, 202)
	r, err := pagerduty.New(pagerduty.Config{URL: s.URL, KeyFile: notifytest.Secret(t, key)})
	if err != nil {
		t.Fatal(err)
	}
	r.Notify(t.Context(), notifytest.Incident(t, explain.StateOpen, func(in *explain.Incident) {
		in.Title = strings.Repeat("ü", 5000)
		for range 20000 {
			in.Chain = append(in.Chain, explain.Link{Entity: in.Root.Entity, Domain: telemetry.Network, Why: "why"})
		}
	}))
	body := s.Requests()[0].Body
	if e := sent(t, body); len(body) > 512<<10 || len(e.Payload.Summary) > 1024 || e.Payload.Details.Incident != nil {
		t.Errorf("%d bytes, a summary of %d", len(body), len(e.Payload.Summary))
	}
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]pagerduty.Config{
		"no key":     {},
		"no address": {URL: "ftp://x", KeyFile: notifytest.Secret(t, key)},
		"two keys":   {KeyFile: notifytest.Secret(t, key+"\n"+key)},
		"a template": {KeyFile: notifytest.Secret(t, key), Text: text.Config{Body: "{{"}},
	} {
		if _, err := pagerduty.New(c); err == nil || strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
