package sysfs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/sysfs/ethtool"
	"github.com/quintet-dc/quintet/telemetry"
)

// sourceName is the collector in its sources and the source of its edges.
const sourceName = "sysfs"

// How often the tree is looked at again: for what came or went, and where no device
// was ever seen.
const (
	lookEvery   = 10 * time.Second
	absentEvery = time.Minute
)

// Collector reads one host's tree. It is a collectors.Collector.
type Collector struct {
	cfg   Config
	tree  tree
	words *vocabulary
	clock func() time.Time
	kept  memories
}

// New returns the collector of a configuration, which it completes and checks.
// Nothing is opened until Run.
func New(c Config) (*Collector, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("sysfs: %w", err)
	}
	return &Collector{cfg: c, tree: disk{c.Path}, words: newVocabulary(), clock: time.Now}, nil
}

// Target returns the path of the tree.
func (c *Collector) Target() string { return c.cfg.Path }

// Run reads the tree until ctx is done. A host without an RDMA device is not a
// failure: every sweep then reports ErrNoDevice, and the tree is looked at again,
// once a minute if it never had one. A path that is not such a tree is ErrNoTree.
func (c *Collector) Run(ctx context.Context, sink collectors.Sink) error {
	r, err := c.newReader(sink)
	if err != nil {
		return err
	}
	defer r.close()
	if err := r.replan(); errors.Is(err, ErrNoTree) {
		return fmt.Errorf("sysfs: read %s: %w", c.cfg.Path, err)
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for next := c.clock(); ; {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil
		}
		start := c.clock()
		r.sweep(ctx)
		next = following(next, start, c.cfg.Every)
		timer.Reset(next.Sub(c.clock()))
	}
}

// following returns when to read next: at even times, but never sooner than
// three quarters of the period after the last reading began, however late that
// was. What was missed is not made up for.
func following(planned, began time.Time, every time.Duration) time.Time {
	next := planned.Add(every)
	if soonest := began.Add(every * 3 / 4); next.Before(soonest) {
		next = began.Add(every)
	}
	return next
}

// Once reads everything once and emits it: the dry run. It returns ErrNoDevice
// or ErrNoTree where there is nothing to read.
func (c *Collector) Once(ctx context.Context, sink collectors.Sink) error {
	r, err := c.newReader(sink)
	if err != nil {
		return err
	}
	defer r.close()
	if err := r.replan(); err != nil {
		return fmt.Errorf("sysfs: read %s: %w", c.cfg.Path, err)
	}
	r.sweep(ctx)
	return ctx.Err()
}

// reader is one run of the collector. One goroutine uses it.
type reader struct {
	cfg   Config
	tree  tree
	words *vocabulary
	clock func() time.Time
	log   *slog.Logger
	stats *ethtool.Source // nil: none
	sink  collectors.Sink

	plan     *plan // nil while there is no device
	missing  error // why there is none
	edges    map[string]*telemetry.Edge
	memories *memories
	began    time.Time
	nextLook time.Duration
	nextAll  int // readings of settings until the rare ones
	nextSet  time.Duration
	ever     bool // a device was seen
	stated   bool // edges were: what comes now begins now

	// Of the sweep under way.
	now     time.Duration // since began
	look    bool          // something vanished: look at the tree
	changed bool          // the plan is wrong, whatever the tree's shape
	read    int
	dropped map[collectors.Reason]int
	buf     [256]byte
}

func (c *Collector) newReader(sink collectors.Sink) (*reader, error) {
	r := &reader{
		cfg: c.cfg, tree: c.tree, words: c.words, clock: c.clock, log: sink.Logger(), sink: sink,
		edges: map[string]*telemetry.Edge{}, memories: &c.kept, began: c.clock(), dropped: map[collectors.Reason]int{},
	}
	switch c.cfg.Ethtool {
	case NoStats:
	case KernelStats:
		s, err := ethtool.Kernel()
		if err != nil {
			return nil, fmt.Errorf("sysfs: %w", err)
		}
		r.stats = s
	default:
		r.stats = ethtool.Recorded(c.cfg.Ethtool)
	}
	return r, nil
}

func (r *reader) close() {
	if r.plan != nil {
		r.plan.close()
	}
	if r.stats != nil {
		_ = r.stats.Close() // it was only read
	}
}

