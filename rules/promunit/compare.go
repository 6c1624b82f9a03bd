package promunit

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/rules"
)

// alerts compares the alerts of a name that fire now with those that should.
func (b *bench) alerts(c *alertCase) []string {
	var want, got []string
	for _, a := range c.Alerts {
		l := labels.NewBuilder(labels.FromMap(a.Labels)).Set(labels.AlertName, c.Name).Labels()
		want = append(want, text(l, labels.FromMap(a.Annotations)))
	}
	for _, g := range b.groups {
		for _, r := range g.Rules() {
			a, ok := r.(*rules.AlertingRule)
			if !ok || a.Name() != c.Name {
				continue
			}
			for _, x := range a.ActiveAlerts() {
				if x.State == rules.StateFiring {
					got = append(got, text(x.Labels, x.Annotations))
				}
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if slices.Equal(want, got) {
		return nil
	}
	return []string{fmt.Sprintf("alert %s at %s:%s", c.Name, model.Duration(c.At), difference(want, got))}
}

func text(l, annotations labels.Labels) string { return l.String() + " " + annotations.String() }

// difference shows what was wanted beside what came.
func difference(want, got []string) string {
	list := func(s []string) string {
		if len(s) == 0 {
			return " nothing"
		}
		return "\n    " + strings.Join(s, "\n    ")
	}
	return "\n  want" + list(want) + "\n  got" + list(got)
}

// sample is a value and what it is of.
type sample struct {
	labels labels.Labels
	value  float64
}

// expr compares an expression's value with what it should be.
func (b *bench) expr(ctx context.Context, c *exprCase) []string {
	got, err := b.ask(ctx, c)
	if err != nil {
		return []string{fmt.Sprintf("%s at %s: %v", c.Expr, model.Duration(c.At), err)}
	}
	var want []sample
	for _, s := range c.Samples {
		l, err := b.parser.ParseMetric(s.Labels)
		if err != nil {
			return []string{fmt.Sprintf("%s at %s: labels %q: %v", c.Expr, model.Duration(c.At), s.Labels, err)}
		}
		want = append(want, sample{l, s.Value})
	}
	for _, list := range [][]sample{want, got} {
		slices.SortFunc(list, func(x, y sample) int { return labels.Compare(x.labels, y.labels) })
	}
	if slices.EqualFunc(want, got, b.equal) {
		return nil
	}
	return []string{fmt.Sprintf("%s at %s:%s", c.Expr, model.Duration(c.At), difference(lines(want), lines(got)))}
}

// ask evaluates an expression as promtool does: a number is a sample without
// labels, and what is neither that nor samples is refused.
func (b *bench) ask(ctx context.Context, c *exprCase) ([]sample, error) {
	q, err := b.engine.NewInstantQuery(ctx, b.db, nil, c.Expr, b.start.Add(time.Duration(c.At)))
	if err != nil {
		return nil, err
	}
	defer q.Close()
	r := q.Exec(ctx)
	if r.Err != nil {
		return nil, r.Err
	}
	switch v := r.Value.(type) {
	case promql.Scalar:
		return []sample{{value: v.V}}, nil
	case promql.Vector:
		out := make([]sample, 0, len(v))
		for _, s := range v {
			if s.H != nil {
				return nil, fmt.Errorf("%s is a histogram, which is not compared here", s.Metric)
			}
			out = append(out, sample{s.Metric, s.F})
		}
		return out, nil
	}
	return nil, fmt.Errorf("neither samples nor a number")
}

// equal compares samples; a fuzzy file takes the two neighbours of a number for
// that number.
func (b *bench) equal(x, y sample) bool {
	if !labels.Equal(x.labels, y.labels) {
		return false
	}
	same := x.value == y.value
	if b.file.FuzzyCompare {
		same = same || math.Nextafter(x.value, math.Inf(-1)) == y.value || math.Nextafter(x.value, math.Inf(1)) == y.value
	}
	return same
}

func lines(ss []sample) (out []string) {
	for _, s := range ss {
		out = append(out, s.labels.String()+" "+strconv.FormatFloat(s.value, 'g', -1, 64))
	}
	return out
}
