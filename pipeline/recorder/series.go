package recorder

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// Role is why a curve is drawn.
type Role string

// The roles.
const (
	Effect        Role = "effect"  // a degraded job's steps
	Root          Role = "root"    // the root in the chain
	Chain         Role = "chain"   // the others in the chain
	Corroborating Role = "witness" // what else is known of the root
)

// wanted is one curve to be drawn.
type wanted struct {
	series telemetry.Series
	role   Role
}

// maxCurves bounds a picture.
const maxCurves = 48

// stepMetric is a job's step time.
const stepMetric telemetry.MetricName = "job_step_seconds"

// linkMetrics are the metrics drawn of a root that is an end of a link, where it
// reports them: its traffic, pause sent and received, and marked packets.
var linkMetrics = [...]telemetry.MetricName{
	"port_tx_bytes_total", "port_rx_bytes_total",
	"port_pfc_tx_pause_seconds_total", "port_pfc_rx_pause_seconds_total",
	"port_ecn_marked_packets_total", "roce_ecn_marked_packets_total",
	"roce_cnp_sent_total", "roce_cnp_handled_total",
}

// seriesOf lists the curves of an incident: the series of its claims first, then
// the steps of its jobs, its chain from the root on, and other series of the root.
func seriesOf(in *explain.Incident) []wanted {
	var out []wanted
	add := func(s telemetry.Series, r Role) {
		known := slices.ContainsFunc(out, func(w wanted) bool { return w.series == s })
		if !known && !s.Entity.IsZero() && s.Metric != "" && len(out) < maxCurves {
			out = append(out, wanted{s, r})
		}
	}
	for _, c := range in.Claims {
		role := Chain
		switch {
		case slices.ContainsFunc(in.Impact.Jobs, func(j explain.JobImpact) bool { return j.Job == c.Entity }):
			role = Effect
		case c.Entity == in.Root.Entity:
			role = Root
		}
		add(telemetry.Series{Entity: c.Entity, Metric: c.Metric}, role)
	}
	for _, j := range in.Impact.Jobs {
		add(telemetry.Series{Entity: j.Job, Metric: stepMetric}, Effect)
	}
	for _, l := range in.Chain {
		role := Chain
		if l.Entity == in.Root.Entity {
			role = Root
		}
		add(telemetry.Series{Entity: l.Entity, Metric: l.Metric}, role)
	}
	switch in.Root.Entity.Kind {
	case telemetry.NIC, telemetry.Port, telemetry.Queue:
		for _, m := range linkMetrics {
			add(telemetry.Series{Entity: in.Root.Entity, Metric: m}, Corroborating)
		}
	}
	return out
}

// entitiesOf lists the entities of curves, each once.
func entitiesOf(ws []wanted) []telemetry.Entity {
	var out []telemetry.Entity
	for _, w := range ws {
		if !slices.Contains(out, w.series.Entity) {
			out = append(out, w.series.Entity)
		}
	}
	return out
}

// unitOf is the unit of a curve, and whether it is a rate.
func unitOf(m *telemetry.Metric) (unit string, rate bool) {
	if m == nil {
		return "", false
	}
	short := m.Unit
	switch m.Unit {
	case "seconds":
		short = "s"
	case "bytes":
		short = "B"
	}
	if m.Type == telemetry.Counter {
		return short + "/s", true
	}
	return short, false
}
