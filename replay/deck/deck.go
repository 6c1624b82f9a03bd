package deck

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/replay"
	"github.com/quintet-dc/quintet/replay/play"
	"github.com/quintet-dc/quintet/telemetry"
)

// MaxSpeed is the greatest speed that is a number; beyond it, use as fast as
// possible.
const MaxSpeed = 1e6

// Config states what is played.
type Config struct {
	Path string
	Name string // as it is shown
	Site string // replaces the site's name in the recording's configuration
	// Speed is how many times real time it begins with; 0 is as fast as possible.
	Speed  float64
	Paused bool // it begins so
}

// Mark is an incident of the whole recording, for who looks for something to
// see.
type Mark struct {
	ID        string           `json:"id"`
	Kind      string           `json:"kind"`
	Severity  string           `json:"severity"`
	Title     string           `json:"title"`
	Root      telemetry.Entity `json:"root"`
	Signature string           `json:"signature"`
	Opened    telemetry.Time   `json:"opened"`
	Resolved  *telemetry.Time  `json:"resolved"`
}

// State is the position of a recording.
type State struct {
	Recording string         `json:"recording"`
	From      telemetry.Time `json:"from"`
	To        telemetry.Time `json:"to"`
	// At is the last tick that was given; nil before the first.
	At     *telemetry.Time `json:"at"`
	Speed  float64         `json:"speed"` // 0: as fast as possible
	Paused bool            `json:"paused"`
	// Seeking is the instant that is being played to without delay; nil
	// otherwise.
	Seeking *telemetry.Time `json:"seeking"`
	Ended   bool            `json:"ended"`
	// Session counts the logs: another one has forgotten what came later.
	Session int `json:"session"`
	// Marks are the recording's incidents, the first to open first; nil while they
	// are not known.
	Marks []Mark `json:"marks"`
}

// Deck holds one recording.
type Deck struct {
	c        Config
	from, to telemetry.Time

	mu      sync.Mutex
	at      telemetry.Time // last tick given in this session, 0 before the first
	target  telemetry.Time // play to it without delay; 0: none
	speed   float64
	paused  bool
	ended   bool
	session int
	marks   []Mark
	over    context.CancelFunc // ends the session
	woken   chan struct{}      // closed when something was asked for
	// The pace begins with a tick and an instant of the clock.
	paceTick telemetry.Time
	paceAt   time.Time
}

// New opens a recording to see that it can be played.
func New(c Config) (*Deck, error) {
	rec, err := replay.Open(c.Path, replay.OpenConfig{})
	if err != nil {
		return nil, err
	}
	defer rec.Close()
	d := &Deck{c: c, speed: c.Speed, paused: c.Paused, woken: make(chan struct{})}
	if d.from, d.to = rec.Span(); d.to <= d.from {
		return nil, fmt.Errorf("%s: there is no time in it", c.Path)
	}
	return d, checkSpeed(c.Speed)
}

func checkSpeed(v float64) error {
	if math.IsNaN(v) || v < 0 || v > MaxSpeed {
		return fmt.Errorf("%v: want a number up to %g, or 0 for as fast as possible", v, MaxSpeed)
	}
	return nil
}

// Run calls session again and again: each is to play into a log of its own, by
// [Deck.Play], until its context is done. Run returns when ctx is done or a
// session fails.
func (d *Deck) Run(ctx context.Context, session func(ctx context.Context, n int) error) error {
	for {
		inner, over := context.WithCancel(ctx)
		d.mu.Lock()
		d.over = over
		n := d.session
		d.begin()
		d.mu.Unlock()
		err := session(inner, n)
		over()
		switch again := d.passed(n); {
		case ctx.Err() != nil:
			return err
		case err != nil && (!again || !errors.Is(err, context.Canceled)):
			return err
		case !again:
			return nil
		}
	}
}

// begin takes the clock's time for the pace. The caller holds mu.
func (d *Deck) begin() {
	d.paceTick, d.paceAt = max(d.at, d.from), time.Now()
}

// passed reports whether a session is over because another is wanted.
func (d *Deck) passed(n int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.session != n
}

