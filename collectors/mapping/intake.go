package mapping

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/book"
	"github.com/quintet-dc/quintet/telemetry"
)

// Bounds of an intake.
const (
	// DefaultForeign is how many series that no file knows are carried.
	DefaultForeign = 2048
	// sane is the maximum difference between a sender's clock and ours at which its
	// times are accepted.
	sane = time.Minute
	// idle is the number of emissions after which a vanished series gives up its
	// place, once places are short.
	idle = 100
	// maxPending is how many samples are taken between two emissions, and maxKey
	// how long the text of a series may be.
	maxPending = 1 << 18
	maxKey     = 8 << 10
)

// IntakeConfig defines the source of the series.
type IntakeConfig struct {
	Mapper *Mapper
	// Book names the source of what is emitted, and bounds it.
	Book book.Config
	// Target holds the labels configured for the target: they take precedence over
	// labels of the same name on a page.
	Target []Label
	// Foreign is the collector's entity: the series that no file knows are its.
	Foreign telemetry.Entity
	// MaxForeign is how many of those are carried; zero means DefaultForeign, and less none.
	MaxForeign int
	// Past is the maximum age of a sample: one that was kept for later has its own
	// time, and an older one is stale. Zero is for pages, which state current
	// values: a time that is far from ours comes from a wrong clock.
	Past time.Duration
}

// Intake turns foreign samples into frames: each series is understood once.
// It is used by one goroutine.
type Intake struct {
	cfg     IntakeConfig
	book    *book.Book
	entries map[string]*Entry
	foreign int
	round   uint64 // of what is being taken; rises with every emission

	cells         map[cellID]*cell
	distributions map[string]*distribution
	proportions   map[string]*proportion
	inOrder       []summed // of the above, as they were made
	edges         map[telemetry.Entity]bool

	pending []sample
	edge    []*telemetry.Record
	dropped map[collectors.Reason]int
	live    int    // series of the last emission
	last    uint64 // and its round
}

// summed is a value that is known only when all of a reading was taken.
type summed interface{ state(b *book.Book) int }

// sample is a number that was taken.
type sample struct {
	at    telemetry.Time // zero: when it was read
	entry *Entry
	value Number
}

// Entry is what a foreign series means.
type Entry struct {
	outs   []output
	reason collectors.Reason // why it has none
	seen   uint64            // the round it was last in
	at     telemetry.Time    // the time last stated
}

// output is one thing that a series becomes.
type output struct {
	rule  *rule // nil: as it is
	role  role
	rank  int
	cell  *cell
	bound float64 // of a bucket
	gain  gain    // of a bucket
	dist  *distribution
	mean  *proportion
}

// cell is one of our series, to which several foreign ones may be mapped.
type cell struct {
	at     book.Cell
	column telemetry.Column
	group  uint64 // of readings, it was last set in
	rank   int
	values Reduced // of that group
}

type cellID struct {
	entity telemetry.Entity
	metric telemetry.MetricName
}

// Result is the outcome of an emission.
type Result struct {
	Read    int
	Dropped map[collectors.Reason]int // the caller's
}

// NewIntake returns an intake that has taken nothing.
func NewIntake(c IntakeConfig) *Intake {
	c.MaxForeign = cmp.Or(c.MaxForeign, DefaultForeign)
	c.Book.Limit = cmp.Or(c.Book.Limit, book.DefaultLimit)
	in := &Intake{cfg: c, round: 1}
	in.renew()
	return in
}

// renew forgets every series.
func (in *Intake) renew() {
	in.book = book.New(in.cfg.Book)
	in.entries, in.cells = map[string]*Entry{}, map[cellID]*cell{}
	in.distributions, in.proportions, in.inOrder = map[string]*distribution{}, map[string]*proportion{}, nil
	in.edges = map[telemetry.Entity]bool{}
	in.foreign, in.live, in.last = 0, 0, 0
	in.dropped = map[collectors.Reason]int{}
}

// Forget has schemas and edges emitted again: the current listener has received
// none.
func (in *Intake) Forget() {
	in.book.Forget()
	clear(in.edges)
	clear(in.entries) // so that what contains what is found again
}

