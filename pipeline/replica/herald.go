package replica

import (
	"context"
	"encoding/hex"
	"errors"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/telemetry"
)

// herald reports a replica's presence, claims for it, and answers questions. It
// does all the waiting that the owner must not do.
type herald struct {
	cfg     Config
	log     *slog.Logger
	count   *counters
	do      func(ctx context.Context, f func(*owner)) error
	last    func() (telemetry.Time, string) // the state that was put aside last
	poked   chan struct{}
	keys    jetstream.KeyValue
	key     string
	names   map[string]bool // keys under which a presence was stored
	answers *answers
	known   status // as of the last round
	spoke   string // digest of the claim in force when another replica was seen to publish
	quiet   bool   // trouble has been logged
}

// run reports until ctx is done, and then removes the presence.
func (h *herald) run(ctx context.Context) {
	defer h.leave(ctx)
	defer h.answers.stop()
	beat := time.NewTicker(h.cfg.Beat)
	defer beat.Stop()
	for {
		changed := h.cfg.Bus.Changed()
		h.round(ctx)
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
		case <-changed:
		case <-h.poked:
		}
	}
}

// leave takes the presence back, so that others need not wait for its end.
func (h *herald) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if h.keys != nil && h.cfg.Bus.Connected() {
		_ = h.keys.Purge(ctx, h.key)
	}
}

// status is the state of its replica that the herald needs.
type status struct {
	of                                      *owner // distinguishes lives
	caughtUp, publishing, elected, diverged bool
	broken                                  bool
	asks, renew                             bool
	reign                                   engine.Reign
	names                                   bool // the reign names this replica's engine and rules
	stored                                  telemetry.Time
	from                                    uint64 // where its state began, 0 if with a snapshot
	whole                                   bool   // nothing that it found was lost, and no claim was read
	tick                                    telemetry.Time
	position                                uint64
	holes                                   []telemetry.Hole // of the log, to be reported
}

func (o *owner) status() status {
	reign := o.runner.Reign()
	return status{of: o, caughtUp: o.caughtUp, publishing: o.publishing(), elected: o.elected || o.pending != "", diverged: o.diverged, broken: o.broken, asks: o.asks,
		renew: o.renews(), reign: reign, names: o.runner.Names(reign), stored: o.stored,
		from: o.from(), whole: o.cold && reign.Digest == "" && !o.overflow, tick: o.runner.Tick(), position: o.seen, holes: o.unreported()}
}

// from is the position at which a cold life began, or will: nothing before has been
// read.
func (o *owner) from() uint64 {
	switch {
	case !o.cold:
		return 0
	case o.began == 0:
		return o.base + 1
	}
	return o.began
}

// round checks the state and acts on it.
func (h *herald) round(ctx context.Context) {
	s, ok := h.ask(ctx)
	if ok && s.asks {
		if st, err := h.cfg.Bus.State(ctx); err == nil {
			_ = h.doIn(ctx, s, func(o *owner) { o.endsAt(st.Last) })
			s, ok = h.ask(ctx)
		}
	}
	who, err := h.call(ctx, h.presence(s))
	if h.failed(ctx, "publishing presence failed", err) {
		return
	}
	h.answers.publishing(s.publishing || !who.publishing())
	h.answers.others(who.others)
	if !ok {
		return
	}
	h.compare(ctx, s, who)
	if s.caughtUp && h.failed(ctx, "holes of the log are not reported", h.reportHoles(ctx, s)) {
		return
	}
	switch {
	case s.renew:
		err = h.renew(ctx, s)
	case s.caughtUp && !s.publishing && !s.elected:
		err = h.seek(ctx, s, who)
	}
	h.failed(ctx, "no claim is stated", err)
}

// ask returns the owner's state; false while there is none, between two lives.
func (h *herald) ask(ctx context.Context) (s status, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := h.do(ctx, func(o *owner) { s = o.status() }); err != nil {
		h.known.publishing, h.known.caughtUp = false, false
		return h.known, false
	}
	h.known = s
	return s, true
}

// errOtherLife means that the engine restarted from an empty state since its state
// was read.
var errOtherLife = errors.New("the engine restarted from an empty state")

// doIn has f called unless the engine restarted from an empty state since s.
func (h *herald) doIn(ctx context.Context, s status, f func(*owner)) error {
	same := false
	err := h.do(ctx, func(o *owner) {
		if same = o == s.of; same {
			f(o)
		}
	})
	if err == nil && !same {
		return errOtherLife
	}
	return err
}

// failed counts and logs trouble, once until it is over.
func (h *herald) failed(ctx context.Context, what string, err error) bool {
	switch {
	case err == nil:
		h.quiet = false
	case ctx.Err() == nil:
		h.count.beatFailures.Inc()
		if !h.quiet {
			h.log.Warn(what, "error", err)
		}
		h.quiet = true
	}
	return err != nil
}

