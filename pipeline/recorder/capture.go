package recorder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/engine/grants"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/replay/trace"
	"github.com/quintet-dc/quintet/telemetry"
)

// Margins of the capture around an incident.
const (
	captureLead  = telemetry.Duration(15 * 60e9)
	captureTrail = telemetry.Duration(5 * 60e9)
)

// flushTicks is after how many ticks a growing trace is flushed, so that it can
// be read while it grows.
const flushTicks = 10

// Tape is what a capture reads in addition to Log: all entries, as they arrive.
type Tape interface {
	Log
	Follow(ctx context.Context, after uint64, fn func(bus.Entry) error) error
}

// Shelf holds the engine's snapshots.
type Shelf interface {
	Snapshots(ctx context.Context) ([]bus.SnapshotInfo, error)
	Snapshot(ctx context.Context, info bus.SnapshotInfo) ([]byte, error)
}

// CaptureConfig configures what is captured. Without Last, From, To and Incident it
// is everything from now on, until the context ends.
type CaptureConfig struct {
	Tape   Tape
	Shelf  Shelf // nil: the trace begins cold
	Writer io.Writer
	// Site names the site, Program what writes the trace.
	Site    string
	Program string
	// Engine and Rules are the version and the digest that a snapshot must have
	// to be of use; any will do where they are empty.
	Engine string
	Rules  string

	Last     time.Duration     // what ticks moved over, up to now
	From, To telemetry.Time    // in time of ticks; a zero To is now, a later one is waited for
	Incident *explain.Incident // from 15 min before its onset to 5 min after its end
	// Keep, if any, chooses the records that are written. It is called once for
	// each, in the order of the log; ticks are written in any case.
	Keep func(*telemetry.Record) bool
	// Until, if any, is asked at each tick and ends the capture at the tick that
	// it gives; zero while that is not known.
	Until  func() telemetry.Time
	Logger *slog.Logger
}

// Captured is the content of a trace.
type Captured struct {
	Cold        bool   // it begins without a snapshot
	First, Last uint64 // positions of its records
	Records     uint64
	Skipped     uint64 // entries that were malformed or that their process may not state: no reader uses them
	Lost        uint64 // entries that the log lost; a record in their place states it
	From, To    telemetry.Time
}

// Capture writes a part of the log as a trace, with the positions that its
// records have in the log. It begins with the newest snapshot that is old
// enough, or, where there is none, cold: with what had been stated by then
// (config, schemas, edges). It returns when the part is written; a capture from
// now on returns nil when ctx is done. Whatever happens, what was written is a
// trace that can be read.
func Capture(ctx context.Context, c CaptureConfig) (*Captured, error) {
	if c.Tape == nil || c.Writer == nil {
		return nil, errors.New("capture: want a tape and a writer")
	}
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	k := &capture{CaptureConfig: c, out: &Captured{}, gate: grants.NewGate()}
	if err := k.run(ctx); err != nil {
		return k.out, fmt.Errorf("capture: %w", err)
	}
	return k.out, nil
}

// capture is one under way.
type capture struct {
	CaptureConfig
	out   *Captured
	index *index
	from  telemetry.Time
	to    telemetry.Time // zero: no end
	last  uint64         // the last position wanted; no end if zero
	w     *trace.Writer
	ticks int
	seen  uint64       // the last position that the log handed over; 0 before the first
	gate  *grants.Gate // refuses what the engine refused
}

// errWhole ends the reading.
var errWhole = errors.New("everything is written")

func (c *capture) run(ctx context.Context) error {
	c.index = newIndex(c.Tape, telemetry.DefaultSiteConfig(), time.Now)
	if err := c.index.refresh(ctx); err != nil {
		return err
	}
	first, last, err := c.Tape.Bounds(ctx)
	if err != nil {
		return err
	}
	live := c.span(last)
	if !live && first > last {
		return errors.New("the log is empty")
	}
	if !live && len(c.index.marks) > 0 && c.to != 0 && c.to < c.index.marks[0].at {
		return fmt.Errorf("up to %s: %w", c.to, ErrForgotten)
	}
	after, err := c.start(ctx, first)
	if err != nil {
		return err
	}
	c.seen = after
	err = c.Tape.Follow(ctx, after, c.entry)
	if closing := c.w.Close(); closing != nil && (err == nil || errors.Is(err, errWhole)) {
		return closing
	}
	if errors.Is(err, errWhole) || live && ctx.Err() != nil {
		return nil
	}
	return err
}

// span sets the part that is to be read, and reports whether it has no end.
func (c *capture) span(last uint64) (live bool) {
	now := c.index.newest.at
	c.last, c.from, c.to = last, c.From, c.To
	switch in := c.Incident; {
	case in != nil:
		c.from = max(in.Onset.Earliest.Add(-captureLead), 1)
		if in.Resolved != nil {
			c.to = in.Resolved.Add(captureTrail)
		}
	case c.Last > 0:
		c.from = max(now.Add(-c.Last), 1)
	case c.From == 0 && c.To == 0:
		c.from, c.last, live = now, 0, true
	case c.To > now:
		c.last, live = 0, true
	}
	return live
}

// start writes the beginning of the trace and returns the position behind which its
// records begin.
func (c *capture) start(ctx context.Context, first uint64) (after uint64, err error) {
	h := trace.Header{Site: c.Site, Writer: c.Program}
	if info, data, ok := c.snapshot(ctx, first); ok {
		h.Engine, h.Rules, h.SnapshotAt, h.Snapshot = info.Engine, info.Rules, info.Position, data
		if gate, err := engine.Gate(data); err == nil {
			c.gate = gate
		} else {
			c.Logger.Warn("records are captured without what was granted: the snapshot cannot be read", "tick", info.Tick, "error", err)
		}
		c.w, err = trace.NewWriter(c.Writer, h)
		return info.Position, err
	}
	c.out.Cold = true
	if c.w, err = trace.NewWriter(c.Writer, h); err != nil {
		return 0, err
	}
	if m, ok := c.index.marks.before(c.from - 1); ok {
		return m.position, c.context(ctx, m)
	}
	return first - 1, nil
}

