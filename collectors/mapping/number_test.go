package mapping

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

// exactly returns what a text times a factor is in a column's units, rounded to
// the nearest, half away from zero; false where the column cannot hold it.
func exactly(text, factor string, c telemetry.Column) (uint64, bool) {
	v, ok := new(big.Rat).SetString(text)
	f, ok2 := new(big.Rat).SetString(factor)
	if !ok || !ok2 {
		return 0, false
	}
	v.Mul(v, f)
	v.Mul(v, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(c.Exp)), nil)))
	negative := v.Sign() < 0
	v.Abs(v).Add(v, big.NewRat(1, 2))
	whole := new(big.Int).Quo(v.Num(), v.Denom())
	switch {
	case !whole.IsUint64() || negative && c.Type == telemetry.Uint && whole.Sign() > 0:
		return 0, false
	case c.Type == telemetry.Uint:
		return whole.Uint64(), true
	case whole.Cmp(big.NewInt(math.MaxInt64)) > 0:
		return 0, false
	case negative:
		return -whole.Uint64(), true
	}
	return whole.Uint64(), true
}

// TestWords: against arithmetic without bounds, every number whose digits are
// kept becomes the nearest word, whatever the factor.
func TestWords(t *testing.T) {
	draw := rand.New(rand.NewPCG(7, 7))
	factors := []string{"1", "0.01", "0.001", "0.000000001", "4", "8", "1000000", "1048576", "1e6"}
	for range 200000 {
		text := strconv.FormatUint(draw.Uint64()>>draw.IntN(64), 10)
		switch draw.IntN(4) {
		case 0:
			at := draw.IntN(len(text) + 1)
			text = text[:at] + "." + text[at:]
		case 1:
			text += "e" + strconv.Itoa(draw.IntN(20)-10)
		case 2:
			text = "-" + text
		}
		f := factors[draw.IntN(len(factors))]
		c := telemetry.Column{Metric: "m", Type: telemetry.Uint}
		if draw.IntN(2) == 0 {
			c.Type, c.Exp = telemetry.Decimal, uint8(draw.IntN(10))
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			continue
		}
		n, factor := ParseNumber([]byte(text), v), ParseNumber([]byte(f), 1)
		if !n.Exact || !factor.Exact {
			t.Fatalf("%s times %s is not kept exactly", text, f)
		}
		want, fits := exactly(text, f, c)
		got, ok := n.exact(factor, c)
		if ok && (!fits || got != want) {
			t.Fatalf("%s times %s in %+v: %d, want %d, %t", text, f, c, got, want, fits)
		}
		if !ok && fits && len(text) < 18 && c.Exp == 0 && f == "1" {
			t.Fatalf("%s in %+v: not held, want %d", text, c, want)
		}
		if w, ok := n.word(factor, c); ok != fits && float64(want) < 1<<62 && want > 0 {
			t.Fatalf("%s times %s in %+v: %d, %t, want %d, %t", text, f, c, w, ok, want, fits)
		}
	}
}

// TestNumbers: what is no decimal number, or too long a one, is its float.
func TestNumbers(t *testing.T) {
	for text, want := range map[string]bool{
		"18446744073709551615": true, "18446744073709551616": false, "0.1": true, "1e3": true, "1.8527668e+07": true, "-7": true, "+7": true,
		"": false, ".": false, "-": false, "e5": false, "NaN": false, "+Inf": false, "1e999": false, "0x10": false, "1_0": false, "1.2.3": false, "1e": false,
	} {
		if n := ParseNumber([]byte(text), 1.5); n.Exact != want || n.Float != 1.5 {
			t.Errorf("%q: %+v", text, n)
		}
	}
	one := ParseNumber([]byte("1"), 1)
	for _, c := range []struct {
		n    Number
		col  telemetry.Column
		want bool
	}{
		{FloatNumber(math.Inf(1)), telemetry.Column{Type: telemetry.Float}, false},
		{FloatNumber(math.Inf(1)), telemetry.Column{Type: telemetry.Uint}, false},
		{FloatNumber(-0.2), telemetry.Column{Type: telemetry.Uint}, true},
		{FloatNumber(-3), telemetry.Column{Type: telemetry.Uint}, false},
		{FloatNumber(1 << 62), telemetry.Column{Type: telemetry.Decimal, Exp: 9}, false},
		{IntNumber(math.MinInt64), telemetry.Column{Type: telemetry.Float}, true},
		{IntNumber(-5), telemetry.Column{Type: telemetry.Decimal, Exp: 3}, true},
	} {
		if w, ok := c.n.word(one, c.col); ok != c.want {
			t.Errorf("%+v in %+v: %d, %t", c.n, c.col, w, ok)
		}
	}
	if w, _ := IntNumber(-5).word(one, telemetry.Column{Type: telemetry.Decimal, Exp: 3}); int64(w) != -5000 {
		t.Error(int64(w))
	}
	if !FloatNumber(math.NaN()).isNaN() || FloatNumber(1).isNaN() {
		t.Error("NaN")
	}
}

// FuzzNumber: a number that is kept exactly is what its float is.
func FuzzNumber(f *testing.F) {
	for _, s := range []string{"1", "-0.5", "1e-3", "9223372036854775794", "1.5e-254", "NaN"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := strconv.ParseFloat(text, 64)
		n := ParseNumber([]byte(text), v)
		if !n.Exact {
			return
		}
		if err != nil {
			t.Fatalf("%q is kept as %+v and is no number: %v", text, n, err)
		}
		if got, _ := new(big.Rat).SetString(text); got != nil {
			if back, _ := got.Float64(); back != v {
				t.Fatalf("%q: %v, not %v", text, back, v)
			}
		}
		want, fits := exactly(text, "1", telemetry.Column{Type: telemetry.Decimal, Exp: 6})
		if w, ok := n.exact(Number{Mantissa: 1, Float: 1, Exact: true}, telemetry.Column{Type: telemetry.Decimal, Exp: 6}); ok && (!fits || w != want) {
			t.Fatalf("%q: %d, want %d, %t", text, w, want, fits)
		}
	})
}
