package mapping

import (
	"slices"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/telemetry"
)

// rule defines what some foreign names become.
type rule struct {
	*Quantity          // nil of what is refused
	names     []string // preferred first
	patterns  []Whole  // their groups are labels
	where     Where
	places    []Place // of which the first that applies counts
	as        shape
	per       string            // of a mean: what it is divided by
	refuse    collectors.Reason // not mapped, but refused
}

// shape defines what is mapped.
type shape uint8

const (
	plain shape = iota
	histogram
	mean
)

// match is a rule that applies to a series.
type match struct {
	known
	entity telemetry.Entity
	within telemetry.Entity // zero: not stated
}

// role is what a series is of its rule.
type role uint8

const (
	value role = iota
	bucket
	count
	sum
	divisor
)

// Label is one label of a foreign series.
type Label struct{ Name, Value string }

// labelled looks a label up: the labels configured for the target take precedence
// over those of a page, and what a condition took out of a label over both.
type labelled struct {
	taken        []Binding
	target, page []Label
}

func (l *labelled) get(name string) string {
	if v, ok := Bound(l.taken, name); ok {
		return v
	}
	for _, from := range [][]Label{l.target, l.page} {
		for _, x := range from {
			if x.Name == name && x.Value != "" {
				return x.Value
			}
		}
	}
	return ""
}

// entity makes an entity of the labels.
func (l *labelled) entity(t *EntityTemplate) (telemetry.Entity, bool) {
	return t.Entity(func(_, name string) (string, bool) {
		v := l.get(name)
		return collectors.Part(v), v != ""
	})
}

// place returns the entity of a series and what contains it, by the first place that
// applies.
func (r *rule) place(l labelled) (of, within telemetry.Entity, ok bool) {
	for i := range r.places {
		p, here := &r.places[i], l
		vars, fits := p.Where.Match(l.get)
		here.taken = append(slices.Clip(l.taken), vars...)
		if of, ok = here.entity(&p.Of); fits && ok {
			within, _ = here.entity(&p.In)
			return of, within, true
		}
	}
	return of, within, false
}

// applies reports whether the labels meet the rule's conditions, and adds what its
// conditions take out of them.
func (r *rule) applies(l *labelled) bool {
	vars, ok := r.where.Match(l.get)
	l.taken = append(l.taken, vars...)
	return ok
}
