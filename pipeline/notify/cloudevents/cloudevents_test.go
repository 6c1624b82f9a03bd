package cloudevents_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/notify/cloudevents"
	"github.com/quintet-dc/quintet/pipeline/notify/notifytest"
)

// TestConformance is run in both modes.
func TestConformance(t *testing.T) {
	for _, mode := range []string{cloudevents.Structured, cloudevents.Binary} {
		t.Run(mode, func(t *testing.T) {
			notifytest.Test(t, func(t *testing.T) notifytest.Far {
				s := notifytest.NewServer(t, 204)
				r, err := cloudevents.New(cloudevents.Config{URL: s.URL, Mode: mode})
				if err != nil {
					t.Fatal(err)
				}
				received := func() (out []notifytest.Received) {
					for _, q := range s.Requests() {
						out = append(out, notifytest.Received{ID: sent(t, q).ID, Body: q.Body})
					}
					return out
				}
				return notifytest.Far{Notifier: r, Behave: s.Behave, Received: received}
			})
		})
	}
}

// event is one as any consumer reads it, from either mode.
type event struct {
	ID, Source, SpecVersion, Type, Subject, Time, DataContentType, Severity string
	Data                                                                    json.RawMessage
}

func sent(t testing.TB, q notifytest.Request) (e event) {
	t.Helper()
	h := q.Header
	switch h.Get("Content-Type") {
	case "application/json":
		return event{ID: h.Get("ce-id"), Source: h.Get("ce-source"), SpecVersion: h.Get("ce-specversion"), Type: h.Get("ce-type"), Subject: h.Get("ce-subject"), Time: h.Get("ce-time"),
			DataContentType: h.Get("content-type"), Severity: h.Get("ce-severity"), Data: q.Body}
	case "application/cloudevents+json; charset=utf-8":
		if err := json.Unmarshal(q.Body, &e); err != nil {
			t.Fatal(err)
		}
		return e
	}
	t.Fatalf("%v", h)
	return e
}

func TestBothModesSayTheSame(t *testing.T) {
	s := notifytest.NewServer(t, 200)
	for _, mode := range []string{cloudevents.Structured, cloudevents.Binary} {
		r, err := cloudevents.New(cloudevents.Config{URL: s.URL, Mode: mode, Authorization: dial.Authorization{CredentialsFile: notifytest.Secret(t, "a token")}})
		if err != nil {
			t.Fatal(err)
		}
		r.Notify(t.Context(), notifytest.Incident(t, explain.StateResolved, nil))
	}
	first, second := sent(t, s.Requests()[0]), sent(t, s.Requests()[1])
	if first.ID != "inc-5f1c02d9a1b7e340.3.far" || first.SpecVersion != "1.0" || first.Source != "urn:quintet:lab" || first.Type != "io.quintet.incident.resolved" || first.Subject != "inc-5f1c02d9a1b7e340" ||
		first.Time != "2026-11-21T02:48:00Z" || first.DataContentType != "application/json" || first.Severity != "critical" {
		t.Errorf("%+v", first)
	}
	a, b := string(first.Data), string(second.Data)
	if first.Data, second.Data = nil, nil; a != b || a != string(notifytest.Incident(t, explain.StateResolved, nil).Body) {
		t.Errorf("the data differ:\n%s\n%s", a, b)
	}
	x, errA := json.Marshal(first)
	y, errB := json.Marshal(second)
	if errA != nil || errB != nil || string(x) != string(y) {
		t.Errorf("%s\n%s", x, y)
	}
	for _, q := range s.Requests() {
		if q.Header.Get("Authorization") != "Bearer a token" {
			t.Errorf("%v", q.Header)
		}
	}
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]cloudevents.Config{
		"no address": {},
		"mode":       {URL: "http://127.0.0.1/", Mode: "batched"},
		"source":     {URL: "http://127.0.0.1/", Source: "a b"},
		"token":      {URL: "http://127.0.0.1/", Authorization: dial.Authorization{CredentialsFile: filepath.Join(t.TempDir(), "no")}},
	} {
		if _, err := cloudevents.New(c); err == nil {
			t.Error(name)
		}
	}
}
