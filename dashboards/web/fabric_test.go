package web_test

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/correlate/topology"
	sim "github.com/quintet-dc/quintet/lab/sim/site"
	"github.com/quintet-dc/quintet/telemetry"
)

// plant is a site's topology as the API lists it, and its history as PromQL
// would be answered. Values are made up, the names are a lab's.
type plant struct {
	graph *topology.Graph
	site  *sim.Site
	hot   string // the switch where one port is told to stop
	began time.Time
}

// newPlant builds a site. The hot switch is one of its leaves, since began.
func newPlant(t *testing.T, cfg sim.Config, began time.Time) *plant {
	t.Helper()
	s, err := sim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	p := &plant{graph: topology.New(), site: s, hot: sim.LeafName(3%s.Fabrics, s.Leaves/2).Name, began: began}
	for e := range s.Edges {
		if e.From.Kind != telemetry.NVLink && e.To.Kind != telemetry.NVLink && e.To.Kind != telemetry.Optic {
			p.graph.Add(&e)
		}
	}
	p.graph.Advance(telemetry.Time(time.Second))
	return p
}

// answers are the site's, with what the plant adds to them.
func (p *plant) answers(a api) api {
	out := maps.Clone(a)
	out["/api/v1/topology"] = p.topology
	out["/prometheus/api/v1/query"] = p.query
	out["/prometheus/api/v1/query_range"] = p.queryRange
	return out
}

func (p *plant) topology(q url.Values) any {
	limit, err := strconv.Atoi(q.Get("limit"))
	if err != nil {
		limit = 5000
	}
	inside, _ := telemetry.ParseEntity(q.Get("in"))
	if e, err := telemetry.ParseEntity(q.Get("entity")); err == nil {
		return p.around(e)
	}
	list, more := p.graph.List(topology.ListQuery{Kind: telemetry.Kind(q.Get("kind")), Inside: inside, After: q.Get("after"), Limit: limit})
	entities := []any{}
	for _, d := range list {
		o := object{"id": d.Entity, "kind": d.Entity.Kind}
		put := func(key string, v any, is bool) {
			if is {
				o[key] = v
			}
		}
		put("in", d.Inside, !d.Inside.IsZero())
		put("groups", d.Groups, len(d.Groups) > 0)
		put("peer", d.Peer, !d.Peer.IsZero())
		put("speed_bits_per_second", d.Speed, d.Speed > 0)
		put("fed_by", d.FedBy, len(d.FedBy) > 0)
		put("cooled_by", d.CooledBy, len(d.CooledBy) > 0)
		put("downlinks", d.Downlinks, d.Downlinks > 0)
		put("uplinks", d.Uplinks, d.Uplinks > 0)
		entities = append(entities, o)
	}
	out := object{"kinds": object{}, "entities": entities, "edges": []any{}, "truncated": more}
	if more {
		out["next"] = list[len(list)-1].Entity.Name
	}
	return out
}

func (p *plant) around(e telemetry.Entity) any {
	edges := []any{}
	if peer, _, ok := p.graph.Peer(e); ok {
		edges = append(edges, object{"from": e, "to": peer, "rel": "connects"})
	}
	return object{"entities": []any{}, "edges": edges}
}

// point is one series of an answer, as of an instant.
type point struct {
	labels map[string]string
	v      float64
}

func vector(points []point, at float64) any {
	result := []any{}
	for _, x := range points {
		result = append(result, object{"metric": x.labels, "value": []any{at, fmt.Sprint(x.v)}})
	}
	return object{"status": "success", "data": object{"resultType": "vector", "result": result}}
}

func (p *plant) query(q url.Values) any {
	at, err := strconv.ParseFloat(q.Get("time"), 64)
	if err != nil {
		return object{"status": "error", "errorType": "bad_data", "error": "time: " + err.Error()}
	}
	return vector(p.at(q.Get("query"), at), at)
}

func (p *plant) queryRange(q url.Values) any {
	var n [3]float64
	for i, name := range []string{"start", "end", "step"} {
		v, err := strconv.ParseFloat(q.Get(name), 64)
		if err != nil {
			return object{"status": "error", "errorType": "bad_data", "error": name + ": " + err.Error()}
		}
		n[i] = v
	}
	series := map[string]object{}
	for at := n[0]; at <= n[1]; at += n[2] {
		for _, x := range p.at(q.Get("query"), at) {
			key := fmt.Sprint(x.labels)
			if series[key] == nil {
				series[key] = object{"metric": x.labels, "values": []any{}}
			}
			series[key]["values"] = append(series[key]["values"].([]any), []any{at, fmt.Sprint(x.v)})
		}
	}
	result := []any{}
	for _, key := range slices.Sorted(maps.Keys(series)) {
		result = append(result, series[key])
	}
	return object{"status": "success", "data": object{"resultType": "matrix", "result": result}}
}

