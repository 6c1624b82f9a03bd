package raise

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/notify"
	"github.com/quintet-dc/quintet/telemetry"
)

// Stream is where revisions of alerts go; bus.Revisions is one.
type Stream interface {
	notify.Stream
	Publish(ctx context.Context, id string, revision int, data []byte) (o bus.Outcome, stored []byte, err error)
}

// Buckets has the bucket of deliveries.
type Buckets interface {
	KeyValue(ctx context.Context, bucket string) (jetstream.KeyValue, error)
}

// Config sets a Raiser.
type Config struct {
	Stream  Stream
	Buckets Buckets
	Site    string
	Name    string // of this process, as others see it
	Version string
	Page    string // the page's address, for runbook_url; none without it
	Alone   bool   // no other process evaluates rules

	Now     func() time.Time // nil: time.Now
	Metrics *metrics.Set
	Logger  *slog.Logger
}

const (
	lookEvery = time.Second
	// updateEvery is the shortest interval between updates of a group's members;
	// its beginning and its end are sent at once.
	updateEvery = time.Minute
	// orphaned is how long a group that an earlier process raised may go unreported
	// by its rule, once rules are evaluated, before it ends: a rule reports every
	// minute while it fires.
	orphaned = 5 * time.Minute
	// stalled is how long no rule may be evaluated before a process leaves the
	// alerts to another one, by not renewing its lease.
	stalled = 2 * time.Minute

	maxActive      = 50_000  // alerts that fire
	maxGroups      = 100_000 // that are remembered
	requestTimeout = 10 * time.Second
)

// group is alerts of one rule at one place, as they were raised last.
type group struct {
	id       string // of its newest episode
	revision int
	opened   telemetry.Time
	last     []byte    // its newest revision while it is open, else nil
	members  string    // a digest of who was in that
	at       time.Time // when it was raised, by our clock
	updated  time.Time // when it was raised, as it states
}

// Raiser makes revisions of alerts. It receives them in Take and publishes in Run.
type Raiser struct {
	c     Config
	lease lease
	count counts

	mu           sync.Mutex
	active       map[string]*Alert    // by fingerprint
	received     map[string]time.Time // by key of a group: that this process has received of it
	evaluated    time.Time            // since when rules are evaluated here without a pause; zero before
	latest       time.Time            // when one was last
	retires      bool                 // no rule is evaluated any more
	groups       map[string]*group
	notEvaluated string // the key of the group which reports that no process evaluates rules
	wake         chan struct{}
}

// counts are the raiser's own metrics.
type counts struct {
	raised, full, own, failures *metrics.Counter
}

