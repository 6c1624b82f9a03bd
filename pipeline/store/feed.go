package store

import (
	"context"
	"errors"
	"math"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"

	"github.com/quintet-dc/quintet/engine/grants"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/store/label"
	"github.com/quintet-dc/quintet/telemetry"
)

// feed turns the log's entries into samples of the database. It is used by one
// goroutine. Equal logs make equal histories.
type feed struct {
	cfg   Config
	count *counters
	db    storage.Appendable
	app   storage.Appender // nil where nothing waits for a commit
	err   error            // of the database, for good

	cadence int64 // ms
	tick    telemetry.Time
	begun   telemetry.Time // the first tick
	limit   telemetry.Time // what comes after it is ahead of time; 0: not known
	taken   uint64         // position of the last entry
	decoder telemetry.Decoder
	frame   telemetry.Frame

	streams  map[streamKey]*stream
	live     []*stream          // those with cells
	current  map[origin]*stream // which schema an origin used last
	cells    int                // of those
	stated   int                // what all streams would have
	series   map[telemetry.Series]*series
	last     map[uint64]written // by labels: what an earlier process wrote last
	uncommit int
	failing  bool // the last commit did
	extras   []extra
	gate     *grants.Gate // refuses what the engine refuses
}

// extra writes series in addition to the log's own, at each cadence.
type extra interface {
	// take processes an entry.
	take(*telemetry.Record)
	// write states what holds at an instant, in ms.
	write(at int64, put putter)
}

func newFeed(c Config, db storage.Appendable, count *counters) *feed {
	return &feed{cfg: c, count: count, db: db, cadence: c.Cadence.Milliseconds(), streams: map[streamKey]*stream{}, current: map[origin]*stream{},
		series: map[telemetry.Series]*series{}, last: map[uint64]written{}, gate: grants.NewGate()}
}

// written is the last sample written of a series.
type written struct {
	at    int64 // ms
	stale bool
}

// mostCells bounds the memory of streams, in addition to the budget of series:
// pairs of an entity and a metric that never have a value take room, too.
const mostCells = 8

// take takes an entry of the log.
func (f *feed) take(e bus.Entry) error {
	f.taken = e.Position
	f.count.entries.Inc()
	r := e.Record
	if r == nil {
		return f.err
	}
	if f.gate.Take(e.Collector, r) != "" {
		f.count.ungranted.Inc()
		return f.err
	}
	switch r.Kind {
	case telemetry.SchemaRecord:
		f.schema(e.Collector, r.Schema)
	case telemetry.FrameRecord:
		f.frameOf(e.Collector, r.Frame)
	case telemetry.TickRecord:
		f.ticked(r.Tick.At)
	}
	for _, x := range f.extras {
		x.take(r)
	}
	return f.err
}

// schema records the meaning of later frames.
func (f *feed) schema(process string, s *telemetry.Schema) {
	key := streamKey{process, s.Fingerprint()}
	if st := f.streams[key]; st != nil {
		st.stated = f.tick
		return
	}
	if f.stated+s.Len() > mostCells*f.cfg.MaxSeries {
		f.count.budget.Inc()
		return
	}
	f.stated += s.Len()
	f.streams[key] = &stream{origin: origin{process, s.Source}, schema: s, slot: never, last: never, stated: f.tick,
		atOnce: s.Cadence >= f.cfg.Cadence}
}

// frameOf takes a frame, instant by instant.
func (f *feed) frameOf(process string, b telemetry.EncodedFrame) {
	h, err := b.Header()
	if err != nil {
		f.count.undecoded.Inc()
		return
	}
	st := f.streams[streamKey{process, h.Fingerprint}]
	if st == nil {
		f.count.undecoded.Add(h.Instants)
		return
	}
	if err := f.decoder.Decode(b, st.schema, &f.frame); err != nil {
		f.count.undecoded.Add(h.Instants)
		return
	}
	if st.cells == nil && !f.wake(st) {
		f.count.budget.Add(h.Instants)
		return
	}
	if old := f.current[st.origin]; old != st {
		if old != nil { // what waits of the schema before comes first
			f.flush(old)
		}
		f.current[st.origin] = st
	}
	fr, n := &f.frame, st.schema.Len()
	for k := range fr.Instants {
		var states []telemetry.State
		if fr.States != nil {
			states = fr.States[k*n : (k+1)*n]
		}
		f.instant(st, k, fr.Words[k*n:(k+1)*n], states)
	}
	if st.atOnce {
		f.flush(st)
	}
}

