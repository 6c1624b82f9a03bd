package mapping

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/settings"
)

// unit is how a number becomes one of the base unit: (x + plus) * mul / div. Both
// factors are whole, or have few digits, so that a percentage becomes the nearest
// binary64 to the ratio that was meant.
type unit struct {
	name           string
	dimension      string // power, temperature …; "" counts
	plus, mul, div float64
}

// units lists UCUM codes, and what firmware writes instead. Pressure in kPa is relative
// to the atmosphere, which a difference does not mind.
var units = []unit{
	{"W", "power", 0, 1, 1}, {"kW", "power", 0, 1000, 1}, {"mW", "power", 0, 1, 1000}, {"Watts", "power", 0, 1, 1},
	{"Cel", "temperature", 0, 1, 1}, {"C", "temperature", 0, 1, 1}, {"Celsius", "temperature", 0, 1, 1}, {"°C", "temperature", 0, 1, 1},
	{"[degF]", "temperature", -32, 5, 9}, {"degF", "temperature", -32, 5, 9}, {"F", "temperature", -32, 5, 9},
	{"K", "temperature", -273.15, 1, 1}, {"mCel", "temperature", 0, 1, 1000},
	{"Pa", "pressure", 0, 1, 1}, {"kPa", "pressure", 0, 1000, 1}, {"bar", "pressure", 0, 100000, 1}, {"mbar", "pressure", 0, 100, 1},
	{"[psi]", "pressure", 0, 6894.757, 1}, {"psi", "pressure", 0, 6894.757, 1},
	{"L/min", "flow", 0, 1, 1}, {"LPM", "flow", 0, 1, 1}, {"L/s", "flow", 0, 60, 1}, {"m3/h", "flow", 0, 1000, 60},
	{"[gal_us]/min", "flow", 0, 3.785411784, 1}, {"GPM", "flow", 0, 3.785411784, 1},
	{"%", "ratio", 0, 1, 100}, {"Percent", "ratio", 0, 1, 100}, {"1", "ratio", 0, 1, 1},
	{"Hz", "frequency", 0, 1, 1}, {"MHz", "frequency", 0, 1e6, 1}, {"GHz", "frequency", 0, 1e9, 1},
	{"J", "energy", 0, 1, 1}, {"mJ", "energy", 0, 1, 1000}, {"Wh", "energy", 0, 3600, 1}, {"W.h", "energy", 0, 3600, 1},
	{"kWh", "energy", 0, 3.6e6, 1}, {"kW.h", "energy", 0, 3.6e6, 1},
	{"s", "time", 0, 1, 1}, {"ms", "time", 0, 1, 1000}, {"us", "time", 0, 1, 1e6}, {"ns", "time", 0, 1, 1e9}, {"ISO8601", "time", 0, 1, 1},
	{"V", "voltage", 0, 1, 1}, {"mV", "voltage", 0, 1, 1000}, {"A", "current", 0, 1, 1}, {"mA", "current", 0, 1, 1000},
	{"B", "bytes", 0, 1, 1}, {"By", "bytes", 0, 1, 1}, {"KiBy", "bytes", 0, 1024, 1}, {"MiBy", "bytes", 0, 1 << 20, 1},
	{"bit/s", "rate", 0, 1, 1}, {"Mbit/s", "rate", 0, 1e6, 1}, {"Gbps", "rate", 0, 1e9, 1}, {"Gbit/s", "rate", 0, 1e9, 1}, {"By/s", "rate", 0, 8, 1},
	{"RPM", "rotation", 0, 1, 1}, {"{rev}/min", "rotation", 0, 1, 1},
	{"count", "", 0, 1, 1},
}

func unitNamed(name string) (unit, bool) {
	for _, u := range units {
		if u.name == name {
			return u, true
		}
	}
	return unit{}, false
}

// factor returns the unit's factor, exactly where it can be; false where the unit is no
// multiple of the base unit.
func (u unit) factor() (Number, bool) {
	tens := int32(math.Round(math.Log10(u.div)))
	n := ParseNumber(strconv.AppendFloat(nil, u.mul, 'f', -1, 64), u.mul)
	if u.plus != 0 || math.Pow10(int(tens)) != u.div {
		return n, false
	}
	n.Exp, n.Float = n.Exp-tens, u.mul/u.div
	return n, true
}

// dimensions defines what a metric's name, which ends in its base unit, measures.
// Bounds are the limits of a plausible value: beyond them it means that there is none.
var dimensions = []struct {
	ending, dimension string
	least, most       float64
}{
	{"_watts", "power", -1e6, 1e9}, {"_celsius", "temperature", -60, 250}, {"_pascals", "pressure", -1e7, 1e8},
	{"_liters_per_minute", "flow", -1e5, 1e6}, {"_ratio", "ratio", 0, 10}, {"_hertz", "frequency", 0, 1e12},
	{"_joules", "energy", 0, 1e18}, {"_seconds", "time", 0, 1e10}, {"_volts", "voltage", -1e6, 1e6}, {"_amperes", "current", -1e6, 1e6},
	{"_bytes", "bytes", 0, math.MaxUint64}, {"_bits_per_second", "rate", 0, 1e15}, {"_revolutions_per_minute", "rotation", 0, 1e6},
}

// isoDuration is an ISO 8601 duration whose units have a fixed length.
var isoDuration = regexp.MustCompile(`^P(\d+W)?(\d+D)?(T(\d+([.,]\d*)?H)?(\d+([.,]\d*)?M)?(\d+([.,]\d*)?S)?)?$`)

// ParseISODuration reads an ISO 8601 duration of weeks, days, hours, minutes and
// seconds, such as P1DT2H3.5S. Years and months have no fixed length and are
// refused, and so is what is negative or longer than 290 years.
func ParseISODuration(s string) (time.Duration, bool) {
	if !isoDuration.MatchString(s) || strings.HasSuffix(s, "T") {
		return 0, false
	}
	written := strings.NewReplacer("P", "", "T", "", ",", ".").Replace(s) // as Go writes it
	d, err := settings.ParseDuration(strings.ToLower(written))
	return d, err == nil
}
