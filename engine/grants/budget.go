package grants

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/telemetry"
)

// Budget bounds what one process may make the engine keep and do. A zero field means
// the default: that of a process with a limited grant, or the larger one of a process
// that may state anything and may be the only one of a site.
type Budget struct {
	// Series is how many new series it may state within a week. The engine keeps
	// every series that it has seen.
	Series int `json:"series,omitempty"`
	// Edges is how many edges without an end it may have in force. It may state that
	// many within edgesAgain seconds.
	Edges int `json:"edges,omitempty"`
	// Records, Bytes and Events are rates, per second of the log's time. The process
	// may be burst seconds ahead of them: that is what an outbox sends after an
	// outage.
	Records int `json:"records_per_second,omitempty"`
	Bytes   int `json:"bytes_per_second,omitempty"`
	Events  int `json:"events_per_second,omitempty"`
}

const (
	burst      = 128 // seconds of a rate
	seriesWeek = 7 * 24
	// waitSeconds of a process's bytes may wait in the engine for their grid.
	waitSeconds, maxWaiting = 16, 512 << 20
	// edgesAgain is less than the five minutes after which collectors state all edges
	// again.
	edgesAgain = 256
	// maxUnknown frames may wait for their schema, maxAhead events and edges for a
	// time that is yet to come: aheadAtMost, for what cannot be in the future.
	maxUnknown, maxAhead = 4096, 4096
	aheadAtMost          = telemetry.Duration(3600e9)
	// frameAhead is how far ahead of its lateness the engine takes a frame.
	frameAhead = telemetry.Duration(15 * 60e9)
	// maxJump is how far one tick may move time, as in the engine.
	maxJump = telemetry.Duration(24 * 3600e9)
)

// limited and unlimited return the default budgets.
func limited() Budget {
	return Budget{Series: 1 << 17, Edges: 1 << 17, Records: 5000, Bytes: 4 << 20, Events: 32}
}

func unlimited() Budget {
	return Budget{Series: 1 << 24, Edges: 0, Records: 200_000, Bytes: 256 << 20, Events: 256}
}

// Validate returns what is wrong with a budget.
func (b Budget) Validate() error {
	for _, x := range []int{b.Series, b.Edges, b.Records, b.Bytes, b.Events} {
		if x < 0 || x > 1<<31 {
			return errors.New("budget: want 0 to 2^31")
		}
	}
	if b.Series > 0 && b.Series < seriesWeek || b.Edges > 0 && b.Edges < edgesAgain {
		return fmt.Errorf("budget: %d series, %d edges: want at least %d and %d", b.Series, b.Edges, seriesWeek, edgesAgain)
	}
	return nil
}

// ParseBudget reads a budget from its parts, by their names in JSON.
func ParseBudget(parts map[string]int) (b Budget, err error) {
	fields := map[string]*int{"series": &b.Series, "edges": &b.Edges, "records_per_second": &b.Records, "bytes_per_second": &b.Bytes, "events_per_second": &b.Events}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		f := fields[name]
		if f == nil {
			return Budget{}, fmt.Errorf("budget: unknown %.60q: want %s", name, strings.Join(slices.Sorted(maps.Keys(fields)), ", "))
		}
		*f = parts[name]
	}
	return b, b.Validate()
}

// Effective returns the budget of a process with this grant; nil is without one.
// Edges is 0 where they are not bounded.
func (g *Grant) Effective() Budget {
	def := unlimited()
	if g == nil {
		return def
	}
	if !g.may(Everything) {
		def = limited()
	}
	b := g.Budget
	return Budget{Series: cmp.Or(b.Series, def.Series), Edges: cmp.Or(b.Edges, def.Edges), Records: cmp.Or(b.Records, def.Records),
		Bytes: cmp.Or(b.Bytes, def.Bytes), Events: cmp.Or(b.Events, def.Events)}
}

// bucket is what was used of a rate. It drains with the log's time.
type bucket struct {
	Used int64          `json:"used"`
	At   telemetry.Time `json:"at"` // up to here it has drained
}

// drain lets the bucket drain by rate for each whole step up to now.
func (b *bucket) drain(now telemetry.Time, step telemetry.Duration, rate int64) {
	n := int64(now.Sub(b.At) / step)
	if n <= 0 {
		return
	}
	if n > b.Used/max(rate, 1) {
		b.Used = 0
	} else {
		b.Used -= n * rate
	}
	b.At = b.At.Add(telemetry.Duration(n) * step)
}

// take adds n, unless that would exceed most.
func (b *bucket) take(n, most int64) bool {
	if b.Used+n > most {
		return false
	}
	b.Used += n
	return true
}

// slotLength is that of the slots of a queue.
const slotLength = 10_000_000_000

func slot(t telemetry.Time) int64 { return int64(t) / slotLength }

// queue is how much waits for which time.
type queue struct {
	slots map[int64]int64
	total int64
}

// add adds n that is due at a slot, unless more than most would wait then. What is
// due already does not wait.
func (q *queue) add(due, now, n, most int64) bool {
	if due <= now {
		return true
	}
	if q.total+n > most {
		return false
	}
	if q.slots == nil {
		q.slots = map[int64]int64{}
	}
	q.slots[due] += n
	q.total += n
	return true
}

// expire drops what is due.
func (q *queue) expire(now int64) {
	for due, n := range q.slots {
		if due <= now {
			q.total -= n
			delete(q.slots, due)
		}
	}
}
