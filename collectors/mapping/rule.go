package mapping

import (
	"regexp"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/telemetry"
)

// rule defines what some foreign names become.
type rule struct {
	names    []string         // preferred first
	patterns []*regexp.Regexp // of a name as a whole; their groups are labels
	where    []condition
	join     join
	factor   Number
	test     test
	limit    Number // of test
	of, in   template
	column   telemetry.Column
	as       shape
	per      string            // of a mean: what it is divided by
	refuse   collectors.Reason // not mapped, but refused
	blanks   []interval        // of its file
}

// condition is a label and the pattern that it must match; groups become labels.
type condition struct {
	label string
	want  *regexp.Regexp
}

// join defines how several foreign series of one page become one of ours.
type join uint8

const (
	preferred join = iota // the one whose name is preferred, else the first
	added
	largest
)

// test makes a state of a number.
type test uint8

const (
	untested test = iota
	equal         // 1 where it is the limit, else 0
	above         // 1 where it is more than the limit, else 0
)

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

// applies reports whether the labels meet the rule's conditions, and adds what its
// conditions take out of them.
func (r *rule) applies(l *labelled) bool {
	for _, c := range r.where {
		m := c.want.FindStringSubmatch(l.get(c.label))
		if m == nil {
			return false
		}
		l.take(c.want, m)
	}
	return true
}

// take adds the named groups of a pattern that matched.
func (l *labelled) take(p *regexp.Regexp, groups []string) {
	for i, name := range p.SubexpNames() {
		if name != "" && groups[i] != "" {
			l.taken = append(l.taken, Label{name, groups[i]})
		}
	}
}

// blank reports whether a number means no value.
func (r *rule) blank(v float64) bool {
	for _, b := range r.blanks {
		if v >= b.from && v <= b.to {
			return true
		}
	}
	return false
}

// state is what a test makes of a number.
func (r *rule) state(n Number) Number {
	if r.test == equal && n.Float == r.limit.Float || r.test == above && n.Float > r.limit.Float {
		return one
	}
	return Number{Exact: true}
}

// ruleFactor is what a rule multiplies by; 1 without one.
func ruleFactor(r *rule) float64 {
	if r == nil {
		return 1
	}
	return r.factor.Float
}
