package recorder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/telemetry"
)

// Outcomes that callers distinguish.
var (
	// ErrForgotten: the log holds nothing any more of the time that was asked
	// for.
	ErrForgotten = errors.New("the log no longer holds that time")
	// ErrBusy: as many pictures are drawn as may be at a time; try again soon.
	ErrBusy = errors.New("busy drawing other incidents")
)

// Log is the part of the bus that is read. Its methods are called concurrently.
type Log interface {
	Bounds(ctx context.Context) (first, last uint64, err error)
	Slice(ctx context.Context, s bus.Span, fn func(bus.Entry) error) error
	Entry(ctx context.Context, position uint64) (bus.Entry, error)
}

// Config sets a Recorder. The zero value of a field means its default.
type Config struct {
	Log Log
	// Site is the grid and the lateness classes; the log's own config record, if
	// it still holds one, is preferred.
	Site      telemetry.SiteConfig
	Catalogue *telemetry.Catalogue
	// Concurrent is how many pictures are drawn at a time; 2. A request that has to
	// wait longer than Wait (2 s) is refused with ErrBusy.
	Concurrent int
	Wait       time.Duration
	// Timeout is the timeout of reading for one question; 10 s. What was read by
	// then is kept for the next.
	Timeout time.Duration
	// Kept is how many pictures are kept going; 16.
	Kept int
	// Points is how many points a curve has at most; 2,000.
	Points  int
	Metrics *metrics.Set
	Logger  *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.Site.Grid == 0 {
		c.Site = telemetry.DefaultSiteConfig()
	}
	c.Catalogue = cmp.Or(c.Catalogue, telemetry.DefaultCatalogue())
	if c.Concurrent <= 0 {
		c.Concurrent = 2
	}
	if c.Wait <= 0 {
		c.Wait = 2 * time.Second
	}
	if c.Timeout <= 0 {
		c.Timeout = 10 * time.Second
	}
	if c.Kept <= 0 {
		c.Kept = 16
	}
	if c.Points <= 0 {
		c.Points = 2000
	}
	c.Metrics = cmp.Or(c.Metrics, metrics.NewSet())
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}

// counters are the recorder's own metrics.
type counters struct {
	drawn, kept, busy, forgotten, failed *metrics.Counter

	entries *metrics.Counter // read of the log
	left    *metrics.Counter // schemas for which the index had no room
}

func newCounters(s *metrics.Set) counters {
	of := func(outcome string) *metrics.Counter {
		return s.GetOrCreateCounter(`quintet_recorder_pictures_total{outcome="` + outcome + `"}`)
	}
	return counters{drawn: of("drawn"), kept: of("kept"), busy: of("busy"), forgotten: of("forgotten"), failed: of("failed"),
		entries: s.GetOrCreateCounter("quintet_recorder_entries_read_total"),
		left:    s.GetOrCreateCounter("quintet_recorder_schemas_left_out_total")}
}

// failure counts why a question had no answer.
func (c *counters) failure(err error) {
	switch {
	case errors.Is(err, ErrBusy):
		c.busy.Inc()
	case errors.Is(err, ErrForgotten):
		c.forgotten.Inc()
	default:
		c.failed.Inc()
	}
}

// Recorder draws the curves of incidents. It is safe for concurrent use.
type Recorder struct {
	cfg     Config
	count   counters
	drawing chan struct{} // holds as many as may draw
	index   *index
	indexed chan struct{} // holds one: whoever uses the index

	mu   sync.Mutex
	kept []*keeping // the one asked for last comes last
}

// keeping is a place for the picture of one incident.
type keeping struct {
	id   string
	busy chan struct{} // holds one: whoever draws
	reel *reel
	read time.Time // when it last read the log
}

// New returns a recorder. It reads nothing before it is asked.
func New(c Config) (*Recorder, error) {
	if c.Log == nil {
		return nil, errors.New("recorder: no log")
	}
	c = c.withDefaults()
	if err := c.Site.Validate(); err != nil {
		return nil, fmt.Errorf("recorder: %w", err)
	}
	r := &Recorder{cfg: c, count: newCounters(c.Metrics), drawing: make(chan struct{}, c.Concurrent), indexed: make(chan struct{}, 1)}
	r.index = newIndex(counted{c.Log, r.count.entries}, c.Site, time.Now)
	return r, nil
}

