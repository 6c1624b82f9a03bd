package assist

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	usualPoints = 40
	maxPoints   = 200
	maxCurves   = 24
)

type evidenceIn struct {
	ID     string `json:"id" jsonschema:"the incident's id"`
	Points int    `json:"points,omitempty" jsonschema:"at most so many points a curve, 2 to 200; default 40"`
	Entity string `json:"entity,omitempty" jsonschema:"only the curves of this entity, such as nic:h9/nic0"`
}

// picture is an answer of /curves.
type picture struct {
	From   telemetry.Time `json:"from"`
	To     telemetry.Time `json:"to"`
	Note   string         `json:"note"`
	Curves []struct {
		Entity  string     `json:"entity"`
		Metric  string     `json:"metric"`
		Rate    bool       `json:"rate"`
		Unit    string     `json:"unit"`
		Role    string     `json:"role"`
		Thinned int        `json:"thinned"`
		Times   []int64    `json:"t"`
		Values  []*float64 `json:"v"`
	} `json:"curves"`
}

// curve is one curve as an assistant reads it.
type curve struct {
	Entity string   `json:"entity"`
	Metric string   `json:"metric"`
	Unit   string   `json:"unit"`
	Rate   bool     `json:"rate"`
	Role   string   `json:"role"`
	Before *float64 `json:"median_before_onset"`
	During *float64 `json:"median_while_open"`
	Min    *float64 `json:"min"`
	Max    *float64 `json:"max"`
	Of     int      `json:"points_measured"`
	// Points are seconds since from, and the value; null is a gap.
	Points [][2]*float64 `json:"points"`
}

func (t *tools) getEvidence(ctx context.Context, in evidenceIn) (*result, error) {
	in.Points = cmp.Or(in.Points, usualPoints)
	if in.Points < 2 || in.Points > maxPoints {
		return nil, fmt.Errorf("points: %d: want 2 to %d", in.Points, maxPoints)
	}
	var x explain.Incident
	if err := t.incident(ctx, in.ID, "", &x); err != nil {
		return nil, err
	}
	var p picture
	if err := t.incident(ctx, in.ID, "/curves", &p); err != nil {
		return nil, err
	}
	out := &result{tick: t.tick(ctx), page: pageOf(in.ID), from: p.From, to: p.To}
	curves := []curve{}
	entities, thinned := map[string]bool{}, false
	for _, c := range p.Curves {
		entities[c.Entity] = true
		if in.Entity != "" && c.Entity != in.Entity {
			continue
		}
		y := curve{Entity: c.Entity, Metric: c.Metric, Unit: c.Unit, Rate: c.Rate, Role: c.Role, Of: max(c.Thinned, len(c.Times))}
		y.measure(p.From, &x, c.Times, c.Values)
		y.Points = thin(y.Points, in.Points)
		thinned = thinned || len(y.Points) < y.Of
		curves = append(curves, y)
	}
	if len(curves) == 0 && in.Entity != "" {
		return nil, fmt.Errorf("entity: %.80q has no curve here; these have: %s", in.Entity, names(slices.Sorted(maps.Keys(entities)), 20))
	}
	if n := len(curves); n > maxCurves {
		out.cut = append(out.cut, fmt.Sprintf("curves: the first %d of %d; entity chooses others", maxCurves, n))
		curves = curves[:maxCurves]
	}
	if thinned {
		out.cut = append(out.cut, "points: thinned, each span keeps its smallest and its largest; points_measured is how many there were")
	}
	out.data = map[string]any{"id": in.ID, "from": p.From, "to": p.To, "onset": x.Onset, "note": p.Note, "curves": curves}
	out.text = fmt.Sprintf("%s of %s, from %s to %s. Points are [seconds since from, value].", plural(len(curves), "curve"), in.ID, p.From, p.To)
	out.shrink = func() bool { return shrink(curves) }
	return out, nil
}

// shrink halves the points of all curves, and reports whether there was anything
// to halve.
func shrink(curves []curve) bool {
	any := false
	for i := range curves {
		if n := len(curves[i].Points); n > 4 {
			curves[i].Points = thin(curves[i].Points, n/2)
			any = true
		}
	}
	return any
}

// measure puts a curve's points in order, with their statistics.
func (c *curve) measure(from telemetry.Time, x *explain.Incident, times []int64, values []*float64) {
	var before, during []float64
	over := telemetry.Time(math.MaxInt64)
	if x.Resolved != nil {
		over = *x.Resolved
	}
	for i, ms := range times[:min(len(times), len(values))] {
		at, v := telemetry.Time(ms*1e6), values[i]
		s := math.Round(at.Sub(from).Seconds()*1000) / 1000
		c.Points = append(c.Points, [2]*float64{&s, v})
		if v == nil {
			continue
		}
		if c.Min == nil || *v < *c.Min {
			c.Min = v
		}
		if c.Max == nil || *v > *c.Max {
			c.Max = v
		}
		switch {
		case at < x.Onset.Earliest:
			before = append(before, *v)
		case at > x.Onset.Latest && at <= over:
			during = append(during, *v)
		}
	}
	c.Before, c.During = median(before), median(during)
}

// median of some values; nil of none.
func median(v []float64) *float64 {
	if len(v) == 0 {
		return nil
	}
	slices.Sort(v)
	m := v[len(v)/2]
	if len(v)%2 == 0 {
		m = (m + v[len(v)/2-1]) / 2
	}
	return &m
}

// thin keeps the smallest and the largest value of each span of time, and a gap
// where all of a span is one.
func thin(points [][2]*float64, most int) [][2]*float64 {
	if len(points) <= most {
		return points
	}
	spans := max(most/2, 1)
	out := make([][2]*float64, 0, most)
	for i := range spans {
		part := points[i*len(points)/spans : (i+1)*len(points)/spans]
		low, high := -1, -1
		for k, p := range part {
			if p[1] == nil {
				continue
			}
			if low < 0 || *p[1] < *part[low][1] {
				low = k
			}
			if high < 0 || *p[1] > *part[high][1] {
				high = k
			}
		}
		switch {
		case low < 0 && len(part) > 0:
			out = append(out, part[0])
		case low == high && low >= 0:
			out = append(out, part[low])
		case low >= 0:
			out = append(out, part[min(low, high)], part[max(low, high)])
		}
	}
	return out
}
