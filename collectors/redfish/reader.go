package redfish

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/book"
	"github.com/quintet-dc/quintet/telemetry"
)

// Bounds of what is kept of one service.
const (
	maxPages    = 2000
	maxBindings = 32768
	maxTraits   = 8192
	maxMissing  = 3 // times that a page may be missing before it is given up
)

// page is a page of the service, as it is planned and as it was read last.
type page struct {
	path      string
	query     string
	more      string // where its list goes on, if that is what comes next
	parts     int    // of a list, read so far
	due       time.Time
	period    time.Duration
	timeout   time.Duration
	etag      string
	read      bool // at least once
	missing   int
	bad       bool      // it could not be read the last time
	at        time.Time // of its readings, by the device
	parents   map[*page]bool
	links     []*page
	readings  []reading
	linking   []*page // of the list that is being read, as are collected and relating
	collected []reading
	relating  []relation
	report    bool
	log       bool
	newest    time.Time // of a report's rows
	edges     []relation
	noExpand  bool
	whole     bool // its members are read with it or not at all
}

// target is what is asked for.
func (p *page) target() string {
	switch {
	case p.more != "":
		return p.more
	case p.path == root:
		return root + "/"
	}
	return p.path + p.query
}

// owner is where a series' readings come from.
type owner struct {
	book   *book.Book
	cell   book.Cell
	src    *page
	from   string // the property
	period time.Duration
	at     time.Time
	gap    bool
	said   map[*page]uint64 // by page, where several report it
}

// reader is one run of the collector. One goroutine uses it.
type reader struct {
	c      *Collector
	cfg    *Config
	view   *view
	sink   collectors.Sink
	log    *slog.Logger
	clock  func() time.Time
	books  [2]*book.Book // of what is read often, and of the rest: sources of two cadences
	pages  map[string]*page
	root   *page
	pushed map[string]*page // reports that only the event stream has
	owners map[series]*owner
	known  map[string]reading // what properties mean, by their place
	binds  map[string]*binding
	edges  map[relation]*edgeState

	streams   sync.WaitGroup
	messages  chan message
	stream    string // path of the event stream, until it is listened to
	streaming bool

	walked  bool // everything was read once
	busy    bool
	failing int
	timeout time.Duration // that the last page to answer needs; 0 where one did not
	resume  time.Time     // not asked before
	trouble error
	dropped map[collectors.Reason]int
	read    int
	storm   int       // events in this sweep
	began   time.Time // of the sweep
	touched time.Time // when the first reading came that was not emitted yet
	source  time.Time // the device's own time for them, if it stated one
}

type edgeState struct {
	start telemetry.Time
	from  map[*page]bool
}

func (c *Collector) newReader(sink collectors.Sink) *reader {
	c.client.opened.reopen()
	r := &reader{
		c: c, cfg: &c.cfg, sink: sink, log: sink.Logger(), clock: c.clock,
		view:  &view{rules: c.rules, self: c.cfg.Entity, named: c.named, chassis: map[string]string{}, also: c.also},
		pages: map[string]*page{}, pushed: map[string]*page{}, owners: map[series]*owner{}, known: map[string]reading{}, binds: map[string]*binding{}, edges: map[relation]*edgeState{},
		messages: make(chan message, 8), dropped: map[collectors.Reason]int{}, began: c.clock(),
	}
	r.books[0] = book.New(book.Config{Collector: sourceName, Target: c.Target(), Class: telemetry.Slow, Cadence: c.cfg.Every})
	r.books[1] = book.New(book.Config{Collector: sourceName, Target: c.Target(), Part: "slow", Class: telemetry.Slow, Cadence: c.cfg.Slow})
	r.root = r.page(root, nil)
	return r
}

// run requests one page after the other, each when it is due, until ctx is done.
func (r *reader) run(ctx context.Context) {
	type result struct {
		p *page
		a answer
	}
	results := make(chan result, 1)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if !r.busy {
			if p := r.next(); p != nil && !r.clock().Before(p.due) && !r.clock().Before(r.resume) {
				r.busy = true
				target, etag, timeout := p.target(), p.etag, r.wait(p)
				go func() { results <- result{p, r.c.client.get(ctx, target, etag, timeout)} }()
			}
		}
		timer.Reset(r.idle())
		select {
		case <-ctx.Done():
			if r.busy {
				<-results // it is cancelled; nothing of it is left behind
			}
			return
		case res := <-results:
			r.busy = false
			if ctx.Err() == nil {
				r.handle(res.p, res.a)
			}
		case m := <-r.messages:
			r.receive(m)
		case <-timer.C:
		}
		r.listen(ctx)
		r.flushDue()
	}
}

