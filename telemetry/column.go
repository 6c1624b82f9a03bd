package telemetry

import (
	"fmt"
	"math"
)

// MaxMetricBytes is the longest metric name. Ours are short; a foreign series
// carries its sorted labels in it.
const MaxMetricBytes = 1024

// MaxExp is the largest Exp of a Decimal column: 10^18 is the largest power of
// ten an int64 holds.
const MaxExp = 18

// pow10 are exact in binary64 up to 10^22, so a division by one rounds once.
var pow10 = [MaxExp + 1]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18}

// Float returns a word's value. It is the nearest binary64 to the exact value
// for integers within 2^53; larger ones lose their low bits here, and only
// here: take differences of words, not of floats.
func (c Column) Float(word uint64) float64 {
	switch c.Type {
	case Uint:
		return float64(word)
	case Decimal:
		return float64(int64(word)) / pow10[min(c.Exp, MaxExp)]
	}
	return math.Float64frombits(word)
}

// Word returns the word whose Float is nearest to v. Where v does not fit (a
// negative number or NaN in a Uint, a number beyond the type's range) the
// nearest end of the range is taken and NaN becomes zero: a collector states
// such a sample as a Gap instead.
func (c Column) Word(v float64) uint64 {
	switch c.Type {
	case Uint:
		return clampUint(math.RoundToEven(v))
	case Decimal:
		return uint64(clampInt(math.RoundToEven(float64(v * pow10[min(c.Exp, MaxExp)]))))
	}
	return math.Float64bits(v)
}

func clampUint(v float64) uint64 {
	switch {
	case !(v > 0):
		return 0
	case v >= 1<<64:
		return math.MaxUint64
	}
	return uint64(v)
}

func clampInt(v float64) int64 {
	switch {
	case v != v:
		return 0
	case v >= 1<<63:
		return math.MaxInt64
	case v < -1<<63:
		return math.MinInt64
	}
	return int64(v)
}

// Validate reports what is wrong with c: its name, its type, or an Exp that does
// not belong to its type.
func (c Column) Validate() error {
	if c.Metric == "" {
		return fmt.Errorf("column: metric has no name")
	}
	if err := checkText(string(c.Metric), MaxMetricBytes, true); err != nil {
		return fmt.Errorf("column: metric %w", err)
	}
	switch {
	case c.Type < Uint || c.Type > Float:
		return fmt.Errorf("column %.60s: unknown value type %d", c.Metric, c.Type)
	case c.Type == Decimal && c.Exp > MaxExp:
		return fmt.Errorf("column %.60s: exponent %d, at most %d", c.Metric, c.Exp, MaxExp)
	case c.Type != Decimal && c.Exp != 0:
		return fmt.Errorf("column %.60s: exponent %d, but the type is not decimal", c.Metric, c.Exp)
	}
	return nil
}
