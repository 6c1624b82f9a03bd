package fabric

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/book"
	"github.com/quintet-dc/quintet/collectors/mapping"
	"github.com/quintet-dc/quintet/telemetry"
)

// sourceName is the collector in its sources and the source of its edges.
const sourceName = "fabric"

// Collector reads one subnet. It is a collectors.Collector.
type Collector struct {
	mapping.Formers
	cfg     Config
	profile *Profile
	given   map[uint64]string
	run     runner
	clock   func() time.Time
	kept    *subnet // what the last run knew
	manager managed
}

// New returns the collector of a configuration, which it completes and checks.
// No program is run until Run.
func New(c Config) (*Collector, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("fabric: %w", err)
	}
	p, former, err := loadProfile(c.Profile)
	if err != nil {
		return nil, fmt.Errorf("fabric: %w", err)
	}
	given, err := readNames(c.NodeNameMap)
	if err != nil {
		return nil, fmt.Errorf("fabric: %w", err)
	}
	return &Collector{Formers: former, cfg: c, profile: p, given: given, run: processes{c.variables(), c.Directory}, clock: time.Now, kept: newSubnet()}, nil
}

// Target returns the subnet.
func (c *Collector) Target() string { return c.cfg.Subnet }

// reader is one run of the collector. One goroutine uses it.
type reader struct {
	cfg     Config
	profile *Profile
	fields  fields
	namer   namer
	run     runner
	clock   func() time.Time
	log     *slog.Logger
	sink    collectors.Sink
	pace    pacer

	ibnetdiscover, perfquery, sminfo string

	subnet    *subnet
	manager   *managed
	addresses map[end]uint16 // of adapters' ports
	ports     map[uint64]end // the same, by GUID
	stated    bool           // every edge was stated in this run
	links     *book.Book
	health    *book.Book
	plan      *plan
	stalePlan bool
	sends     float64 // datagrams a second that ibnetdiscover sends when it runs
	size      int     // datagrams that it sent last

	nextSurvey, nextManager, nextRound time.Time
	soonest                            time.Time // when discoveries may be paid for
	round                              time.Time // when the round began
	at                                 int       // portions of the round that are over
	read, failed                       int       // of the round
	dropped                            map[collectors.Reason]int
	missing                            error // why there is no topology
	misses                             int   // in a row
}

// Run reads the subnet until ctx is done. It fails where a program is missing.
func (c *Collector) Run(ctx context.Context, sink collectors.Sink) error {
	r, err := c.newReader(sink)
	if err != nil {
		return err
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil
		}
		now := r.clock()
		r.pace.mend(now)
		task, due := r.next(now)
		if wait := max(due.Sub(now), r.pace.wait(now)); wait > 0 {
			timer.Reset(min(wait, time.Minute))
			continue
		}
		task(ctx)
		timer.Reset(0)
	}
}

// Once reads the subnet once and emits it: the dry run, within the same rate.
func (c *Collector) Once(ctx context.Context, sink collectors.Sink) error {
	r, err := c.newReader(sink)
	if err != nil {
		return err
	}
	r.readManager(ctx)
	if r.survey(ctx); r.missing != nil {
		return r.missing
	}
	// Whether narrow counters are to be read as well is known after the first
	// round.
	for _, basic := range []bool{false, true} {
		for i := range r.plan.portions {
			p := &r.plan.portions[i]
			if p.basic != basic {
				continue
			}
			if err := r.await(ctx); err != nil {
				return err
			}
			r.readPortion(ctx, p)
		}
		r.portions()
	}
	r.swept(r.clock(), nil)
	return ctx.Err()
}

