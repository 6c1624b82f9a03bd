package measure

import (
	"math"
	"strconv"

	"github.com/quintet-dc/quintet/lab/sim/site"
	"github.com/quintet-dc/quintet/lab/sim/state"
	"github.com/quintet-dc/quintet/telemetry"
)

// addPlant adds the sources of what powers and cools.
func (m *Meter) addPlant() {
	for r := range m.site.Racks {
		m.rack(r)
	}
	for c := range m.site.CDUs() {
		m.cdu(c)
	}
	for r := range m.site.Rows() {
		m.row(r)
	}
	for h := range m.site.Halls() {
		m.hall(h)
	}
}

// power is what a rack, shelf, PDU, UPS or feed shows.
type power struct {
	watts, limit, up, charge float64
}

func powers() []column[power] {
	return []column[power]{
		{name: "rack_power_watts", as: telemetry.Uint, how: mean, bias: 0.015, noise: 0.003, of: func(p *power) float64 { return p.watts }},
		{name: "rack_power_limit_watts", as: telemetry.Uint, how: level, of: func(p *power) float64 { return limit(p.limit) }},
	}
}

func feeding() column[power] {
	return column[power]{name: "feed_up", as: telemetry.Uint, how: level, of: func(p *power) float64 { return p.up }}
}

func (m *Meter) rack(rack int) {
	t := &table[power]{index: []int32{0, 1, 2}, cols: powers(), view: func(st *state.State, i int32) power {
		r := &st.Racks[rack]
		if i == 0 {
			return power{watts: r.Watts, limit: r.Limit}
		}
		return power{watts: r.Shelf[i-1].Watts, limit: r.Shelf[i-1].Capacity}
	}}
	p := m.controller(telemetry.Source{Collector: "redfish", Target: site.RackName(rack).Name, Part: "rack"})
	p.entities, p.body = []telemetry.Entity{site.RackName(rack), site.ShelfName(rack, 0), site.ShelfName(rack, 1)}, t
	m.add(p)
	s := &table[float64]{cols: []column[float64]{{name: "psu_up", as: telemetry.Uint, how: level, of: same}},
		view: func(st *state.State, i int32) float64 { return supply(&st.Racks[rack], int(i), m.site.PSUs) }}
	p.source.Part, p.entities, p.body = "psus", nil, s
	for i := range 2 * m.site.PSUs {
		p.entities = append(p.entities, site.PSUName(rack, i/m.site.PSUs, i%m.site.PSUs))
		s.index = append(s.index, int32(i))
	}
	m.add(p)
}

func same(v *float64) float64 { return *v }

func supply(r *state.Rack, i, each int) float64 {
	if ps := r.Shelf[i/each].PSUs; i%each < len(ps) {
		return bit(ps[i%each])
	}
	return math.NaN()
}

// coolant is what a coolant unit's or a loop's connector shows.
type coolant struct{ flow, supply, back, pressure float64 }

func (m *Meter) cdu(cdu int) {
	t := &table[coolant]{cols: []column[coolant]{
		{name: "coolant_flow_liters_per_minute", as: telemetry.Decimal, exp: 1, how: mean, bias: 0.02, noise: 0.005, of: func(c *coolant) float64 { return c.flow }},
		{name: "coolant_supply_celsius", as: telemetry.Decimal, exp: 1, how: mean, shift: 0.4, of: func(c *coolant) float64 { return c.supply }},
		{name: "coolant_return_celsius", as: telemetry.Decimal, exp: 1, how: mean, shift: 0.4, of: func(c *coolant) float64 { return c.back }},
		{name: "coolant_pressure_pascals", as: telemetry.Uint, how: mean, bias: 0.02, noise: 0.004, quantum: 100, of: func(c *coolant) float64 { return c.pressure }},
	}}
	t.index = []int32{-1}
	es := []telemetry.Entity{site.CDUName(cdu)}
	for l := cdu * m.site.RacksPerCDU; l < min(m.site.Racks, (cdu+1)*m.site.RacksPerCDU); l++ {
		es = append(es, site.LoopName(l))
		t.index = append(t.index, int32(l))
	}
	t.view = func(st *state.State, i int32) coolant {
		if i < 0 {
			c := &st.CDUs[cdu]
			return coolant{c.Flow, c.Supply, c.Return, c.Pressure}
		}
		l := &st.Loops[i]
		return coolant{l.Flow, l.Supply, l.Return, l.Pressure}
	}
	p := m.controller(telemetry.Source{Collector: "redfish", Target: site.CDUName(cdu).Name, Part: "cdu"})
	p.period, p.entities, p.body = m.slower(), es, t
	m.add(p)
	pumps := &table[float64]{index: []int32{0, 1}, view: func(st *state.State, i int32) float64 { return st.CDUs[cdu].Pump[i] },
		cols: []column[float64]{{name: "coolant_flow_liters_per_minute", as: telemetry.Decimal, exp: 1, how: mean, bias: 0.02, noise: 0.005, of: same}}}
	p.source.Part, p.entities, p.body = "pumps", []telemetry.Entity{site.PumpName(cdu, 0), site.PumpName(cdu, 1)}, pumps
	m.add(p)
	leaks := &table[float64]{index: t.index[1:], view: func(st *state.State, i int32) float64 { return bit(st.Loops[i].Leak) },
		cols: []column[float64]{{name: "leak_detected", as: telemetry.Uint, how: level, of: same}}}
	p.source.Part, p.entities, p.body = "leaks", es[1:], leaks
	m.add(p)
}