// next is the page that has waited longest, or that comes up soonest.
func (r *reader) next() *page {
	var first *page
	for _, p := range r.pages {
		if first == nil || p.due.Before(first.due) || p.due.Equal(first.due) && p.path < first.path {
			first = p
		}
	}
	return first
}

// idle is how long nothing need be done.
func (r *reader) idle() time.Duration {
	until := r.began.Add(r.cfg.Every)
	if !r.touched.IsZero() {
		until = earlier(until, r.touched.Add(r.window()))
	}
	if !r.busy {
		if p := r.next(); p != nil {
			due := p.due
			if due.Before(r.resume) {
				due = r.resume
			}
			until = earlier(until, due)
		}
	}
	return max(0, until.Sub(r.clock()))
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// window is how long readings wait for others, to be reported in one frame with the
// time of the first. An onset is known no better than to the cadence, of which this
// is a tenth at most; a cause dated too late would appear to have begun after its
// effect, one dated too early does not.
func (r *reader) window() time.Duration { return min(time.Second, r.cfg.Every/10) }

// flushDue emits what has waited, and ends a sweep.
func (r *reader) flushDue() {
	now := r.clock()
	if !r.touched.IsZero() && now.Sub(r.touched) >= r.window() || now.Sub(r.began) >= r.cfg.Every {
		r.flush()
	}
}

// flush emits the pending readings, at the device's time if it stated one, and
// reports the sweep.
func (r *reader) flush() {
	r.emit()
	r.walked = r.walked || r.unread() == nil
	now := r.clock()
	s := collectors.Sweep{Took: now.Sub(r.began), Read: r.read, Dropped: r.dropped, Err: r.trouble}
	r.began, r.read, r.storm = now, 0, 0
	r.sink.Swept(s)
	clear(r.dropped)
}

func (r *reader) emit() {
	if r.touched.IsZero() {
		return
	}
	now := r.clock()
	source := r.touched
	if !r.source.IsZero() {
		source = r.source
	}
	at := telemetry.Instant{Source: telemetry.Time(source.UnixNano()), Received: telemetry.Time(now.UnixNano())}
	for _, b := range r.books {
		n, err := b.Emit(r.sink, at)
		r.read += n
		if err != nil {
			r.log.Error("encoding a frame failed", "target", r.c.Target(), "err", err)
			r.dropped[collectors.Other]++
		}
	}
	r.touched, r.source = time.Time{}, time.Time{}
}

func (r *reader) drop(why collectors.Reason, n int) {
	if n > 0 {
		r.dropped[why] += n
	}
}

// sane reports whether a device's own time is plausible.
func sane(t, now time.Time) bool {
	d := now.Sub(t)
	return !t.IsZero() && d < time.Minute && d > -time.Minute
}

// stamp has the readings that come now carry the device's own time, where it
// states one that is sane.
func (r *reader) stamp(t time.Time) {
	if !sane(t, r.clock()) {
		t = time.Time{}
	}
	if !t.Equal(r.source) {
		r.emit()
		r.source = t
	}
}

// offer stores a reading of a page, unless another page is the current source of
// the series; but a metric report takes precedence over the resource that it
// repeats.
func (r *reader) offer(p *page, x *reading) {
	o := r.owners[x.series]
	now := r.clock()
	if o == nil {
		o = &owner{book: r.books[1], src: p}
		if x.pace == fast {
			o.book = r.books[0]
		}
		var ok bool
		if o.cell, ok = o.book.Cell(x.entity, x.column); !ok {
			r.drop(collectors.OverLimit, 1)
			return
		}
		r.owners[x.series] = o
	}
	gap, word := x.gap, x.word
	switch {
	case x.reduce != "":
		gap, word = o.join(p, x)
	case o.src != p && now.Sub(o.at) < 3*o.period && !o.gap && (!p.report || o.src.report || o.from != x.from):
		r.drop(collectors.Duplicate, 1)
		return
	case o.src != p && gap && !o.gap && now.Sub(o.at) < 3*o.period:
		return
	}
	o.src, o.from, o.at, o.gap, o.period = p, x.from, now, gap, max(p.period, r.cfg.Every)
	if r.touched.IsZero() {
		r.touched = now
	}
	if gap {
		o.book.Gap(o.cell)
		return
	}
	o.book.Set(o.cell, word)
}

// join is the combined value of a series on all pages.
func (o *owner) join(p *page, x *reading) (gap bool, word uint64) {
	if o.said == nil {
		o.said = map[*page]uint64{}
	}
	delete(o.said, p)
	if !x.gap {
		o.said[p] = x.word
	}
	out := x.reduce.Of(x.column)
	for _, w := range slices.Sorted(maps.Values(o.said)) {
		out.Add(w)
	}
	word, ok := out.Word()
	return !ok, word
}
