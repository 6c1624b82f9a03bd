package outbox

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/outbox/thin"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	firstWait   = 100 * time.Millisecond
	longestWait = 5 * time.Second
	sendTimeout = 30 * time.Second
	// maxRefused is how many records in a row the log may refuse before we take
	// it for the log's trouble, not theirs.
	maxRefused = 16
	// maxInherited bounds the schemas remembered from an earlier process's
	// spill.
	maxInherited = 1024
)

// carrier does the work of Run: it sends, spills and thins. Access requires
// Outbox.owner.
type carrier struct {
	o      *Outbox
	report *report
	disk   disk

	batch     batch
	stated    map[telemetry.Fingerprint]telemetry.Time // when the log was last known to get it
	inherited map[telemetry.Fingerprint][]byte         // schemas that only the spill knew

	renewDue bool
	edges    []telemetry.EdgeIdentity // still to be renewed
	schemas  []telemetry.Fingerprint  // likewise
	failures int                      // in a row
	refused  int                      // in a row
	removed  uint64                   // what had been removed when the log last took records
	crowded  bool                     // more was reported since
}

func newCarrier(o *Outbox, r *report) carrier {
	return carrier{o: o, report: r, disk: disk{o: o},
		stated: map[telemetry.Fingerprint]telemetry.Time{}, inherited: map[telemetry.Fingerprint][]byte{}}
}

func (c *carrier) now() telemetry.Time { return telemetry.Time(c.o.cfg.Now().UnixNano()) }

// sent is how an attempt ended.
type sent struct {
	stored int
	err    error
}

// Run sends emitted records, oldest first, until ctx is done. Then it goes on until
// everything is sent, the log fails or Config.Flush is over, and leaves the rest in
// the spill for the next start. It may be called again. The only error is that it
// already runs, or was closed.
func (o *Outbox) Run(ctx context.Context) error {
	if !o.owner.TryLock() {
		return errors.New("outbox: run: it is running")
	}
	defer o.owner.Unlock()
	o.mu.Lock()
	ended := o.ended
	o.mu.Unlock()
	if ended {
		return errors.New("outbox: run: it is closed")
	}
	o.carrier.run(ctx)
	return nil
}

func (c *carrier) run(ctx context.Context) {
	clear(c.stated)
	c.failures, c.refused = 0, 0
	c.o.Emit(&telemetry.Record{Kind: telemetry.SchemaRecord, Schema: c.report.schema})
	sending, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	renew, samples := time.NewTicker(c.o.cfg.Renew), time.NewTicker(reportEvery)
	defer renew.Stop()
	defer samples.Stop()
	s := sender{carrier: c, ctx: sending, results: make(chan sent, 1), retry: stopped()}
	defer s.retry.Stop()
	for ctx.Err() == nil {
		c.relieve(s.busy)
		c.notice()
		s.start()
		select {
		case <-ctx.Done():
		case <-c.o.wake:
		case r := <-s.results:
			s.settle(r)
		case <-s.retry.C:
			s.waiting = false
		case <-renew.C:
			c.renewDue = true
		case <-samples.C:
			c.emitSamples()
		}
	}
	s.flush(stop)
	c.shelve()
}

func stopped() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// emitSamples emits the outbox's own samples.
func (c *carrier) emitSamples() {
	if r, err := c.report.next(c.now(), c.o.account); err == nil {
		c.o.Emit(r)
	}
}

// sender runs one attempt at a time.
type sender struct {
	*carrier
	ctx     context.Context
	results chan sent
	retry   *time.Timer
	busy    bool // an attempt is under way
	waiting bool // for the next one, after a failure
}

// start begins an attempt if there is something to send.
func (s *sender) start() {
	if s.busy || s.waiting {
		return
	}
	if err := s.fill(); err != nil { // the disk; nothing newer may overtake it
		s.wait(time.Second)
		return
	}
	if s.batch.empty() {
		return
	}
	s.prepare(s.now())
	s.busy = true
	messages, send := s.batch.messages, s.o.cfg.Bus
	go func() {
		ctx, cancel := context.WithTimeout(s.ctx, sendTimeout)
		defer cancel()
		n, err := send.Send(ctx, messages)
		s.results <- sent{n, err}
	}()
}

func (s *sender) wait(d time.Duration) {
	s.waiting = true
	s.retry.Reset(d)
}

// settle takes the end of an attempt.
func (s *sender) settle(r sent) {
	s.busy = false
	s.stored(r.stored)
	switch {
	case r.err == nil:
		s.succeeded()
	case errors.Is(r.err, bus.ErrRefused) && s.refused < maxRefused && r.stored < len(s.batch.of):
		s.refuse(r)
	default:
		s.failed(r.err)
		s.wait(backoff(s.failures))
	}
}

