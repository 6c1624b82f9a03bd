package notify

import (
	"cmp"
	"container/heap"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

// desk serves one receiver with one stream: what is pending for it, and the attempts
// under way. Its loop starts attempts and never waits for one.
type desk struct {
	r       Receiver
	c       *Config
	stream  Stream
	alerts  bool // the stream is that of alerts
	store   store
	meters  meters
	log     *slog.Logger
	address string
	by      string
	wake    chan struct{}

	start uint64 // the position's Start, as it was found
	// Nothing is sent until the stream has been read up to its end when this desk
	// began, so that superseded revisions are known; or until a time: that end may
	// have been removed by retention.
	end   uint64
	until time.Time
	// Of the loop alone.
	position position
	seen     uint64 // the revision of the position's key

	mu    sync.Mutex
	board *board

	lines       map[string]*line
	queue       queue
	busy        int
	cachedBytes int // bytes of revisions kept in memory
	read        uint64
	open        map[string]pending // until the stream has been read up to Start: the newest of each open incident
	trouble     bool               // the last answer was none or a refusal: one attempt at a time
	silence     time.Time          // the receiver asked for it
	gone        *farewell
}

// readTimeout bounds how long a desk waits for the stream to be read.
const readTimeout = 10 * time.Second

// keepBytes is how many bytes of revisions a desk keeps in memory while they
// wait their turn; what is beyond is read again.
const keepBytes = 4 << 20

func newDesk(b *board, r Receiver, kv claims) *desk {
	r, c := r.withDefaults(), b.c
	return &desk{r: r, c: c, stream: c.Incidents, board: b, store: store{kv}, meters: newMeters(c.Metrics, r.Name), log: c.Logger.With("receiver", r.Name),
		address: r.Notifier.Fingerprint(), by: c.Name, wake: make(chan struct{}, 1), lines: map[string]*line{}}
}

// newAlertDesk returns the desk that serves a receiver with alerts.
func newAlertDesk(b *board, r Receiver, kv claims) *desk {
	d := newDesk(b, r, kv)
	d.stream, d.alerts, d.meters.pending = b.c.Alerts, true, pendingAlerts(b.c.Metrics, r.Name)
	d.log = d.log.With("of", "alerts")
	return d
}

// term is how long attempts may go on when the process is to stop: requests for
// a while, then marks for a little longer.
type term struct{ sending, marking context.Context }

// markTimeout is how long marks may take once requests have ended.
const markTimeout = 2 * time.Second

// run serves the receiver until ctx is done, then lets what is under way end.
func (d *desk) run(ctx context.Context) {
	sending, stopSending := context.WithCancel(context.WithoutCancel(ctx))
	defer stopSending()
	marking, stopMarking := context.WithCancel(context.WithoutCancel(ctx))
	defer stopMarking()
	var attempts sync.WaitGroup
	if r, ok := d.r.Notifier.(Reminder); ok {
		attempts.Go(func() { d.remind(ctx, r) })
	}
	d.loop(ctx, func(l *line) {
		attempts.Go(func() { d.work(ctx, term{sending, marking}, l) })
	})
	if d.c.Grace < 0 {
		stopSending()
		stopMarking()
		attempts.Wait()
		return
	}
	defer time.AfterFunc(d.c.Grace, stopSending).Stop()
	defer time.AfterFunc(d.c.Grace+markTimeout, stopMarking).Stop()
	attempts.Wait()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), markTimeout)
	defer cancel()
	d.save(last)
}

// loop starts the lines that are due, until ctx is done.
func (d *desk) loop(ctx context.Context, start func(*line)) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	saved := d.c.Now()
	for ctx.Err() == nil {
		due, wait := d.due()
		for _, l := range due {
			start(l)
		}
		if now := d.c.Now(); now.Sub(saved) >= saveEvery || d.bidFarewell() {
			d.save(ctx)
			saved = now
		}
		timer.Reset(min(wait, saveEvery))
		select {
		case <-ctx.Done():
		case <-d.wake:
		case <-timer.C:
		}
	}
}

// due takes the lines that are due out of the queue, and returns after how long to
// check again.
func (d *desk) due() (due []*line, wait time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	slots, now := d.r.Concurrent, d.c.Now()
	if wait := d.until.Sub(now); d.read < d.end && wait > 0 {
		return nil, wait
	}
	if d.trouble {
		slots = 1
	}
	for d.busy < slots && len(d.queue) > 0 {
		next := d.queue[0].due
		if next.Before(d.silence) {
			next = d.silence
		}
		if wait := next.Sub(now); wait > 0 {
			return due, wait
		}
		due = append(due, heap.Pop(&d.queue).(*line))
		d.busy++
	}
	return due, saveEvery
}

