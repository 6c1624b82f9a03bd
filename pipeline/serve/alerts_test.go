package serve

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/pipeline/replica"
)

// group is a group of alerts of one rule at an entity, opened so many seconds
// from noon.
func group(id, root, severity string, opened float64) explain.Incident {
	in := incident("alert-"+id, 1, opened)
	in.Kind, in.Severity, in.Title = notify.KindAlert, severity, "LinkDown at "+root
	in.Root.Entity, in.Root.Signature, in.Impact.Jobs = entity(root), "LinkDown", []explain.JobImpact{}
	return in
}

// TestAlerts lists the alerts of the built-in rules: open ones first, with the
// incident that covers each, and the silences.
func TestAlerts(t *testing.T) {
	site, firing := told(), newSite()
	firing.publish(group("0000000000000001", "switch:leaf7", "warning", -300))
	firing.publish(resolved(group("0000000000000001", "switch:leaf7", "warning", -300), -200))
	firing.publish(group("0000000000000002", "node:h9", "warning", -400))
	firing.publish(group("0000000000000003", "node:h9", "critical", -20))
	r := run(t, site, Config{Firing: firing})
	r.until("the alerts", r.server.alerts.current)
	var got struct {
		Alerts []explain.Incident
		Notes  map[string]alertNote
	}
	ask := func(query string) (ids string) {
		t.Helper()
		res, body := r.request(http.MethodGet, "/api/v1/alerts"+query, "")
		if res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %s", query, res.StatusCode, body)
		}
		got.Alerts, got.Notes = nil, nil
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatal(err)
		}
		for _, a := range got.Alerts {
			ids += a.ID[len(a.ID)-1:] + a.State[:1]
		}
		return ids
	}
	for query, want := range map[string]string{"": "3o2o1r", "?state=all&limit=2": "3o2o", "?state=open": "3o2o", "?state=resolved": "1r"} {
		if ids := ask(query); ids != want {
			t.Errorf("%q gives %s, want %s", query, ids, want)
		}
	}
	ask("")
	if n := got.Notes["alert-0000000000000002"]; n.Incident != "inc-0000000000000002" || n.Why != "it is about node:h9, too" {
		t.Errorf("what says it already: %+v", n)
	}
	if n := got.Notes["alert-0000000000000003"]; n.Incident != "inc-0000000000000002" {
		t.Errorf("a warning explains a critical alert, too: %+v", n)
	}
	r.request(http.MethodPost, "/api/v1/silences", `{"matchers":[{"name":"severity","value":"critical"},{"name":"kind","value":"alert"}],"end":"2026-11-21T14:00:00Z","created_by":"ann","comment":"c"}`, "Content-Type: application/json")
	r.until("the silence", func() bool { ask(""); return len(got.Notes["alert-0000000000000003"].SilencedBy) == 1 })
	for path, want := range map[string]int{"/alert-0000000000000001": 200, "/alert-0000000000000009": 404, "?state=loud": 400, "?colour=red": 400, "/alertmanager": 405} {
		if res, body := r.request(http.MethodGet, "/api/v1/alerts"+path, ""); res.StatusCode != want {
			t.Errorf("%s: %d %s", path, res.StatusCode, body)
		}
	}
	if res, _ := run(t, told(), Config{}).request(http.MethodGet, "/api/v1/alerts", ""); res.StatusCode != http.StatusNotImplemented {
		t.Errorf("without alerts: %d", res.StatusCode)
	}
}

// TestAlertsAreCoveredAtTheFirstQuestion: an alert of a supply is part of the
// incident whose root feeds it in the first answer after it was raised, and does not
// count as one that no incident includes.
func TestAlertsAreCoveredAtTheFirstQuestion(t *testing.T) {
	site, firing := told(), newSite()
	site.says(replica.AskTopology, `{"edges":[{"from":"nic:h9/nic0","rel":"feeds","to":"psu:r1/a/2"}]}`)
	r := run(t, site, Config{Firing: firing})
	r.until("the incidents", r.server.ledger.current)
	firing.publish(group("0000000000000001", "psu:r1/a/2", "warning", -20))
	r.until("the alert", func() bool { return r.server.alerts.size() == 1 })
	_, body := r.request(http.MethodGet, "/api/v1/alerts", "")
	var got struct{ Notes map[string]alertNote }
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	if n := got.Notes["alert-0000000000000001"]; n.Incident != "inc-0000000000000002" {
		t.Errorf("the first answer says %+v: %s", n, body)
	}
	firing.publish(group("0000000000000002", "psu:r1/a/3", "warning", -20))
	r.until("another alert", func() bool { return r.server.alerts.size() == 2 })
	site.says(replica.AskTopology, `{"edges":[{"from":"nic:h9/nic0","rel":"feeds","to":"psu:r1/a/3"}]}`)
	if alone := r.server.unexplained(t.Context()); len(alone) != 0 {
		t.Errorf("counted as alerts that no incident includes: %+v", alone)
	}
}