// backoff doubles from time to time, with a quarter of chance either way.
func backoff(failures int) time.Duration {
	d := longestWait
	if failures < 7 {
		d = min(d, firstWait<<(failures-1))
	}
	return d*3/4 + rand.N(d/2)
}

// flush sends the rest, while the log accepts it and time allows, and ends the
// attempt in flight.
func (s *sender) flush(stop context.CancelFunc) {
	deadline := time.NewTimer(s.o.cfg.Flush)
	defer deadline.Stop()
	for {
		if s.failures == 0 {
			s.start()
		}
		if !s.busy {
			return
		}
		select {
		case r := <-s.results:
			s.settle(r)
		case <-deadline.C:
			stop()
			s.settle(<-s.results)
			return
		}
	}
}

// fill makes sure that there is a batch, if there is anything to send: renewals
// first, then the records on disk, and only when the disk is empty those in memory.
// An error is the disk's.
func (c *carrier) fill() error {
	if !c.batch.empty() {
		return nil
	}
	c.batch.reset()
	limit := min(maxBatch, c.o.cfg.MemoryBytes/batchShare)
	c.renew(limit / 2)
	err := c.disk.hand(func(e thin.Entry) bool { return c.batch.add(e, limit) })
	if c.batch.fromSpill = !c.disk.empty(); !c.batch.fromSpill {
		clear(c.inherited)
		c.o.mu.Lock()
		c.o.queue.take(func(e thin.Entry) bool { return c.batch.add(e, limit) })
		if c.o.queue.empty() {
			c.o.level.Store(0)
		}
		c.o.mu.Unlock()
	}
	c.o.shift(0, len(c.batch.buf))
	if c.batch.empty() {
		return err
	}
	return nil
}

// shift notes that bytes were taken out of memory's queue, or that they are
// gone.
func (o *Outbox) shift(gone, taken int) {
	o.mu.Lock()
	o.moving += taken - gone
	o.account.memory.Store(int64(o.memory()))
	o.mu.Unlock()
}

// stored records that the first n messages of the attempt are in the log.
func (c *carrier) stored(n int) {
	items, now := 0, c.now()
	n = min(n, len(c.batch.messages))
	for i, m := range c.batch.messages[:n] {
		if c.batch.of[i] != none {
			items = c.batch.of[i] + 1
		}
		switch thin.KindOf(m.Data) {
		case telemetry.SchemaRecord:
			c.stated[thin.SchemaPrint(m.Data)] = now
		case telemetry.EdgeRecord:
			c.edgeStored(m.Data)
		}
	}
	if n > 0 {
		c.refused = 0
	}
	c.o.account.stored.Add(c.batch.tracked(items))
	c.forget(items)
}

func (c *carrier) edgeStored(record []byte) {
	r, err := telemetry.ParseRecord(record)
	if err != nil {
		return
	}
	c.o.mu.Lock()
	c.o.renewals.edgeStored(r.Edge)
	c.o.mu.Unlock()
}

// forget drops the first n records of the batch: they are stored, or lost.
func (c *carrier) forget(n int) {
	if n == 0 {
		return
	}
	if c.batch.fromSpill {
		c.disk.ack(c.batch.tracked(n))
	}
	before := len(c.batch.buf)
	c.batch.drop(n)
	if c.batch.empty() {
		c.o.shift(before, 0)
	}
}

func (c *carrier) succeeded() {
	removed := c.o.account.crowdedOut()
	if c.failures > 0 {
		c.o.cfg.Logger.Info("the log takes records again", "failures", c.failures, "removed_samples", removed-c.removed)
	}
	c.failures, c.removed, c.crowded = 0, removed, false
}

// notice logs, once an outage, that there is no longer room for everything.
func (c *carrier) notice() {
	if !c.crowded && c.o.account.crowdedOut() > c.removed {
		c.crowded = true
		c.o.cfg.Logger.Warn("what waits for the log no longer fits: the oldest is thinned, counters keep their increase")
	}
}

func (c *carrier) failed(err error) {
	c.o.account.failures.Inc()
	if c.failures++; c.failures == 1 {
		c.o.cfg.Logger.Warn("the log takes no records; they are kept", "error", err)
	}
}

// refuse drops the record that the log will never take.
func (c *carrier) refuse(r sent) {
	if c.refused++; c.refused == 1 {
		c.o.cfg.Logger.Error("the log refuses a record", "error", r.err)
	}
	if c.batch.of[r.stored] == none { // a schema sent before its frame; the frame may do without
		c.stated[thin.SchemaPrint(c.batch.messages[r.stored].Data)] = c.now()
		return
	}
	if !c.batch.items[0].renewal {
		c.o.account.remove(byLog, thin.Count(c.batch.record(0), c.schema))
	}
	c.forget(1)
}
