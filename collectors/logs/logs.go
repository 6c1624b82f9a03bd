package logs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/book"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/collectors/mapping"
	"github.com/quintet-dc/quintet/telemetry"
)

// sourceName is the collector in its sources.
const sourceName = "logs"

const (
	pollEvery = 200 * time.Millisecond
	// oldest is the maximum age of a line that is reported after a restart.
	oldest = 24 * time.Hour
	// astray is how far a line's time may be from ours where it was written now.
	astray = time.Minute
	// maxCounters bounds the counters that lines raise.
	maxCounters = 4096
)

// The collector's own counters.
const (
	linesTotal  telemetry.MetricName = "log_lines_total"
	eventsTotal telemetry.MetricName = "log_events_total"
	lostTotal   telemetry.MetricName = "log_records_lost_total"
)

// Collector reads logs. It is a collectors.Collector.
type Collector struct {
	mapping.Formers
	cfg     Config
	guard   dial.Guard
	library *library
	clock   func() time.Time
	poll    time.Duration
	state   state // kept from one run to the next
	counts  map[telemetry.Series]uint64
}

// New returns the collector of a configuration, which it completes and checks.
// Nothing but its patterns is opened until Run.
func New(c Config, g dial.Guard) (*Collector, error) {
	c, err := c.withDefaults(g)
	if err != nil {
		return nil, fmt.Errorf("logs: %w", err)
	}
	l, err := loadLibrary(c.Patterns)
	if err != nil {
		return nil, fmt.Errorf("logs: %w", err)
	}
	return &Collector{Formers: l.Formers, cfg: c, guard: g, library: l, clock: time.Now, poll: pollEvery, counts: map[telemetry.Series]uint64{}}, nil
}

// Target returns the configured name.
func (c *Collector) Target() string { return c.cfg.Name }

// Run reads until ctx is done. An address that cannot be bound ends it; a file
// that is not there is waited for.
func (c *Collector) Run(ctx context.Context, sink collectors.Sink) error {
	r := c.newReader(ctx, sink)
	defer r.close()
	if len(c.cfg.Listen) > 0 {
		inner, stop := context.WithCancel(ctx)
		defer stop()
		var err error
		if r.receiver, err = receive(inner, c.guard, c.cfg.Listen); err != nil {
			return fmt.Errorf("logs: %w", err)
		}
		r.incoming = r.receiver.out
		defer func() { stop(); r.receiver.close() }()
	}
	tick := time.NewTicker(c.poll)
	defer tick.Stop()
	r.pollAll()
	for {
		select {
		case <-ctx.Done():
			r.finish()
			return nil
		case m := <-r.incoming:
			r.message(m)
		case <-tick.C:
			r.pollAll()
			r.stateDue()
		}
	}
}

// source is a log that is read when its time comes.
type source struct {
	file   File
	part   string
	tail   *tail
	device *device
	kernel *kernelLog // of a log that has the kernel's own records
	opened bool
	left   bool      // reading goes on at the position of a state
	caught time.Time // when everything of the device was read; zero if the last reading left some
	ended  bool      // everything was read once
	err    error     // why it cannot be read
}

// way is how a line came: the same one may come by several, the kernel's own
// record and a daemon's copies of it in files.
type way struct{ part, path string }

func (s *source) way() way { return way{s.part, s.file.Path} }

// reader is one run of the collector. One goroutine uses it.
type reader struct {
	*Collector
	ctx      context.Context
	sink     collectors.Sink
	log      *slog.Logger
	names    *names
	repeats  *repeats
	book     *book.Book
	sources  []*source
	receiver *receiver
	incoming <-chan message
	self     telemetry.Entity

	next    time.Time // when counts are stated
	took    time.Duration
	read    int
	dropped map[collectors.Reason]int
}

