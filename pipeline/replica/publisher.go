package replica

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/telemetry"
)

// item is what leaves a replica, in the order of the log: a revision, or the
// state behind all revisions before it. A snapshot is kept only when those are
// stored: a replica that starts from it will not compute them again.
type item struct {
	reign string // the digest of the claim under which it was found

	id     string
	number int
	data   []byte

	snapshot *bus.SnapshotInfo // set: data is the snapshot of this
	stored   chan<- struct{}   // set: closed when all before it is stored
}

// difference means that another replica published other bytes.
type difference struct {
	reign string
	text  string
}

// taken names the state that was put aside last.
type taken struct {
	tick   telemetry.Time
	digest string
}

// publisher stores items, one behind the other, for as long as it takes.
type publisher struct {
	bus   *bus.Bus
	log   *slog.Logger
	count *counters
	bend  func([]byte) []byte
	poke  func() // notifies the herald that there is a digest to send

	in      chan item
	differs chan difference
	keep    chan item // to the keeper of snapshots
	last    atomic.Pointer[taken]
	dead    string // the reign in which another replica disagreed
}

func newPublisher(cfg Config, count *counters, poke func()) *publisher {
	return &publisher{bus: cfg.Bus, log: cfg.Logger, count: count, bend: cfg.bend, poke: poke,
		in: make(chan item), differs: make(chan difference, 1), keep: make(chan item, 1)}
}

// run stores items until ctx is done.
func (p *publisher) run(ctx context.Context) {
	var keeper sync.WaitGroup
	keeper.Go(func() { p.keepSnapshots(ctx) })
	defer keeper.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case i := <-p.in:
			p.take(ctx, i)
		}
	}
}

func (p *publisher) take(ctx context.Context, i item) {
	switch {
	case i.stored != nil:
		close(i.stored)
	case p.dead != "" && i.reign == p.dead:
		p.count.suppressed.Inc()
	case i.snapshot != nil:
		if digest, err := engine.SnapshotDigest(i.data); err == nil { // a snapshot just made has one
			p.last.Store(&taken{i.snapshot.Tick, digest})
		}
		p.poke()
		select {
		case <-p.keep: // it has not come to the last one yet: this one is better
			p.count.snapshotsSkipped.Inc()
		default:
		}
		p.keep <- i // there is room: nobody else puts anything there
	default:
		p.publish(ctx, i)
	}
}

// publish stores one revision, whatever it takes: a revision is never lost.
func (p *publisher) publish(ctx context.Context, i item) {
	if p.bend != nil {
		i.data = p.bend(i.data)
	}
	wait := 100 * time.Millisecond
	for {
		outcome, stored, err := p.bus.PublishIncident(ctx, i.id, i.number, i.data)
		if err == nil {
			p.count.published(outcome)
			if outcome == bus.Differs {
				p.differ(i, stored)
			}
			return
		}
		if ctx.Err() != nil {
			return // the next start computes it again, from a snapshot before it
		}
		p.count.retries.Inc()
		p.log.Warn("a revision is not stored", "incident", i.id, "revision", i.number, "error", err)
		if !bus.Sleep(ctx, wait) {
			return
		}
		wait = min(2*wait, 10*time.Second)
	}
}

func (p *publisher) differ(i item, stored []byte) {
	p.dead = i.reign
	mine, theirs := sha256.Sum256(i.data), sha256.Sum256(stored)
	d := difference{i.reign, fmt.Sprintf("%s revision %d: the stream holds %d bytes %x, this replica computed %d bytes %x",
		i.id, i.number, len(stored), theirs[:6], len(i.data), mine[:6])}
	select {
	case p.differs <- d:
	default: // one is enough
	}
}

// keepSnapshots puts snapshots aside. A failure is counted and costs a longer
// way back after a restart, nothing else.
func (p *publisher) keepSnapshots(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case i := <-p.keep:
			err := p.bus.PutSnapshot(ctx, *i.snapshot, i.data)
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				p.count.snapshotFailures.Inc()
				p.log.Warn("a snapshot is not kept", "tick", i.snapshot.Tick, "bytes", len(i.data), "error", err)
			default:
				p.count.snapshots.Inc()
				p.count.snapshotBytes.Store(int64(len(i.data)))
			}
		}
	}
}
