package evaluation

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Bound is what a figure must keep.
type Bound struct {
	Min *float64 `yaml:"min"`
	Max *float64 `yaml:"max"`
}

// Floors are bounds by set and column.
type Floors map[string]map[string]Bound

// ParseFloors reads a YAML document such as
//
//	site-b:
//	  f1: {min: 0.9}
//	  false_per_hour: {max: 1}
func ParseFloors(b []byte) (Floors, error) {
	var f Floors
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	if err := d.Decode(&f); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read floors: %w", err)
	}
	if len(f) == 0 {
		return nil, errors.New("read floors: no sets")
	}
	for _, set := range slices.Sorted(maps.Keys(f)) {
		for _, key := range slices.Sorted(maps.Keys(f[set])) {
			bound := f[set][key]
			if _, ok := column(key); !ok {
				return nil, fmt.Errorf("read floors: %s: unknown column %q", set, key)
			}
			if bound.Min == nil && bound.Max == nil {
				return nil, fmt.Errorf("read floors: %s: %s: min or max required", set, key)
			}
		}
	}
	return f, nil
}

// Violation is a figure that breaks its bound.
type Violation struct {
	Set, Column string
	Value       *float64 // nil: not defined
	Bound       Bound
	Absent      string // why the set was not scored; then there is no column
}

// String names set, column, value and floor.
func (v Violation) String() string {
	if v.Absent != "" {
		return fmt.Sprintf("%s: not scored: %s", v.Set, v.Absent)
	}
	value := "not defined"
	if v.Value != nil {
		value = fmt.Sprintf("%.4g", *v.Value)
	}
	switch b := v.Bound; {
	case b.Min != nil && (v.Value == nil || *v.Value < *b.Min):
		return fmt.Sprintf("%s: %s is %s, below the floor %g", v.Set, v.Column, value, *b.Min)
	case b.Max != nil:
		return fmt.Sprintf("%s: %s is %s, above the limit %g", v.Set, v.Column, value, *b.Max)
	}
	return fmt.Sprintf("%s: %s is %s", v.Set, v.Column, value)
}

// Check returns the bounds that a result breaks, by set and column. A set that
// was not scored breaks its floors, and so does a figure that is not defined.
func (f Floors) Check(r *Result) []Violation {
	var out []Violation
	for _, set := range slices.Sorted(maps.Keys(f)) {
		row := r.row(set)
		switch {
		case row == nil:
			out = append(out, Violation{Set: set, Absent: "no such set in this run"})
			continue
		case row.Absent != "":
			out = append(out, Violation{Set: set, Absent: row.Absent})
			continue
		}
		for _, c := range Columns() {
			b, ok := f[set][c.Key]
			if value := c.of(&row.Figures); ok && !b.keeps(value) {
				out = append(out, Violation{Set: set, Column: c.Key, Value: value, Bound: b})
			}
		}
	}
	return out
}

func (b Bound) keeps(v *float64) bool {
	return v != nil && (b.Min == nil || *v >= *b.Min) && (b.Max == nil || *v <= *b.Max)
}
