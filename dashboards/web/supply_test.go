package web_test

import (
	"regexp"
	"slices"
	"strings"

	sim "github.com/quintet-dc/quintet/lab/sim/site"
	"github.com/quintet-dc/quintet/telemetry"
)

// The power and cooling of a plant: the coolant of one rack's loop falls, and one
// feed of the first row carries more than its share.

// weak is the rack whose loop gives too little.
func (p *plant) weak() string { return sim.RackName(p.site.Racks / 2).Name }

// fallen is by how much, from 0 to 1, it does so at an instant.
func (p *plant) fallen(at float64) float64 { return ramp(at, float64(p.began.Unix()), 60) }

// rackOf returns the rack of a node.
func (p *plant) rackOf(node telemetry.Entity) string {
	rack, _ := p.graph.Within(node, telemetry.Rack)
	return rack.Name
}

// margin is how many degrees a node's hottest GPU is from its slowdown.
func (p *plant) margin(node telemetry.Entity, at float64) float64 {
	usual := 33 + 4*noise(node.Name, 0)
	if p.rackOf(node) == p.weak() {
		return usual - 28*p.fallen(at)
	}
	return usual
}

// held is the share of time in which its clocks are held down.
func (p *plant) held(node telemetry.Entity, at float64) float64 {
	return max(0, 0.35-p.margin(node, at)/30)
}

// ratio is the load of equipment against its limit.
func (p *plant) ratio(e telemetry.Entity, at float64) float64 {
	ratio := 0.41 + 0.04*noise(e.Name, at)
	if strings.HasPrefix(e.Name, "row00/b") {
		ratio += 0.4
	}
	return ratio
}

var limits = map[telemetry.Kind]float64{telemetry.PDU: 420e3, telemetry.Shelf: 40.5e3, telemetry.Node: 10.2e3}

// each is a value of every entity of some kinds.
func (p *plant) each(kinds []telemetry.Kind, value func(telemetry.Entity) float64) (out []point) {
	for _, k := range kinds {
		for _, e := range p.graph.Entities(k) {
			out = append(out, point{map[string]string{"kind": string(k), "name": e.Name}, value(e)})
		}
	}
	return out
}

// byNode returns a value for every node, like an aggregate over its GPUs.
func (p *plant) byNode(value func(telemetry.Entity) float64) []point {
	out := p.each([]telemetry.Kind{telemetry.Node}, value)
	for i := range out {
		out[i].labels = map[string]string{"node": out[i].labels["name"]}
	}
	return out
}

// supply answers what the view of power and cooling asks of the whole site.
func (p *plant) supply(query string, at float64) []point {
	loaded, node := []telemetry.Kind{telemetry.PDU, telemetry.Shelf}, []telemetry.Kind{telemetry.Node}
	ratio := func(e telemetry.Entity) float64 { return p.ratio(e, at) }
	watts := func(e telemetry.Entity) float64 { return p.ratio(e, at) * limits[e.Kind] }
	for _, q := range []struct {
		begins string
		answer func() []point
	}{
		{"rack_power_watts{kind=~\"rack|shelf|pdu|row\"} / ", func() []point { return p.each(loaded, ratio) }},
		{"rack_power_watts", func() []point { return p.each(loaded, watts) }},
		{"node_power_watts / ", func() []point { return p.each(node, ratio) }},
		{"node_power_watts", func() []point { return p.each(node, watts) }},
		{"min by (node) (gpu_temperature_margin", func() []point { return p.byNode(func(e telemetry.Entity) float64 { return p.margin(e, at) }) }},
		{"max by (node) (gpu_temperature_celsius", func() []point { return p.byNode(func(e telemetry.Entity) float64 { return 87 - p.margin(e, at) }) }},
		{"max by (node) (sum", func() []point {
			all := p.byNode(func(e telemetry.Entity) float64 { return p.held(e, at) })
			if strings.HasSuffix(query, "> 0.005") {
				return slices.DeleteFunc(all, func(x point) bool { return x.v <= 0.005 })
			}
			return all
		}},
		{"inlet_celsius", func() []point {
			return p.each([]telemetry.Kind{telemetry.Node, telemetry.CRAH}, func(e telemetry.Entity) float64 { return 22 + 2*noise(e.Name, 0) })
		}},
		{`{__name__=~"coolant_`, func() []point { return p.coolant(at) }},
		{"feed_up", func() []point {
			return p.each([]telemetry.Kind{telemetry.Feed, telemetry.UPS, telemetry.PDU}, func(telemetry.Entity) float64 { return 1 })
		}},
		{"psu_up == 0", func() []point {
			return p.each([]telemetry.Kind{telemetry.PSU}, func(telemetry.Entity) float64 { return 0 })[2:3]
		}},
	} {
		if strings.HasPrefix(query, q.begins) {
			return q.answer()
		}
	}
	return nil
}

