package thin

import (
	"math"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/telemetry"
)

// The points that a merged frame keeps of each series, and the number of its
// instants.
const (
	// keptInstants is the most instants a merged frame has.
	keptInstants = 8
	// keptFalls is how many falls of a counter are kept with both their sides:
	// what rose before a reset would be lost otherwise.
	keptFalls = 2
	// keptChanges is how many changes of a state are kept, the newest.
	keptChanges = 6
)

// role decides what must survive of a series.
type role uint8

const (
	roleGauge   role = iota // min, max and last
	roleCounter             // last, and both sides of its last falls
	roleState               // last and the last changes
)

// roleOf returns a column's role: from the catalogue, and for a metric that it does
// not declare from its name.
func roleOf(catalogue *telemetry.Catalogue, name telemetry.MetricName) role {
	m, ok := catalogue.Lookup(name)
	switch {
	case ok && m.Type == telemetry.Counter, !ok && strings.HasSuffix(string(name), "_total"):
		return roleCounter
	case ok && m.Type == telemetry.StateOf:
		return roleState
	}
	return roleGauge
}

// less orders two words of a column; NaN is less than nothing and nothing less
// than it.
func less(t telemetry.ValueType, a, b uint64) bool {
	switch t {
	case telemetry.Uint:
		return a < b
	case telemetry.Decimal:
		return int64(a) < int64(b)
	}
	return math.Float64frombits(a) < math.Float64frombits(b)
}

// rows are samples of one schema at rising times: the decoded contents of a group
// of frames.
type rows struct {
	series     int
	byReceived bool // which time they rise by
	at         []telemetry.Instant
	words      []uint64
	states     []telemetry.State
}

func (r *rows) reset(series int) {
	r.series, r.at, r.words, r.states = series, r.at[:0], r.words[:0], r.states[:0]
}

// marker finds the rows of one series that must survive. It is scratch, used
// again for the next series.
type marker struct {
	marks   []int // rows to keep, rising once done
	falls   []int // of a counter, the rows that lie below the one before
	changes []int // of a state
}

// series returns the rows that must survive of series i, rising, at most
// keptInstants.
func (m *marker) series(r *rows, i int, how role, t telemetry.ValueType) []int {
	m.marks, m.falls, m.changes = m.marks[:0], m.falls[:0], m.changes[:0]
	last, gap, lowest, highest := -1, -1, -1, -1
	for k := range r.at {
		at := k*r.series + i
		switch r.states[at] {
		case telemetry.Gap:
			gap = k
			continue
		case telemetry.Absent:
			continue
		}
		w := r.words[at]
		switch {
		case how == roleState:
			if last < 0 || w != r.words[last*r.series+i] {
				m.changes = append(m.changes, k)
			}
		case how == roleCounter:
			if last >= 0 && less(t, w, r.words[last*r.series+i]) {
				m.falls = append(m.falls, last, k)
			}
		default:
			lowest, highest = extreme(r, i, t, k, lowest, false), extreme(r, i, t, k, highest, true)
		}
		last = k
	}
	m.marks = append(m.marks, newest(m.falls, 2*keptFalls)...)
	m.marks = append(m.marks, newest(m.changes, keptChanges)...)
	m.marks = append(m.marks, lowest, highest, last)
	if gap > last { // it is blind now: that is what it stated last
		m.marks = append(m.marks, gap)
	}
	slices.Sort(m.marks)
	m.marks = slices.Compact(m.marks)
	if len(m.marks) > 0 && m.marks[0] < 0 {
		m.marks = m.marks[1:]
	}
	return m.marks
}

// extreme returns the row of the lower or higher of row k and the best so far;
// of equals the earlier, because a trouble begins there.
func extreme(r *rows, i int, t telemetry.ValueType, k, best int, highest bool) int {
	w := r.words[k*r.series+i]
	if t == telemetry.Float && math.IsNaN(math.Float64frombits(w)) {
		return best
	}
	if best < 0 {
		return k
	}
	b := r.words[best*r.series+i]
	if highest && less(t, b, w) || !highest && less(t, w, b) {
		return k
	}
	return best
}

func newest(rows []int, n int) []int { return rows[max(0, len(rows)-n):] }

// choose returns the rows that a merged frame keeps: all that are wanted if
// there are few enough, else keptInstants of them, evenly over their number,
// the last always.
func choose(wanted []bool) []int {
	var all []int
	for k, w := range wanted {
		if w {
			all = append(all, k)
		}
	}
	if len(all) <= keptInstants {
		return all
	}
	chosen := make([]int, keptInstants)
	for j := range chosen {
		chosen[j] = all[(j+1)*len(all)/keptInstants-1]
	}
	return chosen
}

// arrange puts each mark of a series on one of the chosen rows, in order: on its
// own or the next one after it, and where that is taken by a later mark, before
// that. It returns places in chosen.
func arrange(marks, chosen, into []int) []int {
	into = append(into[:0], marks...)
	limit := len(chosen)
	for j := len(marks) - 1; j >= 0; j-- {
		p, _ := slices.BinarySearch(chosen, marks[j])
		p = max(min(p, limit-1), j)
		into[j], limit = p, p
	}
	return into
}
