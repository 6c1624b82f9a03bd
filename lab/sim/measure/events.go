package measure

import (
	"cmp"
	"strings"

	"github.com/quintet-dc/quintet/lab/sim/site"
	"github.com/quintet-dc/quintet/lab/sim/state"
	"github.com/quintet-dc/quintet/telemetry"
)

// happened emits the events of the second, as logs and schedulers report them, and
// their effects on the instruments themselves.
func (m *Meter) happened(st *state.State, emit func(*telemetry.Record) error) error {
	if m.anyLost {
		m.regain(st)
	}
	for i := range st.Events {
		x := &st.Events[i]
		if err := m.concerns(x, emit); err != nil {
			return err
		}
		if err := m.log(x, telemetry.Duration(st.Second)*second, emit); err != nil {
			return err
		}
	}
	return nil
}

// concerns notes events that change what is measured: a job that is placed, a
// GPU that falls off its bus and answers no more.
func (m *Meter) concerns(x *state.Event, emit func(*telemetry.Record) error) error {
	switch telemetry.EventName(x.Name) {
	case telemetry.EventXID:
		if i, ok := m.gpu(x.Entity); ok && strings.HasPrefix(x.Text, "79") {
			m.gone[i], m.anyLost = true, true
		}
	case telemetry.EventJobStarted:
		for i := range m.jobs {
			if m.jobs[i].Entity == x.Entity && !m.placed[i] {
				return m.place(i, m.cfg.Start.Add(ofSeconds(x.At)), emit)
			}
		}
	}
	return nil
}

// regain resumes the readings of a lost GPU once it works.
func (m *Meter) regain(st *state.State) {
	m.anyLost = false
	for i, lost := range m.gone {
		if lost && st.GPUs[i].Engine > 0 {
			m.gone[i], lost = false, false
		}
		m.anyLost = m.anyLost || lost
	}
}

// gpu returns a GPU's number.
func (m *Meter) gpu(e telemetry.Entity) (int, bool) {
	n, ok := m.nodes[host(e)]
	if e.Kind != telemetry.GPU || !ok {
		return 0, false
	}
	for g := range m.site.GPUs {
		if site.GPUName(n, g) == e {
			return n*m.site.GPUs + g, true
		}
	}
	return 0, false
}

// host is the name of what a part is in, or its own.
func host(e telemetry.Entity) string { return cmp.Or(e.Prefix(), e.Name) }

// log emits an event when it arrives.
func (m *Meter) log(x *state.Event, now telemetry.Duration, emit func(*telemetry.Record) error) error {
	at := ofSeconds(x.At)
	delay := at
	if n, ok := m.nodes[host(x.Entity)]; ok && ofHost(x.Entity.Kind) {
		delay = m.hosts[n].at(at)
	}
	entity := m.cfg.Names.Entity(x.Entity)
	e := &telemetry.Event{Entity: entity, At: m.cfg.Start.Add(delay), Name: telemetry.EventName(x.Name), Text: x.Text, Source: logOf(entity)}
	arrives := at
	if m.cfg.Imperfect {
		arrives += ofSeconds(m.events.Uniform(0.01, 0.4))
	}
	e.Received = m.cfg.Start.Add(arrives)
	if arrives <= now {
		return emit(&telemetry.Record{Kind: telemetry.EventRecord, Event: e})
	}
	m.delay(delayed{arrives: arrives, event: e})
	return nil
}

// logOf is the log that reports an entity.
func logOf(e telemetry.Entity) telemetry.Source {
	switch e.Kind {
	case telemetry.Job, telemetry.Rank:
		return telemetry.Source{Collector: "slurm", Target: "site", Part: "jobs"}
	case telemetry.Switch, telemetry.Port:
		return telemetry.Source{Collector: "gnmi", Target: host(e), Part: "events"}
	case telemetry.GPU, telemetry.NIC, telemetry.Node:
		return telemetry.Source{Collector: "logs", Target: host(e), Part: "kernel"}
	}
	return telemetry.Source{Collector: "redfish", Target: e.Name, Part: "events"}
}

// ofHost reports whether a host's own log reports entities of a kind.
func ofHost(k telemetry.Kind) bool {
	return k == telemetry.GPU || k == telemetry.NIC || k == telemetry.Node
}
