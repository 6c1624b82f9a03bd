package mapping

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/settings"
	"github.com/quintet-dc/quintet/telemetry"
)

// Reading defines what a value becomes: which metric, and how its number is made.
type Reading struct {
	// Metric is the name of the metric.
	Metric telemetry.MetricName `yaml:"metric" was:"to" max:"128"`
	// Unit is that of the value; the metric's own if empty.
	Unit string `yaml:"unit"`
	// Scale multiplies the value, exactly.
	Scale Number `yaml:"scale" was:"times" default:"1"`
	// As is the form in which numbers are carried; counters and states are whole.
	As string `yaml:"as" oneof:"uint decimal float"`
	// Digits is the number of decimal places that are carried.
	Digits *int `yaml:"digits" min:"0" max:"15"`
	// Words are the numbers of words; null is one that means that there is no value.
	Words map[string]Value `yaml:"words"`
	// Other is the number of every other word.
	Other *Number `yaml:"other"`
	// Is makes a state: 1 where the value is this number.
	Is *Number `yaml:"is"`
	// Above makes a state: 1 where the value is more than this number.
	Above *Number `yaml:"above"`
	// Reduce makes one of several values of a series.
	Reduce Reduction `yaml:"reduce" was:"join,fold,combine"`
}

// catalogue is made once: it takes its time.
var catalogue = sync.OnceValue(telemetry.DefaultCatalogue)

// Value is the number of a word; unknown where the word means that there is none.
type Value struct {
	Number
	Known bool
}

// Blank marks a value that may be empty.
func (v *Value) Blank() {}

// Set reads a value.
func (v *Value) Set(text string) error {
	if v.Known = text != ""; !v.Known {
		return nil
	}
	return v.Number.Set(text)
}

// Quantity is a reading that numbers can be made with.
type Quantity struct {
	Column telemetry.Column
	Reduce Reduction
	// Dimension is what is measured: power, temperature; "" counts.
	Dimension string

	unit        unit
	factor      Number // of unit and scale
	linear      bool   // the factor is all
	floor       bool   // of a counter, which the factor makes a fraction
	scale       Number
	least, most float64
	bounded     bool             // the unit of the value is known, and so what is plausible
	words       map[string]Value // by the word in lower case
	other       *Number
	state       bool
	is, above   *Number
	blanks      []Blank
}

// Quantity checks a reading, and prepares it. Errors name the key.
func (r *Reading) Quantity(blanks []Blank) (*Quantity, error) {
	q := &Quantity{Reduce: r.Reduce, scale: r.Scale, least: math.Inf(-1), most: math.Inf(1), bounded: r.Unit != "", other: r.Other, is: r.Is, above: r.Above, blanks: blanks}
	q.Column = telemetry.Column{Metric: r.Metric, Type: telemetry.Float}
	if strings.Trim(string(r.Metric), "abcdefghijklmnopqrstuvwxyz0123456789_") != "" || r.Metric == "" {
		return nil, settings.Errorf("metric", "%.40q: want a name such as port_tx_bytes_total", r.Metric)
	}
	stem, counter := strings.CutSuffix(string(r.Metric), "_total")
	for _, d := range dimensions {
		if strings.HasSuffix(stem, d.ending) {
			q.Dimension, q.least, q.most = d.dimension, d.least, d.most
		}
	}
	q.unit, _ = unitNamed("count")
	if r.Unit != "" {
		var ok bool
		if q.unit, ok = unitNamed(r.Unit); !ok || q.unit.dimension != q.Dimension {
			return nil, settings.Errorf("unit", "%q is no unit of %s", r.Unit, r.Metric)
		}
	}
	if len(r.Words) > 0 {
		q.words = map[string]Value{}
		for word, v := range r.Words { // order-independent: of two that differ in case, neither is another word
			q.words[strings.ToLower(word)] = v
		}
	}
	if r.Scale.Float == 0 {
		return nil, settings.Errorf("scale", "zero")
	}
	q.measured(q.unit)
	declared, known := catalogue().Lookup(r.Metric)
	q.state = known && declared.Type == telemetry.StateOf && q.words != nil && q.Dimension == ""
	return q, q.carry(r, counter || known && declared.Type != telemetry.Gauge || r.Is != nil || r.Above != nil || q.words != nil && !known)
}