func (c *Collector) newReader(ctx context.Context, sink collectors.Sink) *reader {
	now := c.clock()
	r := &reader{Collector: c, ctx: ctx, sink: sink, log: sink.Logger(), repeats: newRepeats(), dropped: map[collectors.Reason]int{},
		next: now, self: telemetry.Entity{Kind: telemetry.Collector, Name: telemetry.NamePart(c.cfg.Name) + "/" + sourceName}}
	r.names = newNames(&c.cfg, c.clock)
	r.book = book.New(book.Config{Collector: sourceName, Target: c.cfg.Name, Cadence: telemetry.Duration(c.cfg.Every)})
	if err := c.state.load(c.cfg.State); err != nil {
		r.log.Warn("where reading ended is not known", "err", err)
		r.dropped[collectors.Unreadable]++
	}
	if c.state.started.IsZero() {
		c.state.started = now
	}
	if c.cfg.Kernel.Path != "" {
		r.sources = append(r.sources, &source{file: c.cfg.Kernel, part: "kernel", kernel: &kernelLog{boot: c.cfg.Kernel.Boot}})
		r.sources[0].file.Form = formKmsg
	}
	for _, f := range c.cfg.Files {
		s := &source{file: f, part: "files", kernel: &kernelLog{boot: f.Boot}}
		r.sources = append(r.sources, s)
	}
	for _, m := range []telemetry.MetricName{linesTotal, eventsTotal, lostTotal} {
		r.add(r.self, m, 0)
	}
	return r
}

func (r *reader) close() {
	for _, s := range r.sources {
		if s.device != nil {
			s.device.close()
		}
		if s.tail != nil {
			s.tail.close()
		}
	}
}

// add raises a counter.
func (r *reader) add(e telemetry.Entity, m telemetry.MetricName, n uint64) {
	s := telemetry.Series{Entity: e, Metric: m}
	if _, ok := r.counts[s]; !ok && len(r.counts) >= maxCounters {
		r.dropped[collectors.OverLimit]++
		return
	}
	r.counts[s] += n
}

// pollAll reads what every source has.
func (r *reader) pollAll() {
	start := r.clock()
	for _, s := range r.sources {
		if r.ctx.Err() != nil {
			break
		}
		s.err = r.pollOne(s, start)
	}
	for _, e := range r.repeats.due(start, false) {
		r.emit(e)
	}
	r.took += r.clock().Sub(start)
}

func (r *reader) pollOne(s *source, now time.Time) error {
	if !s.opened {
		if err := r.open(s, now); err != nil {
			return err
		}
	}
	take := func(raw []byte, fresh bool) bool {
		r.raw(s, string(raw), fresh)
		return r.ctx.Err() == nil
	}
	defer r.flush(s)
	if s.device == nil {
		cut, err := s.tail.poll(now, take)
		r.dropped[collectors.OverLimit] += cut
		return err
	}
	fresh := !s.caught.IsZero() && now.Sub(s.caught) < justNow
	ended, err := s.device.drain(func(raw []byte) bool { return take(raw, fresh) }, func() {
		if !s.kernel.numbers { // otherwise the sequence numbers show how many
			r.lost(1)
		}
	})
	s.caught = time.Time{}
	if ended {
		s.caught, s.ended = now, true
	}
	return err
}

// open opens a source: where it was left, else at its end.
func (r *reader) open(s *source, now time.Time) error {
	if s.file.Path == kernelDevice {
		d, err := openDevice(s.file.Path)
		if err != nil {
			return err
		}
		s.device, s.opened = d, true
		if s.kernel.boot.IsZero() {
			s.kernel.boot = bootTime(now)
		}
		if r.state.Numbers && r.state.Boot == bootID() {
			s.left, s.kernel.numbers, s.kernel.seq = true, true, r.state.Sequence
		}
		return nil
	}
	if s.tail == nil {
		s.tail = &tail{path: s.file.Path}
	}
	p, known := r.state.Files[s.file.Path]
	err := s.tail.begin(p, known, r.cfg.Since > 0)
	if err == nil {
		s.opened = true
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) && !known {
		// What appears later is new from its beginning.
		r.state.Files[s.file.Path] = position{}
	}
	return err
}

