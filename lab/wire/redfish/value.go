package redfish

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/lab/board"
	"github.com/quintet-dc/quintet/telemetry"
)

// object is a JSON object.
type object = map[string]any

// number is a reading as an answer contains it.
type number = json.Number

// scaled is a reading times ten to the power of shift, with every digit that
// the board has; nil where the device has no value.
func scaled(r board.Reading, shift int) any {
	if r.Gap {
		return nil
	}
	switch r.Column.Type {
	case telemetry.Uint:
		return point(strconv.FormatUint(r.Word, 10), shift)
	case telemetry.Decimal:
		return point(strconv.FormatInt(int64(r.Word), 10), shift-int(r.Column.Exp))
	}
	return point(strconv.FormatFloat(r.Float(), 'f', -1, 64), shift)
}

// point moves the decimal point of a number: by shift places to the right.
func point(digits string, shift int) number {
	sign := ""
	if rest, ok := strings.CutPrefix(digits, "-"); ok {
		sign, digits = "-", rest
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	if shift >= 0 {
		fraction += strings.Repeat("0", max(0, shift-len(fraction)))
		whole, fraction = whole+fraction[:shift], fraction[shift:]
	} else {
		whole = strings.Repeat("0", max(0, 1-shift-len(whole))) + whole
		cut := len(whole) + shift
		whole, fraction = whole[:cut], whole[cut:]+fraction
	}
	whole, fraction = strings.TrimLeft(whole, "0"), strings.TrimRight(fraction, "0")
	if whole == "" {
		whole = "0"
	}
	if fraction != "" {
		whole += "." + fraction
	}
	return number(sign + whole)
}

func decimal(x float64) number { return number(strconv.FormatFloat(x, 'f', -1, 64)) }

// span is a number of seconds as an ISO 8601 duration, in days from a day on.
func span(r board.Reading) any {
	if r.Gap {
		return nil
	}
	text := string(scaled(r, 0).(number))
	whole, fraction, _ := strings.Cut(text, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return nil
	}
	const day = int64(24 * time.Hour / time.Second)
	out := "P"
	if n >= day {
		out += strconv.FormatInt(n/day, 10) + "D"
		n %= day
	}
	out += "T" + strconv.FormatInt(n, 10)
	if fraction != "" {
		out += "." + fraction
	}
	return out + "S"
}
