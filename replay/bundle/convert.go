package bundle

import (
	"math"

	"github.com/quintet-dc/quintet/telemetry"
)

// shape is what the values of one column have in common.
type shape struct {
	places  uint8 // most digits behind a point
	decimal bool  // a value has a point or a sign
	float   bool  // a value needs binary64
	lossy   bool  // a whole number is not exact in binary64, but must be carried so
}

func (h *shape) see(x *row) {
	switch x.kind {
	case decimal:
		h.decimal = true
		h.places = max(h.places, x.exp)
	case float:
		h.float = true
	}
}

// column is the type of a column of such values: unsigned if all are, decimal
// if all are exact in it, else binary64.
func (h *shape) column(m telemetry.MetricName) telemetry.Column {
	switch {
	case h.float:
		return telemetry.Column{Metric: m, Type: telemetry.Float}
	case h.decimal:
		return telemetry.Column{Metric: m, Type: telemetry.Decimal, Exp: h.places}
	}
	return telemetry.Column{Metric: m, Type: telemetry.Uint}
}

// convert gives every column its type and every row the word of its column.
func (b *Bundle) convert(r *report) {
	s := b.samples
	shapes := make([][]shape, len(b.schemas))
	for i, sc := range b.schemas {
		shapes[i] = make([]shape, len(sc.Columns))
	}
	of := make([]*shape, len(s.series))
	for i := range s.series {
		of[i] = &shapes[s.slots[i].source][b.columnOf(int32(i))]
	}
	for i := range s.rows {
		of[s.rows[i].series].see(&s.rows[i])
	}
	for i := range s.rows {
		x := &s.rows[i]
		if h := of[x.series]; h.decimal && !h.float {
			_, exact := x.decimal(h.places)
			h.float = !exact
		}
	}
	for i := range s.rows {
		x := &s.rows[i]
		x.word = x.as(of[x.series])
	}
	for i, sc := range b.schemas {
		for c := range sc.Columns {
			h := &shapes[i][c]
			sc.Columns[c] = h.column(sc.Columns[c].Metric)
			if h.lossy {
				r.warn(place{file: s.file}, "%s of %s: whole numbers beyond 2^53 among fractions: their last digits are lost", sc.Columns[c].Metric, sc.Source.Target)
			}
		}
	}
}

// columnOf returns the column of a series in its schema.
func (b *Bundle) columnOf(series int32) int {
	at := b.samples.slots[series]
	return int(at.at) / len(b.schemas[at.source].Entities)
}

// decimal returns the row's value over ten to the power of places; ok is false
// where it is not exact.
func (x *row) decimal(places uint8) (word uint64, ok bool) {
	switch {
	case x.kind == gap:
		return 0, true
	case x.kind == uint64s && x.word > maxMantissa:
		return 0, false
	}
	return scale(x.word, x.exp, places)
}

// as returns the row's value as a word of a column of that shape.
func (x *row) as(h *shape) uint64 {
	switch {
	case x.kind == gap:
		return 0
	case h.float:
		h.lossy = h.lossy || x.kind == uint64s && x.word > maxMantissa && uint64(float64(x.word)) != x.word
		return math.Float64bits(toFloat(x.kind, x.word, x.exp))
	case h.decimal:
		w, _ := x.decimal(h.places)
		return w
	}
	return x.word
}