// raw takes one line of a source.
func (r *reader) raw(s *source, raw string, fresh bool) {
	if s.device == nil && len(raw) > 0 && raw[0] == ' ' && s.file.Form == formKmsg {
		return // describes the record before it
	}
	r.add(r.self, linesTotal, 1)
	now := r.clock()
	l, ok := scope{now, r.cfg.Zone}.decode(s.file.Form, raw)
	if !ok {
		r.dropped[collectors.Malformed]++
		return
	}
	if !l.record {
		l.host = r.host(l.host, r.cfg.Node)
		r.line(s.way(), &l, r.stale(s, &l, fresh), fresh)
		return
	}
	l.host = r.cfg.Node
	lost, old := s.kernel.next(&l)
	if old {
		r.dropped[collectors.Stale]++
		return
	}
	r.lost(lost)
	s.kernel.date(&l, now, fresh)
	if l, fresh, ok := s.kernel.join(l, fresh); ok {
		r.line(s.way(), &l, r.stale(s, &l, fresh), fresh)
	}
}

// flush takes the line that waits for more.
func (r *reader) flush(s *source) {
	if l, fresh, ok := s.kernel.flush(); ok {
		r.line(s.way(), &l, r.stale(s, &l, fresh), fresh)
	}
}

func (r *reader) lost(n uint64) { r.add(r.self, lostTotal, n) }

// host returns the site's name for the host that wrote a line.
func (r *reader) host(stated, otherwise string) string {
	if v, ok := r.cfg.Hosts[stated]; ok {
		return v
	}
	if stated == "" {
		return otherwise
	}
	return stated
}

// stale reports whether a line is too old to be reported.
func (r *reader) stale(s *source, l *line, fresh bool) bool {
	if fresh {
		return false
	}
	if s.history() {
		return l.at.IsZero() || l.at.Before(r.state.started.Add(-r.cfg.Since))
	}
	return !l.at.IsZero() && r.clock().Sub(l.at) > oldest
}

// history reports whether the part of a source that is being read was there before
// the first start.
func (s *source) history() bool {
	if s.device != nil {
		return !s.left && !s.ended
	}
	return s.tail.history
}

// message takes a syslog message.
func (r *reader) message(m message) {
	r.add(r.self, linesTotal, 1)
	l, ok := scope{r.clock(), r.cfg.Zone}.decodeSyslog(m.raw)
	if !ok {
		r.dropped[collectors.Malformed]++
		return
	}
	if v, ok := r.cfg.Hosts[m.from.String()]; ok {
		l.host = v
	} else {
		l.host = r.host(l.host, m.from.String())
	}
	r.line(way{part: "syslog"}, &l, false, true)
}

// line makes an event of a line, if a pattern is for it.
func (r *reader) line(by way, l *line, stale, fresh bool) {
	f := r.library.find(l)
	if f.pattern == nil || f.Event == "" {
		r.dropped[collectors.Skipped]++
		return
	}
	if stale {
		r.dropped[collectors.Stale]++
		return
	}
	h, ok := f.event(r.names)
	if !ok {
		r.dropped[collectors.Unknown]++
		return
	}
	now := r.clock()
	h.event.At, h.event.Received = telemetry.Time(now.UnixNano()), telemetry.Time(now.UnixNano())
	if !l.at.IsZero() && l.at.Unix() > 0 {
		if off := now.Sub(l.at); off >= -astray && (!fresh || off <= astray) {
			h.event.At = telemetry.Time(l.at.UnixNano())
		}
	}
	h.event.Source = telemetry.Source{Collector: sourceName, Target: r.cfg.Name, Part: by.part}
	h.way = by
	v, before := r.repeats.judge(&h, now)
	for _, e := range before {
		r.emit(e)
	}
	if f.Count != "" && v != elsewhere {
		r.add(h.event.Entity, f.Count, 1)
	}
	switch v {
	case first:
		r.emit(h.event)
	case elsewhere, uncounted:
		r.dropped[collectors.Duplicate]++
	case tooMany:
		r.dropped[collectors.OverLimit]++
	}
}

