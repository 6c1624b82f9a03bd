package jobs

import (
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	// keptSteps are kept of each series. 16,384 ranks of three metrics stated
	// together come to 21 MB.
	keptSteps = 64
	// maxReporters are followed: for one more, the half that has reported nothing
	// longest is forgotten.
	maxReporters = 1 << 18
	// maxColumns bounds the series of one reporter, and maxClocks its clocks.
	maxColumns = 16
	maxClocks  = 4
)

// PerStep keeps the last values of every series that is stated step by step, in
// identity order: a rank's compute time, a job's wait for input.
type PerStep struct {
	reporters []*reporter
	// Forgotten counts reporters, jobs and ranks, dropped for new ones; Refused
	// values that are no number and series beyond the bound.
	Forgotten, Refused uint64
}

// reporter is a job or a rank and what it states.
type reporter struct {
	entity telemetry.Entity
	clocks []clock
}

// clock is a list of instants, and the series stated at them: those that are
// stated together share one.
type clock struct {
	at      []int64 // rising, at most keptSteps
	columns []column
}

// column is one series: its value at each of the clock's instants, NaN where
// none was stated.
type column struct {
	metric telemetry.MetricName
	value  []float32
}

// absent marks an instant at which a series stated nothing.
func absent() float32 { return float32(math.NaN()) }

func stated(v float32) bool { return v == v }

// Observe takes a value of a series, stated at the end of a step. The values of
// one series come in the order of their ends; a repeat and an older one are
// ignored.
func (p *PerStep) Observe(s telemetry.Series, at telemetry.Time, v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		p.Refused++
		return
	}
	i, ok := p.find(s.Entity)
	if !ok {
		if len(p.reporters) >= maxReporters {
			p.shed()
			i, _ = p.find(s.Entity)
		}
		p.reporters = slices.Insert(p.reporters, i, &reporter{entity: s.Entity})
	}
	if !p.reporters[i].observe(s.Metric, int64(at), float32(v)) {
		p.Refused++
	}
}

// observe files a value; false where there is no room for its series.
func (r *reporter) observe(m telemetry.MetricName, at int64, v float32) bool {
	k, i, ok := r.column(m)
	if !ok {
		if r.series() >= maxColumns {
			return false
		}
		k = r.clockOf(at)
		c := &r.clocks[k]
		i = len(c.columns)
		c.columns = append(c.columns, column{metric: m, value: slices.Repeat([]float32{absent()}, len(c.at))})
	}
	r.clocks[k].set(i, at, v)
	return true
}

func (r *reporter) series() int {
	n := 0
	for i := range r.clocks {
		n += len(r.clocks[i].columns)
	}
	return n
}

// clockOf finds the clock for a new series: one whose last instant is its first.
func (r *reporter) clockOf(at int64) int {
	for k := range r.clocks {
		if n := len(r.clocks[k].at); n > 0 && r.clocks[k].at[n-1] == at {
			return k
		}
	}
	if len(r.clocks) < maxClocks {
		r.clocks = append(r.clocks, clock{})
	}
	return len(r.clocks) - 1
}

// set files the value of column i.
func (c *clock) set(i int, at int64, v float32) {
	values := c.columns[i].value
	n := len(c.at)
	if n > 0 && at <= c.at[n-1] {
		// Other series of this clock may have been stated later already.
		j, ok := slices.BinarySearch(c.at, at)
		if ok && !stated(values[j]) && !slices.ContainsFunc(values[j:], stated) {
			values[j] = v
		}
		return
	}
	if n == keptSteps {
		c.at = append(c.at[:0], c.at[1:]...)
		for j := range c.columns {
			x := &c.columns[j]
			x.value = append(x.value[:0], x.value[1:]...)
		}
	}
	c.at = append(c.at, at)
	for j := range c.columns {
		x := &c.columns[j]
		x.value = append(x.value, absent())
	}
	values = c.columns[i].value
	values[len(values)-1] = v
}

// column finds a series: its clock and its place in it.
func (r *reporter) column(m telemetry.MetricName) (k, i int, ok bool) {
	for k := range r.clocks {
		for i := range r.clocks[k].columns {
			if r.clocks[k].columns[i].metric == m {
				return k, i, true
			}
		}
	}
	return 0, 0, false
}

