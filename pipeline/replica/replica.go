package replica

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/survey"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	waitingEntries  = 16 // between the log and the engine
	waitingRequests = 32
	startBackoff    = 500 * time.Millisecond // before another try, and twice that after each
	maxStartBackoff = 30 * time.Second
)

// replica is what outlives the engine's lives.
type replica struct {
	cfg       Config
	count     *counters
	publisher *publisher
	requests  chan func(*owner)
	poked     chan struct{}
	alarms    alarms         // the owner's
	census    *survey.Census // what was stated; the owner's
	leap      uint64         // position of a tick that is a day after the one before; what was kept before it is of no use
	rewritten bool           // the log lost its end: what was published may stand on what is gone
}

// Run runs a replica until ctx is done. It returns an error only where going on
// is of no use: a configuration that makes no sense, a bus that was closed.
func Run(ctx context.Context, cfg Config) error {
	if err := cfg.Validate(); err != nil {
		return fmt.Errorf("replica: %w", err)
	}
	return newReplica(cfg.withDefaults()).run(ctx)
}

func newReplica(cfg Config) *replica {
	count := newCounters(cfg.Metrics)
	r := &replica{cfg: cfg, count: count,
		requests: make(chan func(*owner), waitingRequests), poked: make(chan struct{}, 1), alarms: alarms{}, census: survey.NewCensus()}
	r.publisher = newPublisher(cfg, count, r.poke)
	if cfg.Ended != "" {
		r.alarms.raise(alarmEnded, cfg.Ended+". It was started again and goes on from its last snapshot; incidents are published as if it had not ended")
	}
	return r
}

func (r *replica) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var parts sync.WaitGroup
	defer parts.Wait()
	defer cancel()
	parts.Go(func() { r.publisher.run(ctx) })
	parts.Go(func() { r.herald().run(ctx) })
	parts.Go(func() { r.watchForeign(ctx) })
	return r.lives(ctx)
}

func (r *replica) herald() *herald {
	h := &herald{cfg: r.cfg, log: r.cfg.Logger, count: r.count, do: r.do, poked: r.poked, key: bus.Token(r.cfg.Name)}
	h.last = func() (telemetry.Time, string) {
		if t := r.publisher.last.Load(); t != nil {
			return t.tick, t.digest
		}
		return 0, ""
	}
	h.answers = &answers{cfg: r.cfg, log: r.cfg.Logger, count: r.count, do: r.do, started: now(), self: h.presence}
	return h
}

// do has the goroutine that owns the engine call f between two records. When it
// returns an error, f was not called and will not be.
func (r *replica) do(ctx context.Context, f func(*owner)) error {
	done := make(chan struct{})
	var taken atomic.Bool // by the owner, or back by the caller
	call := func(o *owner) {
		if taken.CompareAndSwap(false, true) {
			f(o)
			close(done)
		}
	}
	select {
	case r.requests <- call:
	case <-ctx.Done():
		return fmt.Errorf("the engine is busy: %w", ctx.Err())
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		if taken.CompareAndSwap(false, true) {
			return fmt.Errorf("the engine is busy or starts: %w", ctx.Err())
		}
		<-done
		return nil
	}
}

// watchForeign raises an alarm for entries of the stream of incidents that no engine
// wrote or that are not what it wrote, until ctx is done.
func (r *replica) watchForeign(ctx context.Context) {
	found := map[bool]int{}
	err := r.cfg.Bus.Incidents().FollowAll(ctx, 0, func(bus.Revision) error { return nil }, func(f bus.Foreign) error {
		found[f.Damaged]++
		r.count.foreign.Inc()
		cause, what := alarmWrites, "entries that no engine wrote"
		if f.Damaged {
			cause, what = alarmBody, "damaged revisions"
		}
		text := fmt.Sprintf("%d %s are ignored; the newest is sequence %d, subject %s: %s. Run quintet repair",
			found[f.Damaged], what, f.Sequence, f.Subject, f.Reason)
		_ = r.do(ctx, func(o *owner) { o.alarms.raise(cause, text) }) // fails only when ctx is done
		return nil
	})
	if err != nil && ctx.Err() == nil {
		r.cfg.Logger.Warn("the stream of incidents is not watched for foreign entries", "error", err)
	}
}

func (r *replica) poke() {
	select {
	case r.poked <- struct{}{}:
	default:
	}
}

// lives runs one life of the engine after another.
func (r *replica) lives(ctx context.Context) error {
	wait := startBackoff
	var joined time.Time
	for {
		began := time.Now()
		o, err := r.life(ctx)
		if time.Since(began) > maxStartBackoff {
			wait = startBackoff
		}
		log := r.cfg.Logger
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, bus.ErrClosed):
			return fmt.Errorf("replica: %w", err)
		case errors.Is(err, errRejoin):
			// A snapshot that turns out to be of no use is not tried in a hurry.
			if time.Since(joined) < missedBeats*r.cfg.Beat && !bus.Sleep(ctx, r.cfg.Beat) {
				return nil
			}
			joined = time.Now()
			continue
		case errors.Is(err, bus.ErrRewritten):
			r.rewritten = true
			log.Warn("the log lost its end; restarting from an empty state", "error", err)
			continue
		case errors.Is(err, bus.ErrForgotten):
			log.Warn("the log no longer holds the next entry; restarting from an empty state", "error", err)
			if !r.drain(ctx, o) {
				return nil
			}
			continue
		case errors.Is(err, errLeap) && o.seen > r.leap: // a second time means that the log holds the tick before, too
			r.leap = o.seen
			log.Warn("no tick for more than a day; restarting from an empty state", "position", o.seen, "tick", o.runner.Tick())
			if !r.drain(ctx, o) {
				return nil
			}
			continue
		}
		log.Warn("the engine cannot run", "error", err)
		if !bus.Sleep(ctx, wait) {
			return nil
		}
		wait = min(2*wait, maxStartBackoff)
	}
}

