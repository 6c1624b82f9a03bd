package web_test

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/dashboards/web/browsertest"
	sim "github.com/quintet-dc/quintet/lab/sim/site"
)

// TestPageSpeed logs the cost of every view in a browser on sites of 1,024 GPUs with a
// job on each of its 128 nodes, and of 16,384 with 49,152 ports and 1,000 jobs; both with
// 500 incidents, 50 of them open. It asserts nothing: make page-speed.
func TestPageSpeed(t *testing.T) {
	if os.Getenv("QUINTET_PAGE_SPEED") == "" {
		t.Skip("QUINTET_PAGE_SPEED is not set: it measures, and takes ten minutes")
	}
	for _, c := range []sim.Config{{Name: "hall", Nodes: 128}, sim.Reference()} {
		t.Run(c.Name, func(t *testing.T) {
			site := newSite(t, full(t, c, min(mostRanks, 8*c.Nodes)))
			view := func(name, path, whole string) object { return object{"name": name, "path": path, "whole": whole} }
			browsertest.Run(t, browsertest.Job{Page: here, AtOnce: 1, Scenarios: []browsertest.Scenario{{Name: "speed", URL: site.URL}}, Given: object{"views": []object{
				view("overview", "/", ".coupling .flow.passed"), view("fabric", "/fabric", ".worst li"), view("power", "/power", ".worst li"),
				view("jobs", "/jobs", ".job-row"), view("job", "/jobs/run-0000.7000", ".waiting tbody tr"), view("coverage", "/coverage", ".wanted tbody tr"),
			}}})
		})
	}
}

const mostJobs, mostRanks = 1000, 4096

// full is a site at which much goes on: the maps' plant, a crowd of jobs and
// incidents, one job of many ranks, of which the history gives as many as the page asks
// for, and a source for every host, controller and switch.
func full(t *testing.T, c sim.Config, ranks int) api {
	p := newPlant(t, c, today.Add(-10*time.Minute))
	a := p.answers(crowded(t, min(mostJobs, c.Nodes)))
	asked := func(q url.Values, otherwise func(url.Values) any) any {
		if query := q.Get("query"); strings.Contains(query, `job="run-`) {
			return ranksOfRun(q, ranks)
		}
		return otherwise(q)
	}
	a["/prometheus/api/v1/query"] = func(q url.Values) any { return asked(q, p.query) }
	a["/prometheus/api/v1/query_range"] = func(q url.Values) any { return asked(q, p.queryRange) }
	sources := a["/api/v1/coverage"].(object)["sources"].([]any)
	for i := range c.Nodes {
		for _, collector := range []string{"sysfs", "scrape", "redfish"} {
			s := maps.Clone(sources[i%20].(object))
			maps.Copy(s, object{"collector": collector, "target": fmt.Sprintf("n%04d", i), "silent": false})
			sources = append(sources, s)
		}
	}
	a["/api/v1/coverage"] = object{"sources": sources}
	return a
}

// chosen is how the page asks for a part of many ranks: half of it from either end,
// as of an instant.
var chosen = regexp.MustCompile(`topk\((\d+),.* @ (\d+)`)

// ranksOfRun answers what the view of one job asks: ranks that vary a little, others
// of them at every instant as of which they are chosen.
func ranksOfRun(q url.Values, ranks int) any {
	query := q.Get("query")
	if strings.HasPrefix(query, "count(") {
		at, _ := strconv.ParseFloat(q.Get("time"), 64)
		counted := []point{}
		for _, metric := range rankMetrics(strings.TrimPrefix(query, "count(")) {
			counted = append(counted, point{map[string]string{"__name__": metric}, float64(ranks)})
		}
		return vector(counted, at)
	}
	m := chosen.FindStringSubmatch(query)
	if m == nil {
		return pointsOf(query, q.Get("start"), q.Get("end"), q.Get("step"))
	}
	var n [3]float64
	for i, name := range []string{"start", "end", "step"} {
		n[i], _ = strconv.ParseFloat(q.Get(name), 64)
	}
	half, _ := strconv.Atoi(m[1])
	second, _ := strconv.Atoi(m[2])
	apart := ranks / (2 * half)
	result := []any{}
	for _, metric := range rankMetrics(query) {
		for r := range 2 * half {
			name := fmt.Sprintf("run-0000.7000/%d", apart*r+second/15%apart)
			values := []any{}
			for at := n[0]; at <= n[1]; at += n[2] {
				values = append(values, []any{at, strconv.FormatFloat(2+0.1*noise(name+metric, at), 'g', -1, 64)})
			}
			result = append(result, object{"metric": object{"__name__": metric, "kind": "rank", "name": name}, "values": values})
		}
	}
	return object{"status": "success", "data": object{"resultType": "matrix", "result": result}}
}
