package replica

import (
	"context"
	"encoding/hex"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/engine/grants"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/survey"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	// maxUnpublished revisions may wait to be stored; then the log waits.
	maxUnpublished = 256
	// maxWaitingBytes of revisions wait while it is not known whether they are this
	// replica's to publish.
	maxWaitingBytes = 32 << 20
	// closeEnough entries behind the log's end, the end is not asked for again.
	closeEnough = 256
	// renewEvery is how far ticks move before the claim in force is stated again.
	renewEvery = telemetry.Duration(300e9)
)

// errRejoin ends a life; the next begins from a snapshot.
var errRejoin = errors.New("there is a snapshot to go on from")

// owner is one life of an engine: from a snapshot or from nothing, along the log.
// One goroutine owns all of it.
type owner struct {
	log    *slog.Logger
	count  *counters
	runner *engine.Runner
	poke   func() // notifies the herald that something has changed

	began  uint64         // position of the first record of a cold life; 0 if it is warm or has read none
	cold   bool           // it began without a snapshot
	seen   uint64         // position of the last entry, malformed ones included
	base   uint64         // where the log ended when this life began
	target uint64         // at which to ask whether that is the end
	final  bool           // or at which it has caught up
	asks   bool           // the target is reached: where does the log end?
	stored telemetry.Time // when the claim in force was stored; 0 if it was not read in this life
	stated telemetry.Time // the tick at which it was stated last

	ticks bool // one was read in this life
	unfit bool // it was reported that a configuration of the site is not taken

	caughtUp bool
	// A member's state is the one that the claim in force names: it may publish.
	// elected means that the claim is this replica's and that it is not yet known
	// whether anything was published since it was prepared.
	member, elected bool
	pending         string         // digest of the claim that this replica has sent
	confirmed       string         // digest of the claim that was found to be up to date
	first           bool           // no snapshot was taken yet as a member
	diverged        bool           // another member published something else; it does not publish until a new claim
	broken          bool           // the log lost records on which published revisions may depend; it does not publish until a new claim
	since           telemetry.Time // the tick at which it became a member after that
	alarms          alarms         // they outlive this life
	census          *survey.Census // so does it
	damage          telemetry.Time // the tick of the newest damage, or of the first one of this life

	progress progress

	lost []telemetry.Hole // of the log, found in this life and not yet reported

	waiting      []item // revisions of which it is not known yet whose they are
	waitingBytes int
	overflow     bool   // some of them were dropped
	out          []item // to be published
	again        error  // ends this life
}