// wake gives a stream its cells.
func (f *feed) wake(st *stream) bool {
	n := st.schema.Len()
	if f.cells+n > mostCells*f.cfg.MaxSeries {
		return false
	}
	f.cells += n
	st.cells = make([]cell, n)
	for i := range st.cells {
		if f.cfg.drops(st.schema.Columns[i/len(st.schema.Entities)].Metric) {
			st.cells[i].out = configured
		}
	}
	f.live = append(f.live, st)
	return true
}

// instant takes the values of one instant of the frame.
func (f *feed) instant(st *stream, k int, words []uint64, states []telemetry.State) {
	t := f.frame.Time(k)
	ms := millis(t)
	if f.limit != 0 && t > f.limit.Add(ahead) || ms <= 0 {
		f.count.future.Add(present(states, len(words)))
		return
	}
	slot := floor(ms, f.cadence)
	switch {
	case slot < st.slot:
		f.late(st, k, words, states)
		return
	case slot > st.slot:
		f.flush(st)
		st.slot = slot
	}
	if st.from == 0 {
		st.from = f.taken
	}
	st.last = max(st.last, ms)
	f.count.thinned.Add(st.take(ms, words, states))
}

// late writes the values of an instant before the open slot, if it is the newest of
// its slot in its frame.
func (f *feed) late(st *stream, k int, words []uint64, states []telemetry.State) {
	ms := millis(f.frame.Time(k))
	if k+1 < len(f.frame.Instants) && floor(millis(f.frame.Time(k+1)), f.cadence) == floor(ms, f.cadence) {
		f.count.thinned.Add(present(states, len(words)))
		return
	}
	for i, w := range words {
		if states != nil && states[i] != telemetry.Present {
			continue
		}
		if s := f.seriesOf(st, i); s != nil && f.owns(s, st, ms) {
			f.append(s, st.schema.Series(i), ms, f.value(st, i, w))
		}
	}
}

// flush writes the pending values of a stream.
func (f *feed) flush(st *stream) {
	if st.from == 0 {
		return
	}
	for i := range st.cells {
		c := &st.cells[i]
		if c.at == 0 {
			continue
		}
		at, v := c.at, math.Float64frombits(value.StaleNaN)
		c.at = 0
		if c.state == telemetry.Present {
			v = f.value(st, i, c.word)
		}
		if c.series == nil && value.IsStaleNaN(v) && !f.known(st.schema.Series(i)) {
			continue // a gap of what never had a value
		}
		if s := f.seriesOf(st, i); s != nil && f.owns(s, st, at) {
			f.write(s, st.schema.Series(i), at, v)
		}
	}
	st.from = 0
}

// known reports whether a series had a value, here or in an earlier process.
func (f *feed) known(name telemetry.Series) bool {
	if f.series[name] != nil {
		return true
	}
	if len(f.last) == 0 {
		return false
	}
	_, ok := f.last[label.Of(name).Hash()]
	return ok
}

// value is a word as the database holds it; NaN is a gap.
func (f *feed) value(st *stream, i int, w uint64) float64 {
	v := st.schema.Columns[i/len(st.schema.Entities)].Float(w)
	if math.IsNaN(v) {
		return math.Float64frombits(value.StaleNaN)
	}
	return v
}

