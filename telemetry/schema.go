package telemetry

// ValueType describes how the 64-bit words of a column are read.
type ValueType uint8

// The value types. A word is always carried exactly.
const (
	Uint    ValueType = iota + 1 // the unsigned integer itself, to 2^64-1
	Decimal                      // a signed integer over 10^Exp: 0.250417 is 250417 with Exp 6
	Float                        // IEEE 754 binary64 bits
)

// Column is one metric of a schema and the type of its words.
type Column struct {
	Metric MetricName
	Type   ValueType
	Exp    uint8 // powers of ten, Decimal only, at most 18
}

// Schema gives the series of one source dense positions: an entity table times
// a typed metric table. Series i is Entities[i%len(Entities)] with
// Columns[i/len(Entities)]: metric by metric, so that neighbours in memory are
// judged alike. A pair that does not exist is simply always absent.
//
// A schema is content-addressed: its Fingerprint is a hash of its bytes.
type Schema struct {
	Source   Source
	Class    LatenessClass
	Cadence  Duration // the source's nominal period; zero if it has none
	Entities []Entity
	Columns  []Column
}

// Len returns how many series the schema has.
func (s *Schema) Len() int { return len(s.Entities) * len(s.Columns) }

// Series returns the series at dense position i.
func (s *Schema) Series(i int) Series {
	n := len(s.Entities)
	return Series{Entity: s.Entities[i%n], Metric: s.Columns[i/n].Metric}
}

// Fingerprint identifies a schema: a hash of its bytes.
type Fingerprint uint64