// sweep reads what is due and emits it.
func (r *reader) sweep(ctx context.Context) {
	start := r.clock()
	r.now = start.Sub(r.began)
	r.read, r.changed = 0, false
	if r.plan != nil {
		r.readCounters(ctx, start)
		r.readConfiguration(ctx, start)
	}
	if r.look || r.changed || r.now >= r.nextLook {
		r.lookAgain()
	}
	s := collectors.Sweep{Took: r.clock().Sub(start), Read: r.read, Dropped: r.dropped}
	if r.plan == nil {
		s.Err = r.missing
	}
	r.sink.Swept(s)
	clear(r.dropped)
}

// readCounters reads every group that is due.
func (r *reader) readCounters(ctx context.Context, start time.Time) {
	for _, t := range r.plan.quick {
		t.clear()
	}
	slack := r.cfg.Every / 2
	last := start
	for _, g := range r.plan.groups {
		if ctx.Err() != nil {
			return
		}
		if !g.pace.due(r.now) {
			r.dropped[collectors.Skipped] += g.size()
			continue
		}
		switch {
		case g.status != nil:
			g.status.read(r)
		case g.stats != nil:
			g.stats.read(r)
		default:
			g.read(r)
		}
		end := r.clock()
		g.pace.done(r.now, end.Sub(last), slack)
		last = end
	}
	r.emit(r.plan.quick, start, last)
}

// readConfiguration reads settings when they are due.
func (r *reader) readConfiguration(ctx context.Context, start time.Time) {
	if r.now < r.nextSet || ctx.Err() != nil {
		return
	}
	r.nextSet = r.now + r.settingsEvery() - r.cfg.Every/2
	for _, t := range r.plan.slow {
		t.clear()
	}
	r.readSettings(r.nextAll == 0)
	r.nextAll = (r.nextAll + 1) % rareEvery
	for _, g := range r.plan.groups {
		if g.stats != nil {
			g.stats.verify(r)
		}
	}
	r.emit(r.plan.slow, start, r.clock())
}

// settingsEvery is how often configuration is read.
func (r *reader) settingsEvery() time.Duration { return max(settingsEvery, r.cfg.Every) }

// emit sends the instant of each table that something was asked of.
func (r *reader) emit(tables []*table, start, end time.Time) {
	at := telemetry.Instant{Source: telemetry.Time(start.UnixNano()), Received: telemetry.Time(end.UnixNano())}
	for _, t := range tables {
		if !t.asked {
			continue
		}
		rec, err := t.feed.Frame(at, t.words, t.states)
		if err != nil {
			r.log.Error("encoding a frame failed", "source", t.schema.Source.String(), "err", err)
			r.dropped[collectors.Other] += len(t.words)
			continue
		}
		if !t.stated {
			t.stated = true
			r.sink.Emit(t.feed.Schema())
		}
		r.sink.Emit(rec)
	}
}

// put gives a number to all of its cells. One that does not fit is counted once.
func (r *reader) put(cells []cell, v uint64) {
	why := good
	for i := range cells {
		if w := cells[i].put(v); w != good {
			why = w
		} else {
			r.read++
		}
	}
	if why != good {
		r.dropped[why]++
	}
}

// event emits an event that happened now.
func (r *reader) event(e telemetry.Entity, name telemetry.EventName, text string) {
	at := telemetry.Time(r.clock().UnixNano())
	r.sink.Emit(&telemetry.Record{Kind: telemetry.EventRecord, Event: &telemetry.Event{
		Entity: e, At: at, Received: at, Name: name, Text: text,
		Source: telemetry.Source{Collector: sourceName, Target: r.cfg.Node},
	}})
	r.read++
	r.log.Info("event", "entity", e.String(), "name", string(name), "text", text)
}

// lookAgain makes a new plan if the tree is not what the plan was made for.
func (r *reader) lookAgain() {
	if r.plan != nil && !r.changed && !r.shapeChanged() {
		r.nextLook = r.now + lookEvery
		r.look = false
		return
	}
	_ = r.replan() // the sweep reports what is missing
}

// shapeChanged lists the tree's folders again.
func (r *reader) shapeChanged() bool {
	dirs, err := deviceDirs(r.tree)
	if err != nil || len(dirs) < len(r.plan.devices) || len(dirs) > len(r.plan.devices) && len(dirs) <= maxDevices {
		return true
	}
	for i, d := range r.plan.devices {
		if d.dir != dirs[i] {
			return true
		}
	}
	return shapeOf(r.tree, r.plan.devices) != r.plan.shape
}