// again is how long a picture is as good as new: a page that is open twice asks
// twice.
const again = 500 * time.Millisecond

// Curves returns the curves of an incident: what became visible after the tick
// since, everything where since is zero. ErrForgotten means that the log holds
// nothing of it, ErrBusy to ask again soon.
func (r *Recorder) Curves(ctx context.Context, in *explain.Incident, since telemetry.Time) (*Picture, error) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
	defer cancel()
	k := r.keep(in.ID)
	if err := r.enter(ctx, k.busy); err != nil {
		r.count.failure(err)
		return nil, fmt.Errorf("curves of %s: %w", in.ID, err)
	}
	defer func() { <-k.busy }()
	fresh, err := r.draw(ctx, k, in)
	if err != nil {
		r.count.failure(err)
		return nil, fmt.Errorf("curves of %s: %w", in.ID, err)
	}
	if fresh {
		r.count.drawn.Inc()
	} else {
		r.count.kept.Inc()
	}
	return k.reel.picture(since, r.cfg.Points), nil
}

// enter takes a place, waiting for as long as is polite.
func (r *Recorder) enter(ctx context.Context, place chan struct{}) error {
	select {
	case place <- struct{}{}:
		return nil
	default:
	}
	wait := time.NewTimer(r.cfg.Wait)
	defer wait.Stop()
	select {
	case place <- struct{}{}:
		return nil
	case <-wait.C:
		return ErrBusy
	case <-ctx.Done():
		return ctx.Err()
	}
}

// keep finds or makes the place of an incident's picture; the least recently
// requested one makes room.
func (r *Recorder) keep(id string) *keeping {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := &keeping{id: id, busy: make(chan struct{}, 1)}
	for i, other := range r.kept {
		if other.id == id {
			k = other
			r.kept = append(r.kept[:i], r.kept[i+1:]...)
			break
		}
	}
	r.kept = append(r.kept, k)
	if len(r.kept) > r.cfg.Kept {
		r.kept[0] = nil
		r.kept = r.kept[1:]
	}
	return k
}

// draw brings a picture up to date, and reports whether it had to read.
func (r *Recorder) draw(ctx context.Context, k *keeping, in *explain.Incident) (fresh bool, err error) {
	ws := seriesOf(in)
	same := k.reel != nil && k.reel.key == keyOf(in, ws)
	if same && k.reel.to == toOf(in) && (k.reel.win == nil || time.Since(k.read) < again) {
		return false, nil
	}
	if err := r.enter(ctx, r.drawing); err != nil {
		return false, err
	}
	defer func() { <-r.drawing }()
	v, err := r.look(ctx, entitiesOf(ws))
	if err != nil {
		return false, err
	}
	if !same || !k.reel.fits(v, toOf(in)) {
		k.reel = newReel(in, v, r.cfg.Catalogue)
	}
	k.reel.to = toOf(in)
	err = k.reel.read(ctx, v)
	k.read = time.Now()
	if err != nil {
		return false, r.failed(k, err)
	}
	return true, nil
}

// failed keeps a picture that was interrupted, to go on from there.
func (r *Recorder) failed(k *keeping, err error) error {
	if errors.Is(err, ErrForgotten) {
		k.reel = nil
		return err
	}
	r.cfg.Logger.Warn("curves are interrupted", "incident", k.id, "position", k.reel.position, "error", err)
	return fmt.Errorf("read the log: %w", err)
}

// look brings the index up to date and returns its view of some entities.
func (r *Recorder) look(ctx context.Context, entities []telemetry.Entity) (*view, error) {
	if err := r.enter(ctx, r.indexed); err != nil {
		return nil, err
	}
	defer func() { <-r.indexed }()
	if err := r.index.refresh(ctx); err != nil {
		return nil, err
	}
	r.count.left.Set(r.index.overflow)
	return r.index.view(entities), nil
}

// counted counts the entries read from a log.
type counted struct {
	Log
	entries *metrics.Counter
}

// Slice implements Log.
func (c counted) Slice(ctx context.Context, s bus.Span, fn func(bus.Entry) error) error {
	return c.Log.Slice(ctx, s, func(e bus.Entry) error {
		c.entries.Inc()
		return fn(e)
	})
}
