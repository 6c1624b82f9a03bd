package fabric

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// Counted is what ends of links counted during a degradation, for when it cannot be read
// any more: InfiniBand's narrow counters stick at their maximum, of 65535 errors within a
// minute of a bad cable, and that they do is no sign that nothing is wrong. By end and
// count; the zero value is of none.
type Counted []counted

type counted struct {
	end   telemetry.Entity
	count Count
	rate  float64 // per second, as last read
}

// maxCounted bounds what is kept of one degradation.
const maxCounted = 1024

func (x counted) compare(y counted) int {
	if by := x.end.Compare(y.end); by != 0 {
		return by
	}
	return int(x.count - y.count)
}

// Keep notes what has been read of the ends.
func (c *Counted) Keep(r *Readings) {
	for i := range r.Of {
		n := &r.Of[i].Counts
		for k := Count(0); n.seen != 0 && r.Map.Ends[i].Main && k < counts; k++ {
			if n.seen&(1<<k) != 0 {
				c.put(counted{r.Map.Ends[i].Port, k, n.rate[k]})
			}
		}
	}
}

// put notes one rate; one of 0 only in place of another.
func (c *Counted) put(x counted) {
	switch at, found := slices.BinarySearchFunc(*c, x, counted.compare); {
	case found:
		(*c)[at] = x
	case x.rate > 0 && len(*c) < maxCounted:
		*c = slices.Insert(*c, at, x)
	}
}

// Fill puts what was counted in place of what cannot be read.
func (c Counted) Fill(r *Readings) {
	for _, x := range c {
		i, ok := r.Map.Index(x.end)
		if !ok {
			continue
		}
		if _, seen := r.Rate(i, x.count); !seen {
			n := &r.Of[i].Counts
			n.rate[x.count], n.seen = x.rate, n.seen|1<<x.count
		}
	}
}

// Snapshot writes or restores what was counted.
func (c *Counted) Snapshot(k *snapshot.Codec) {
	snapshot.List(k, (*[]counted)(c), 24, func(k *snapshot.Codec, x *counted) {
		n := int(x.count)
		k.Entity(&x.end)
		k.Int(&n)
		k.F64(&x.rate)
		x.count = Count(min(max(n, 0), int(counts)-1))
	})
}
