package cases

import (
	"fmt"
	"slices"
	"strings"

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
	WithoutPeers      Ablation = "without peers"      // no feature compares with peers
	WithoutSignatures Ablation = "without signatures" // every root is unknown
	WithoutItsOwn     Ablation = "without its own"    // the signature of the case's own faults is deleted
)

// withoutSignature begins the name of an ablation of one signature.
const withoutSignature = "without signature "

// Ablations lists those that take something away, but for those of one signature.
func Ablations() []Ablation {
	return []Ablation{WithoutTopology, WithoutPeers, WithoutSignatures, WithoutItsOwn}
}

// ParseAblations reads the name of a part: "topology", "peers", "signatures",
// "own", "signature=NAME", or "each-signature" for every one of the given names.
func ParseAblations(part string, signatures []string) ([]Ablation, error) {
	if name, ok := strings.CutPrefix(part, "signature="); ok {
		if !slices.Contains(signatures, name) {
			return nil, fmt.Errorf("part %q: signature not found", part)
		}
		return []Ablation{Ablation(withoutSignature + name)}, nil
	}
	switch part {
	case "topology":
		return []Ablation{WithoutTopology}, nil
	case "peers":
		return []Ablation{WithoutPeers}, nil
	case "signatures":
		return []Ablation{WithoutSignatures}, nil
	case "own":
		return []Ablation{WithoutItsOwn}, nil
	case "each-signature":
		var out []Ablation
		for _, name := range signatures {
			out = append(out, Ablation(withoutSignature+name))
		}
		return out, nil
	}
	return nil, fmt.Errorf("part %q: want topology, peers, signatures, own, signature=NAME or each-signature", part)
}

// Part names what is missing.
func (a Ablation) Part() string { return strings.TrimPrefix(string(a), "without ") }

// Engine is the engine with a part missing, for a case with such faults.
func (a Ablation) Engine(e engine.Config, faults ...string) engine.Config {
	keep := slices.Clone(e.Correlate.Signatures)
	if name, ok := strings.CutPrefix(string(a), withoutSignature); ok {
		e.Correlate.Signatures = slices.DeleteFunc(keep, func(s explain.Signature) bool { return s.Name == name })
		return e
	}
	switch a {
	case WithoutSignatures:
		keep = nil
	case WithoutItsOwn:
		keep = slices.DeleteFunc(keep, func(s explain.Signature) bool { return slices.Contains(faults, s.Name) })
	case WithoutPeers:
		for i := range keep {
			keep[i].Features = slices.DeleteFunc(slices.Clone(keep[i].Features), comparesPeers)
		}
	}
	e.Correlate.Signatures = keep
	return e
}

func comparesPeers(c explain.Feature) bool {
	if c.Reading == nil {
		return false
	}
	switch c.Reading.Take {
	case explain.TakePeers, explain.TakePeersRatio, explain.TakeBelowPeers:
		return true
	}
	return false
}

// Hides reports whether a record is one that the engine does not get.
func (a Ablation) Hides(r *telemetry.Record) bool {
	if a != WithoutTopology || r.Kind != telemetry.EdgeRecord {
		return false
	}
	switch r.Edge.Relation {
	case telemetry.Connects, telemetry.Feeds, telemetry.Cools, telemetry.Member:
		return true
	}
	return false
}
