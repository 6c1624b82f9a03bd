package bundle

import (
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// partKinds are what the graph places nowhere by name alone: the same kind is in hosts,
// switches and shelves.
var partKinds = []telemetry.Kind{telemetry.PSU, telemetry.Fan, telemetry.NVSwitch, telemetry.Pump, telemetry.Valve, telemetry.Battery, telemetry.Breaker}

// systemKinds are what parts are in, the innermost first.
var systemKinds = []telemetry.Kind{telemetry.Node, telemetry.Switch, telemetry.Storage, telemetry.Shelf, telemetry.PDU, telemetry.Loop, telemetry.CDU, telemetry.CRAH, telemetry.UPS, telemetry.Rack}

// named lists the containments that the names of parts imply: fan:h0/fan1 is in node:h0
// where that is known. They are in no order.
func (t *topology) named(s *samples) []telemetry.Edge {
	known := map[telemetry.Entity]bool{}
	for e := range t.known {
		known[e] = true
	}
	for i := range t.edges {
		known[t.edges[i].From], known[t.edges[i].To] = true, true
	}
	for i := range s.series {
		known[s.series[i].id.Entity] = true
	}
	var out []telemetry.Edge
	for part := range known {
		if !slices.Contains(partKinds, part.Kind) {
			continue
		}
		for _, k := range systemKinds {
			if of := (telemetry.Entity{Kind: k, Name: part.Prefix()}); known[of] {
				out = append(out, telemetry.Edge{From: of, To: part, Relation: telemetry.Contains, Source: edgeSource})
				break
			}
		}
	}
	return out
}