// New returns a Raiser.
func New(c Config) (*Raiser, error) {
	if c.Stream == nil || c.Buckets == nil || c.Site == "" || c.Name == "" {
		return nil, errors.New("raise: want a stream, buckets, a site and a name")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Metrics = cmp.Or(c.Metrics, metrics.NewSet())
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return &Raiser{c: c, lease: lease{by: c.Name, alone: c.Alone}, active: map[string]*Alert{}, received: map[string]time.Time{}, groups: map[string]*group{}, notEvaluated: ruleAlert(c.Site).group, wake: make(chan struct{}, 1),
		count: counts{raised: c.Metrics.GetOrCreateCounter(`quintet_alerts_revisions_total`),
			full:     c.Metrics.GetOrCreateCounter(`quintet_alerts_dropped_total{reason="full"}`),
			own:      c.Metrics.GetOrCreateCounter(`quintet_alerts_left_out_total{reason="incident"}`),
			failures: c.Metrics.GetOrCreateCounter(`quintet_alerts_failures_total`)}}, nil
}

// Take receives the alerts of one evaluation of one rule; there may be none. It
// does not block.
func (r *Raiser) Take(alerts []Alert) {
	now := r.c.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.evaluated.IsZero() || now.Sub(r.latest) > stalled {
		r.evaluated = now // an alert that was not sent meanwhile has not ended for that reason
		clear(r.received)
	}
	r.latest = now
	if len(alerts) == 0 {
		return
	}
	for _, a := range alerts {
		if a.Labels["incident"] != "" {
			r.count.own.Inc() // the incident itself is sent
			continue
		}
		a.print, a.group = a.fingerprint(), a.key()
		r.received[a.group] = now
		_, known := r.active[a.print]
		switch {
		case a.Over:
			delete(r.active, a.print)
		case !known && len(r.active) >= maxActive:
			r.count.full.Inc()
		default:
			r.active[a.print] = &a
		}
	}
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Run raises alerts until ctx is done. It returns an error for nothing that
// could pass.
func (r *Raiser) Run(ctx context.Context) error {
	return r.run(ctx, func(ctx context.Context) (bool, error) { return false, r.look(ctx) })
}

// Retire ends the raised alerts where rules are no longer evaluated or raise
// nothing: no other process would. It does not change what another process raises.
func (r *Raiser) Retire(ctx context.Context) error {
	r.retires = true
	began := r.c.Now()
	return r.run(ctx, func(ctx context.Context) (bool, error) {
		err := r.look(ctx)
		return err == nil && (r.lease.revision != 0 || r.c.Now().Sub(began) > 2*leaseFor), err
	})
}

// run reads the raised alerts, and then looks every second and whenever it is
// woken, until ctx is done or look is done.
func (r *Raiser) run(outer context.Context, look func(context.Context) (done bool, err error)) error {
	ctx, cancel := context.WithCancel(outer)
	var following sync.WaitGroup
	defer following.Wait()
	defer cancel()
	kv, err := r.c.Buckets.KeyValue(ctx, bus.Deliveries)
	if err != nil {
		return ignored(ctx, err)
	}
	r.lease.kv = kv
	first, last, err := r.c.Stream.Bounds(ctx)
	if err != nil {
		return ignored(ctx, err)
	}
	if first > last {
		last = 0 // all that was ever raised is forgotten
	}
	read, once := make(chan struct{}), sync.Once{}
	following.Go(func() { r.follow(ctx, last, func() { once.Do(func() { close(read) }) }) })
	select {
	case <-ctx.Done():
		return nil
	case <-read:
	}
	defer func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
		defer cancel()
		if err := r.lease.give(last); err != nil {
			r.c.Logger.Debug("who raises alerts is not given back", "error", err)
		}
	}()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		done, err := look(ctx)
		if err != nil && ctx.Err() == nil {
			r.count.failures.Inc()
			r.c.Logger.Warn("alerts are not raised; it is tried again", "error", err)
		}
		if done {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-r.wake:
		}
	}
}

// ignored is no error where it is ctx that ended.
func ignored(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("raise: %w", err)
}

// follow reads the raised alerts, of this and of other processes, until ctx is
// done; read is called once it has reached last, the end of the stream, 0 if it was
// empty.
func (r *Raiser) follow(ctx context.Context, last uint64, read func()) {
	if last == 0 {
		read()
	}
	var after uint64
	for ctx.Err() == nil {
		err := r.c.Stream.Follow(ctx, after, func(v bus.Revision) error {
			var b body
			if err := json.Unmarshal(v.Data, &b); err != nil || b.Key == "" {
				r.c.Logger.Warn("a revision of an alert that cannot be read", "id", v.ID, "revision", v.Number, "error", err)
			} else {
				r.learn(&b, v)
			}
			after = v.Sequence
			if after >= last {
				read()
			}
			return nil
		})
		if ctx.Err() == nil {
			r.c.Logger.Warn("reading alerts is interrupted", "error", err)
			bus.Sleep(ctx, time.Second)
		}
	}
}

// learn processes a revision.
func (r *Raiser) learn(b *body, v bus.Revision) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.groups[b.Key]
	switch {
	case g == nil && len(r.groups) >= maxGroups:
		r.count.full.Inc()
		return
	case g == nil:
		g = &group{}
		r.groups[b.Key] = g
	case g.id == v.ID && g.revision >= v.Number:
		return
	}
	*g = group{id: v.ID, revision: v.Number, opened: b.Opened, last: v.Data, members: b.Members, at: r.c.Now(), updated: time.Unix(0, int64(b.Updated))}
	if b.State == explain.StateResolved {
		g.last = nil
	}
}

