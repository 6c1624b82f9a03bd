package replica

import (
	"context"
	"fmt"
	"maps"

	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/telemetry"
)

// Limits of one answer.
const (
	maxTopology = 5000
	maxHops     = 8
)

// TopologyQuestion asks for the entities within so many hops of an entity, or for
// the entities of a kind, or, without either, for all of them.
type TopologyQuestion struct {
	Entity telemetry.Entity `json:"entity"`
	Hops   int              `json:"hops"`
	Kind   telemetry.Kind   `json:"kind"`
	Inside telemetry.Entity `json:"in"`    // of a kind: those directly in it
	After  string           `json:"after"` // of a kind: those whose names follow
	Limit  int              `json:"limit"` // 0: the maximum
}

// Topology is the answer to AskTopology.
type Topology struct {
	Tick      *telemetry.Time        `json:"tick"`
	Kinds     map[telemetry.Kind]int `json:"kinds"` // entities of the whole site
	Stale     int                    `json:"stale"` // edges of the whole site that nobody renews
	Entities  []Entity               `json:"entities"`
	Edges     []Edge                 `json:"edges"`
	Truncated bool                   `json:"truncated"`
	Next      string                 `json:"next,omitempty"` // of a kind: the name after which it goes on
}

// Entity is one entity of a Topology. If a kind was requested it has the entities
// one relation away from it.
type Entity struct {
	ID        telemetry.Entity   `json:"id"`
	Kind      telemetry.Kind     `json:"kind"`
	Inside    *telemetry.Entity  `json:"in,omitempty"`
	Groups    []telemetry.Entity `json:"groups,omitempty"`
	Peer      *telemetry.Entity  `json:"peer,omitempty"`
	Speed     float64            `json:"speed_bits_per_second,omitempty"`
	FedBy     []telemetry.Entity `json:"fed_by,omitempty"`
	CooledBy  []telemetry.Entity `json:"cooled_by,omitempty"`
	Jobs      []telemetry.Entity `json:"jobs,omitempty"`
	Downlinks int                `json:"downlinks,omitempty"` // of a switch: ports to nics
	Uplinks   int                `json:"uplinks,omitempty"`   // and to other switches
}

// Edge is one edge of a Topology.
type Edge struct {
	From     telemetry.Entity   `json:"from"`
	To       telemetry.Entity   `json:"to"`
	Relation telemetry.Relation `json:"rel"`
	Attrs    map[string]string  `json:"attrs"`
	Source   string             `json:"source"`
	Start    *telemetry.Time    `json:"start"`
	End      *telemetry.Time    `json:"end"`
	Stale    bool               `json:"stale"`
}

func (a *answers) topology(ctx context.Context, req []byte) (any, error) {
	q := TopologyQuestion{Hops: 2}
	if err := decode(req, &q); err != nil {
		return nil, err
	}
	if q.Hops < 0 || q.Hops > maxHops {
		return nil, fmt.Errorf("question: hops: %d: want 0 to %d", q.Hops, maxHops)
	}
	if q.Limit <= 0 || q.Limit > maxTopology {
		q.Limit = maxTopology
	}
	var v correlate.TopologyView
	var tick *telemetry.Time
	err := a.do(ctx, func(o *owner) {
		v = o.runner.Topology(correlate.TopologyQuery{Entity: q.Entity, Hops: q.Hops, Limit: q.Limit, Kind: q.Kind, Inside: q.Inside, After: q.After})
		tick = stated(o.runner.Tick())
	})
	out := Topology{Tick: tick, Kinds: map[telemetry.Kind]int{}, Stale: v.Stale, Truncated: v.Truncated, Entities: []Entity{}, Edges: []Edge{}}
	for _, k := range v.Kinds {
		out.Kinds[k.Kind] = k.Count
	}
	for _, e := range v.Entities {
		out.Entities = append(out.Entities, Entity{ID: e, Kind: e.Kind})
	}
	for _, d := range v.Listed {
		out.Entities = append(out.Entities, Entity{ID: d.Entity, Kind: d.Entity.Kind, Inside: named(d.Inside), Groups: d.Groups, Peer: named(d.Peer), Speed: d.Speed,
			FedBy: d.FedBy, CooledBy: d.CooledBy, Jobs: d.Jobs, Downlinks: d.Downlinks, Uplinks: d.Uplinks})
	}
	if n := len(v.Listed); n > 0 && v.Truncated {
		out.Next = v.Listed[n-1].Entity.Name
	}
	for _, e := range v.Edges {
		out.Edges = append(out.Edges, Edge{e.From, e.To, e.Relation, attrs(e.Attrs), e.Source, stated(e.Start), stated(e.End), e.Stale})
	}
	return out, err
}

// named is nil for what is not.
func named(e telemetry.Entity) *telemetry.Entity {
	if e.IsZero() {
		return nil
	}
	return &e
}

func attrs(list []telemetry.Attr) map[string]string {
	return maps.Collect(func(yield func(string, string) bool) {
		for _, x := range list {
			if !yield(x.Key, x.Value) {
				return
			}
		}
	})
}
