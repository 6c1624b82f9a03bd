package jobs

import (
	"errors"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	rankSteps = 128 // compute times kept of each rank
	// maxRanks are followed: for one more, the half that has been silent longest
	// is forgotten.
	maxRanks = 1 << 18
)

// Ranks keeps the last compute times of each rank, in identity order.
type Ranks struct {
	ranks []rank
	// Forgotten counts ranks dropped for new ones.
	Forgotten uint64
}

type rank struct {
	entity telemetry.Entity
	at     []int64 // ends of the compute phase, rising
	length []float64
}

// Observe takes a rank's compute time in seconds, stated at its end.
func (r *Ranks) Observe(e telemetry.Entity, at telemetry.Time, length float64) {
	i, ok := r.find(e)
	if !ok {
		if len(r.ranks) >= maxRanks {
			r.shed()
			i, _ = r.find(e)
		}
		r.ranks = slices.Insert(r.ranks, i, rank{entity: e})
	}
	k := &r.ranks[i]
	if n := len(k.at); n > 0 && int64(at) <= k.at[n-1] {
		return
	}
	if len(k.at) == rankSteps {
		k.at = slices.Delete(k.at, 0, 1)
		k.length = slices.Delete(k.length, 0, 1)
	}
	k.at = append(k.at, int64(at))
	k.length = append(k.length, length)
}

// Forget drops the ranks of a job that is over.
func (r *Ranks) Forget(job telemetry.Entity) {
	prefix := job.Name + "/"
	r.ranks = slices.DeleteFunc(r.ranks, func(k rank) bool { return strings.HasPrefix(k.entity.Name, prefix) })
}

// shed forgets the half of the ranks that has been silent longest.
func (r *Ranks) shed() {
	last := func(k *rank) int64 { return k.at[len(k.at)-1] }
	ends := make([]int64, len(r.ranks))
	for i := range r.ranks {
		ends[i] = last(&r.ranks[i])
	}
	slices.Sort(ends)
	oldest := ends[len(ends)/2]
	kept := len(r.ranks)
	r.ranks = slices.DeleteFunc(r.ranks, func(k rank) bool { return last(&k) <= oldest })
	r.Forgotten += uint64(kept - len(r.ranks))
}

// Before returns the median of a rank's last n compute times that ended by
// until, in seconds, and how many there were.
func (r *Ranks) Before(e telemetry.Entity, until telemetry.Time, n int) (float64, int) {
	i, ok := r.find(e)
	if !ok {
		return 0, 0
	}
	k := &r.ranks[i]
	end := 0
	for end < len(k.at) && k.at[end] <= int64(until) {
		end++
	}
	last := slices.Clone(k.length[max(0, end-n):end])
	if len(last) == 0 {
		return 0, 0
	}
	return stats.Median(last), len(last)
}

// Median returns the median compute time of a rank's steps that ended in
// (from, to], in seconds, and how many there were.
func (r *Ranks) Median(e telemetry.Entity, from, to telemetry.Time) (float64, int) {
	i, ok := r.find(e)
	if !ok {
		return 0, 0
	}
	k := &r.ranks[i]
	var in []float64
	for s, at := range k.at {
		if at > int64(from) && at <= int64(to) {
			in = append(in, k.length[s])
		}
	}
	if len(in) == 0 {
		return 0, 0
	}
	return stats.Median(in), len(in)
}

func (r *Ranks) find(e telemetry.Entity) (int, bool) {
	return slices.BinarySearchFunc(r.ranks, e, func(k rank, e telemetry.Entity) int { return k.entity.Compare(e) })
}

var errLengths = errors.New("ranks: as many times as lengths wanted")

// Snapshot writes or restores the ranks.
func (r *Ranks) Snapshot(c *snapshot.Codec) {
	c.U64(&r.Forgotten)
	snapshot.List(c, &r.ranks, 16, func(c *snapshot.Codec, k *rank) {
		c.Entity(&k.entity)
		c.I64s(&k.at)
		c.F64s(&k.length)
		if len(k.at) != len(k.length) || len(k.at) == 0 {
			c.Fail(errLengths)
		}
	})
}
