package window

import "github.com/quintet-dc/quintet/telemetry"

// How a fall of a counter is read. A wrap implies an increase; it is accepted up to
// plausibleTimes what the counter's recent maximum would have added, and anyway up
// to a small part of its range, for a counter that has been quiet: an eighth where
// the width is declared. A counter declared with 64 bits may be kept in 32 by its
// device (hw_counters of mlx5 are); that is accepted only of one that was in the
// last sixteenth below 2^32.
const (
	plausibleTimes       = 4
	declaredShift        = 3
	undeclaredShift      = 10
	justBelow32          = 1<<32 - 1<<28
	implicit32      uint = 32
)

// wrapped returns the increase of a counter that went from prev to a smaller
// cur in dt seconds, and false if it was reset. peak is its recent maximum
// rate per second.
func wrapped(m *telemetry.Metric, prev, cur uint64, most float64) (uint64, bool) {
	if m.Overflow == telemetry.Sticks {
		return 0, false
	}
	bits, shift := uint(m.Width), uint(declaredShift)
	if bits == 0 || bits >= 64 {
		bits = 64
		if prev < 1<<32 {
			if prev < justBelow32 {
				return 0, false
			}
			bits, shift = implicit32, undeclaredShift
		}
	}
	if bits < 64 && prev >= 1<<bits {
		return 0, false // it does not have the width it is declared with
	}
	inc := cur - prev // modulo 2^64
	if bits < 64 {
		inc &= 1<<bits - 1
	}
	return inc, float64(inc) <= most || inc>>(bits-shift) == 0
}
