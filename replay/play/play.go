package play

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"

	"github.com/quintet-dc/quintet/replay"
	"github.com/quintet-dc/quintet/telemetry"
)

// Log is where the records go. Append returns when all of them are stored, in
// their order, and keeps trying while the log cannot be reached; an error ends
// the play. The records are Append's to keep.
type Log interface {
	Append(ctx context.Context, collector string, rs ...*telemetry.Record) error
}

// Config states what is played, where to and how.
type Config struct {
	// Recording is read to its end, once, by one Run. A trace is also opened a
	// second time by its path, for what must be known beforehand.
	Recording *replay.Recording
	Into      Log
	Collector string // under which the records are stated; "play" if empty
	// Site, if any, replaces the site's name in the recording's configuration.
	Site string
	// From is how far into the recording now is. What is before it is the
	// past that a site would have, and is given without delay.
	From telemetry.Duration
	// Speed is how many times faster than real time the rest passes; 0 means 1,
	// and a negative one gives everything without delay.
	Speed float64
	// State is that of an earlier run over the same recording and log, which
	// this one continues; nil begins again.
	State *State
	// Last is the last tick that the log holds, zero where it holds none. A new
	// beginning is moved behind it; a continued one goes on behind it.
	Last telemetry.Time
	// Begun, if any, is called once, before the first record is given, with what
	// must be kept to continue after a kill. Its error ends the play.
	Begun func(State) error
	// Wait, if any, states when a tick may be given, in the place of Speed: it
	// returns when it may, or with an error that ends the play.
	Wait func(ctx context.Context, tick telemetry.Time) error
	// Progress, if any, is called behind every tick that was given.
	Progress func(Progress)
	// Renew is how much recorded time passes between two repetitions of statements
	// that the recording does not renew: schemas, configuration, edges without a
	// receipt. 0 means 5 minutes, negative never.
	Renew  telemetry.Duration
	Now    func() telemetry.Time // required
	Logger *slog.Logger          // nil: none
}

// Progress is how far a play is.
type Progress struct {
	Tick     telemetry.Time     // the tick just given, as moved
	Recorded telemetry.Duration // where that is in the recording, from its first instant
	Length   telemetry.Duration // of the recording
	Records  uint64             // given by this run, ticks and renewals included
	Skipped  uint64             // frames that could not be moved: damaged, or of a schema that the recording lacks
	Behind   telemetry.Duration // how much later than due the tick was given; 0 in the past part
	Past     bool               // the tick is before From
}

// The limits of what waits for its tick. Beyond them it is given early, by less
// than the time between two ticks.
const (
	maxBatch      = 8192
	maxBatchBytes = 8 << 20
)

// Run plays the recording to its end or until ctx is done, and returns nil in
// both cases. It returns an error where the recording cannot be read or has
// another grid than its state, or where the log or Begun refuses.
func Run(ctx context.Context, c Config) error {
	p, err := newPlayer(ctx, c)
	if err != nil {
		return fmt.Errorf("play %s: %w", c.Recording.Path, err)
	}
	err = c.Recording.Each(p.record)
	if err == nil || errors.Is(err, io.ErrUnexpectedEOF) { // a trace that was cut off is played as far as it goes
		if err != nil {
			p.log.Warn("the recording is cut off", "recording", c.Recording.Path, "error", err)
		}
		err = p.flush()
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("play %s: %w", c.Recording.Path, err)
	}
	return nil
}

// player is a play under way.
type player struct {
	ctx     context.Context
	c       Config
	log     *slog.Logger
	span    span
	state   State
	move    mover
	pace    pace
	context siteContext

	batch   []*telemetry.Record // as recorded, waiting for their tick
	bytes   int
	records uint64
	renewed telemetry.Time // the tick at which the context was stated last, as recorded
}

