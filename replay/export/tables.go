package export

import (
	"github.com/quintet-dc/quintet/telemetry"
)

// In the rows a column that is optional is null where the field is zero; only a
// value may be zero, and is a pointer.

// sampleRow is one number of one series at one instant.
type sampleRow struct {
	// Time is on the clock that is authoritative for the source; the other two are
	// the readings of both clocks, null where there is none.
	Time     int64  `parquet:"time,delta,timestamp(nanosecond)"`
	Stated   int64  `parquet:"stated,optional,delta,timestamp(nanosecond)"`
	Received int64  `parquet:"received,optional,delta,timestamp(nanosecond)"`
	Entity   string `parquet:"entity,dict"`
	Metric   string `parquet:"metric,dict"`
	Source   string `parquet:"source,dict"`
	// Value is null where the source said that there is none.
	Value *float64 `parquet:"value,optional"`
	// Exact is set where Value had to round: a whole number beyond 2^53.
	Exact uint64 `parquet:"exact,optional"`
}

// eventRow is something that happened to an entity.
type eventRow struct {
	Time     int64  `parquet:"time,delta,timestamp(nanosecond)"`
	Received int64  `parquet:"received,optional,delta,timestamp(nanosecond)"`
	Entity   string `parquet:"entity,dict"`
	Name     string `parquet:"name,dict"`
	Text     string `parquet:"text"`
	Source   string `parquet:"source,dict"`
}

// edgeRow is a relation of two entities.
type edgeRow struct {
	From     string            `parquet:"from,dict"`
	Relation string            `parquet:"relation,dict"`
	To       string            `parquet:"to,dict"`
	Start    int64             `parquet:"start,optional,timestamp(nanosecond)"` // null: it always held
	End      int64             `parquet:"end,optional,timestamp(nanosecond)"`   // null: it still holds
	Received int64             `parquet:"received,optional,timestamp(nanosecond)"`
	Source   string            `parquet:"source,dict"`
	Attrs    map[string]string `parquet:"attrs"`
}

// table is a schema whose names are spelled out once.
type table struct {
	*telemetry.Schema
	source   string
	entities []string
}

func tableOf(s *telemetry.Schema) *table {
	t := &table{Schema: s, source: s.Source.String()}
	for _, e := range s.Entities {
		t.entities = append(t.entities, e.String())
	}
	return t
}

func eventOf(e *telemetry.Event) eventRow {
	return eventRow{int64(e.At), int64(e.Received), e.Entity.String(), string(e.Name), e.Text, e.Source.String()}
}

func edgeOf(e *telemetry.Edge) edgeRow {
	row := edgeRow{From: e.From.String(), Relation: string(e.Relation), To: e.To.String(),
		Start: int64(e.Start), End: int64(e.End), Received: int64(e.Received), Source: e.Source, Attrs: map[string]string{}}
	for _, a := range e.Attrs {
		row.Attrs[a.Key] = a.Value
	}
	return row
}
