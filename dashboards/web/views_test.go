package web_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/dashboards/web/browsertest"
	sim "github.com/quintet-dc/quintet/lab/sim/site"
)

// views adds what one job, coverage and silences ask for, written by hand.
func views(t *testing.T, a api) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var report object
	if err := json.Unmarshal(b, &report); err != nil {
		t.Fatal(err)
	}
	a["/api/v1/coverage/report"] = report
	a["/api/v1/topology"] = func(q url.Values) any { return object{"edges": placedEdges(q.Get("entity")), "entities": []any{}} }
	a["/prometheus/api/v1/query"] = func(q url.Values) any { return pointsOf(q.Get("query"), q.Get("time"), q.Get("time"), "15") }
	a["/prometheus/api/v1/query_range"] = func(q url.Values) any {
		return pointsOf(q.Get("query"), q.Get("start"), q.Get("end"), q.Get("step"))
	}
	at := today.Add(5 * time.Minute)
	made := func(id, state, comment string, matchers []any, more object) object {
		s := object{"id": id, "state": state, "comment": comment, "matchers": matchers, "start": stamp(at.Add(-time.Hour)), "end": stamp(at.Add(3 * time.Hour)),
			"windows": []any{}, "created_by": "ann", "created": stamp(at), "updated": stamp(at), "changes": nil, "mutes": []any{}}
		maps.Copy(s, more)
		return s
	}
	is := func(name, value string) any { return object{"name": name, "op": "=", "value": value} }
	active := made("sil-0000000000000001", "active", "the node is being drained", []any{is("root", "nic:h9/nic0"), is("signature", "slow-receiver")}, nil)
	a["/api/v1/silences"] = object{"silences": []any{
		active,
		made("sil-0000000000000002", "pending", "weekly maintenance", []any{is("within", "rack:r3")}, object{"end": nil, "windows": []any{object{"days": []any{"sat", "sun"}, "at": "02:00", "minutes": 240, "zone": "Europe/Berlin"}}}),
		made("sil-0000000000000003", "expired", "new CDU", []any{is("within", "cdu:c1")}, object{"end": stamp(at.Add(-10 * time.Minute))}),
	}}
	a["/prometheus/api/v1/label/__name__/values"] = object{"status": "success", "data": []any{"nic_temperature_celsius", "port_rx_bytes_total"}}
	a["/api/v1/search"] = object{"entities": []any{"nic:h9/nic0"}}
	a["/api/v1/alerts"] = object{"alerts": []any{}, "notes": object{}}
	a["/api/v1/silences/preview"] = object{"active": true, "matched": 1, "of": 17, "recent": []any{},
		"open": []any{object{"id": "inc-1", "title": "train (12 GPUs) is 106 % slower", "state": "open", "severity": "warning", "in_window": true}}}
	a["/api/v1/silences/sil-0000000000000001/expire"] = active
}

// placedEdges returns the placement of the job train, and the neighbourhood of one
// of its nodes.
func placedEdges(entity string) []any {
	edge := func(from, rel, to string) any { return object{"from": from, "to": to, "rel": rel, "end": nil} }
	out := []any{}
	for i := range 3 {
		n := fmt.Sprintf("h%d", 8+i)
		around := []any{edge("rack:r3", "contains", "node:"+n), edge("loop:r3/a", "cools", "node:"+n), edge("shelf:r3/1", "feeds", "node:"+n),
			edge("nic:"+n+"/nic0", "connects", fmt.Sprintf("port:leaf%d/eth%d", 1+i%2, i))}
		if entity == "node:"+n {
			return around
		}
		for g := range 4 {
			out = append(out, edge("job:train", "runs", fmt.Sprintf("gpu:%s/%d", n, g)))
		}
		out = append(out, around...)
	}
	if entity != "job:train" && !strings.HasPrefix(entity, "nic:") {
		return []any{}
	}
	return out
}

const ranksOfTrain = 12

// rankMetrics are the metrics of ranks that a query selects.
func rankMetrics(query string) []string {
	names, found := strings.CutPrefix(query, `{__name__=~"rank_`)
	if names, _, _ = strings.Cut("rank_"+names, `"`); !found {
		return nil
	}
	return strings.Split(names, "|")
}

