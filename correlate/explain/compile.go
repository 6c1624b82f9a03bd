package explain

import (
	"fmt"
	"slices"
)

// Compile returns the signatures with the keys under which their readings are found
// among a candidate's values. Equal readings have one key and are one. A signature
// that was not compiled sees none of its readings.
func Compile(sigs []Signature) []Signature {
	out := slices.Clone(sigs)
	readings := map[Measure]*Reading{}
	for i := range out {
		out[i].Features = slices.Clone(out[i].Features)
		for k := range out[i].Features {
			if c := &out[i].Features[k]; c.Reading != nil {
				c.key = c.Reading.key()
				if readings[c.key] == nil {
					readings[c.key] = c.Reading
				}
				c.Reading = readings[c.key]
			}
			out[i].Features[k].errorKey = out[i].Features[k].Key().Err()
		}
		out[i].precursors, out[i].while = nil, nil
		out[i].precursors, out[i].while = out[i].PrecursorFeatures(), out[i].While()
	}
	return out
}

// Err is the name under which the standard error of a measure is found.
func (m Measure) Err() Measure { return "error of " + m }

// Key is the name under which a feature's value is found among a candidate's.
func (c *Feature) Key() Measure {
	if c.Reading != nil {
		return c.key
	}
	return c.Measure
}

// ErrorKey is the name under which the standard error of a feature's value is found
// among a candidate's.
func (c *Feature) ErrorKey() Measure { return c.errorKey }

func (r *Reading) key() Measure {
	bound := func(x *float64) string {
		if x == nil {
			return "-"
		}
		return fmt.Sprint(*x)
	}
	return Measure(fmt.Sprintf("reading %s %q %q %s %s %s %x %s %s %s", r.Metric, r.Event, r.Text, r.Of, r.Kind, r.Take, r.Bits, r.Among, bound(r.Above), bound(r.Below)))
}
