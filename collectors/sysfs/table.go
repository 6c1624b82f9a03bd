package sysfs

import (
	"fmt"
	"math"
	"slices"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/telemetry"
)

// table is one source of the collector: a schema and the instant being read.
type table struct {
	schema *telemetry.Schema
	feed   *collectors.Feed
	stated bool // its schema was emitted
	asked  bool // something of it was asked for in this sweep
	words  []uint64
	states []telemetry.State
}

func newTable(s *telemetry.Schema) *table {
	return &table{schema: s, words: make([]uint64, s.Len()), states: make([]telemetry.State, s.Len())}
}

// clear begins a new instant: nothing was asked yet, so everything is absent.
func (t *table) clear() {
	t.asked = false
	clear(t.words)
	clear(t.states)
}

// cell is where a number goes: a place in a table, and how it becomes a word.
type cell struct {
	table  *table
	at     int
	scale  uint64
	signed bool // the word is that of a Decimal
	join   join
}

// put writes v, or a gap where v times its scale does not fit.
func (c *cell) put(v uint64) collectors.Reason {
	limit := uint64(math.MaxUint64)
	if c.signed {
		limit = math.MaxInt64
	}
	if v > limit/c.scale {
		c.gap()
		return collectors.OutOfRange
	}
	v *= c.scale
	t := c.table
	t.asked = true
	if t.states[c.at] == telemetry.Present {
		switch c.join {
		case added:
			v += t.words[c.at]
		case worst:
			v = max(v, t.words[c.at])
		case least:
			v = min(v, t.words[c.at])
		}
	}
	t.words[c.at], t.states[c.at] = v, telemetry.Present
	return good
}

// gap records that the number was asked for and is not known.
func (c *cell) gap() {
	c.table.asked = true
	if c.table.states[c.at] == telemetry.Absent {
		c.table.states[c.at] = telemetry.Gap
	}
}

// claim is a number's request to become a series.
type claim struct {
	part   string
	entity telemetry.Entity
	means  meaning
	cells  *[]cell // of whoever reads it
}

// settle gives every series to the claim of the highest rank, and to all that
// join it. It returns the winners in the order of part, entity and metric.
func settle(claims []claim) []claim {
	type place struct {
		entity telemetry.Entity
		metric telemetry.MetricName
	}
	best := map[place]meaning{}
	for _, c := range claims {
		p := place{c.entity, c.means.metric}
		if b, ok := best[p]; !ok || c.means.rank > b.rank {
			best[p] = c.means
		}
	}
	taken := map[place]bool{}
	var out []claim
	for _, c := range claims {
		p := place{c.entity, c.means.metric}
		if c.means != best[p] || taken[p] && c.means.join == alone {
			continue
		}
		taken[p] = true
		out = append(out, c)
	}
	return out
}

// layOut lays the series of claims out in tables of at most MaxSeriesPerSource,
// entity by entity, and sets in each claim's reader where its number goes. It
// returns how many claims have no place.
func layOut(claims []claim, source telemetry.Source, cadence telemetry.Duration) (out []*table, over int) {
	parts := map[string][]claim{}
	var names []string
	for _, c := range claims {
		if parts[c.part] == nil {
			names = append(names, c.part)
		}
		parts[c.part] = append(parts[c.part], c)
	}
	slices.Sort(names)
	for _, name := range names {
		source.Part = name
		ts, n := layOutPart(parts[name], source, cadence)
		out, over = append(out, ts...), over+n
	}
	return out, over
}

func layOutPart(claims []claim, source telemetry.Source, cadence telemetry.Duration) (out []*table, over int) {
	columns, entities := axes(claims)
	if len(columns) > telemetry.MaxSeriesPerSource {
		columns = columns[:telemetry.MaxSeriesPerSource]
	}
	per := max(1, telemetry.MaxSeriesPerSource/max(1, len(columns)))
	where := map[telemetry.Entity]*table{}
	row := map[telemetry.Entity]int{}
	part := source.Part
	for lo := 0; lo < len(entities); lo += per {
		if lo > 0 {
			source.Part = fmt.Sprintf("%s.%d", part, lo/per+1)
		}
		group := entities[lo:min(lo+per, len(entities))]
		t := newTable(&telemetry.Schema{Source: source, Cadence: cadence, Entities: group, Columns: columns})
		for i, e := range group {
			where[e], row[e] = t, i
		}
		out = append(out, t)
	}
	column := map[telemetry.MetricName]int{}
	for i, c := range columns {
		column[c.Metric] = i
	}
	for _, c := range claims {
		t := where[c.entity]
		i, ok := column[c.means.metric]
		if !ok || t.schema.Columns[i] != c.means.column() {
			over++
			continue
		}
		at := i*len(t.schema.Entities) + row[c.entity]
		*c.cells = append(*c.cells, cell{table: t, at: at, scale: c.means.scale, signed: c.means.exp > 0, join: c.means.join})
	}
	return out, over
}

// axes returns the columns and entities that claims need, in order.
func axes(claims []claim) (columns []telemetry.Column, entities []telemetry.Entity) {
	seenColumn, seenEntity := map[telemetry.MetricName]bool{}, map[telemetry.Entity]bool{}
	for _, c := range claims {
		if !seenColumn[c.means.metric] {
			seenColumn[c.means.metric] = true
			columns = append(columns, c.means.column())
		}
		if !seenEntity[c.entity] {
			seenEntity[c.entity] = true
			entities = append(entities, c.entity)
		}
	}
	slices.SortFunc(columns, func(a, b telemetry.Column) int { return natural(string(a.Metric), string(b.Metric)) })
	slices.SortFunc(entities, func(a, b telemetry.Entity) int { return natural(a.Name, b.Name) })
	return columns, entities
}