// Known returns the entry of a series, by a text that is its own; nil where it is
// new.
func (in *Intake) Known(key []byte) *Entry { return in.entries[string(key)] }

// Series is a foreign series as its sender names it. Labels without the name.
type Series struct {
	Name    string
	Labels  []Label
	Counter bool // it was declared as one
	First   Number
}

// Understand finds the meaning of a series, and keeps it under a text of its own.
func (in *Intake) Understand(key string, s Series) *Entry {
	e := &Entry{}
	if len(key) > maxKey {
		e.reason = collectors.OverLimit
		return e
	}
	if len(in.entries) < 2*in.cfg.Book.Limit {
		in.entries[key] = e
	}
	if len(s.Name) > telemetry.MaxMetricBytes || !validName(s) {
		e.reason = collectors.Malformed
		return e
	}
	matches, refused := in.cfg.Mapper.find(s.Name, in.cfg.Target, s.Labels)
	switch {
	case refused != "":
		e.reason = refused
	case len(matches) > 0:
		for _, m := range matches {
			in.map1(e, m, s)
		}
	default:
		in.carry(e, s)
	}
	if len(e.outs) == 0 && e.reason == "" {
		e.reason = collectors.OverLimit
	}
	return e
}

// validName reports whether name and labels are text.
func validName(s Series) bool {
	ok := func(t string) bool { return strings.ToValidUTF8(t, "") == t }
	return s.Name != "" && ok(s.Name) && !slices.ContainsFunc(s.Labels, func(l Label) bool { return !ok(l.Name) || !ok(l.Value) })
}

// map1 adds what one rule makes of a series.
func (in *Intake) map1(e *Entry, m match, s Series) {
	o := output{rule: m.rule, role: m.role, rank: m.rank}
	metric := m.rule.Column.Metric
	switch m.role {
	case bucket:
		o.dist, o.bound = in.distribution(m.entity, string(metric)+"%s"), bound(s.Labels)*m.rule.factor.Float
		if o.bound != o.bound || o.dist == nil {
			e.reason = collectors.Malformed
			return
		}
	case count:
		o.cell = in.cell(m.entity, telemetry.Column{Metric: metric + "_count", Type: telemetry.Uint})
	case sum:
		o.cell = in.cell(m.entity, telemetry.Column{Metric: metric + "_sum", Type: telemetry.Float})
	case divisor:
		o.mean = in.proportion(m)
	default:
		if m.rule.as == mean {
			o.mean = in.proportion(m)
		} else {
			o.cell = in.cell(m.entity, m.rule.Column)
		}
	}
	if o.cell == nil && o.dist == nil && o.mean == nil {
		return
	}
	e.outs = append(e.outs, o)
	if !m.within.IsZero() && !in.edges[m.entity] {
		in.edges[m.entity] = true
		in.edge = append(in.edge, &telemetry.Record{Kind: telemetry.EdgeRecord, Edge: &telemetry.Edge{
			From: m.within, To: m.entity, Relation: telemetry.Contains, Source: in.cfg.Book.Collector}})
	}
}

// carry adds a series that no file knows, as it is: its buckets become
// quantiles.
func (in *Intake) carry(e *Entry, s Series) {
	if base, ok := strings.CutSuffix(s.Name, "_bucket"); ok {
		if b := bound(s.Labels); b == b {
			labels := slices.DeleteFunc(slices.Clone(s.Labels), func(l Label) bool { return l.Name == "le" })
			if d := in.distribution(in.cfg.Foreign, foreignName(base+"%s", labels)); d != nil {
				e.outs = append(e.outs, output{role: bucket, bound: b, dist: d})
			}
			return
		}
	}
	c := telemetry.Column{Metric: telemetry.MetricName(foreignName(s.Name, s.Labels)), Type: telemetry.Float}
	counter := s.Counter || strings.HasSuffix(s.Name, "_total") || strings.HasSuffix(s.Name, "_count")
	if counter && s.First.whole() && !strings.Contains(s.Name, "seconds_total") {
		c.Type = telemetry.Uint
	}
	if x := in.foreignCell(c); x != nil {
		e.outs = append(e.outs, output{cell: x})
	}
}