// measured sets the unit of what is read.
func (q *Quantity) measured(u unit) {
	q.unit = u
	q.factor, q.linear = u.factor()
	q.factor = q.factor.times(q.scale)
}

// carry chooses the form in which the numbers are carried: decimals where the number of
// digits is given or follows from the unit, integers for counters and states, else
// floats.
func (q *Quantity) carry(r *Reading, whole bool) error {
	places := max(0, -int(q.factor.Exp))
	switch {
	case q.factor.Mantissa != 1 || !q.linear:
		places = 0
	case places > telemetry.MaxExp:
		return settings.Errorf("scale", "%g: at most %d decimal places", q.factor.Float, telemetry.MaxExp)
	}
	switch {
	case r.As == "float":
	case r.As == "decimal" && r.Digits == nil && places == 0 && q.factor.Float != 1:
		return settings.Errorf("scale", "%g: decimal requires 1, 0.1, 0.01 … or digits", q.factor.Float)
	case r.Digits != nil:
		places = *r.Digits
		whole = true
	case r.As == "uint":
		places, whole = 0, true
	case whole && r.Unit != "" && q.Dimension == "time":
		places = 9
	case whole && r.Unit != "" && q.Dimension == "energy":
		places, q.most = 3, 9e15
	}
	switch {
	case r.As == "float" || !whole && r.As == "":
	case places > 0 || r.As == "decimal":
		q.Column.Type, q.Column.Exp = telemetry.Decimal, uint8(places)
	default:
		q.Column.Type = telemetry.Uint
		q.floor = q.linear && (q.factor.Exp < 0 || !q.factor.Exact) && strings.HasSuffix(string(r.Metric), "_total")
	}
	return q.Column.Validate()
}

// Declares reports whether the program declares a metric.
func Declares(m telemetry.MetricName) bool {
	_, ok := catalogue().Lookup(m)
	return ok
}

// Declared returns an error if the metric is declared, and not for a kind of entity.
func (r *Reading) Declared(kind telemetry.Kind) error {
	m, ok := catalogue().Lookup(r.Metric)
	if ok && kind != "" && !slices.Contains(m.Kinds, kind) {
		return settings.Errorf("metric", "%s is declared for %v, not for a %s", r.Metric, m.Kinds, kind)
	}
	return nil
}

// MeasuredIn returns the quantity for values of a unit; false where the unit is not
// known. Fits reports whether it is one of what is measured.
func (q *Quantity) MeasuredIn(name string) (out *Quantity, known, fits bool) {
	u, ok := unitNamed(name)
	if !ok || u.dimension != q.Dimension {
		return q, ok, false
	}
	if u == q.unit && q.bounded {
		return q, true, true
	}
	other := *q
	other.bounded = true
	other.measured(u)
	return &other, true, true
}

// Word returns the word of a number, or the reason why there is none.
func (q *Quantity) Word(n Number) (uint64, collectors.Reason) {
	switch {
	case n.isNaN(), q.blank(n):
		return 0, collectors.Unsupported
	case q.is != nil || q.above != nil:
		if q.is != nil && n.Float == q.is.Float || q.above != nil && n.Float > q.above.Float {
			return 1, ""
		}
		return 0, ""
	}
	factor := q.factor
	if q.floor && n.Float >= 0 { // of a part of an event nothing is counted
		n, factor = FloatNumber(math.Floor(n.Float*factor.Float)), one
	}
	if !q.linear {
		n, factor = FloatNumber((n.Float+q.unit.plus)*q.unit.mul/q.unit.div), q.scale
	}
	if v := float64(n.Float * factor.Float); q.bounded && (v < q.least || v > q.most) {
		return 0, collectors.OutOfRange
	}
	w, ok := n.word(factor, q.Column)
	if !ok {
		return 0, collectors.OutOfRange
	}
	return w, ""
}

