package measure

import (
	"github.com/quintet-dc/quintet/lab/sim/random"
	"github.com/quintet-dc/quintet/lab/sim/worlds"
	"github.com/quintet-dc/quintet/telemetry"
)

// This file is where telemetry leaves the simulated site: what of it does not
// exist in a world, how often it is read there, and what it is called.

// variation is what a world changes of a body.
type variation struct {
	has   func(telemetry.MetricName) bool // nil: every metric
	noise *worlds.Noise                   // nil: the standard one
}

// vary lets the world change a source's plan before the source exists, and
// reports whether anything of it is left.
func (m *Meter) vary(p *plan) bool {
	in := &m.cfg.Instruments
	if in.Sensors > 0 && p.source.Collector == facility {
		if r := m.stream("exists/" + p.source.String()); !r.Chance(in.Sensors) {
			return false
		}
	}
	if poll := m.cfg.Cadence.Of(p.source.Collector, p.source.Part); poll != nil {
		p.period, p.staggered = telemetry.Duration(poll.Seconds)*second, poll.Staggered && len(p.entities) > 1
	}
	v := variation{}
	if len(in.Absent) > 0 {
		v.has = func(name telemetry.MetricName) bool { return in.Has(p.entities[0].Kind, name) }
	}
	if m.cfg.Noise.Shape != worlds.Tent && m.cfg.Imperfect {
		v.noise = &m.cfg.Noise
	}
	return p.body.vary(v)
}

// facility is the collector of what powers and cools.
const facility = "redfish"

// lost is the share of a source's frames that never come.
func (m *Meter) lost(p *plan, r *random.Source) float64 {
	loss := drawLoss(r)
	if most := m.cfg.Cadence.Lost; most > 0 {
		own := m.stream("lost/" + p.source.String())
		loss = own.Uniform(0, most)
	}
	return loss
}

// named puts a source and its entities under the world's names.
func (m *Meter) named(s telemetry.Source, es []telemetry.Entity) (telemetry.Source, []telemetry.Entity) {
	if m.cfg.Names == (worlds.Names{}) {
		return s, es
	}
	s.Target = m.cfg.Names.Target(s.Target)
	out := make([]telemetry.Entity, len(es))
	for i := range es {
		out[i] = m.cfg.Names.Entity(es[i])
	}
	return s, out
}

// vary drops the columns that do not exist and reports whether any are left.
func (t *table[T]) vary(v variation) bool {
	t.noise = v.noise
	if v.has == nil {
		return true
	}
	var left []column[T]
	for i := range t.cols {
		if v.has(t.cols[i].name) {
			left = append(left, t.cols[i])
		}
	}
	t.cols = left
	return len(left) > 0
}

// off is by how many deviations a reading of a series is off.
func (t *table[T]) off(series int, r *random.Source) float64 {
	if t.noise == nil {
		return tent(r)
	}
	x := t.noise.Next(r, t.before[series])
	t.before[series] = x
	return t.noise.Sensors.Of(x)
}

// all is the device of a reading that is of every device.
const all = -1

// skips reports whether entity i is not read.
func (r *reading) skips(i int) bool { return r.device != all && r.device != i }

// alone clears what was read of other devices than the one whose turn it is.
func (s *source) alone(r *reading) {
	if r.device == all {
		return
	}
	n := len(s.schema.Entities)
	for i := range r.words {
		if i%n != r.device {
			r.words[i] = 0
		}
	}
}

// stated states what of a reading is there: nil where all is.
func (m *Meter) stated(s *source) []telemetry.State {
	if len(m.gaps) == 0 && s.devices == 0 {
		return nil
	}
	m.states = m.states[:0]
	n := len(s.schema.Entities)
	there := func(i int) bool { return s.devices == 0 || i%n == m.reading.device }
	for i := range s.words {
		if there(i) {
			m.states = append(m.states, telemetry.Present)
		} else {
			m.states = append(m.states, telemetry.Absent)
		}
	}
	for _, g := range m.gaps {
		if there(int(g)) {
			m.states[g] = telemetry.Gap
		}
	}
	return m.states
}