// foreignCell returns the cell of a series of the collector's own, while there
// is room.
func (in *Intake) foreignCell(c telemetry.Column) *cell {
	if x := in.cells[cellID{in.cfg.Foreign, c.Metric}]; x != nil {
		return x
	}
	if in.foreign >= in.cfg.MaxForeign {
		return nil
	}
	x := in.cell(in.cfg.Foreign, c)
	if x != nil {
		in.foreign++
	}
	return x
}

// cell returns one of our series; nil where there is no room, or where it has
// another form already.
func (in *Intake) cell(x telemetry.Entity, c telemetry.Column) *cell {
	id := cellID{x, c.Metric}
	if y := in.cells[id]; y != nil {
		if y.column != c {
			return nil
		}
		return y
	}
	if c.Validate() != nil {
		return nil
	}
	at, ok := in.book.Cell(x, c)
	if !ok {
		return nil
	}
	y := &cell{at: at, column: c}
	in.cells[id] = y
	return y
}

// distribution returns one of our histograms; the metric has %s where _p50
// comes.
func (in *Intake) distribution(x telemetry.Entity, metric string) *distribution {
	id := x.String() + " " + metric
	if d := in.distributions[id]; d != nil {
		return d
	}
	at := func(suffix string) *cell {
		c := telemetry.Column{Metric: telemetry.MetricName(strings.Replace(metric, "%s", suffix, 1)), Type: telemetry.Float}
		if x == in.cfg.Foreign {
			return in.foreignCell(c)
		}
		return in.cell(x, c)
	}
	low, high := at("_p50"), at("_p99")
	if low == nil || high == nil {
		return nil
	}
	d := &distribution{p50: low.at, p99: high.at, rank: math.MaxInt}
	in.distributions[id] = d
	in.inOrder = append(in.inOrder, d)
	return d
}

// proportion returns one of our means.
func (in *Intake) proportion(m match) *proportion {
	id := m.entity.String() + " " + string(m.rule.Column.Metric)
	if p := in.proportions[id]; p != nil {
		return p
	}
	c := in.cell(m.entity, m.rule.Column)
	if c == nil {
		return nil
	}
	p := &proportion{cell: c.at}
	in.proportions[id] = p
	in.inOrder = append(in.inOrder, p)
	return p
}

// bound reads the label of a bucket; NaN where there is none.
func bound(labels []Label) float64 {
	l := labelled{page: labels}
	v, err := strconv.ParseFloat(l.get("le"), 64)
	if err != nil {
		return nan
	}
	return v
}

// Take records a number of a series, at the time that its sender states, zero if it
// states none.
func (in *Intake) Take(e *Entry, at telemetry.Time, n Number) {
	if e.reason != "" && len(e.outs) == 0 {
		in.dropped[e.reason]++
		return
	}
	if len(in.pending) >= maxPending {
		in.dropped[collectors.OverLimit]++
		return
	}
	in.pending = append(in.pending, sample{at, e, n})
}

// Emit states the samples taken since the last time, as read at an instant, and
// returns what became of them. Whole means that they are all that the sender has: a
// series that was there the last time and is not now has vanished.
func (in *Intake) Emit(sink collectors.Emitter, at telemetry.Instant, whole bool) (Result, error) {
	for _, r := range in.edge {
		r.Edge.Received = at.Received
		sink.Emit(r)
	}
	read := len(in.edge)
	in.edge = nil
	seen, again := in.order(at)
	began := in.round
	var err error
	for lo := 0; lo < len(in.pending) && err == nil; {
		hi := lo
		for hi < len(in.pending) && in.pending[hi].at == in.pending[lo].at {
			hi++
		}
		in.round++
		for i := lo; i < hi; i++ {
			in.apply(&in.pending[i])
		}
		for _, s := range in.inOrder {
			s.state(in.book)
		}
		var n int
		n, err = in.book.Emit(sink, telemetry.Instant{Source: in.pending[lo].at, Received: at.Received})
		read += n
		lo = hi
	}
	if whole {
		if in.live > again {
			in.dropped[collectors.Vanished] += in.live - again
		}
	}
	in.live, in.last = seen, began
	in.pending = in.pending[:0]
	in.round++
	r := Result{Read: read, Dropped: in.dropped}
	in.dropped = map[collectors.Reason]int{}
	if in.short() {
		in.renew()
	}
	return r, err
}