// blank reports whether a number means that there is no value. One number may be a
// count: it is compared with what is no counter.
func (q *Quantity) blank(n Number) bool {
	return slices.ContainsFunc(q.blanks, func(b Blank) bool {
		return n.Float >= b.from && n.Float <= b.to && !(b.one && strings.HasSuffix(string(q.Column.Metric), "_total"))
	})
}

// Blank is a range of numbers by which a sender reports that it has no value.
type Blank struct {
	from, to float64
	one      bool
}

// Text returns the number that a text means, or the reason why it means none.
func (q *Quantity) Text(text string) (Number, collectors.Reason) {
	if q.words != nil {
		v, ok := q.words[strings.ToLower(text)]
		if !ok {
			v, ok = q.words[strings.ToLower(Unqualified(text))]
		}
		switch {
		case ok && v.Known:
			return v.Number, ""
		case ok:
			return Number{}, collectors.Unsupported
		}
	}
	if slices.Contains(absent, strings.ToLower(text)) {
		return Number{}, collectors.Unsupported
	}
	if q.unit.name == "ISO8601" {
		d, ok := ParseISODuration(text)
		if !ok {
			return Number{}, collectors.Malformed
		}
		return Number{Mantissa: uint64(d), Exp: -9, Float: d.Seconds(), Exact: true}, ""
	}
	if n, ok := Decimal(text); ok && !q.state {
		return n, ""
	}
	switch {
	case q.other != nil:
		return *q.other, ""
	case q.words != nil:
		return Number{}, collectors.Unknown
	}
	return Number{}, collectors.Malformed
}

// absent lists what devices write where they have no value.
var absent = []string{"", "-", "--", "n/a", "na", "nan", "none", "null", "unknown", "unavailable", "out of range", "not available", "not supported", "disabled"}

// Reduction is how several values of one series become one.
type Reduction string

// The reductions.
const (
	First Reduction = ""
	Sum   Reduction = "sum"
	Max   Reduction = "max"
	Min   Reduction = "min"
	Mean  Reduction = "mean"
)

// Set reads the name of a reduction.
func (r *Reduction) Set(text string) error {
	switch *r = Reduction(text); *r {
	case "first":
		*r = First
	case "most": // its former name
		*r = Max
	case Sum, Max, Min, Mean:
	default:
		return fmt.Errorf("want one of first, sum, max, min, mean, found %.40q", text)
	}
	return nil
}

// Of begins to reduce words of a column.
func (r Reduction) Of(c telemetry.Column) Reduced { return Reduced{how: r, column: c} }

// Reduced is what the words of several values of one series come to.
type Reduced struct {
	how    Reduction
	column telemetry.Column
	word   uint64  // the first, the extreme, or the sum of whole numbers
	total  float64 // of all values
	n      int
}

// Add adds a word.
func (x *Reduced) Add(w uint64) {
	v, best := x.column.Float(w), x.column.Float(x.word)
	x.total += v
	x.n++
	switch {
	case x.n == 1, x.how == Max && v > best, x.how == Min && v < best:
		x.word = w
	case x.how == Sum:
		x.word += w
	}
}

// Word returns the word of all that were added; false where none was.
func (x *Reduced) Word() (uint64, bool) {
	switch {
	case x.n == 0:
		return 0, false
	case x.how == Mean:
		return x.column.Word(x.total / float64(x.n)), true
	case x.how == Sum && x.column.Type == telemetry.Float:
		return math.Float64bits(x.total), true
	}
	return x.word, true
}

// Whole reports whether whole numbers are words of the column as they are.
func (q *Quantity) Whole() bool {
	return q.Column.Type != telemetry.Float && q.linear && !q.bounded && q.is == nil && q.above == nil && len(q.blanks) == 0 &&
		q.factor.Mantissa == 1 && !q.factor.Negative && q.factor.Exp+int32(q.Column.Exp) == 0
}