// run applies entries until the log or the life ends.
func (o *owner) run(ctx context.Context, r *replica, entries <-chan bus.Entry, ended <-chan error) error {
	for o.again == nil {
		in, out, next := entries, chan<- item(nil), item{}
		if len(o.out) >= maxUnpublished {
			in = nil
		}
		if len(o.out) > 0 {
			out, next = r.publisher.in, o.out[0]
		}
		select {
		case e := <-in:
			o.entry(e)
		case out <- next:
			o.out = o.out[1:]
		case f := <-r.requests:
			f(o)
		case d := <-r.publisher.differs:
			o.differ(d)
		case err := <-ended:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
		o.count.unpublished.Store(int64(len(o.out)))
	}
	return o.again
}

// entry takes the next entry of the log.
func (o *owner) entry(e bus.Entry) {
	o.hole(e)
	o.seen = e.Position
	if e.Record == nil {
		o.count.malformed.Inc()
		o.log.Debug("an entry that is no record", "position", e.Position, "error", e.Err)
	} else {
		o.record(e)
	}
	o.count.position.Store(int64(e.Position))
	o.atTarget()
}

// atTarget looks whether the log's end is reached, as far as it is known.
func (o *owner) atTarget() {
	switch {
	case o.caughtUp || o.seen < o.target:
	case o.final:
		o.caughtUp = true
		o.log.Info("caught up with the log", "position", o.seen, "publishing", o.publishing())
		o.settle()
		o.poke()
	case !o.asks:
		o.asks = true
		o.poke()
	}
}

func (o *owner) record(e bus.Entry) {
	if o.leaps(e) {
		o.again = errLeap
		return
	}
	before := o.runner.Reign()
	changed, refused, err := o.runner.ApplyFrom(e.Position, e.Collector, e.Record)
	if err != nil {
		o.count.refused.Inc()
		o.log.Warn("a record is refused", "position", e.Position, "error", err)
		return
	}
	if refused != "" {
		o.refuse(e, refused)
		return
	}
	o.count.records.Inc()
	o.census.Take(e.Position, e.Record)
	if o.cold && o.began == 0 {
		o.began = e.Position
	}
	for i := range changed {
		o.found(&changed[i])
	}
	switch e.Record.Kind {
	case telemetry.ConfigRecord:
		if e.Record.Config.Key == telemetry.ConfigEngine {
			o.claim(before, e)
		}
	case telemetry.TickRecord:
		o.ticked()
	}
}

// refuse counts a record that its process may not state, or not so many of.
func (o *owner) refuse(e bus.Entry, why grants.Reason) {
	if why.Budget() {
		o.count.over(e.Collector, why)
	} else {
		o.count.ungranted(why).Inc()
	}
	o.log.Debug("a record is refused", "position", e.Position, "process", e.Collector, "kind", e.Record.Kind, "reason", why)
}

// found takes a revision that the engine came to.
func (o *owner) found(in *explain.Incident) {
	data, err := engine.Canonical(in)
	if err != nil {
		o.count.refused.Inc()
		return
	}
	i := item{reign: o.runner.Reign().Digest, id: in.ID, number: in.Revision, data: data}
	switch {
	case o.publishing():
		o.out = append(o.out, i)
	case o.undecided():
		o.enqueue(i)
	default:
		o.count.suppressed.Inc()
	}
}

// publishing reports whether this replica publishes the revisions found now.
func (o *owner) publishing() bool { return o.member && !o.elected && o.caughtUp }

// undecided reports whether it may yet turn out that this replica was publishing: a
// member has to see first that there is no later claim, and from a log without any
// claim so far, a claim may follow that covers all of it.
func (o *owner) undecided() bool { return o.member || o.cold && o.runner.Reign().Digest == "" }

func (o *owner) enqueue(i item) {
	if o.waitingBytes+len(i.data) > maxWaitingBytes {
		o.overflow = true
	}
	if o.overflow && !o.member {
		o.count.dropped.Inc() // then no claim can stand for all of it
		return
	}
	if o.overflow {
		// Too much to wait for: a claim is unlikely.
		o.release()
		o.out = append(o.out, i)
		return
	}
	o.waiting, o.waitingBytes = append(o.waiting, i), o.waitingBytes+len(i.data)
}

// release publishes the waiting items.
func (o *owner) release() {
	o.out = append(o.out, o.waiting...)
	o.waiting, o.waitingBytes = nil, 0
}

func (o *owner) forget() {
	o.count.suppressed.Add(len(o.waiting))
	o.waiting, o.waitingBytes = nil, 0
}

// claim applies a claim in the log.
func (o *owner) claim(before engine.Reign, e bus.Entry) {
	reign, digest := o.runner.Reign(), hex.EncodeToString(e.Record.Config.Digest[:])
	mine := digest == o.pending
	if mine {
		o.pending = ""
		o.poke()
	}
	o.stated = o.runner.Tick()
	if reign.Digest == before.Digest {
		return // a renewal, or it came too late
	}
	o.stored = e.Stored
	same := o.cold && reign.From != 0 && reign.From == o.began
	if !o.runner.Names(reign) || !mine && (!same || o.diverged || o.broken) || reign.Whole && o.overflow {
		o.leave(reign)
		return
	}
	if !reign.Whole {
		o.forget()
		o.out = nil
	}
	for k := range o.waiting { // found before there was a claim
		o.waiting[k].reign = reign.Digest
	}
	o.member, o.elected, o.first = true, mine && o.confirmed != digest, true
	o.diverged, o.broken, o.since = false, false, o.runner.Tick()
	o.log.Info("this replica's state is the one that is published", "claim", short(reign.Digest), "of", reign.Replica, "position", e.Position)
	o.settle()
	o.poke()
}

// leave stops publishing: by the log, others publish from here on.
func (o *owner) leave(reign engine.Reign) {
	if o.member {
		o.log.Warn("others publish from here on", "claim", short(reign.Digest), "replica", reign.Replica, "engine", reign.Engine, "rules", short(reign.Rules))
	}
	o.member, o.elected, o.out = false, false, nil
	o.forget()
	o.settle()
	o.poke()
}

// settle publishes the waiting items, if that is decided, and updates the metrics.
func (o *owner) settle() {
	if o.publishing() {
		o.release()
	}
	o.count.publishing.Store(o.publishing())
	o.count.caughtUp.Store(o.caughtUp)
	o.count.diverged.Store(o.diverged)
}

// endsAt receives the end of the log as of a moment ago. A replica that has read
// that far has caught up: it has read every claim that was made before it
// publishes.
func (o *owner) endsAt(last uint64) {
	o.asks, o.target, o.final = false, last, o.seen+closeEnough >= last
	o.atTarget()
}

// confirm records that nothing was published since a claim was prepared.
func (o *owner) confirm(digest string) {
	o.confirmed = digest
	if o.elected && o.runner.Reign().Digest == digest {
		o.elected = false
		o.settle()
	}
}

// giveUp takes a claim of this replica back: it publishes nothing under it.
func (o *owner) giveUp() {
	o.pending = ""
	if o.elected {
		o.member, o.elected = false, false
		o.forget()
	}
	o.settle()
}

// ticked takes a snapshot if one is due. The state of a replica that is not a
// member is not the published one: it keeps no snapshots. A member that has yet to
// catch up does, because otherwise one that is stopped repeatedly would never catch
// up.
func (o *owner) ticked() {
	o.count.tick.Store(int64(o.runner.Tick()))
	o.progress.ticked(o.runner.Tick(), time.Now())
	counts := o.runner.Output().Counts
	if was := o.count.engine.Swap(&counts); o.ticks && was != nil && counts.ConfigRefused > was.ConfigRefused && !o.unfit {
		o.unfit = true
		o.log.Warn("a configuration of the site is not taken: grid and lateness are those of the log's beginning", "tick", o.runner.Tick())
	}
	o.ticks = true
	o.endHoles()
	o.repaired()
	if o.stated == 0 {
		o.stated = o.runner.Tick()
	}
	if !o.member || o.elected {
		return
	}
	if o.runner.Tick().Sub(o.since) >= correlate.Horizon {
		o.alarms.clear(alarmStream)
	}
	if o.renews() {
		o.poke()
	}
	if o.first || o.runner.SnapshotDue() {
		o.snapshot()
	}
}

// renews reports whether the claim in force is to be stated again.
func (o *owner) renews() bool {
	return o.publishing() && o.runner.Tick().Sub(o.stated) >= renewEvery
}

// snapshot puts the state behind the revisions that lead to it.
func (o *owner) snapshot() {
	data, err := o.runner.Snapshot()
	if err != nil {
		o.count.snapshotFailures.Inc()
		o.log.Warn("no snapshot was taken", "error", err)
		return
	}
	o.first = false
	version, rules := o.runner.Identity()
	position, _ := o.runner.Position()
	i := item{reign: o.runner.Reign().Digest, data: data,
		snapshot: &bus.SnapshotInfo{Position: position, Tick: o.runner.Tick(), Engine: version, Rules: rules}}
	if o.publishing() {
		o.out = append(o.out, i)
		return
	}
	o.waiting = append(slices.DeleteFunc(o.waiting, func(h item) bool { return h.snapshot != nil }), i)
}

// differ records that another replica published other bytes under this claim.
func (o *owner) differ(d difference) {
	if o.diverged = true; d.reign == o.runner.Reign().Digest {
		o.member, o.elected, o.out = false, false, nil
		o.forget()
	}
	o.alarms.raise(alarmStream, d.text)
	o.log.Error("replica diverged", "what", d.text)
	o.settle()
	o.poke()
}

// short is enough of a digest to recognise it.
func short(digest string) string { return digest[:min(len(digest), 12)] }