// await waits until something may be sent.
func (r *reader) await(ctx context.Context) error {
	timer := time.NewTimer(r.pace.wait(r.clock()))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Collector) newReader(sink collectors.Sink) (*reader, error) {
	r := &reader{cfg: c.cfg, profile: c.profile, fields: fieldsOf(c.profile), namer: namer{c.profile, c.given, c.cfg.PortName},
		run: c.run, clock: c.clock, log: sink.Logger(), sink: sink, pace: pacer{rate: float64(c.cfg.Rate)},
		subnet: c.kept, manager: &c.manager, addresses: map[end]uint16{}, ports: map[uint64]end{},
		plan: &plan{polled: map[uint64]*polled{}}, sends: fastest, size: firstSize, dropped: map[collectors.Reason]int{}}
	for _, x := range c.kept.cables {
		x.contained = [2]telemetry.Entity{} // the new sink has received nothing; order-independent
	}
	now := c.clock()
	r.nextSurvey, r.nextManager, r.nextRound = now, now, now
	r.links = r.bookOf("links", c.cfg.Topology)
	r.health = r.bookOf("manager", c.cfg.Every)
	if _, real := c.run.(processes); !real {
		r.ibnetdiscover, r.perfquery, r.sminfo = "ibnetdiscover", "perfquery", "sminfo"
		return r, nil
	}
	var errs [3]error
	r.ibnetdiscover, errs[0] = find(c.cfg.Ibnetdiscover, "ibnetdiscover")
	r.perfquery, errs[1] = find(c.cfg.Perfquery, "perfquery")
	r.sminfo, errs[2] = find(c.cfg.Sminfo, "sminfo")
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("fabric: %w", err)
	}
	return r, nil
}

// next returns what is to be done next, and when: the manager's one datagram
// first, then the topology, then a portion of the round.
func (r *reader) next(now time.Time) (task func(context.Context), due time.Time) {
	switch {
	case !r.nextManager.After(now):
		return r.readManager, r.nextManager
	case !r.nextSurvey.After(now):
		return r.survey, r.nextSurvey
	case len(r.plan.portions) > 0 && !r.nextRound.After(now):
		return r.readNext, r.nextRound
	}
	due = r.nextManager
	if r.nextSurvey.Before(due) {
		due = r.nextSurvey
	}
	if len(r.plan.portions) > 0 && r.nextRound.Before(due) {
		due = r.nextRound
	}
	return nil, due
}

// readNext reads the next portion of the round, and ends the round after the
// last.
func (r *reader) readNext(ctx context.Context) {
	if r.at == 0 {
		r.round = r.clock()
	}
	r.readPortion(ctx, &r.plan.portions[r.at])
	if ctx.Err() != nil {
		return
	}
	if r.at++; r.at < len(r.plan.portions) {
		return
	}
	all := len(r.plan.portions)
	r.at, r.nextRound = 0, r.round.Add(r.cadence())
	r.drop(collectors.OverLimit, r.plan.over)
	r.drop(collectors.Skipped, r.plan.unaddr)
	err := r.missing
	if r.failed == all {
		err = errors.Join(err, errors.New("no node answers perfquery"))
	}
	r.swept(r.round, err)
	r.failed = 0
	if r.stalePlan {
		r.stalePlan = false
		r.portions()
	}
}

// drop counts what is not emitted.
func (r *reader) drop(why collectors.Reason, n int) {
	if n > 0 {
		r.dropped[why] += n
	}
}

// swept ends a round of reading.
func (r *reader) swept(began time.Time, err error) {
	r.sink.Swept(collectors.Sweep{Took: max(0, r.clock().Sub(began)), Read: r.read, Dropped: r.dropped, Err: err})
	r.read = 0
	clear(r.dropped)
}

// cadence is how often a port's counters can be read: at the configured interval,
// but so that a round takes three quarters of the rate at most.
func (r *reader) cadence() time.Duration {
	least := time.Duration(float64(r.plan.cost) / (0.75 * r.pace.now()) * float64(time.Second))
	return max(r.cfg.Every, least.Round(time.Second))
}

// lost records unanswered datagrams.
func (r *reader) lost(at time.Time, datagrams int) {
	if datagrams > 0 && r.pace.lost(at, datagrams) {
		r.log.Warn("datagrams not answered: back-off", "rate", strconv.Itoa(int(r.pace.now())))
	}
}

// replyTimeout is how long a program may take for so many datagrams: each is sent
// four times before it is given up, and few of them are.
func (r *reader) replyTimeout(datagrams int) time.Duration {
	return 20*r.cfg.Timeout + time.Duration(float64(datagrams)/r.pace.now()*float64(4*time.Second))
}