// Forget drops what a job that is over and its ranks have stated.
func (p *PerStep) Forget(job telemetry.Entity) {
	prefix := job.Name + "/"
	p.reporters = slices.DeleteFunc(p.reporters, func(r *reporter) bool {
		return r.entity == job || r.entity.Kind == telemetry.Rank && strings.HasPrefix(r.entity.Name, prefix)
	})
}

// shed drops the half of the reporters that has not reported for longest.
func (p *PerStep) shed() {
	ends := make([]int64, len(p.reporters))
	for i, r := range p.reporters {
		ends[i] = r.last()
	}
	slices.Sort(ends)
	oldest := ends[len(ends)/2]
	kept := len(p.reporters)
	p.reporters = slices.DeleteFunc(p.reporters, func(r *reporter) bool { return r.last() <= oldest })
	p.Forgotten += uint64(kept - len(p.reporters))
}

// last is when a reporter last reported.
func (r *reporter) last() int64 {
	var last int64
	for k := range r.clocks {
		if n := len(r.clocks[k].at); n > 0 {
			last = max(last, r.clocks[k].at[n-1])
		}
	}
	return last
}

// Before returns the median of a series' last n values stated by until, and how
// many there were.
func (p *PerStep) Before(s telemetry.Series, until telemetry.Time, n int) (float64, int) {
	return median(p.Last(s, until, n))
}

// Median returns the median of the values of a series stated in (from, to], and
// how many there were.
func (p *PerStep) Median(s telemetry.Series, from, to telemetry.Time) (float64, int) {
	return median(p.Values(s, from, to))
}

func median(xs []float64) (float64, int) {
	if len(xs) == 0 {
		return 0, 0
	}
	return stats.Median(xs), len(xs)
}

// Last returns a series' last n values stated by until, the oldest first.
func (p *PerStep) Last(s telemetry.Series, until telemetry.Time, n int) []float64 {
	all := p.Values(s, math.MinInt64, until)
	return all[max(0, len(all)-n):]
}

// Values returns the values of a series stated in (from, to], the oldest first.
func (p *PerStep) Values(s telemetry.Series, from, to telemetry.Time) []float64 {
	var out []float64
	p.Each(s, from, to, func(_ telemetry.Time, v float64) { out = append(out, v) })
	return out
}

// Each calls f for every value of a series stated in (from, to], the oldest
// first.
func (p *PerStep) Each(s telemetry.Series, from, to telemetry.Time, f func(at telemetry.Time, v float64)) {
	i, ok := p.find(s.Entity)
	if !ok {
		return
	}
	k, c, ok := p.reporters[i].column(s.Metric)
	if !ok {
		return
	}
	times := p.reporters[i].clocks[k].at
	for j, v := range p.reporters[i].clocks[k].columns[c].value {
		if at := times[j]; stated(v) && at > int64(from) && at <= int64(to) {
			f(telemetry.Time(at), float64(v))
		}
	}
}

func (p *PerStep) find(e telemetry.Entity) (int, bool) {
	return slices.BinarySearchFunc(p.reporters, e, func(r *reporter, e telemetry.Entity) int { return r.entity.Compare(e) })
}

var errPerStep = errors.New("per-step series: as many times as values wanted")

// Snapshot writes or restores everything kept.
func (p *PerStep) Snapshot(c *snapshot.Codec) {
	c.U64(&p.Forgotten)
	c.U64(&p.Refused)
	snapshot.List(c, &p.reporters, 12, func(c *snapshot.Codec, r **reporter) {
		if *r == nil {
			*r = &reporter{}
		}
		c.Entity(&(*r).entity)
		snapshot.List(c, &(*r).clocks, 8, codeClock)
	})
}

func codeClock(c *snapshot.Codec, k *clock) {
	c.I64s(&k.at)
	snapshot.List(c, &k.columns, 8, func(c *snapshot.Codec, x *column) {
		c.String((*string)(&x.metric))
		c.F32s(&x.value)
		if len(x.value) != len(k.at) {
			c.Fail(errPerStep)
		}
	})
	if len(k.columns) == 0 || len(k.at) == 0 {
		c.Fail(errPerStep)
	}
}
