package notifytest

import (
	"encoding/json"
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/telemetry"
)

// Incident is the third revision of an incident in some state, as sent to a
// receiver called far; change, if not nil, modifies it.
func Incident(t testing.TB, state string, change func(*explain.Incident)) *notify.Message {
	t.Helper()
	at := telemetry.Time(1795229220e9)
	in := explain.Incident{ID: "inc-5f1c02d9a1b7e340", State: state, Kind: explain.KindIncident, Severity: explain.SeverityCritical, Title: "llama-70b is 3.8 times slower <!channel> & more", Opened: at, Updated: at.Add(1e9), Revision: 3, Site: "lab",
		Root:    explain.Root{Entity: telemetry.Entity{Kind: telemetry.NIC, Name: "h13/nic0"}, Domain: telemetry.Network, Signature: "slow-receiver", Confidence: 0.934},
		Impact:  explain.Impact{Jobs: []explain.JobImpact{{Job: telemetry.Entity{Kind: telemetry.Job, Name: "llama-70b"}, GPUSecondsLost: 7200}}},
		Chain:   []explain.Link{{Entity: telemetry.Entity{Kind: telemetry.NIC, Name: "h13/nic0"}, Domain: telemetry.Network, Metric: "port_pfc_tx_pause_seconds_total", Now: 0.71, Unit: "s/s"}},
		Actions: []explain.Action{{Kind: "drain", Target: telemetry.Entity{Kind: telemetry.Node, Name: "h13"}, Text: "Drain h13."}}}
	if state == explain.StateResolved {
		end := at.Add(60e9)
		in.Resolved, in.Updated = &end, end
	}
	if change != nil {
		change(&in)
	}
	data, err := engine.Canonical(&in)
	if err != nil {
		t.Fatal(err)
	}
	kind := notify.TypeUpdated
	if state == explain.StateResolved {
		kind = notify.TypeResolved
	}
	return &notify.Message{ID: in.ID + ".3.far", Type: kind, Attempt: 1, Body: []byte(`{"type":"` + kind + `","timestamp":"` + in.Updated.String() + `","data":` + string(data) + `}`)}
}

// Alerts is a group of alerts of a rule called LinkDown at switch leaf3, by port,
// as sent to a receiver called far.
func Alerts(t testing.TB, state string, revision int, ports ...string) *notify.Message {
	t.Helper()
	at := telemetry.Time(1795229220e9)
	data := struct {
		explain.Incident
		Alerts []notify.RuleAlert `json:"alerts"`
	}{Incident: explain.Incident{ID: "alert-5f1c02d9a1b7e340", State: state, Kind: notify.KindAlert, Severity: explain.SeverityWarning, Title: "LinkDown: several at switch:leaf3", Opened: at, Updated: at.Add(1e9),
		Revision: revision, Site: "lab", Root: explain.Root{Entity: telemetry.Entity{Kind: telemetry.Switch, Name: "leaf3"}, Domain: telemetry.Network, Signature: "LinkDown", Confidence: 1},
		Actions: []explain.Action{{Kind: "call", Target: telemetry.Entity{Kind: telemetry.Switch, Name: "leaf3"}, Text: "Look at both ends. Do: reseat."}}}}
	kind := notify.TypeAlertUpdated
	if state == explain.StateResolved {
		end := at.Add(60e9)
		data.Resolved, data.Updated, kind = &end, end, notify.TypeAlertResolved
	}
	for _, p := range ports {
		data.Alerts = append(data.Alerts, notify.RuleAlert{StartsAt: at.Add(-30e9), Labels: map[string]string{"alertname": "LinkDown", "severity": "page", "switch": "leaf3", "port": p},
			Annotations: map[string]string{"summary": "port " + p + " is down", "description": "Look at the cable."}})
	}
	b, err := json.Marshal(&data)
	if err != nil {
		t.Fatal(err)
	}
	return &notify.Message{ID: data.ID + ".far", Type: kind, Attempt: 1, Body: []byte(`{"type":"` + kind + `","timestamp":"` + data.Updated.String() + `","data":` + string(b) + `}`)}
}
