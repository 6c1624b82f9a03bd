package window

import (
	"cmp"
	"slices"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// oddToChange is how many deviating intervals in a row change a measured cadence, so
// that a lost sample or two do not.
const oddToChange = 5

// rhythm measures the cadence of a column from the times of its samples.
type rhythm struct {
	last      telemetry.Time
	cadence   telemetry.Duration // 0 until measured
	deviating [oddToChange]telemetry.Duration
	n         uint8
}

// tick takes the time of a sample, which must not fall. An interval within a
// quarter of the cadence confirms it; five others in a row replace it by their
// median.
func (r *rhythm) tick(t telemetry.Time) {
	if r.last == never {
		r.last = t
		return
	}
	d := t.Sub(r.last)
	r.last = t
	if d >= r.cadence-r.cadence/4 && d <= r.cadence+r.cadence/4 {
		r.n = 0
		return
	}
	r.deviating[r.n] = d
	if r.n++; r.n == oddToChange {
		s := r.deviating
		slices.Sort(s[:])
		r.cadence = s[oddToChange/2]
		r.n = 0
	}
}

func (r *rhythm) snapshot(c *snapshot.Codec) {
	c.Time(&r.last)
	c.Duration(&r.cadence)
	for i := range r.deviating {
		c.Duration(&r.deviating[i])
	}
	c.U8(&r.n)
	if r.n >= oddToChange {
		c.Fail(errRange)
		r.n = 0
	}
}

// clockSamples is how many differences between the clocks are kept.
const clockSamples = 31

// clock estimates how far a source's clock is from the receiver's: the median
// of receive less source time over its last samples. It holds the network's
// delay as well, which only makes it larger.
type clock struct {
	diffs [clockSamples]telemetry.Duration
	n     uint8 // how many are filled
	next  uint8
}

func (k *clock) add(d telemetry.Duration) {
	k.diffs[k.next] = d
	k.next = (k.next + 1) % clockSamples
	k.n = min(k.n+1, clockSamples)
}

// offset returns the median difference and the median distance from it; false
// before the first sample that states both times.
func (k *clock) offset() (offset, spread telemetry.Duration, ok bool) {
	if k.n == 0 {
		return 0, 0, false
	}
	s := k.diffs
	slices.Sort(s[:k.n])
	offset = s[k.n/2]
	for i := range s[:k.n] {
		s[i] -= offset
		s[i] = max(s[i], -s[i])
	}
	slices.SortFunc(s[:k.n], cmp.Compare)
	return offset, s[k.n/2], true
}

func (k *clock) snapshot(c *snapshot.Codec) {
	for i := range k.diffs {
		c.Duration(&k.diffs[i])
	}
	c.U8(&k.n)
	c.U8(&k.next)
	if k.n > clockSamples || k.next >= clockSamples {
		c.Fail(errRange)
		k.n, k.next = 0, 0
	}
}