// slower is how often building equipment is asked.
func (m *Meter) slower() telemetry.Duration { return max(30*second, m.cfg.Boards) }

func (m *Meter) row(row int) {
	air := &table[float64]{index: []int32{0, 1}, view: func(st *state.State, i int32) float64 {
		if i == 0 {
			return st.Rows[row].Supply
		}
		return st.Rows[row].Inlet
	}, cols: []column[float64]{{name: "inlet_celsius", as: telemetry.Decimal, exp: 1, how: mean, shift: 0.5, of: same}}}
	p := m.controller(telemetry.Source{Collector: "redfish", Target: site.RowName(row).Name, Part: "row"})
	p.period, p.entities, p.body = m.slower(), []telemetry.Entity{site.CRAHName(row), site.RowName(row)}, air
	m.add(p)
	fans := &table[float64]{index: []int32{0}, view: func(st *state.State, _ int32) float64 { return st.Rows[row].Fan },
		cols: []column[float64]{{name: "fan_speed_ratio", as: telemetry.Decimal, exp: 2, how: mean, quantum: 0.01, of: same}}}
	p.source.Part, p.entities, p.body = "crah", []telemetry.Entity{site.CRAHName(row)}, fans
	m.add(p)
	pdus := &table[power]{index: []int32{0, 1}, cols: append(powers(), feeding()), view: func(st *state.State, i int32) power {
		return ofSupply(&st.PDUs[2*row+int(i)])
	}}
	p.source.Part, p.entities, p.body = "pdus", []telemetry.Entity{site.PDUName(row, 0), site.PDUName(row, 1)}, pdus
	m.add(p)
}

func ofSupply(s *state.Supply) power {
	return power{watts: s.Watts, limit: s.Limit, up: bit(s.Up), charge: s.Charge}
}

func (m *Meter) hall(hall int) {
	charge := column[power]{name: "battery_charge_ratio", as: telemetry.Decimal, exp: 2, how: mean, quantum: 0.01, of: func(p *power) float64 { return p.charge }}
	ups := &table[power]{index: []int32{0, 1}, cols: []column[power]{feeding(), charge}, view: func(st *state.State, i int32) power {
		return ofSupply(&st.UPSs[2*hall+int(i)])
	}}
	target := "hall" + strconv.Itoa(hall)
	p := m.controller(telemetry.Source{Collector: "redfish", Target: target, Part: "ups"})
	p.period, p.entities, p.body = m.slower(), []telemetry.Entity{site.UPSName(hall, 0), site.UPSName(hall, 1)}, ups
	m.add(p)
	if hall > 0 { // the feeds are the site's
		return
	}
	feeds := &table[power]{index: []int32{0, 1}, cols: []column[power]{feeding()}, view: func(st *state.State, i int32) power { return ofSupply(&st.Feeds[i]) }}
	p.source.Part, p.entities, p.body = "feeds", []telemetry.Entity{site.FeedName(0), site.FeedName(1)}, feeds
	m.add(p)
}

// addStorage adds the source of each storage system that jobs use. The
// simulated site has one.
func (m *Meter) addStorage() {
	seen := map[string]bool{}
	for i := range m.jobs {
		name := m.jobs[i].Storage
		if name == "" || seen[name] {
			continue
		}
		seen[name] = true
		t := &table[*state.Storage]{index: []int32{0}, view: func(st *state.State, _ int32) *state.Storage { return &st.Storage },
			cols: []column[*state.Storage]{
				{name: "storage_read_bytes_total", as: telemetry.Uint, how: total, of: func(s **state.Storage) float64 { return (*s).ReadTotal }},
				{name: "storage_write_bytes_total", as: telemetry.Uint, how: total, of: func(s **state.Storage) float64 { return (*s).WrittenTotal }},
				{name: "storage_read_latency_seconds", as: telemetry.Decimal, exp: 6, how: mean, noise: 0.03, of: func(s **state.Storage) float64 { return (*s).ReadLatency }},
				{name: "storage_write_latency_seconds", as: telemetry.Decimal, exp: 6, how: mean, noise: 0.03, of: func(s **state.Storage) float64 { return (*s).WriteLatency }},
			}}
		m.add(plan{source: telemetry.Source{Collector: "storage", Target: name, Part: "storage"}, entities: []telemetry.Entity{{Kind: telemetry.Storage, Name: name}},
			body: t, class: telemetry.Delayed, period: 10 * second, node: -1, sw: -1, takes: [2]float64{0.1, 1.5}, jitter: 0.1})
	}
}
