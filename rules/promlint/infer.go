package promlint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// finding is something said against an expression.
type finding struct {
	text  string
	doubt bool
}

// inference works out which labels the result of an expression may have, and
// states what is asked for that cannot be there.
type inference struct {
	vocabulary *Vocabulary
	found      []finding
}

func (in *inference) wrong(format string, args ...any) {
	in.add(finding{text: fmt.Sprintf(format, args...)})
}

func (in *inference) add(f finding) {
	if !slices.Contains(in.found, f) {
		in.found = append(in.found, f)
	}
}

// of returns the labels of an expression's result.
func (in *inference) of(e parser.Expr) labelSet {
	switch e := e.(type) {
	case *parser.VectorSelector:
		return in.selector(e)
	case *parser.MatrixSelector:
		return in.of(e.VectorSelector)
	case *parser.SubqueryExpr:
		return in.of(e.Expr)
	case *parser.ParenExpr:
		return in.of(e.Expr)
	case *parser.UnaryExpr:
		return in.of(e.Expr)
	case *parser.StepInvariantExpr:
		return in.of(e.Expr)
	case *parser.AggregateExpr:
		return in.aggregate(e)
	case *parser.Call:
		return in.call(e)
	case *parser.BinaryExpr:
		return in.binary(e)
	}
	return setOf() // a number or a text
}

// selector checks a metric's name and matchers.
func (in *inference) selector(e *parser.VectorSelector) labelSet {
	name := e.Name
	for _, m := range e.LabelMatchers {
		if m.Name == model.MetricNameLabel && m.Type == labels.MatchEqual {
			name = m.Value
		}
	}
	if name == "" {
		in.add(finding{text: "a selector without a metric's name reads every series", doubt: true})
		return nil
	}
	k, ok := in.vocabulary.metrics[name]
	if !ok {
		in.add(finding{text: fmt.Sprintf("metric %s: nothing states or records it", name), doubt: true})
		return nil
	}
	for _, m := range e.LabelMatchers {
		switch {
		case m.Name == model.MetricNameLabel:
		case !k.labels.has(m.Name):
			in.wrong("metric %s has no label %s", name, m.Name)
		case m.Name == "kind" && k.kinds != nil && !slices.ContainsFunc(k.kinds, m.Matches):
			in.wrong("metric %s: no entity of %s states it, only %s", name, m, strings.Join(k.kinds, ", "))
		}
	}
	return k.labels
}

// ofCounters lists the functions that want a counter.
func ofCounters() []string { return []string{"rate", "increase", "irate", "resets"} }

func (in *inference) call(e *parser.Call) labelSet {
	out := setOf()
	for _, a := range e.Args {
		got := in.of(a)
		if t := a.Type(); t == parser.ValueTypeVector || t == parser.ValueTypeMatrix {
			out = got
		}
	}
	if slices.Contains(ofCounters(), e.Func.Name) {
		in.counter(e)
	}
	switch e.Func.Name {
	case "label_replace", "label_join":
		return in.relabel(e, out)
	case "scalar", "absent", "absent_over_time", "time", "vector":
		return setOf()
	}
	return out
}

// counter checks that what a function of counters reads is one.
func (in *inference) counter(e *parser.Call) {
	m, ok := e.Args[0].(*parser.MatrixSelector)
	if !ok {
		return
	}
	name := m.VectorSelector.(*parser.VectorSelector).Name
	if k, ok := in.vocabulary.metrics[name]; ok && !k.counter {
		in.wrong("%s of %s, which is no counter", e.Func.Name, name)
	}
}

func (in *inference) relabel(e *parser.Call, from labelSet) labelSet {
	text := func(i int) string {
		if s, ok := e.Args[i].(*parser.StringLiteral); ok {
			return s.Val
		}
		return ""
	}
	sources := []string{}
	if e.Func.Name == "label_replace" {
		sources = append(sources, text(3))
	}
	for i := 3; e.Func.Name == "label_join" && i < len(e.Args); i++ {
		sources = append(sources, text(i))
	}
	for _, s := range sources {
		if s != "" && !from.has(s) { // "" names no label: the new one has the same value everywhere
			in.wrong("%s reads label %s, which is not there", e.Func.Name, s)
		}
	}
	return from.with(setOf(text(1)))
}

func (in *inference) aggregate(e *parser.AggregateExpr) labelSet {
	from := in.of(e.Expr)
	for _, g := range e.Grouping {
		if !from.has(g) {
			in.wrong("%s by label %s, which is not there", e.Op, g)
		}
	}
	switch {
	case e.Op == parser.TOPK || e.Op == parser.BOTTOMK || e.Op == parser.LIMITK || e.Op == parser.LIMIT_RATIO:
		return from
	case !e.Without:
		return setOf(e.Grouping...)
	case from == nil:
		return nil
	}
	out := setOf()
	for l := range from {
		if !slices.Contains(e.Grouping, l) {
			out[l] = true
		}
	}
	return out
}

func (in *inference) binary(e *parser.BinaryExpr) labelSet {
	left, right := in.of(e.LHS), in.of(e.RHS)
	match := e.VectorMatching
	if match == nil { // a number on one side or on both
		if e.LHS.Type() == parser.ValueTypeVector {
			return left
		}
		return right
	}
	for _, l := range match.MatchingLabels {
		if match.On && (!left.has(l) || !right.has(l)) {
			in.wrong("%s on label %s, which is not on both sides", e.Op, l)
		}
	}
	switch {
	case e.Op == parser.LOR:
		return left.with(right)
	case e.Op == parser.LAND || e.Op == parser.LUNLESS:
		return left
	case match.Card == parser.CardManyToOne:
		return in.group(e, left, right)
	case match.Card == parser.CardOneToMany:
		return in.group(e, right, left)
	case match.On:
		return setOf(match.MatchingLabels...)
	}
	return left
}

// group returns the labels of a match of many to one.
func (in *inference) group(e *parser.BinaryExpr, many, one labelSet) labelSet {
	for _, l := range e.VectorMatching.Include {
		if !one.has(l) {
			in.wrong("group_left or group_right of label %s, which is not there", l)
		}
	}
	return many.with(setOf(e.VectorMatching.Include...))
}