// look publishes what has changed, if this process holds the lease.
func (r *Raiser) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	now := r.c.Now()
	if !r.evaluates(now) {
		return nil // and another process may take over
	}
	if ours, err := r.lease.mine(ctx, now); !ours {
		return err
	}
	changes, err := r.changes(now)
	for _, b := range changes {
		if perr := r.publish(ctx, b); perr != nil {
			err = errors.Join(err, perr)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return err
}

// evaluates reports whether rules are evaluated here at now.
func (r *Raiser) evaluates(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.retires || !r.evaluated.IsZero() && now.Sub(r.latest) <= stalled
}

// publish publishes one revision, and records which one is stored then.
func (r *Raiser) publish(ctx context.Context, b *body) error {
	v := bus.Revision{ID: b.ID, Number: b.Revision}
	var err error
	if v.Data, err = json.Marshal(b); err != nil {
		return fmt.Errorf("alert %s: %w", v.ID, err)
	}
	o, stored, err := r.c.Stream.Publish(ctx, v.ID, v.Number, v.Data)
	if err != nil {
		return err
	}
	switch o {
	case bus.Stored:
		r.count.raised.Inc()
	case bus.Differs: // somebody who had the lease before us was faster
		b, v.Data = &body{}, stored
		if err := json.Unmarshal(stored, b); err != nil {
			return fmt.Errorf("alert %s, revision %d, as stored: %w", v.ID, v.Number, err)
		}
	}
	r.learn(b, v)
	return nil
}

// changes returns the revisions to be published at now, in the order of keys.
func (r *Raiser) changes(now time.Time) (out []*body, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fire := map[string][]*Alert{}
	for _, fp := range slices.Sorted(maps.Keys(r.active)) {
		a := r.active[fp]
		if !a.Until.IsZero() && now.After(a.Until) {
			delete(r.active, fp)
			continue
		}
		fire[a.group] = append(fire[a.group], a)
	}
	keys := slices.Collect(maps.Keys(fire))
	r.forget(now)
	for k, g := range r.groups {
		if g.last != nil && fire[k] == nil {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		b, cerr := r.change(k, fire[k], now)
		if cerr != nil {
			err = errors.Join(err, cerr)
			delete(r.groups, k)
		} else if b != nil {
			out = append(out, b)
		}
	}
	for k, received := range r.received { // what is of no use any more
		if fire[k] == nil && now.Sub(received) > orphaned {
			delete(r.received, k)
		}
	}
	return out, err
}

// forget drops groups that ended so long ago that the stream has removed them. The
// caller holds mu.
func (r *Raiser) forget(now time.Time) {
	for k, g := range r.groups {
		if g.last == nil && now.Sub(g.updated) > bus.RevisionsRetain {
			delete(r.groups, k)
		}
	}
}

// change returns the revision to be published of one group; nil if there is none.
func (r *Raiser) change(key string, members []*Alert, now time.Time) (*body, error) {
	g, at := r.groups[key], telemetry.Time(now.UnixNano())
	switch {
	case len(members) == 0: // it is open, and nothing fires
		_, received := r.received[key]
		if known := received || r.retires || key == r.notEvaluated; !known && now.Sub(r.evaluated) < orphaned {
			return nil, nil
		}
		how := ceased
		if r.retires {
			how = notEvaluated
		}
		b, err := over(g.last, g.revision+1, at, how)
		if err != nil {
			return nil, fmt.Errorf("alert %s: %w", g.id, err)
		}
		return b, nil
	case g == nil && len(r.groups) >= maxGroups:
		r.count.full.Inc()
		return nil, nil
	case g == nil || g.last == nil: // a new episode
		opened := slices.MinFunc(members, func(a, b *Alert) int { return cmp.Compare(a.StartsAt, b.StartsAt) }).StartsAt
		g = r.episode(key, opened, now)
	case g.members == digest(members) || now.Sub(g.at) < updateEvery:
		return nil, nil
	}
	return r.open(g, members, at), nil
}

// episode begins a new one of a group.
func (r *Raiser) episode(key string, opened telemetry.Time, now time.Time) *group {
	// If all state is lost, a new group must not get the id of an earlier one.
	before := fmt.Sprint("in ", now.UnixNano()/int64(bus.RevisionsRetain))
	if g := r.groups[key]; g != nil {
		before = g.id
	}
	return &group{id: idOf(r.c.Site, key, before), opened: opened}
}