// Play plays the recording into a log until ctx is done or it ends. What lies at
// or before the tick at begins is not given: the log begins with a state of then.
func (d *Deck) Play(ctx context.Context, into play.Log, begins telemetry.Time) error {
	rec, err := replay.Open(d.c.Path, replay.OpenConfig{SkipDamaged: true})
	if err != nil {
		return err
	}
	defer rec.Close()
	// Times stay as they are: what is shown has the recording's own.
	state := play.State{Live: d.from, Speed: -1, First: d.from}
	d.mu.Lock()
	n := d.session
	d.mu.Unlock()
	err = play.Run(ctx, play.Config{Recording: rec, Into: into, Collector: "recording", Site: d.c.Site, Speed: state.Speed, State: &state, Last: begins, Renew: -1,
		Wait: func(ctx context.Context, tick telemetry.Time) error { return d.wait(ctx, n, tick) }, Progress: func(p play.Progress) { d.gave(n, p.Tick) }, Now: func() telemetry.Time { return telemetry.Time(time.Now().UnixNano()) }})
	if err == nil && ctx.Err() == nil {
		d.end(n)
	}
	return err
}

// wait returns when a session's tick may be given.
func (d *Deck) wait(ctx context.Context, session int, tick telemetry.Time) error {
	for {
		left, woken := d.left(session, tick)
		if left <= 0 {
			return ctx.Err()
		}
		due := time.NewTimer(left)
		select {
		case <-ctx.Done():
		case <-woken:
		case <-due.C:
		}
		due.Stop()
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// forever is longer than anybody waits.
const forever = time.Duration(math.MaxInt64)

// left is how long a tick is to wait, unless something is asked for meanwhile.
// The first is given at once: a log without a tick knows nothing.
func (d *Deck) left(session int, tick telemetry.Time) (time.Duration, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.session != session:
		return forever, d.woken // what is asked for is for the next
	case d.at == 0:
		return 0, d.woken
	}
	if d.target != 0 {
		if tick <= d.target {
			return 0, d.woken
		}
		d.target = 0 // it is reached: this tick is beyond
		d.begin()
	}
	switch {
	case d.paused:
		return forever, d.woken
	case d.speed == 0:
		return 0, d.woken
	}
	wait := float64(tick.Sub(d.paceTick)) / d.speed
	return time.Until(d.paceAt.Add(time.Duration(min(wait, float64(forever/2))))), d.woken
}

// gave notes a tick that was given.
func (d *Deck) gave(session int, tick telemetry.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.session == session {
		d.at = tick
	}
}

// end notes that all was given.
func (d *Deck) end(session int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.session == session {
		d.ended, d.target = true, 0
	}
}

// wake lets who waits look again. The caller holds mu.
func (d *Deck) wake() {
	close(d.woken)
	d.woken = make(chan struct{})
}

// Pause stops time, or lets it go on.
func (d *Deck) Pause(yes bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.paused = yes
	d.begin()
	d.wake()
}

// SetSpeed changes how many times real time it plays; 0 is as fast as possible.
func (d *Deck) SetSpeed(times float64) error {
	if err := checkSpeed(times); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.speed = times
	d.begin()
	d.wake()
	return nil
}

// Seek goes to an instant: to the last tick at or before it, or the first one of
// all. Forward, what lies
// between is played without delay; back, it is played again.
func (d *Deck) Seek(to telemetry.Time) error {
	if to < d.from || to > d.to {
		return fmt.Errorf("%s: the recording is of %s to %s", to, d.from, d.to)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if to < d.at {
		d.session++
		d.at, d.ended = 0, false
		if d.over != nil {
			d.over()
		}
	}
	d.target = 0
	if !d.ended {
		d.target = to
	}
	d.wake()
	return nil
}

// SetMarks states which incidents the whole recording has.
func (d *Deck) SetMarks(incidents []explain.Incident) {
	marks := make([]Mark, 0, len(incidents))
	for i := len(incidents) - 1; i >= 0; i-- { // they come newest first
		x := &incidents[i]
		marks = append(marks, Mark{x.ID, x.Kind, x.Severity, x.Title, x.Root.Entity, x.Root.Signature, x.Opened, x.Resolved})
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.marks = marks
}

// State returns the state of the replay.
func (d *Deck) State() State {
	d.mu.Lock()
	defer d.mu.Unlock()
	return State{Recording: d.c.Name, From: d.from, To: d.to, At: stated(d.at), Speed: d.speed, Paused: d.paused, Seeking: stated(d.target),
		Ended: d.ended, Session: d.session, Marks: d.marks}
}

func stated(t telemetry.Time) *telemetry.Time {
	if t == 0 {
		return nil
	}
	return &t
}
