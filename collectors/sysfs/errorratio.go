package sysfs

import (
	"math/bits"
	"slices"

	"github.com/quintet-dc/quintet/collectors/sysfs/ethtool"
)

// errorRatio is the ratio of bits that error correction corrected to received bits,
// from one reading to the next. mlx5 reports no such rate, and counts both: the
// bits that could have been received over the line are counted as the denominator
// of the errors (kernel,
// networking/device_drivers/ethernet/mellanox/mlx5/counters.rst, rx_bits_phy).
type errorRatio struct {
	mended, all int // places
	last        [2]uint64
	known       bool // last
	still       int  // readings in which nothing has moved
	cells       []cell
}

// The names of what it is made of, and the digits of what it becomes: a bit in
// 400 Gbit/s for a second is 2.5e-12.
const (
	mendedBits  = "rx_corrected_bits_phy"
	allBits     = "rx_bits_phy"
	ratioDigits = 15
	ratioUnits  = 1e15
)

// ratioOf returns the ratio that a driver's names allow; nil if they do not. No
// other driver has these two, and in a recording none may be named.
func ratioOf(names []string) *errorRatio {
	x := &errorRatio{mended: slices.Index(names, mendedBits), all: slices.Index(names, allBits)}
	if x.mended < 0 || x.all < 0 {
		return nil
	}
	return x
}

// stillFor is how many readings in a row may find nothing moved: a device may keep
// its numbers for longer than a reading takes. Then no light comes.
const stillFor = 3

// take takes a reading. Where no bits could be received, or a counter was reset,
// there is no ratio.
func (x *errorRatio) take(r *reader, reading ethtool.Reading) {
	if slices.Contains(reading.Malformed, x.mended) || slices.Contains(reading.Malformed, x.all) {
		x.lose()
		return
	}
	now, was, known := [2]uint64{reading.Words[x.mended], reading.Words[x.all]}, x.last, x.known
	if x.still++; known && now == was && x.still <= stillFor {
		return
	}
	if now != was {
		x.still = 0
	}
	x.last, x.known = now, true
	if !known {
		return
	}
	mended, all := now[0]-was[0], now[1]-was[1]
	if now[0] < was[0] || now[1] <= was[1] || mended > all {
		gaps(x.cells)
		return
	}
	high, low := bits.Mul64(mended, ratioUnits)
	ratio, _ := bits.Div64(high, low, all) // no more than ratioUnits
	r.put(x.cells, ratio)
}

// lose forgets the last reading: there is no current one.
func (x *errorRatio) lose() {
	x.known = false
	gaps(x.cells)
}