func (p *plant) coolant(at float64) (out []point) {
	for _, k := range []telemetry.Kind{telemetry.Loop, telemetry.CDU} {
		for _, e := range p.graph.Entities(k) {
			out = append(out, p.flows(e, at)...)
		}
	}
	return out
}

// flows are the series of a loop or a coolant unit.
func (p *plant) flows(e telemetry.Entity, at float64) (out []point) {
	flow := 27 + noise(e.Name, 0)
	if e.Kind == telemetry.Loop && e.Name == p.weak() {
		flow *= 1 - 0.45*p.fallen(at)
	}
	for metric, v := range map[string]float64{"coolant_flow_liters_per_minute": flow, "coolant_supply_celsius": 26.6, "coolant_return_celsius": 26.6 + 90/flow, "coolant_pressure_pascals": 2e5 * flow / 27} {
		out = append(out, point{map[string]string{"__name__": metric, "kind": string(e.Kind), "name": e.Name}, v})
	}
	return out
}

var (
	ofSome = regexp.MustCompile(`^\{kind="([^"]+)",name=~"([^"]+)"\}`)
	ofNode = regexp.MustCompile(`node=~?"([^"]+)"`)
)

// details answers what the view of one piece of equipment asks.
func (p *plant) details(query string, at float64) (out []point, asked bool) {
	if m := ofSome.FindStringSubmatch(query); m != nil {
		for name := range strings.SplitSeq(m[2], "|") {
			out = append(out, p.equipment(m[1], name, at)...)
		}
		return out, true
	}
	m := ofNode.FindStringSubmatch(query)
	if m == nil {
		return nil, false
	}
	for name := range strings.SplitSeq(m[1], "|") {
		e := telemetry.Entity{Kind: telemetry.Node, Name: name}
		if !strings.HasPrefix(query, `{kind="gpu"`) {
			v := 87 - p.margin(e, at)
			switch {
			case strings.Contains(query, "throttle"):
				v = p.held(e, at)
			case strings.Contains(query, "clock"):
				v = 1.98e9 - 3e7*max(0, 20-p.margin(e, at))
			}
			out = append(out, point{map[string]string{"node": name}, v})
			continue
		}
		for _, gpu := range p.graph.GPUs(e) {
			label := func(metric string) map[string]string {
				return map[string]string{"__name__": metric, "kind": "gpu", "name": gpu.Name, "node": name}
			}
			margin := p.margin(e, at) + noise(gpu.Name, 0)
			out = append(out, point{label("gpu_temperature_celsius"), 87 - margin}, point{label("gpu_temperature_margin_celsius"), margin}, point{label("gpu_power_watts"), 640 + 40*noise(gpu.Name, at)}, point{label("gpu_sm_clock_hertz"), 1.98e9})
		}
	}
	return out, true
}

// equipment are the series of one piece.
func (p *plant) equipment(kind, name string, at float64) []point {
	e := telemetry.Entity{Kind: telemetry.Kind(kind), Name: name}
	label := func(metric string) map[string]string {
		return map[string]string{"__name__": metric, "kind": kind, "name": name}
	}
	switch e.Kind {
	case telemetry.Loop, telemetry.CDU:
		return p.flows(e, at)
	case telemetry.PDU, telemetry.Shelf:
		return []point{{label("rack_power_watts"), p.ratio(e, at) * limits[e.Kind]}, {label("rack_power_limit_watts"), limits[e.Kind]}}
	case telemetry.Node:
		return []point{{label("node_power_watts"), p.ratio(e, at) * limits[e.Kind]}, {label("inlet_celsius"), 22.4}}
	}
	return nil
}