// seriesOf finds or makes the series of a cell; nil where it is not kept.
func (f *feed) seriesOf(st *stream, i int) *series {
	c := &st.cells[i]
	switch c.out {
	case kept:
		return c.series
	case configured:
		f.count.dropped.Inc()
		return nil
	}
	name := st.schema.Series(i)
	s := f.series[name]
	if s == nil {
		if len(f.series) >= f.cfg.MaxSeries {
			c.out = noRoom
			f.count.budget.Inc()
			return nil
		}
		s = &series{owner: st, last: never}
		if len(f.last) > 0 {
			if w, ok := f.last[label.Of(name).Hash()]; ok {
				s.last, s.stale = w.at, w.stale
			}
		}
		f.series[name] = s
	}
	s.cells++
	c.series, c.out = s, kept
	return s
}

// owns decides whose values of a series are written: one source's, until it has
// been without data for three cadences.
func (f *feed) owns(s *series, st *stream, ms int64) bool {
	switch {
	case s.owner == st:
		return true
	case s.owner.origin == st.origin, s.stale, ms-s.last > s.owner.silence(f.cfg.Cadence, f.cfg.Lateness):
		s.owner = st
		return true
	}
	f.count.rival.Inc()
	return false
}

// write appends a sample that is to be the newest of its series and, unless its
// source states no more than that, the only one of its slot.
func (f *feed) write(s *series, name telemetry.Series, ms int64, v float64) {
	marker := value.IsStaleNaN(v)
	switch {
	case ms <= s.last:
		f.count.repeated.Inc()
		return
	case s.last != never && !s.stale && !marker && !s.owner.atOnce && floor(ms, f.cadence) == floor(s.last, f.cadence):
		f.count.thinned.Inc()
		return
	case marker && s.stale:
		return
	}
	if f.append(s, name, ms, v) {
		s.last, s.stale = ms, marker
	}
}

// append gives a sample to the database.
func (f *feed) append(s *series, name telemetry.Series, ms int64, v float64) bool {
	if f.app == nil {
		f.app = f.db.Appender(context.Background())
	}
	l := labels.EmptyLabels()
	if s.ref == 0 {
		l = label.Of(name)
	}
	ref, err := f.app.Append(storage.SeriesRef(s.ref), l, ms, v)
	if s.ref != 0 && errors.Is(err, tsdb.ErrInvalidSample) { // the head has forgotten it
		ref, err = f.app.Append(0, label.Of(name), ms, v)
	}
	return f.countWrite(s, uint64(ref), v, err)
}

// countWrite counts the outcome of writing a sample.
func (f *feed) countWrite(s *series, ref uint64, v float64, err error) bool {
	switch {
	case err == nil:
		s.ref = ref
		f.uncommit++
		f.count.written.Inc()
		if value.IsStaleNaN(v) {
			f.count.stale.Inc()
		}
		return true
	case errors.Is(err, storage.ErrTooOldSample), errors.Is(err, storage.ErrOutOfBounds), errors.Is(err, storage.ErrOutOfOrderSample):
		f.count.late.Inc()
	case errors.Is(err, storage.ErrDuplicateSampleForTimestamp):
		f.count.repeated.Inc()
	default:
		f.count.refused.Inc()
		f.cfg.Logger.Debug("the database refuses a sample", "error", err)
	}
	return false
}

// commit commits the appended samples. If the database cannot take them, they are
// lost and counted.
func (f *feed) commit() {
	if f.app == nil {
		return
	}
	if err := f.app.Commit(); err != nil {
		f.count.lost.Add(f.uncommit)
		if !f.failing { // it is tried every second
			f.cfg.Logger.Error("the history is not written", "samples", f.uncommit, "error", err)
		}
		f.failing = true
	} else if f.failing {
		f.failing = false
		f.cfg.Logger.Info("the history is written again")
	}
	f.app, f.uncommit = nil, 0
}

func millis(t telemetry.Time) int64 { return floor(int64(t), 1e6) }

// floor is a/b towards minus infinity.
func floor(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// present is how many of a row have a value.
func present(states []telemetry.State, n int) int {
	if states == nil {
		return n
	}
	n = 0
	for _, s := range states {
		if s == telemetry.Present {
			n++
		}
	}
	return n
}
