package cases

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/telemetry"
)

// Ablation takes a part of the engine's knowledge away.
type Ablation string

// The ablations.
const (
	Whole             Ablation = ""                   // nothing is missing
	WithoutTopology   Ablation = "without topology"   // it knows where jobs run and what is in a node, a switch, a rack, but no cable and nothing that feeds or cools
	WithoutPeers      Ablation = "without peers"      // no clue compares with peers
	WithoutSignatures Ablation = "without signatures" // every root is unknown
	WithoutItsOwn     Ablation = "without its own"    // the signature of the case's own faults is deleted
)

// Ablations lists those that take something away.
func Ablations() []Ablation {
	return []Ablation{WithoutTopology, WithoutPeers, WithoutSignatures, WithoutItsOwn}
}

// engine is the engine with a part missing.
func (a Ablation) engine(e engine.Config, c Case) engine.Config {
	keep := slices.Clone(e.Correlate.Signatures)
	switch a {
	case WithoutSignatures:
		keep = nil
	case WithoutItsOwn:
		keep = slices.DeleteFunc(keep, func(s explain.Signature) bool { return s.Name == c.Class || s.Name == c.Second })
	case WithoutPeers:
		for i := range keep {
			keep[i].Clues = slices.DeleteFunc(slices.Clone(keep[i].Clues), comparesPeers)
		}
	}
	e.Correlate.Signatures = keep
	return e
}

func comparesPeers(c explain.Clue) bool {
	if c.Reading == nil {
		return false
	}
	switch c.Reading.Take {
	case explain.TakePeers, explain.TakePeersRatio, explain.TakeBelowPeers:
		return true
	}
	return false
}

// hides reports whether a record is one that the engine does not get.
func (a Ablation) hides(r *telemetry.Record) bool {
	if a != WithoutTopology || r.Kind != telemetry.EdgeRecord {
		return false
	}
	switch r.Edge.Relation {
	case telemetry.Connects, telemetry.Feeds, telemetry.Cools, telemetry.Member:
		return true
	}
	return false
}