// errPanicked ends a life of the engine by a defect of its code.
var errPanicked = errors.New("the engine panicked")

// life is one life of the engine. A panic ends this life only: the page, the
// notifier and the rest of this process go on, and report that no engine is
// evaluating.
func (r *replica) life(ctx context.Context) (o *owner, err error) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		at := uint64(0)
		if o != nil {
			at = o.seen
		}
		err = fmt.Errorf("%w after record %d of the log: %v", errPanicked, at, p)
		r.count.panics.Inc()
		r.alarms.raise(alarmPanic, fmt.Sprintf("it is started again from its last snapshot; the last record before was %d. Please report the stack in the log of this process", at))
		r.cfg.Logger.Error("the engine panicked", "after", at, "panic", p, "stack", string(debug.Stack()))
	}()
	if o, err = r.begin(ctx); err != nil {
		return o, err
	}
	return o, r.live(ctx, o)
}

// drain publishes the remaining output of a life.
func (r *replica) drain(ctx context.Context, o *owner) bool {
	stored := make(chan struct{})
	for _, i := range append(o.out, item{stored: stored}) {
		select {
		case r.publisher.in <- i:
		case d := <-r.publisher.differs:
			o.differ(d)
		case <-ctx.Done():
			return false
		}
	}
	select {
	case <-stored:
		return true
	case <-ctx.Done():
		return false
	}
}

// live follows the log with an engine.
func (r *replica) live(ctx context.Context, o *owner) error {
	ctx, cancel := context.WithCancel(ctx)
	entries, ended := make(chan bus.Entry, waitingEntries), make(chan error, 1)
	var reader sync.WaitGroup
	defer reader.Wait()
	defer cancel()
	reader.Go(func() {
		ended <- r.cfg.Bus.Follow(ctx, o.seen, func(e bus.Entry) error {
			select {
			case entries <- e:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	})
	o.atTarget()
	return o.run(ctx, r, entries, ended)
}

// begin makes an engine from the newest snapshot that the log can go on from,
// or from nothing.
func (r *replica) begin(ctx context.Context) (*owner, error) {
	r.count.starts.Inc()
	state, err := r.cfg.Bus.State(ctx)
	if err != nil {
		return nil, err
	}
	infos, err := r.cfg.Bus.Snapshots(ctx)
	if err != nil {
		return nil, err
	}
	o := &owner{log: r.cfg.Logger, count: r.count, poke: r.poke, alarms: r.alarms, census: r.census, base: state.Last, target: state.Last}
	var lost []bus.SnapshotInfo
	for _, i := range infos {
		if o.runner, err = r.restore(ctx, state, i); o.runner != nil {
			o.seen, _ = o.runner.Position()
			o.member, o.broken = !r.rewritten, r.rewritten
			r.rewritten = false
			o.stated, o.since = o.runner.Tick(), o.runner.Tick()
			o.settle()
			r.reportDamage(lost, fmt.Sprintf("from the one of tick %s", i.Tick))
			o.log.Info("going on from a snapshot", "tick", i.Tick, "position", i.Position, "behind", state.Last-i.Position)
			return o, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if damaged(err) {
			lost = append(lost, i)
		}
		if err != nil {
			r.count.snapshotsUnusable.Inc()
			o.log.Warn("a snapshot is of no use", "tick", i.Tick, "position", i.Position, "error", err)
		}
	}
	if o.runner, err = engine.New(r.cfg.Engine); err != nil {
		return nil, err
	}
	o.cold, r.rewritten = true, false
	r.census = survey.NewCensus()
	o.census = r.census
	o.settle()
	r.reportDamage(lost, "from the oldest record of the log")
	o.log.Info("beginning with the oldest record", "first", state.First, "last", state.Last)
	return o, nil
}

// restore makes a runner from a snapshot; nil without an error for a snapshot of
// another engine version or other rules, or of before a leap.
func (r *replica) restore(ctx context.Context, state bus.State, i bus.SnapshotInfo) (*engine.Runner, error) {
	version, rules := r.cfg.identity()
	if i.Engine != version || i.Rules != rules {
		return nil, nil
	}
	switch {
	case i.Position > state.Last:
		r.rewritten = true
		return nil, fmt.Errorf("the log ends at %d", state.Last)
	case i.Position < r.leap:
		return nil, nil
	case i.Position+1 < state.First:
		return nil, fmt.Errorf("the log begins at %d", state.First)
	case i.Position >= state.First:
		if err := r.isTick(ctx, i); err != nil {
			return nil, err
		}
	}
	data, err := r.read(ctx, i)
	if err != nil {
		return nil, err
	}
	runner, err := engine.New(r.cfg.Engine)
	if err != nil {
		return nil, err
	}
	if _, err := runner.Restore(data); err != nil {
		return nil, err
	}
	if !runner.Names(runner.Reign()) {
		return nil, errors.New("it is of a replica that did not publish")
	}
	return runner, nil
}

// isTick reports whether the log holds the very tick at which a snapshot was taken;
// else the log was created again since.
func (r *replica) isTick(ctx context.Context, i bus.SnapshotInfo) error {
	e, err := r.cfg.Bus.Entry(ctx, i.Position)
	switch {
	case errors.Is(err, bus.ErrNotRetained):
		return nil // forgotten a moment ago
	case err != nil:
		return err
	case e.Record == nil || e.Record.Kind != telemetry.TickRecord || e.Record.Tick.At != i.Tick:
		return errors.New("the log holds something else at its position")
	}
	return nil
}
