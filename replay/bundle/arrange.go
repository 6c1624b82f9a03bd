package bundle

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// maxGrids bounds the ticks of a log: a year of seconds.
const maxGrids = 1 << 25

// arrange puts the rows in order, thins them, groups the series into sources
// and converts every value to the word of its column.
func (b *Bundle) arrange(c Config, t *topology, r *report) {
	s := b.samples
	sortRows(s.rows, func(a, b row) int { return cmp.Compare(a.at, b.at) }, func(a, b row) int { return cmp.Compare(a.series, b.series) })
	s.settle(r)
	s.leaveOut(c.Lacks)
	s.coarsen(max(c.Coarsen, 1))
	lo, hi := b.span()
	if grids := int64(hi-lo) / int64(b.Site.Grid); grids > maxGrids {
		r.fail(place{file: s.file}, "time_ns", fmt.Errorf("the rows span %d grids of %v, from %v to %v: at most %d", grids, b.Site.Grid, lo, hi, maxGrids))
		return
	}
	b.group(t, s.spacings())
	b.convert(r)
	b.queue()
}

// queue puts the rows in the order in which they enter the log: by time, then
// by source, then by when they were received.
func (b *Bundle) queue() {
	s := b.samples
	sortRows(s.rows, func(a, b row) int { return cmp.Compare(a.at, b.at) }, func(x, y row) int {
		return cmp.Or(cmp.Compare(s.slots[x.series].source, s.slots[y.series].source), cmp.Compare(x.received, y.received))
	})
}

// sortRows sorts by key, and rows of one key by then. Files come nearly in
// order: rows of a key stand together, and only they need sorting.
func sortRows(rows []row, key, then func(a, b row) int) {
	if !slices.IsSortedFunc(rows, key) {
		slices.SortFunc(rows, key)
	}
	for i := 0; i < len(rows); {
		j := i + 1
		for j < len(rows) && key(rows[i], rows[j]) == 0 {
			j++
		}
		if !slices.IsSortedFunc(rows[i:j], then) {
			slices.SortFunc(rows[i:j], then)
		}
		i = j
	}
}

// settle keeps one row where a series has two at one time: the same value is a
// repeat; of two values the greater is kept, whatever the order of rows, and
// both are reported.
func (s *samples) settle(r *report) {
	out := s.rows[:0]
	for i := range s.rows {
		x := s.rows[i]
		if n := len(out); n > 0 && out[n-1].at == x.at && out[n-1].series == x.series {
			if o := &out[n-1]; x.kind != o.kind || x.word != o.word || x.exp != o.exp {
				r.warn(place{file: s.file}, "%s has two values at %d", s.series[x.series].id, x.at)
				if greater(&x, o) {
					*o = x
				}
			}
			continue
		}
		out = append(out, x)
	}
	s.rows = out
}

// greater orders two rows of one series and time.
func greater(a, b *row) bool {
	if (a.kind == gap) != (b.kind == gap) {
		return b.kind == gap
	}
	return cmp.Or(cmp.Compare(toFloat(a.kind, a.word, a.exp), toFloat(b.kind, b.word, b.exp)), cmp.Compare(a.word, b.word),
		cmp.Compare(a.kind, b.kind), cmp.Compare(a.received, b.received)) > 0
}

// leaveOut drops the rows of metrics that the site lacks.
func (s *samples) leaveOut(lacks func(telemetry.MetricName) bool) {
	if lacks == nil {
		return
	}
	drop := make([]bool, len(s.series))
	for i := range s.series {
		drop[i] = lacks(s.series[i].id.Metric)
	}
	s.rows = slices.DeleteFunc(s.rows, func(x row) bool { return drop[x.series] })
}

// coarsen keeps every k-th row of each series that is not a job's step.
func (s *samples) coarsen(k int) {
	if k == 1 {
		return
	}
	seen := make([]int, len(s.series))
	out := s.rows[:0]
	for _, x := range s.rows {
		n := seen[x.series]
		seen[x.series]++
		if n%k == 0 || s.series[x.series].perStep {
			out = append(out, x)
		}
	}
	s.rows = out
}

// spacings returns each series' usual distance between two samples: the median
// of its first distances. Zero means that it has none.
func (s *samples) spacings() []telemetry.Duration {
	enough := min(max(4<<20/max(len(s.series), 1), 8), 256) // distances of a series: a bound on memory
	all := make([]telemetry.Duration, len(s.series)*enough)
	last := make([]telemetry.Time, len(s.series))
	count := make([]int, len(s.series)) // rows seen
	for i := range s.rows {
		x := &s.rows[i]
		if n := count[x.series]; n > 0 && n <= enough {
			all[int(x.series)*enough+n-1] = x.at.Sub(last[x.series])
		}
		last[x.series] = x.at
		count[x.series]++
	}
	out := make([]telemetry.Duration, len(s.series))
	for i := range out {
		out[i] = median(all[i*enough : i*enough+min(max(count[i]-1, 0), enough)])
	}
	return out
}

// median sorts d and returns its upper median, to the millisecond where it is
// long enough; zero of nothing.
func median(d []telemetry.Duration) telemetry.Duration {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	const ms = telemetry.Duration(1e6)
	if m := d[len(d)/2]; m < 100*ms {
		return m
	}
	return d[len(d)/2].Round(ms)
}

// span returns the first and the last instant of the log.
func (b *Bundle) span() (lo, hi telemetry.Time) {
	rows := b.samples.rows // in the order of time
	lo, hi = rows[0].at, rows[len(rows)-1].at
	if n := len(b.Events); n > 0 {
		lo, hi = min(lo, b.Events[0].At), max(hi, b.Events[n-1].At)
	}
	return lo, hi
}

func ceilGrid(t telemetry.Time, grid telemetry.Duration) telemetry.Time {
	g := telemetry.Time(grid)
	return (t + g - 1) / g * g
}