func (r *reader) emit(e telemetry.Event) {
	r.sink.Emit(&telemetry.Record{Kind: telemetry.EventRecord, Event: &e})
	r.read++
	r.add(r.self, eventsTotal, 1)
}

// stateDue states counts, and how reading went, when their time has come.
func (r *reader) stateDue() {
	now := r.clock()
	if now.Before(r.next) {
		return
	}
	if r.next = r.next.Add(r.cfg.Every); r.next.Before(now) {
		r.next = now.Add(r.cfg.Every)
	}
	err := r.trouble()
	if err == nil {
		r.emitCounts(now)
	}
	if r.receiver != nil {
		r.receiver.drops(r.dropped)
	}
	r.sink.Swept(collectors.Sweep{Took: r.took, Read: r.read, Dropped: r.dropped, Targets: r.targets(), Err: err})
	r.read, r.took = 0, 0
	clear(r.dropped)
	r.keep()
}

// trouble counts the sources that cannot be read; an error where none can.
func (r *reader) trouble() error {
	var all []error
	for _, s := range r.sources {
		if s.err == nil {
			continue
		}
		all = append(all, s.err)
		switch {
		case errors.Is(s.err, fs.ErrPermission):
			r.dropped[collectors.Denied]++
		case errors.Is(s.err, fs.ErrNotExist):
			r.dropped[collectors.Vanished]++
		default:
			r.dropped[collectors.Unreadable]++
		}
	}
	if len(all) < len(r.sources) || len(all) == 0 || r.receiver != nil {
		return nil
	}
	return errors.Join(all...)
}

// targets is the state of each log that is read, by path, and of the listener.
func (r *reader) targets() map[string]error {
	out := make(map[string]error, len(r.sources)+len(r.cfg.Listen))
	for _, s := range r.sources {
		out[s.file.Path] = s.err
	}
	for _, a := range r.cfg.Listen {
		out[a.Network+"://"+a.Address.String()] = nil
	}
	return out
}

// emitCounts states every counter.
func (r *reader) emitCounts(now time.Time) {
	at := telemetry.Time(now.UnixNano())
	// order-independent: a book lays out series by when they came first, and
	// each has a place of its own.
	for s, n := range r.counts {
		c, ok := r.book.Cell(s.Entity, telemetry.Column{Metric: s.Metric, Type: telemetry.Uint})
		if !ok {
			r.dropped[collectors.OverLimit]++
			continue
		}
		r.book.Set(c, n)
	}
	n, err := r.book.Emit(r.sink, telemetry.Instant{Source: at, Received: at})
	r.read += n
	if err != nil {
		r.log.Error("encoding counters failed", "err", err)
		r.dropped[collectors.Other]++
	}
}

// keep records, and saves, how far everything was read.
func (r *reader) keep() {
	for _, s := range r.sources {
		switch {
		case s.device != nil && s.kernel.numbers:
			r.state.Boot, r.state.Sequence, r.state.Numbers = bootID(), s.kernel.seq, true
		case s.tail != nil:
			if p, ok := s.tail.where(); ok {
				r.state.Files[s.file.Path] = p
			}
		}
	}
	if r.cfg.State == "" {
		return
	}
	if err := r.state.save(r.cfg.State); err != nil {
		r.log.Warn("where reading ended cannot be written", "err", err)
	}
}

// finish emits the pending repeats.
func (r *reader) finish() {
	for _, e := range r.repeats.due(r.clock(), true) {
		r.emit(e)
	}
	r.keep()
}
