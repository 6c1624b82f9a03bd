package web_test

import (
	"fmt"
	"maps"
	"net/url"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/dashboards/web/browsertest"
)

const linkDown = `port_up{kind=~"port|nic"} == 0 and max_over_time(port_up{kind=~"port|nic"}[1h:5m]) == 1 unless on (switch) switch:port_up:sum == 0`

// firing adds five alerts of the rules of a site: one that no incident covers, of
// two ports; one of severity info; one that the open incident covers; one that is
// silenced; and one that has ended.
func firing(a api) {
	open := a["/api/v1/incidents"].(object)["incidents"].([]any)[0].(object)
	at := today.Add(4 * time.Minute)
	group := func(id, rule, severity, root, domain string, more object) object {
		g := object{"id": "alert-" + id, "state": "open", "kind": "alert", "severity": severity, "title": rule + " at " + root, "revision": 1,
			"opened": stamp(at), "updated": stamp(at), "resolved": nil, "resolution": nil, "onset": object{"earliest": stamp(at), "latest": stamp(at)},
			"root": object{"entity": root, "signature": rule, "domain": domain, "confidence": 1}}
		maps.Copy(g, more)
		return g
	}
	one := func(value float64, expr string, labels object, words ...string) object {
		return object{"labels": labels, "starts_at": stamp(at), "expr": expr, "value": value,
			"annotations": object{"summary": words[0], "description": words[1], "runbook": "Look at `port_up` of both ends. Do: reseat, then replace."}}
	}
	down := func(port string) object {
		return one(0, linkDown, object{"alertname": "LinkDown", "severity": "critical", "domain": "network", "kind": "port", "name": "leaf7/" + port, "switch": "leaf7", "port": port, "<b>plane</b>": "2"},
			"port leaf7/"+port+": the link is down", "It was up within the last hour. Look at both ends: the module's temperature and light, port_link_downs_total before it went.")
	}
	list := []any{
		group("000000000000000a", "LinkDown", "critical", "switch:leaf7", "network", object{"title": "LinkDown: 2 at switch:leaf7", "alert_count": 2, "alerts": []any{down("eth3"), down("eth4")}}),
		group("000000000000000b", "GPUMemoryHot", "warning", "gpu:h3/1", "cooling", object{"title": "gpu h3/1: memory at 97 °C", "alert_count": 1,
			"alerts": []any{one(97, "gpu_memory_temperature_celsius > 95", object{"alertname": "GPUMemoryHot", "severity": "warning", "domain": "cooling", "kind": "gpu", "name": "h3/1", "node": "h3", "gpu": "1"}, "gpu h3/1: memory at 97 °C", "Slowdown begins at 105 °C.")}}),
		group("000000000000000c", "NICPausesFabric", "warning", "nic:h9/nic0", "network", object{"title": "nic h9/nic0 tells the fabric to stop", "alert_count": 1,
			"alerts": []any{one(0.48, "nic:port_pfc_tx_pause:ratio_rate1m > 0.2", object{"alertname": "NICPausesFabric", "severity": "warning", "domain": "network", "kind": "nic", "name": "h9/nic0"}, "nic h9/nic0 tells the fabric to stop", "48 % of the time.")}}),
		group("000000000000000d", "QuintetWatchdog", "info", "collector:quintet", "software", object{"title": "Alerts get through", "alert_count": 1, "alerts": []any{one(1, "vector(1)", object{"alertname": "QuintetWatchdog", "severity": "info"}, "Alerts get through", "It always fires.")}}),
		group("000000000000000e", "FeedDown", "critical", "feed:b", "power", object{"title": "feed b is down", "state": "resolved", "resolution": "ceased", "resolved": stamp(at.Add(-time.Hour)), "revision": 2, "alert_count": 1,
			"opened": stamp(at.Add(-3 * time.Hour)), "onset": object{"earliest": stamp(at.Add(-3 * time.Hour)), "latest": stamp(at.Add(-3 * time.Hour))},
			"alerts": []any{one(0, "feed_up == 0", object{"alertname": "FeedDown", "severity": "critical", "domain": "power", "kind": "feed", "name": "b"}, "feed b is down", "Racks run on the other.")}}),
	}
	notes := object{"alert-000000000000000c": object{"incident": open["id"], "why": "it is about nic:h9/nic0, too", "silenced_by": []any{}},
		"alert-000000000000000b": object{"silenced_by": []any{"sil-0000000000000001"}}}
	a["/api/v1/alerts"] = func(q url.Values) any {
		out := []any{}
		for _, g := range list {
			if s := q.Get("state"); s == "" || s == g.(object)["state"] {
				out = append(out, g)
			}
		}
		return object{"alerts": out, "notes": notes}
	}
	for _, g := range list {
		id := g.(object)["id"].(string)
		note, ok := notes[id].(object)
		if !ok {
			note = object{"silenced_by": []any{}}
		}
		a["/api/v1/alerts/"+id] = object{"alert": g, "note": note}
	}
	a["/prometheus/api/v1/query_range"] = func(q url.Values) any {
		if q.Get("query") != linkDown {
			return pointsOf(q.Get("query"), q.Get("start"), q.Get("end"), q.Get("step"))
		}
		result := []any{}
		for _, port := range []string{"leaf7/eth3", "leaf7/eth4", "leaf9/eth1"} {
			values := []any{}
			for s := at.Add(-time.Minute); !s.After(at.Add(2 * time.Minute)); s = s.Add(30 * time.Second) {
				values = append(values, []any{float64(s.Unix()), fmt.Sprint(0)})
			}
			sw, p := port[:5], port[6:]
			result = append(result, object{"metric": object{"__name__": "port_up", "kind": "port", "name": port, "switch": sw, "port": p}, "values": values})
		}
		return object{"status": "success", "data": object{"resultType": "matrix", "result": result}}
	}
}

// TestAlertsOfRules runs the scenario of what the rules alert of.
func TestAlertsOfRules(t *testing.T) {
	alive := live(t)
	firing(alive)
	scenarios(t, browsertest.Scenario{Name: "alertsOfRules", URL: newSite(t, alive).URL}, browsertest.Scenario{Name: "alertsUnreachable", URL: newSite(t, alive).URL})
}