// order settles the time of every pending sample, drops what repeats itself and
// sorts the rest by time. It returns how many series there are, and how many of
// them were in the last emission, too.
func (in *Intake) order(at telemetry.Instant) (seen, again int) {
	kept := in.pending[:0]
	mixed := false
	for _, s := range in.pending {
		e := s.entry
		if e.seen != in.round {
			if e.seen == in.last {
				again++
			}
			e.seen = in.round
			seen++
		}
		if s.at != 0 {
			if s.at == e.at {
				continue // it was reported
			}
			if s.at < e.at {
				in.dropped[collectors.Stale]++
				continue
			}
			e.at = s.at
		}
		switch age := at.Source.Sub(s.at); {
		case s.at != 0 && age <= max(sane, in.cfg.Past) && age >= -sane:
		case s.at != 0 && age > 0 && in.cfg.Past > 0:
			in.dropped[collectors.Stale]++
			continue
		default:
			s.at = at.Source
		}
		kept = append(kept, s)
		mixed = mixed || s.at != kept[0].at
	}
	in.pending = kept
	if mixed {
		slices.SortStableFunc(in.pending, func(a, b sample) int { return cmp.Compare(a.at, b.at) })
	}
	return seen, again
}

// short reports whether places are short and most are used by vanished series.
func (in *Intake) short() bool {
	if in.book.Series() < in.cfg.Book.Limit && in.foreign < in.cfg.MaxForeign && len(in.entries) < 2*in.cfg.Book.Limit {
		return false
	}
	gone := 0
	for _, e := range in.entries { // order-independent: they are counted
		if e.seen+idle < in.round {
			gone++
		}
	}
	return gone > len(in.entries)/2
}

// apply gives a number to what its series is.
func (in *Intake) apply(s *sample) {
	e := s.entry
	for i := range e.outs {
		o := &e.outs[i]
		if why := in.put(o, s.value); why != "" {
			in.dropped[why]++
		}
	}
}

// put gives a number to one output and returns the reason if it cannot.
func (in *Intake) put(o *output, n Number) collectors.Reason {
	factor := one
	switch {
	case n.isNaN():
		in.gap(o)
		return ""
	case o.rule != nil && o.rule.blank(n):
		in.gap(o)
		return collectors.Unsupported
	case o.rule != nil && (o.role == value || o.role == sum):
		factor = o.rule.factor
	}
	switch {
	case o.dist != nil:
		if !o.dist.prefers(o.rank) {
			return collectors.Duplicate
		}
		if more, ok := o.gain.more(n.Float); ok {
			o.dist.add(o.bound, more)
		}
		return ""
	case o.mean != nil:
		return o.mean.take(o.role, float64(n.Float*factor.Float))
	case o.rule != nil && o.role == value:
		w, why := o.rule.Word(n)
		if why != "" {
			return why
		}
		return in.set(o, w)
	}
	w, ok := n.word(factor, o.cell.column)
	if !ok {
		return collectors.OutOfRange
	}
	return in.set(o, w)
}

// set writes a word, or joins it with what is there.
func (in *Intake) set(o *output, w uint64) collectors.Reason {
	c, again := o.cell, o.cell.group == in.round
	how, why := First, collectors.Reason("")
	if o.rule != nil {
		how = o.rule.Reduce
	}
	if (o.role == count || o.role == sum) && (!again || o.rank == c.rank) {
		how = Sum
	}
	switch {
	case !again:
		c.values = how.Of(c.column)
	case how != First:
	case o.rank >= c.rank:
		return collectors.Duplicate
	default:
		c.values, why = how.Of(c.column), collectors.Duplicate
	}
	c.values.Add(w)
	w, _ = c.values.Word()
	c.group, c.rank = in.round, o.rank
	in.book.Set(c.at, w)
	return why
}

// gap records that a series has no value now, unless another is the same series and
// has one.
func (in *Intake) gap(o *output) {
	if o.cell != nil && o.cell.group != in.round {
		in.book.Gap(o.cell.at)
	}
}
