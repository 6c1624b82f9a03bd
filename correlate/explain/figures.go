package explain

import (
	"math"
	"strconv"
	"strings"
)

// How quantities are written, in titles, messages, answers of the command line and
// on the page: one unit and one rounding for each, so that two places that state
// the same state it alike. dashboards/web/app/format.js does the same, and a test
// there compares the two.

// Percent writes a share of 0 to 1: "48 %". A share that is not quite nothing or
// all is not rounded to it: "0.3 %", "99.4 %", "0.006 %".
func Percent(share float64) string {
	p := float64(share * 100)
	switch {
	case p != p || math.IsInf(p, 0):
		return "–"
	case p > 99 && p < 100:
		return trimmed(min(99.9, math.Floor(float64(p*10))/10), 1) + " %"
	case p > 0 && p < 1:
		decimals, digit := 1, 0.1
		for p < digit && decimals < leastDigits {
			decimals, digit = decimals+1, digit/10
		}
		return trimmed(max(digit, p), decimals) + " %"
	}
	return whole(p) + " %"
}

// leastDigits are the decimals of the least percentage that is not written as 0.
const leastDigits = 7

// GPUTime writes GPU-seconds as people count them: "45.9 GPU-s", "6.77 GPU-min",
// "12.4 GPU-h".
func GPUTime(seconds float64) string {
	switch {
	case seconds < 120:
		return Number(seconds) + " GPU-s"
	case seconds < 7200:
		return Number(seconds/60) + " GPU-min"
	}
	return Number(seconds/3600) + " GPU-h"
}

// Number writes a number that is not negative with three significant digits, a large
// one in full.
func Number(v float64) string {
	if v >= 999.5 || v == 0 {
		return whole(v)
	}
	rounded := strconv.FormatFloat(v, 'e', 2, 64) // such as 1.23e-02
	exponent, err := strconv.Atoi(rounded[strings.IndexByte(rounded, 'e')+1:])
	if err != nil {
		return whole(v) // a finite number has an exponent
	}
	return trimmed(v, max(0, 2-exponent))
}

// trimmed writes a number with at most so many decimals.
func trimmed(v float64, decimals int) string {
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// whole writes a number without decimals, in groups of three digits.
func whole(v float64) string {
	s := strconv.FormatFloat(math.Floor(v+0.5), 'f', 0, 64)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