var (
	ofSwitch = regexp.MustCompile(`switch="([^"]+)"`)
	ofEntity = regexp.MustCompile(`^\{kind="([^"]+)",name="([^"]+)"`)
	tagged   = regexp.MustCompile(`label_replace\((.*?), "of", "(\w+)", "", ""\)(?: or |$)`)
)

// together answers several questions that were asked as one, each with its name as
// the label of.
func (p *plant) together(parts [][]string, at float64) (out []point) {
	for _, part := range parts {
		for _, x := range p.at(part[1], at) {
			labels := maps.Clone(x.labels)
			labels["of"] = part[2]
			out = append(out, point{labels, x.v})
		}
	}
	return out
}

// at returns the answer to a query of the page. Rules record nothing here: the page
// falls back on counters.
func (p *plant) at(query string, at float64) []point {
	if m := ofEntity.FindStringSubmatch(query); m != nil {
		return p.everything(m[1], m[2], at)
	}
	if parts := tagged.FindAllStringSubmatch(query, -1); parts != nil {
		return p.together(parts, at)
	}
	if all, above := strings.CutSuffix(query, ") > 0"); above && strings.Contains(query, "switch") {
		return slices.DeleteFunc(p.at(all+")", at), func(x point) bool { return x.v <= 0 })
	}
	if out, asked := p.details(query, at); asked {
		return out
	}
	if !strings.Contains(query, "switch") {
		return p.supply(query, at)
	}
	if strings.Contains(query, "switch:") {
		return nil
	}
	var out []point
	if m := ofSwitch.FindStringSubmatch(query); m != nil && strings.Contains(query, "by (port)") {
		for _, port := range p.graph.Ports(telemetry.Entity{Kind: telemetry.Switch, Name: m[1]}) {
			name := port.Name[strings.LastIndexByte(port.Name, '/')+1:]
			out = append(out, point{map[string]string{"port": name}, p.measured(query, port.Name, at)})
		}
		return out
	}
	if strings.Contains(query, "by (switch, port)") {
		for _, sw := range p.graph.Entities(telemetry.Switch) {
			for _, port := range p.graph.Ports(sw) {
				name := port.Name[strings.LastIndexByte(port.Name, '/')+1:]
				out = append(out, point{map[string]string{"switch": sw.Name, "port": name}, p.measured(query, port.Name, at)})
			}
		}
		return out
	}
	if strings.Contains(query, "by (switch)") {
		for _, sw := range p.graph.Entities(telemetry.Switch) {
			out = append(out, point{map[string]string{"switch": sw.Name}, p.measured(query, sw.Name+"/eth2", at)})
		}
	}
	return out
}

// measured returns the value of a port for the metrics that a query names.
func (p *plant) measured(query, port string, at float64) float64 {
	hot := 0.0
	if sw, name, _ := strings.Cut(port, "/"); sw == p.hot && (name == "eth2" || name == "eth5") {
		hot = ramp(at, float64(p.began.Unix()), 20)
	}
	n := noise(port, at)
	switch {
	case strings.Contains(query, "pause_seconds_total"):
		return math.Max(0, 0.47*hot+0.004*(n-0.7))
	case strings.Contains(query, "ecn_marked"):
		return math.Floor(91000*hot + 400*math.Max(0, n-0.6))
	case strings.Contains(query, "port_speed"):
		return 0.55 + 0.25*n - 0.4*hot
	case strings.Contains(query, "port_up") && strings.HasPrefix(port, p.hot+"/") && strings.HasSuffix(port, "/eth1"):
		return 1 // its link is down
	}
	return 0
}

// everything are the series of one entity.
func (p *plant) everything(kind, name string, at float64) []point {
	labels := func(metric string) map[string]string {
		return map[string]string{"__name__": metric, "kind": kind, "name": name}
	}
	if kind != "port" && kind != "nic" {
		return p.equipment(kind, name, at)
	}
	began := float64(p.began.Unix())
	paused := math.Max(0, at-began) * 0.47
	if sw, port, _ := strings.Cut(name, "/"); sw != p.hot || port != "eth2" {
		paused = 0
	}
	return []point{
		{labels("port_pfc_rx_pause_seconds_total"), paused},
		{labels("port_tx_bytes_total"), (at-began+1e5)*31e9 - paused*2e10},
		{labels("port_rx_bytes_total"), (at - began + 1e5) * 29e9},
		{labels("port_queue_bytes"), 9000 + 4000*noise(name, at)},
		{labels("optic_temperature_celsius"), 48 + noise(name, at)},
		{labels("port_up"), 1},
	}
}

// noise is a number in [0, 1) that a name and an instant decide.
func noise(name string, at float64) float64 {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s %d", name, int(at)/30)
	return float64(h.Sum32()%1000) / 1000
}