func newPlayer(ctx context.Context, c Config) (*player, error) {
	if c.Collector == "" {
		c.Collector = "play"
	}
	if c.Speed == 0 {
		c.Speed = 1
	}
	if c.Renew == 0 {
		c.Renew = defaultRenew
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if math.IsNaN(c.Speed) || math.IsInf(c.Speed, 0) {
		return nil, fmt.Errorf("speed %v: want a number", c.Speed)
	}
	p := &player{ctx: ctx, c: c, log: c.Logger}
	var err error
	if p.span, err = look(c.Recording); err != nil {
		return nil, err
	}
	now := c.Now()
	if p.state, err = plan(c, p.span, now); err != nil {
		return nil, err
	}
	p.move = mover{shift: p.state.Shift, raise: p.state.Raise, site: c.Site, schemas: map[telemetry.Fingerprint]*telemetry.Schema{}, all: p.span.schemas}
	p.pace = newPace(p.state, c.Last, now)
	p.warn()
	if c.Begun != nil {
		if err := c.Begun(p.state); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// warn states what the play cannot give.
func (p *player) warn() {
	if t := p.c.Recording.Trace; t != nil && !t.Header().Cold {
		p.log.Warn("the recording begins with a snapshot, which cannot be played: the log begins without what it knew", "recording", p.c.Recording.Path)
	}
}

// record takes the next record of the recording.
func (p *player) record(position uint64, r *telemetry.Record) error {
	if err := p.ctx.Err(); err != nil {
		return err
	}
	p.move.note(r)
	p.context.note(r)
	if r.Kind == telemetry.TickRecord {
		return p.tick(r)
	}
	p.batch = append(p.batch, r)
	p.bytes += size(r)
	if len(p.batch) >= maxBatch || p.bytes >= maxBatchBytes {
		return p.flush()
	}
	return nil
}

// tick gives what waits and then the tick, when it is due. A tick that the log
// holds already vouches for everything before it.
func (p *player) tick(r *telemetry.Record) error {
	p.renew(r.Tick.At)
	at := r.Tick.At.Add(p.state.Shift)
	if at <= p.c.Last {
		p.batch, p.bytes = p.batch[:0], 0
		return nil
	}
	if err := p.due(at); err != nil {
		return err
	}
	if err := p.flush(); err != nil {
		return err
	}
	p.batch = append(p.batch, r)
	if err := p.flush(); err != nil {
		return err
	}
	p.pace.gave(at, p.c.Now())
	if p.c.Progress != nil {
		p.c.Progress(Progress{Tick: at, Recorded: r.Tick.At.Sub(p.span.first), Length: p.span.last.Sub(p.span.first), Records: p.records,
			Skipped: p.move.skipped, Behind: p.pace.behind, Past: at <= p.state.Live})
	}
	return nil
}

// due returns when the tick at an instant may be given.
func (p *player) due(at telemetry.Time) error {
	if p.c.Wait != nil {
		return p.c.Wait(p.ctx, at)
	}
	return p.pace.wait(p.ctx, at, p.c.Now)
}

// renew puts the context among the records before a tick where it is due. It
// follows from the recording alone, so a play that is continued gives the same.
func (p *player) renew(at telemetry.Time) {
	if p.renewed == 0 {
		p.renewed = at
	}
	if p.c.Renew < 0 || at.Sub(p.renewed) < p.c.Renew {
		return
	}
	p.renewed = at
	p.batch = append(p.batch, p.context.records()...)
}

// flush moves what waits and gives it to the log.
func (p *player) flush() error {
	moved := make([]*telemetry.Record, 0, len(p.batch))
	for _, r := range p.batch {
		m, err := p.move.record(r)
		if err != nil {
			if p.move.skipped == 1 {
				p.log.Warn("a frame of the recording cannot be played", "error", err)
			}
			continue
		}
		moved = append(moved, m)
	}
	p.batch, p.bytes = p.batch[:0], 0
	if len(moved) == 0 {
		return nil
	}
	if err := p.c.Into.Append(p.ctx, p.c.Collector, moved...); err != nil {
		return err
	}
	p.records += uint64(len(moved))
	return nil
}

// size is about how many bytes a record holds in memory.
func size(r *telemetry.Record) int {
	n := 256 + len(r.Frame)
	if r.Event != nil {
		n += len(r.Event.Text)
	}
	if r.Config != nil {
		n += len(r.Config.Content)
	}
	return n
}