func (h *herald) presence(s status) Presence {
	version, rules := h.cfg.identity()
	p := Presence{Name: h.cfg.Name, Engine: version, Rules: rules, Tick: s.tick, Position: s.position, Publishing: s.publishing,
		Diverged: s.diverged, Claim: s.reign.Digest}
	if s.publishing {
		p.DigestTick, p.Digest = h.last()
	}
	return p
}

// compare raises the alarm where another replica under the same claim had
// another state at the same tick. Both go on: which of them is wrong shows when
// the stream refuses one.
func (h *herald) compare(ctx context.Context, s status, who roll) {
	me := h.presence(s)
	text, same := "", false
	for _, o := range who.others {
		if me.Digest == "" || o.Claim != me.Claim || o.DigestTick != me.DigestTick || o.Engine != me.Engine || o.Rules != me.Rules {
			continue
		}
		if same = o.Digest == me.Digest; !same {
			text = "at tick " + me.DigestTick.String() + " the state of " + o.Name + " is " + short(o.Digest) + ", that of " + me.Name + " " + short(me.Digest)
			break
		}
	}
	if text == "" && !same {
		return
	}
	_ = h.do(ctx, func(o *owner) {
		switch _, current := o.alarms[alarmState]; {
		case text == "":
			o.alarms.clear(alarmState)
		case !current:
			h.log.Error(Diverged, "what", text)
			fallthrough
		default:
			o.alarms.raise(alarmState, text)
		}
	})
}

// seek acquires the right to publish: by going on from a snapshot of the replicas
// that have it, or, if none publishes, by a claim.
func (h *herald) seek(ctx context.Context, s status, who roll) error {
	if s.names && !s.diverged && !s.broken && s.reign.Since > 0 {
		infos, err := h.cfg.Bus.Snapshots(ctx)
		if err != nil {
			return err
		}
		version, rules := h.cfg.identity()
		for _, i := range infos {
			if i.Engine == version && i.Rules == rules && i.Position > s.reign.Since && i.Position <= s.position {
				h.count.joins.Inc()
				h.log.Info("joining those who publish", "claim", short(s.reign.Digest), "snapshot", i.Tick)
				return h.doIn(ctx, s, func(o *owner) { o.again = errRejoin })
			}
		}
	}
	if who.publishing() {
		h.spoke = s.reign.Digest
		return nil
	}
	// A replica that has just claimed may not have reported yet that it publishes.
	young := s.reign.Replica != h.cfg.Name && s.stored != 0 && who.at.Sub(s.stored) < missedBeats*h.cfg.Beat
	if young && h.spoke != s.reign.Digest {
		return nil
	}
	return h.claim(ctx, s)
}

// maxClaims are made in a row while others go on publishing.
const maxClaims = 5

// claim states that this replica publishes from here on. Who publishes while it
// is prepared makes it prepare another one.
func (h *herald) claim(ctx context.Context, s status) error {
	over := s.reign.Digest
	for range maxClaims {
		c, last, err := h.prepare(ctx, s, over)
		if err != nil {
			return err
		}
		config, err := c.Config(now())
		if err != nil {
			return err
		}
		over = hex.EncodeToString(config.Digest[:])
		if err := h.doIn(ctx, s, func(o *owner) { o.pending = over }); err != nil {
			return err
		}
		h.count.claims.Inc()
		h.log.Info("claiming to publish", "claim", short(over), "over", short(c.Over), "incidents", len(c.Incidents), "whole", c.Whole)
		if err := h.append(ctx, config); err != nil {
			return errors.Join(err, h.doIn(ctx, s, (*owner).giveUp))
		}
		if _, end, err := h.cfg.Bus.IncidentBounds(ctx); err != nil || end == last {
			return errors.Join(err, h.doIn(ctx, s, func(o *owner) { o.confirm(over) }))
		}
	}
	return errors.Join(errors.New("others go on publishing"), h.doIn(ctx, s, (*owner).giveUp))
}

// renew states the claim in force once more, so that the log does not remove it.
func (h *herald) renew(ctx context.Context, s status) error {
	version, rules := h.cfg.identity()
	c := engine.Claim{Engine: version, Rules: rules, Replica: h.cfg.Name, Renews: s.reign.Digest}
	config, err := c.Config(now())
	if err != nil {
		return err
	}
	return h.append(ctx, config)
}

func (h *herald) append(ctx context.Context, config *telemetry.Config) error {
	return h.cfg.Bus.Append(ctx, "", &telemetry.Record{Kind: telemetry.ConfigRecord, Config: config})
}