// snapshot returns the newest that is old enough and still of use: the log
// holds everything behind it.
func (c *capture) snapshot(ctx context.Context, first uint64) (info bus.SnapshotInfo, data []byte, ok bool) {
	if c.Shelf == nil {
		return info, nil, false
	}
	infos, err := c.Shelf.Snapshots(ctx)
	if err != nil {
		c.Logger.Warn("no snapshots to begin with", "error", err)
	}
	for _, i := range infos {
		if i.Tick > c.from || i.Position+1 < first || c.Engine != "" && i.Engine != c.Engine || c.Rules != "" && i.Rules != c.Rules {
			continue
		}
		data, err := c.Shelf.Snapshot(ctx, i)
		if err == nil && len(data) > 0 {
			return i, data, true
		}
		c.Logger.Warn("a snapshot cannot be had", "tick", i.Tick, "error", err)
	}
	return info, nil, false
}

// maxContext bounds the statements that a cold capture keeps in memory until
// they are written.
const maxContext = 1 << 20

// context writes what had been stated by a mark: the newest statement of each
// schema, config key and edge, at the position that it has.
func (c *capture) context(ctx context.Context, until mark) error {
	newest := map[string]bus.Entry{}
	// Ticks, because grants depend on the age of a statement.
	span := bus.Span{To: until.stored, Kinds: []telemetry.RecordKind{telemetry.ConfigRecord, telemetry.SchemaRecord, telemetry.EdgeRecord, telemetry.TickRecord}}
	err := c.Tape.Slice(ctx, span, func(e bus.Entry) error {
		if e.Record == nil || e.Position > until.position || c.gate.Take(e.Collector, e.Record) != "" || e.Record.Kind == telemetry.TickRecord {
			return nil
		}
		key := statedKey(e.Record)
		if _, known := newest[key]; !known && len(newest) >= maxContext {
			return fmt.Errorf("more than %d current statements", maxContext)
		}
		newest[key] = e
		return nil
	})
	if err != nil {
		return fmt.Errorf("what was stated before: %w", err)
	}
	ordered := make([]bus.Entry, 0, len(newest))
	for _, e := range newest {
		ordered = append(ordered, e)
	}
	slices.SortFunc(ordered, func(a, b bus.Entry) int { return cmp.Compare(a.Position, b.Position) })
	for _, e := range ordered {
		if err := c.write(&e); err != nil {
			return err
		}
	}
	return nil
}

// statedKey is the key that all statements of the same thing share.
func statedKey(r *telemetry.Record) string {
	switch r.Kind {
	case telemetry.SchemaRecord:
		return "schema " + r.Schema.Fingerprint().String()
	case telemetry.ConfigRecord:
		return "config " + string(r.Config.Key)
	}
	e := r.Edge
	return fmt.Sprintf("edge %s %s %s %s %d", e.From, e.Relation, e.To, e.Source, e.Start)
}

// entry takes one entry of the log.
func (c *capture) entry(e bus.Entry) error {
	if c.last != 0 && e.Position > c.last {
		return errWhole
	}
	if err := c.hole(e.Position); err != nil {
		return err
	}
	if e.Record != nil && c.gate.Take(e.Collector, e.Record) != "" {
		c.out.Skipped++
	} else if err := c.write(&e); err != nil {
		return err
	}
	if r := e.Record; r != nil && r.Kind == telemetry.TickRecord {
		if c.out.From == 0 {
			c.out.From = r.Tick.At
		}
		c.out.To = max(c.out.To, r.Tick.At)
		if c.to != 0 && r.Tick.At >= c.to || c.ended(r.Tick.At) {
			return errWhole
		}
		if c.ticks++; c.last == 0 && c.ticks%flushTicks == 0 {
			return c.w.Flush()
		}
	}
	if c.last != 0 && e.Position == c.last {
		return errWhole
	}
	return nil
}

// hole writes a record in the place of entries that the log lost before a position.
func (c *capture) hole(position uint64) error {
	before := c.seen
	c.seen = position
	if before == 0 || position <= before+1 {
		return nil
	}
	config, err := telemetry.Hole{First: before + 1, Last: position - 1}.Record(0)
	if err != nil {
		return err
	}
	c.out.Lost += position - before - 1
	c.Logger.Warn("the log lost entries: the trace names them", "from", before+1, "to", position-1)
	return c.write(&bus.Entry{Position: position - 1, Record: &telemetry.Record{Kind: telemetry.ConfigRecord, Config: config}})
}

// ended reports whether the capture is complete for its caller.
func (c *capture) ended(tick telemetry.Time) bool {
	if c.Until == nil {
		return false
	}
	until := c.Until()
	return until != 0 && tick >= until
}

// write appends an entry, if a reader could use it and it is wanted.
func (c *capture) write(e *bus.Entry) error {
	r := e.Record
	if r != nil && r.Kind == telemetry.FrameRecord {
		if _, err := r.Frame.Header(); err != nil {
			r = nil // the engine could not read it either
		}
	}
	if r == nil {
		c.out.Skipped++
		return nil
	}
	if c.Keep != nil && !c.Keep(r) && r.Kind != telemetry.TickRecord {
		return nil
	}
	if err := c.w.Append(e.Position, r); err != nil {
		return err
	}
	if c.out.Records++; c.out.First == 0 {
		c.out.First = e.Position
	}
	c.out.Last = e.Position
	return nil
}
