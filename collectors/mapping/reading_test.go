package mapping

import (
	"math"
	"testing"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/settings"
	"github.com/quintet-dc/quintet/telemetry"
)

// quantity decodes a reading.
func quantity(t *testing.T, text string) *Quantity {
	t.Helper()
	var r Reading
	root, err := settings.Document(text)
	if err == nil {
		err = settings.Decode("", root, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	q, err := r.Quantity([]Blank{{from: 65535, to: 65535, one: true}, {from: 1e9, to: 2e9}})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// TestReadings: what a text becomes by unit, scale, words and the metric's name.
func TestReadings(t *testing.T) {
	for _, c := range []struct {
		reading, text string
		want          float64
		why           collectors.Reason
	}{
		{"{metric: x_watts, unit: kW}", "1.5", 1500, ""},
		{"{metric: x_ratio, unit: '%'}", "45.3", 0.453, ""},
		{"{metric: x_ratio, scale: 0.01}", "45.3", 0.453, ""},
		{"{metric: x_celsius, unit: '[degF]'}", "77", 25, ""},
		{"{metric: x_celsius, unit: Cel}", "1000", 0, collectors.OutOfRange},
		{"{metric: x_celsius}", "1000", 1000, ""},
		{"{metric: x_seconds_total, unit: ISO8601}", "PT1M0.000000001S", 60.000000001, ""},
		{"{metric: x_seconds_total, unit: us}", "1500", 0.0015, ""},
		{"{metric: x_seconds_total, scale: 1e-6}", "1500", 0.0015, ""},
		{"{metric: x_joules_total, unit: kWh}", "0.001", 3600, ""},
		{"{metric: x_bytes_total, scale: 4}", "4611686018427387904", 0, collectors.OutOfRange},
		{"{metric: x_total, scale: 0.5}", "5", 2, ""},
		{"{metric: x_bytes, scale: 0.5, digits: 0}", "5", 3, ""},
		{"{metric: port_up, words: {UP: 1}, other: 0}", "mod:up", 1, ""},
		{"{metric: port_up, words: {UP: 1}, other: 0}", "lower-layer-down", 0, ""},
		{"{metric: port_up, words: {UP: 1}, other: 0}", "N/A", 0, collectors.Unsupported},
		{"{metric: psu_up, words: {Enabled: 1, Absent: null}}", "Absent", 0, collectors.Unsupported},
		{"{metric: psu_up, words: {Enabled: 1}}", "7", 0, collectors.Unknown},
		{"{metric: port_speed_bits_per_second, words: {SPEED_1GB: 1e9}}", "10000", 10000, ""},
		{"{metric: port_up, is: 4}", "4", 1, ""},
		{"{metric: leak_detected, above: 0}", "0", 0, ""},
		{"{metric: x_watts}", "65535", 0, collectors.Unsupported},
		{"{metric: x_total}", "65535", 65535, ""},
		{"{metric: x_total}", "1500000000", 0, collectors.Unsupported},
		{"{metric: x_total}", "many", 0, collectors.Malformed},
		{"{metric: x_total}", "0x10", 0, collectors.Malformed},
		{"{metric: x_total}", "-1", 0, collectors.OutOfRange},
	} {
		q := quantity(t, c.reading)
		n, why := q.Text(c.text)
		var w uint64
		if why == "" {
			w, why = q.Word(n)
		}
		if why != c.why || why == "" && math.Abs(q.Column.Float(w)-c.want) > 1e-12*math.Abs(c.want) {
			t.Errorf("%s of %s: %v %v, want %v %v", c.text, c.reading, q.Column.Float(w), why, c.want, c.why)
		}
	}
}

// TestColumns: counters and states are whole, decimals follow from the unit, and the
// rest are floats.
func TestColumns(t *testing.T) {
	for reading, want := range map[string]telemetry.Column{
		"{metric: x_total}":                          {Metric: "x_total", Type: telemetry.Uint},
		"{metric: x_watts}":                          {Metric: "x_watts", Type: telemetry.Float},
		"{metric: x_watts, digits: 3}":               {Metric: "x_watts", Type: telemetry.Decimal, Exp: 3},
		"{metric: x_watts, digits: 0}":               {Metric: "x_watts", Type: telemetry.Uint},
		"{metric: port_up}":                          {Metric: "port_up", Type: telemetry.Uint},
		"{metric: x_seconds_total, scale: 1e-6}":     {Metric: "x_seconds_total", Type: telemetry.Decimal, Exp: 6},
		"{metric: x_seconds_total, unit: s}":         {Metric: "x_seconds_total", Type: telemetry.Decimal, Exp: 9},
		"{metric: x_total, as: float}":               {Metric: "x_total", Type: telemetry.Float},
		"{metric: x_watts, scale: 0.1, as: decimal}": {Metric: "x_watts", Type: telemetry.Decimal, Exp: 1},
		"{metric: x_watts, as: uint}":                {Metric: "x_watts", Type: telemetry.Uint},
	} {
		if got := quantity(t, reading).Column; got != want {
			t.Errorf("%s: %+v, want %+v", reading, got, want)
		}
	}
}

// TestUnits: every unit has a dimension that metrics can have, and a factor.
func TestUnits(t *testing.T) {
	for _, u := range units {
		if u.div == 0 || u.mul == 0 {
			t.Errorf("unit %s: a factor of zero", u.name)
		}
		if f, ok := u.factor(); ok && math.Abs(f.Float-u.mul/u.div) > 0 || !f.Exact {
			t.Errorf("unit %s: factor %+v", u.name, f)
		}
	}
}

// TestReductions: what several values of one series come to, in columns of every form.
func TestReductions(t *testing.T) {
	values := []float64{3, -1.5, 6, 2.5}
	for how, want := range map[Reduction]float64{First: 3, Sum: 10, Max: 6, Min: -1.5, Mean: 2.5} {
		for _, c := range []telemetry.Column{{Metric: "x", Type: telemetry.Float}, {Metric: "x", Type: telemetry.Decimal, Exp: 1}} {
			x := how.Of(c)
			if _, ok := x.Word(); ok {
				t.Errorf("%q of nothing is something", how)
			}
			for _, v := range values {
				x.Add(c.Word(v))
			}
			if w, ok := x.Word(); !ok || c.Float(w) != want {
				t.Errorf("%q of %v as %v: %v, want %v", how, values, c.Type, c.Float(w), want)
			}
		}
	}
	x := Sum.Of(telemetry.Column{Metric: "x_total", Type: telemetry.Uint})
	x.Add(math.MaxUint64 - 1)
	x.Add(1)
	if w, _ := x.Word(); w != math.MaxUint64 {
		t.Errorf("the sum of counters is %d", w)
	}
}
