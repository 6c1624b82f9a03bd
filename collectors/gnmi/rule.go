package gnmi

import (
	"fmt"
	"math"

	"github.com/quintet-dc/quintet/telemetry"
)

// role is what a leaf is for.
type role uint8

const (
	reading   role = iota // a number of a series
	portName              // what somebody calls a port
	neighbour             // a word about who is at a port's other end
	ignored               // known, and nothing of ours
)

// fold defines what becomes of several leaves that are one series.
type fold uint8

const (
	single fold = iota // there is one
	sum
	most
	mean
)

// rule is what a leaf means.
type rule struct {
	role   role
	field  string // of a portName or neighbour: which word it is
	kind   telemetry.Kind
	within template // the entity's name below the switch's; empty is the switch
	queues bool     // only where queues are asked for
	column telemetry.Column
	fold   fold
	scale  float64
	exact  bool
	ieee   bool // four bytes are an IEEE 754 number
	words  map[string]float64
	other  *float64 // what any other word is
	event  bool     // its changes are events: a link's going down and coming up
}

// settle chooses the column of a metric and how numbers become its words.
func (r *rule) settle(m telemetry.MetricName, known *telemetry.Metric, as string) error {
	r.column = telemetry.Column{Metric: m, Type: telemetry.Float}
	if as == "" && known == nil {
		return fmt.Errorf("metric %.60s is not declared: as: required (uint, decimal or float)", m)
	}
	whole := known != nil && known.Type != telemetry.Gauge
	power, isPower := tenth(r.scale)
	switch {
	case as == "float", as == "" && !whole:
	case as == "decimal", as == "" && isPower && power > 0:
		if !isPower {
			return fmt.Errorf("scale %g: decimal requires 1, 0.1, 0.01 …", r.scale)
		}
		r.column.Type, r.column.Exp, r.exact = telemetry.Decimal, uint8(power), true
	default:
		r.column.Type, r.exact = telemetry.Uint, r.scale == 1
	}
	r.event = m == "port_up" && r.kind == telemetry.Port
	return r.column.Validate()
}

// tenth returns n where v is 10 to the -n.
func tenth(v float64) (int, bool) {
	for n, p := 0, 1.0; n <= telemetry.MaxExp; n, p = n+1, p*10 {
		if math.Abs(v*p-1) < 1e-9 {
			return n, true
		}
	}
	return 0, false
}
