package web_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/dashboards/web/browsertest"
)

// TestFiguresAreWrittenAlike: a title, a message or a line of the command line
// writes a quantity as the page does.
func TestFiguresAreWrittenAlike(t *testing.T) {
	ours := map[string]func(float64) string{"percent": explain.Percent, "gpuTime": explain.GPUTime, "number": explain.Number}
	values := []float64{0, 3.75e-6, 5.47e-5, 0.0004, 0.003, 0.0051, 0.0149, 0.016, 0.0994, 0.3333, 0.5, 0.58, 0.856, 0.98, 0.9949, 0.996, 0.99999, 1, 1.34, 1.739, 9.994, 9.996, 10.04, 12.3456, 45.87, 99.94, 100.2, 119.9, 120, 406.3, 622.8, 999.4, 1126.6, 7199, 7200, 44712, 3.6e6, 2.3e9}
	for x := 1e-3; x < 1e6; x *= 1.37 {
		values = append(values, x)
	}
	arg, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	var page map[string][]string
	if err := json.Unmarshal(node(t, "browsertest/figures.mjs", string(arg)), &page); err != nil {
		t.Fatal(err)
	}
	for name, write := range ours {
		for i, v := range values {
			if got, want := strings.ReplaceAll(page[name][i], "\u00a0", " "), write(v); got != want && !tie(v) {
				t.Errorf("%s(%v): the page writes %q, Go %q", name, v, got, want)
			}
		}
	}
	if len(page) != len(ours) {
		t.Errorf("%d functions of %d", len(page), len(ours))
	}
}

// tie is for values in the middle of two roundings, whose last digit is a matter of
// taste.
func tie(v float64) bool {
	for _, scale := range []float64{1, 10, 100, 1000} {
		if _, part := math.Modf(v * scale); math.Abs(part-0.5) < 1e-9 {
			return true
		}
	}
	return false
}

// TestOneLossOnAllScreens checks that one loss is shown alike by incident, cause,
// domain and job, although the totals are updated rarely and the incident at once;
// and that the text of a webhook states the same.
func TestOneLossOnAllScreens(t *testing.T) {
	alive := live(t)
	open := alive["/api/v1/incidents"].(object)["incidents"].([]any)[0].(object)
	job := open["impact"].(object)["jobs"].([]any)[0].(object)
	lost := job["gpu_seconds_lost"].(float64)
	root := open["root"].(object)
	cause := object{"root": root["entity"], "signature": root["signature"], "domain": root["domain"], "gpu_seconds_lost": lost - 100, "jobs": []any{job["job"]}}
	at := today.Add(4 * 60 * 1e9)
	alive["/api/v1/losses"] = object{"from": stamp(at.Add(-24 * 3600 * 1e9)), "to": stamp(at), "available_gpu_seconds": 1e6, "gpu_seconds_lost": lost - 100, "causes": []any{cause}, "jobs": []any{},
		"domains": []any{object{"domain": root["domain"], "gpu_seconds_lost": lost - 100}}, "days": []any{}}
	older := moved(open, 0).(object)
	older["impact"].(object)["jobs"].([]any)[0].(object)["gpu_seconds_lost"] = lost - 200
	entity := object{"entity": root["entity"], "state": "degraded", "reason": "", "incident": open["id"], "confidence": root["confidence"], "coverage": object{"sources": 1, "stale": 0, "series": 1, "latest": nil}, "related": []any{older}}
	alive["/api/v1/entity"] = entity
	alive["/api/v1/example"] = object{"lost": explain.GPUTime(lost), "confidence": explain.Percent(root["confidence"].(float64))}
	scenarios(t, browsertest.Scenario{Name: "oneLoss", URL: newSite(t, alive).URL})
}