// offer takes in a revision of the stream. It never waits.
func (d *desk) offer(rev *revision) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gone != nil || rev.sequence <= d.read {
		return
	}
	d.read = rev.sequence
	p := pending{number: rev.Number, sequence: rev.sequence, resolved: rev.resolved(), updated: rev.updated, properties: rev.properties, refused: d.refused(rev)}
	p.wanted = p.refused == ""
	if d.open != nil && rev.sequence <= d.start {
		d.open[rev.ID] = p
		if p.resolved {
			delete(d.open, rev.ID)
		}
	}
	if d.open != nil && rev.sequence >= d.start {
		d.reached()
	}
	if rev.sequence > d.start {
		p.revision = rev
		d.add(rev.ID, p)
	}
	d.rouse()
}

// pass notes that the stream has been read up to a sequence that holds nothing to
// send.
func (d *desk) pass(sequence uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.read = max(d.read, sequence)
	d.rouse()
}

// reached queues the incidents that were open when the receiver was first served.
func (d *desk) reached() {
	for _, id := range slices.SortedFunc(maps.Keys(d.open), func(a, b string) int { return cmp.Compare(d.open[a].sequence, d.open[b].sequence) }) {
		d.add(id, d.open[id])
	}
	d.open = nil
}

// add puts a revision at the end of its incident's line.
func (d *desk) add(incident string, p pending) {
	l := d.lines[incident]
	if l != nil && l.items[len(l.items)-1].number >= p.number {
		return
	}
	if d.cachedBytes+p.bytes() > keepBytes {
		p.revision = nil
	}
	d.cachedBytes += p.bytes()
	if l == nil {
		l = &line{incident: incident, due: d.c.Now(), items: []pending{p}}
		d.lines[incident] = l
		heap.Push(&d.queue, l)
		d.meters.pending.Set(float64(len(d.lines)))
		return
	}
	l.items = append(l.items, p)
	if l.place >= 0 {
		l.due = d.c.Now()
		heap.Fix(&d.queue, l.place)
	}
}

// look returns the current items of a line.
func (d *desk) look(l *line) []pending {
	d.mu.Lock()
	defer d.mu.Unlock()
	l.looked = l.items[len(l.items)-1].number
	return slices.Clone(l.items)
}

// finish puts a line back after it was worked on: without what is settled, and
// not to be looked at before due.
func (d *desk) finish(l *line, settled int, due time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.busy--
	defer d.rouse()
	if d.gone != nil {
		return
	}
	for len(l.items) > 0 && l.items[0].number <= settled {
		d.cachedBytes -= l.items[0].bytes()
		l.items = l.items[1:]
	}
	if len(l.items) == 0 {
		delete(d.lines, l.incident)
		d.meters.pending.Set(float64(len(d.lines)))
		return
	}
	now := d.c.Now()
	if l.items[len(l.items)-1].number > l.looked {
		due = now // something came meanwhile
	}
	if due.After(now.Add(time.Minute)) { // a long wait needs no memory
		for i := range l.items {
			d.cachedBytes -= l.items[i].bytes()
			l.items[i].revision = nil
		}
	}
	l.due = due
	heap.Push(&d.queue, l)
}

// through is the sequence up to which nothing is pending, and the receiver's
// farewell, if it gave one.
func (d *desk) through() (uint64, *farewell) {
	d.mu.Lock()
	defer d.mu.Unlock()
	through := d.read
	for _, l := range d.lines {
		through = min(through, l.items[0].sequence-1)
	}
	for _, p := range d.open {
		through = min(through, p.sequence-1)
	}
	if d.gone != nil {
		through = 0
	}
	return through, d.gone
}

// close ends the service of a receiver that is gone.
func (d *desk) close(s position, seen uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.position, d.seen = s, seen
	d.leave(s.Gone)
}

// leave drops all pending deliveries.
func (d *desk) leave(f *farewell) {
	d.gone, d.open, d.lines, d.queue, d.cachedBytes = f, nil, map[string]*line{}, nil, 0
	d.meters.pending.Set(0)
	d.meters.gone.Set(1)
}

// bidFarewell reports whether a farewell is yet to be written down.
func (d *desk) bidFarewell() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.gone != nil && d.position.Gone == nil
}

// rouse wakes the loop.
func (d *desk) rouse() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}