// pointsOf is the history of the job train: since two minutes before the site's
// time rank 5 computes longer and the others wait for it.
func pointsOf(query, from, to, step string) any {
	var n [3]float64
	for i, s := range []string{from, to, step} {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return object{"status": "error", "errorType": "bad_data", "error": err.Error()}
		}
		n[i] = v
	}
	instant := from == to
	result := []any{}
	add := func(labels object, value func(at float64) float64) {
		values := []any{}
		for at := n[0]; at <= n[1]; at += n[2] {
			values = append(values, []any{at, fmt.Sprint(value(at))})
		}
		if instant {
			result = append(result, object{"metric": labels, "value": values[0]})
			return
		}
		result = append(result, object{"metric": labels, "values": values})
	}
	late := func(at float64) float64 { return min(1, max(0, (at-float64(today.Add(2*time.Minute).Unix()))/30)) }
	metric, _, _ := strings.Cut(query, "{")
	switch {
	case strings.HasPrefix(query, `{kind="nic"`):
		labels := func(metric string) object { return object{"__name__": metric, "kind": "nic", "name": "h9/nic0"} }
		add(labels("port_rx_bytes_total"), func(at float64) float64 { return 9e9*at + 4e11*math.Sin(at/300) })
		add(labels("nic_temperature_celsius"), func(at float64) float64 { return 61 + 4*late(at) })
	case strings.HasPrefix(query, "quantile("):
		for q, value := range map[string]float64{"0.1": 58, "0.5": 60, "0.9": 63} {
			if strings.HasPrefix(query, "quantile("+q) {
				add(object{}, func(float64) float64 { return value })
			}
		}
	case strings.HasPrefix(query, "nic_temperature_celsius{{"):
		return object{"status": "error", "errorType": "bad_data", "error": "1:24: parse error: unexpected left brace"}
	case metric == "nic_temperature_celsius":
		add(object{"__name__": metric, "kind": "nic", "name": "h9/nic0", "node": "h9"}, func(at float64) float64 { return 61 + 4*late(at) + 0.3*noise("h9", at) })
	case strings.HasPrefix(query, "nic_temperature_celsius -"): // goes below zero
		add(object{"node": "h9"}, func(at float64) float64 { return 5*late(at) - 7 })
	case strings.HasPrefix(query, "count("):
		for _, metric := range rankMetrics(strings.TrimPrefix(query, "count(")) {
			add(object{"__name__": metric}, func(float64) float64 { return ranksOfTrain })
		}
	case rankMetrics(query) != nil:
		for _, metric := range rankMetrics(query) {
			for r := range ranksOfTrain {
				labels := object{"__name__": metric, "kind": "rank", "name": fmt.Sprintf("train/%d", r), "job": "train", "rank": strconv.Itoa(r)}
				add(labels, func(at float64) float64 {
					shaky := 0.02 * noise(labels["name"].(string), at)
					switch {
					case metric == "rank_compute_seconds" && r == 5:
						return 2.4 + shaky + 1.8*late(at)
					case metric == "rank_compute_seconds":
						return 2.4 + shaky
					case metric == "rank_comm_transfer_seconds":
						return 0.4 + shaky
					case r == 5:
						return 0.1 * (1 - late(at))
					}
					return 0.1 + shaky + 1.8*late(at)
				})
			}
		}
	case strings.Contains(query, "job_(step_seconds"):
		for name, value := range map[string]func(float64) float64{"job_step_seconds": func(at float64) float64 { return 3.1 + 1.8*late(at) },
			"job_mfu_ratio": func(at float64) float64 { return 0.41 - 0.15*late(at) }} {
			add(object{"__name__": name, "kind": "job", "name": "train", "job": "train"}, value)
		}
	}
	kind := "matrix"
	if instant {
		kind = "vector"
	}
	return object{"status": "success", "data": object{"resultType": kind, "result": result}}
}

// TestViewsWithoutBrowser runs what the views reckon.
func TestViewsWithoutBrowser(t *testing.T) {
	node(t, "--test", filepath.Join("browsertest", "viewunits.mjs"))
}

// TestViews runs the scenarios of one job, coverage, silences and costs.
func TestViews(t *testing.T) {
	alive := live(t)
	var list []browsertest.Scenario
	for _, name := range []string{"costsOfTheSite", "oneJob", "coverageReport", "silencesAndPreview", "reachOfAnIncident", "viewsWithoutHistory", "explore", "foundInTwoParts", "underInvestigation", "claims", "workbench", "wall", "promql", "reading", "injected"} {
		world := maps.Clone(alive)
		if name == "viewsWithoutHistory" {
			world["/prometheus/api/v1/query"] = object{"status": "error", "errorType": "unavailable", "error": "the history is not kept here"}
		}
		if name == "injected" {
			simulated(world)
		}
		list = append(list, browsertest.Scenario{Name: name, URL: newSite(t, world).URL})
	}
	list = append(list, browsertest.Scenario{Name: "manyRanks", URL: newSite(t, full(t, sim.Sized(64), mostRanks)).URL})
	scenarios(t, list...)
}

// simulated makes of a world one of the demo, into which faults can be injected.
func simulated(world api) {
	status := maps.Clone(world["/api/v1/status"].(object))
	status["demo"], status["faults"] = "This is a demo.", true
	world["/api/v1/status"] = status
	world["/api/v1/demo/faults"] = object{"faults": []any{object{"name": "gpu-slow", "domain": "computing", "severity": "share of its clock that a GPU loses"}, object{"name": "leak", "domain": "cooling", "severity": ""}},
		"fault": "leak", "entity": "loop:r000", "at": "2026-11-21T09:30:00Z", "until": "2026-11-21T09:33:00Z"}
}

// TestEveryModuleIsPreloaded: modules are asked for at once, not one after the
// other as their imports are read.
func TestEveryModuleIsPreloaded(t *testing.T) {
	var index string
	modules := map[string]bool{}
	eachFile(t, func(name, text string) {
		if name == "index.html" {
			index = text
		}
		for _, m := range imports.FindAllStringSubmatch(text, -1) {
			modules[m[1]] = true
		}
	})
	for m := range modules {
		if !strings.Contains(index, `<link rel="modulepreload" href="/app/`+m+`">`) {
			t.Errorf("index.html does not preload %s", m)
		}
	}
	if len(modules) < 20 {
		t.Errorf("%d modules", len(modules))
	}
}
