package telemetry

import (
	"cmp"
	"fmt"
	"slices"
)

// Relation is how one entity can affect another.
type Relation string

// The relations.
const (
	Contains Relation = "contains" // outer to inner
	Connects Relation = "connects" // port or nic to port or nic, both directions
	Pairs    Relation = "pairs"    // gpu to nic
	Runs     Relation = "runs"     // job or rank to gpu where known, else node; attrs rank dp tp pp ep role
	Feeds    Relation = "feeds"    // power source to consumer
	Cools    Relation = "cools"    // cooling source to consumer
	Uses     Relation = "uses"     // job to storage
	Member   Relation = "member"   // entity to plane, rail, tenant or group
)

// ParseRelation reads a relation's name.
func ParseRelation(s string) (Relation, error) {
	switch r := Relation(s); r {
	case Contains, Connects, Pairs, Runs, Feeds, Cools, Uses, Member:
		return r, nil
	}
	return "", fmt.Errorf("relation %q: want contains, connects, pairs, runs, feeds, cools, uses or member", s)
}

// Attr is one attribute of an edge: speed_bits_per_second on connects, rank on
// runs. An entity's own attribute (a switch's tier) is stated as membership of
// group:<key>/<value>.
type Attr struct{ Key, Value string }

// AttrSpeed is the nominal speed of a connects edge in bits per second.
const AttrSpeed = "speed_bits_per_second"

// Edge is a relation between two entities over an interval of time: topology
// and job placement are telemetry too. Identity is (From, To, Relation,
// Source, Start). Stating it again renews it.
type Edge struct {
	From, To Entity
	Relation Relation
	Start    Time // when it began to hold; zero means always
	End      Time // when it ceased to hold; zero means it still does
	Received Time // when it was stated; zero if not known
	Source   string
	Attrs    []Attr // ordered by key
}

// EdgeIdentity is what an edge is known by: stated again with another end or
// other attributes, it is the same edge.
type EdgeIdentity struct {
	From, To Entity
	Relation Relation
	Source   string
	Start    Time
}

// Identity returns what the edge is known by.
func (e *Edge) Identity() EdgeIdentity {
	return EdgeIdentity{e.From, e.To, e.Relation, e.Source, e.Start}
}

// Attr returns the value of an attribute, "" where there is none.
func (e *Edge) Attr(key string) string {
	for _, a := range e.Attrs {
		if a.Key == key {
			return a.Value
		}
	}
	return ""
}

// Compare orders edges by start, relation, ends, source, end and attributes.
func (e *Edge) Compare(o *Edge) int {
	for _, c := range []int{cmp.Compare(e.Start, o.Start), cmp.Compare(e.Relation, o.Relation), e.From.Compare(o.From), e.To.Compare(o.To),
		cmp.Compare(e.Source, o.Source), cmp.Compare(e.End, o.End)} {
		if c != 0 {
			return c
		}
	}
	return slices.CompareFunc(e.Attrs, o.Attrs, func(a, b Attr) int {
		if c := cmp.Compare(a.Key, b.Key); c != 0 {
			return c
		}
		return cmp.Compare(a.Value, b.Value)
	})
}
