package mapping

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/quintet-dc/quintet/telemetry"
)

// Number is a value as its sender wrote it. An exact one is Mantissa times
// 10^Exp, negative or not; any other is Float alone.
type Number struct {
	Mantissa uint64
	Float    float64
	Exp      int32
	Negative bool
	Exact    bool
}

// maxExp bounds the powers of ten that are taken exactly.
const maxExp = 64

// ParseNumber reads a number from text. One that it cannot keep exactly, or that is
// invalid, is its Float, which the caller may know already.
func ParseNumber(text []byte, float float64) Number {
	n, inexact := Number{Float: float}, Number{Float: float}
	digits, negative := strings.CutPrefix(string(text), "-")
	if n.Negative = negative; !negative {
		digits = strings.TrimPrefix(digits, "+")
	}
	if i := strings.IndexAny(digits, "eE"); i >= 0 {
		e, err := strconv.Atoi(digits[i+1:])
		if err != nil || e > maxExp || e < -maxExp {
			return inexact
		}
		n.Exp, digits = int32(e), digits[:i]
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	n.Exp -= int32(len(fraction))
	var err error
	n.Mantissa, err = strconv.ParseUint(whole+fraction, 10, 64)
	if n.Exact = n.Exp >= -maxExp && n.Exp <= maxExp; err != nil {
		return inexact
	}
	return n
}

// Decimal reads a decimal number and nothing more: neither hexadecimal, infinite, nor
// with an underscore.
func Decimal(text string) (Number, bool) {
	if text == "" || strings.Trim(text, "+-.0123456789eE") != "" {
		return Number{}, false
	}
	f, err := strconv.ParseFloat(text, 64)
	return ParseNumber([]byte(text), f), err == nil || errors.Is(err, strconv.ErrRange)
}

// FloatNumber is a number that came as a float: exact where it is whole.
func FloatNumber(f float64) Number {
	n := Number{Float: f}
	if a := math.Abs(f); a < 1<<63 && a == math.Trunc(a) {
		n.Mantissa, n.Negative, n.Exact = uint64(a), f < 0, true
	}
	return n
}

// IntNumber is a number that came as an integer.
func IntNumber(v int64) Number {
	n := Number{Mantissa: uint64(v), Float: float64(v), Exact: true}
	if v < 0 {
		n.Mantissa, n.Negative = -uint64(v), true
	}
	return n
}

// Set reads a number that can be kept exactly.
func (n *Number) Set(text string) error {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return fmt.Errorf("want a number, found %.40q", text)
	}
	if *n = ParseNumber([]byte(text), f); !n.Exact {
		return fmt.Errorf("%.40s cannot be kept exactly", text)
	}
	return nil
}

// times returns n times o, as exactly as both are.
func (n Number) times(o Number) Number {
	out := Number{Float: n.Float * o.Float, Negative: n.Negative != o.Negative, Exp: n.Exp + o.Exp}
	hi, lo := bits.Mul64(n.Mantissa, o.Mantissa)
	out.Mantissa, out.Exact = lo, n.Exact && o.Exact && hi == 0
	return out
}

// UintNumber is a number that came as an integer without sign.
func UintNumber(v uint64) Number { return Number{Mantissa: v, Float: float64(v), Exact: true} }

// whole reports whether it is an integer without sign.
func (n Number) whole() bool { return n.Exact && !n.Negative && n.Exp >= 0 }

// isNaN reports whether it is no number: the sender has no value now.
func (n Number) isNaN() bool { return !n.Exact && n.Float != n.Float }

// word returns n times factor as a word of a column, exactly where both are
// exact and rounded to the nearest otherwise. False where the column cannot
// hold it.
func (n Number) word(factor Number, c telemetry.Column) (uint64, bool) {
	if n.Exact && factor.Exact && c.Type != telemetry.Float {
		if w, ok := n.exact(factor, c); ok {
			return w, true
		}
	}
	v := n.float(factor)
	switch c.Type {
	case telemetry.Float:
		return math.Float64bits(v), v == v && !math.IsInf(v, 0)
	case telemetry.Uint:
		if !(v > -0.5) || v >= 1<<64 {
			return 0, false
		}
	default:
		if scaled := float64(v * math.Pow10(int(c.Exp))); !(math.Abs(scaled) < 1<<63) {
			return 0, false
		}
	}
	return c.Word(v), true
}

// float returns n times factor: the nearest binary64 where both have few digits.
func (n Number) float(factor Number) float64 {
	if p := n.times(factor); p.Exact && p.Mantissa < 1<<53 && p.Exp >= -22 && p.Exp <= 0 {
		v := float64(p.Mantissa) / math.Pow10(int(-p.Exp))
		if p.Negative {
			return -v
		}
		return v
	}
	return float64(n.Float * factor.Float)
}

// exact does the same in integers, rounding half up; false where these do not
// suffice.
func (n Number) exact(factor Number, c telemetry.Column) (uint64, bool) {
	hi, lo := bits.Mul64(n.Mantissa, factor.Mantissa)
	e := n.Exp + factor.Exp + int32(c.Exp)
	switch {
	case hi == 0 && lo == 0:
		return 0, true
	case e > 0:
		if e > 19 || hi > 0 {
			return 0, false
		}
		if hi, lo = bits.Mul64(lo, powers[e]); hi > 0 {
			return 0, false
		}
	case e < 0:
		if e < -19 || hi >= powers[-e] {
			return 0, false
		}
		q, r := bits.Div64(hi, lo, powers[-e])
		if r >= powers[-e]-r && q < math.MaxUint64 {
			q++
		}
		hi, lo = 0, q
	}
	negative := n.Negative != factor.Negative
	switch {
	case hi > 0:
		return 0, false
	case c.Type == telemetry.Uint:
		return lo, !negative || lo == 0
	case lo > math.MaxInt64:
		return 0, false
	case negative:
		return -lo, true
	}
	return lo, true
}

// powers are the powers of ten that a word holds.
var powers = [20]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19}

var (
	one = Number{Mantissa: 1, Float: 1, Exact: true}
	nan = math.NaN()
)
