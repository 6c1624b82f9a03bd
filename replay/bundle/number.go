package bundle

import (
	"errors"
	"math"
	"strconv"
)

// kind describes how a value was written, and so how it can be carried.
type kind uint8

const (
	gap     kind = iota // empty or NaN: asked, and there was no value
	uint64s             // an unsigned integer, exact
	decimal             // a signed integer over a power of ten, exact
	float               // anything else, as binary64
)

const (
	maxDigits   = 9       // digits behind the point of a decimal
	maxMantissa = 1 << 53 // beyond it a decimal is not exact in binary64
)

var errNumber = errors.New("bad number")

// parseValue reads the text of a value.
//
// A decimal's mantissa is below 2^53 and its power of ten exact in binary64, so
// that mantissa over power rounds once and is what strconv would give.
func parseValue(b []byte) (k kind, word uint64, exp uint8, err error) {
	if len(b) == 0 {
		return gap, 0, 0, nil
	}
	i, negative := 0, b[0] == '-'
	if negative {
		i = 1
	}
	var m uint64
	digits, point := 0, -1
	for ; i < len(b); i++ {
		c := b[i]
		if c == '.' && point < 0 {
			point = i
			continue
		}
		d := uint64(c - '0')
		if c < '0' || c > '9' || m > (math.MaxUint64-d)/10 {
			return parseFloat(b)
		}
		m = m*10 + d
		digits++
	}
	switch {
	case digits == 0:
		return gap, 0, 0, errNumber
	case point < 0 && !negative:
		return uint64s, m, 0, nil
	case point < 0:
		point = len(b) - 1
	}
	places := len(b) - 1 - point
	if m > maxMantissa || places > maxDigits {
		return parseFloat(b)
	}
	if negative {
		m = -m
	}
	return decimal, m, uint8(places), nil
}

// parseFloat reads what has no exact short form: exponents, many digits, and
// the gap written as NaN.
func parseFloat(b []byte) (kind, uint64, uint8, error) {
	if len(b) > 400 || b[0] == '+' {
		return gap, 0, 0, errNumber
	}
	for _, c := range b {
		if c == '_' || c == 'x' || c == 'X' { // strconv's own additions
			return gap, 0, 0, errNumber
		}
	}
	v, err := strconv.ParseFloat(string(b), 64)
	switch {
	case err != nil:
		return gap, 0, 0, errNumber
	case math.IsNaN(v):
		return gap, 0, 0, nil
	case math.IsInf(v, 0):
		return gap, 0, 0, errors.New("not a finite number")
	}
	return float, math.Float64bits(v), 0, nil
}

var powersOfTen = [maxDigits + 1]uint64{1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9}

// scale returns a decimal's mantissa with more places; ok is false where it is
// then no longer exact.
func scale(word uint64, from, to uint8) (uint64, bool) {
	p := powersOfTen[to-from]
	m := int64(word)
	if m > int64(maxMantissa/p) || m < -int64(maxMantissa/p) {
		return 0, false
	}
	return uint64(m * int64(p)), true
}

// toFloat returns a value as binary64.
func toFloat(k kind, word uint64, exp uint8) float64 {
	switch k {
	case uint64s:
		return float64(word)
	case decimal:
		return float64(int64(word)) / float64(powersOfTen[exp])
	}
	return math.Float64frombits(word)
}