// replan looks at the tree and replaces the plan.
func (r *reader) replan() error {
	r.look = false
	p, err := r.newPlan()
	if err != nil {
		r.nextLook = r.now + absentEvery
		if r.ever {
			r.nextLook = r.now + lookEvery
		}
	} else {
		r.nextLook, r.ever = r.now+lookEvery, true
		for why, n := range p.dropped {
			r.dropped[why] += n
		}
	}
	old := r.plan
	r.plan, r.missing = p, err
	r.feeds(old)
	r.emitEdges()
	r.emitGone()
	if old != nil {
		old.close()
	}
	r.nextAll, r.nextSet = 0, r.now
	return err
}

// feeds keeps the numbering of sources whose schema did not change, and begins
// a later one for the others.
func (r *reader) feeds(old *plan) {
	if r.plan == nil {
		return
	}
	before := map[telemetry.Fingerprint]*table{}
	if old != nil {
		for _, t := range append(old.quick[:len(old.quick):len(old.quick)], old.slow...) {
			before[t.schema.Fingerprint()] = t
		}
	}
	incarnation := uint64(r.clock().UnixNano())
	kept := func(tables []*table) []*table {
		out := tables[:0]
		for _, t := range tables {
			if b := before[t.schema.Fingerprint()]; b != nil && b.feed != nil {
				t.feed, t.stated = b.feed, b.stated
				out = append(out, t)
				continue
			}
			feed, err := collectors.NewFeed(t.schema, incarnation)
			if err != nil {
				r.log.Error("encoding a schema failed", "source", t.schema.Source.String(), "err", err)
				r.dropped[collectors.Other] += t.schema.Len()
				continue
			}
			t.feed = feed
			out = append(out, t)
		}
		return out
	}
	r.plan.quick, r.plan.slow = kept(r.plan.quick), kept(r.plan.slow)
}

// emitEdges states edges that are new or have changed, and the end of those that no
// longer exist.
func (r *reader) emitEdges() {
	now := telemetry.Time(r.clock().UnixNano())
	present := map[string]*telemetry.Edge{}
	if r.plan != nil {
		for _, e := range r.plan.edges {
			present[edgeID(e)] = e
		}
	}
	for _, id := range slices.Sorted(maps.Keys(r.edges)) {
		if e := r.edges[id]; present[id] == nil {
			e.End = now
			r.emitEdge(e)
			delete(r.edges, id)
		}
	}
	if r.plan == nil {
		return
	}
	later := r.stated
	r.stated = true
	for _, e := range r.plan.edges {
		id := edgeID(e)
		old := r.edges[id]
		if old != nil {
			e.Start = old.Start
		} else if later {
			e.Start = now
		}
		if old == nil || old.Compare(e) != 0 {
			r.emitEdge(e)
		}
		r.edges[id] = e
	}
}

// emitEdge emits a copy: the emitter keeps what it is given, and an end will be
// stated of this one.
func (r *reader) emitEdge(e *telemetry.Edge) {
	c := *e
	if c.Received == 0 {
		c.Received = telemetry.Time(r.clock().UnixNano())
	}
	r.sink.Emit(&telemetry.Record{Kind: telemetry.EdgeRecord, Edge: &c})
	r.read++
}

// emitGone reports ports that were up and are gone, or have another name.
func (r *reader) emitGone() {
	for _, identity := range slices.Sorted(maps.Keys(r.memories.all)) {
		m := r.memories.all[identity]
		if !m.state.known {
			continue
		}
		place, here := telemetry.Entity{}, false
		if r.plan != nil {
			place, here = r.plan.places[identity]
		}
		switch {
		case here && place != m.entity:
			r.event(place, telemetry.EventConfigChanged, fmt.Sprintf("name %s -> %s", m.entity.Name, place.Name))
			m.entity = place
		case !here && m.state.up:
			r.event(m.entity, telemetry.EventLinkDown, fmt.Sprintf("state %s -> gone, physical state %s -> unknown", m.state.logical, m.state.physical))
			m.state = portState{known: true, logical: "gone", physical: "unknown"}
		}
	}
}
