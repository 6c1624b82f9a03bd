package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/quintet-dc/quintet/pipeline/bus"
)

// What a stream of events may cost.
const (
	maxStreams   = 256
	heartbeat    = 15 * time.Second
	writeTimeout = 10 * time.Second // for a client that does not read
)

// stream answers GET /api/v1/stream with server-sent events.
func (s *server) stream(w http.ResponseWriter, r *http.Request) {
	q := parameters(r, "after")
	after, resumes := resumeAt(r, q)
	if q.err != nil {
		s.reply.problem(w, r, q.err)
		return
	}
	leave, ok := s.streams.enter()
	if !ok {
		s.count.streamsRefused.Inc()
		s.reply.problem(w, r, unavailable(fmt.Sprintf("%d streams are open: no more are served", maxStreams)))
		return
	}
	defer leave()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	stop := context.AfterFunc(s.closing, cancel)
	defer stop()
	c := &client{server: s, w: w, out: http.NewResponseController(w), ctx: ctx, cursor: after, resumes: resumes}
	// A client that has disconnected is not counted; one that does not read is cut.
	if err := c.run(); errors.Is(err, os.ErrDeadlineExceeded) {
		s.count.streamsCut.Inc()
		s.cfg.Logger.Debug("a stream of events was cut", "from", r.RemoteAddr, "error", err)
	}
}

// resumeAt reads where a client was: from its browser's header, else from its
// query. A header that is not a number is from another server: the client does not
// resume.
func resumeAt(r *http.Request, q *query) (after uint64, resumes bool) {
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		n, err := strconv.ParseUint(id, 10, 63)
		return n, err == nil
	}
	if s := q.text("after"); s != "" {
		n, err := strconv.ParseUint(s, 10, 63)
		if err != nil {
			q.fail("after", "want the id of an event")
		}
		return n, true
	}
	return 0, false
}

// streams counts those that are open.
type streams struct {
	mu   sync.Mutex
	open int
}

func (s *streams) enter() (leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open >= maxStreams {
		return nil, false
	}
	s.open++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open--
	}, true
}

func (s *streams) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

// client is one stream of events. It holds nothing but its place: unsent revisions
// are in the ledger's ring, or in the stream of incidents.
type client struct {
	*server
	w       http.ResponseWriter
	out     *http.ResponseController
	ctx     context.Context
	cursor  uint64 // sequence of the last revision sent, or where to begin behind
	resumes bool
	spoken  uint64 // how many notes were sent
	state   []byte // the last state sent
}

func (c *client) run() error {
	// The server's deadlines are for requests that end.
	if err := errors.Join(c.out.SetReadDeadline(time.Time{}), c.out.SetWriteDeadline(time.Time{})); err != nil {
		return err
	}
	h := c.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would hold events back
	c.w.WriteHeader(http.StatusOK)
	if err := c.send("retry: 2000\n: welcome\n\n"); err != nil {
		return err
	}
	defer c.states.look()()
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	c.spoken = c.spoke.last()
	for {
		// What is waited for is taken before it is looked at: nothing is missed.
		place, notes, state := c.place(), c.spoke.wait(), c.statesChanged()
		if err := c.catchUp(place); err != nil {
			return err
		}
		select {
		case <-c.ctx.Done():
			return nil
		case <-place.changed:
		case <-notes:
		case <-state:
		case <-beat.C:
			if err := c.send(": still here\n\n"); err != nil {
				return err
			}
		}
	}
}

func (c *client) statesChanged() <-chan struct{} {
	_, changed := c.states.newest()
	return changed
}

// place returns the client's position. A client that does not resume begins with
// new revisions once all old ones have been read.
func (c *client) place() place {
	if !c.ledger.current() {
		p, _ := c.ledger.after(0)
		return place{changed: p.changed}
	}
	if !c.resumes {
		c.resumes = true
		c.cursor = ^uint64(0)
	}
	p, at := c.ledger.after(c.cursor)
	c.cursor = at
	return p
}

// catchUp sends what there is.
func (c *client) catchUp(p place) error {
	if p.behind {
		if err := c.backlog(p.from); err != nil {
			return err
		}
	}
	for _, r := range p.revisions {
		if r.Sequence > c.cursor {
			if err := c.revision(r); err != nil {
				return err
			}
		}
	}
	if err := c.spokenOf(); err != nil {
		return err
	}
	data, _ := c.states.newest()
	if data == nil || len(c.state) > 0 && &data[0] == &c.state[0] {
		return nil
	}
	c.state = data
	return c.send("event: state\ndata: " + string(data) + "\n\n")
}

// backlog sends the revisions that precede the ring, up to its beginning.
func (c *client) backlog(until uint64) error {
	c.count.backlogs.Inc()
	err := c.cfg.Incidents.Follow(c.ctx, c.cursor, func(r bus.Revision) error {
		if r.Sequence >= until {
			return errEnough
		}
		return c.revision(r)
	})
	if errors.Is(err, errEnough) || c.ctx.Err() != nil {
		return nil
	}
	return err
}

func (c *client) revision(r bus.Revision) error {
	data := withVerdict(r.Data, c.notes.of(r.ID))
	if err := c.send("event: incident\nid: " + strconv.FormatUint(r.Sequence, 10) + "\ndata: " + string(data) + "\n\n"); err != nil {
		return err
	}
	c.cursor = r.Sequence
	return nil
}

// spokenOf sends the incidents with new notes: the same revisions, without an id.
func (c *client) spokenOf() error {
	ids, last := c.spoke.since(c.spoken)
	c.spoken = last
	for _, id := range ids {
		k, ok := c.ledger.get(id)
		if !ok {
			continue
		}
		data := withVerdict(newest(k, c.live.incidents(c.ctx)), c.notes.of(id))
		if err := c.send("event: incident\ndata: " + string(data) + "\n\n"); err != nil {
			return err
		}
	}
	return nil
}

// send writes at once, or finds that the client does not read.
func (c *client) send(text string) error {
	if err := c.out.SetWriteDeadline(time.Now().Add(c.writeTimeout)); err != nil {
		return err
	}
	if _, err := c.w.Write([]byte(text)); err != nil {
		return err
	}
	return c.out.Flush()
}

// recentNotes keeps the incidents with recent notes.
type recentNotes struct {
	mu      sync.Mutex
	ids     []string // the newest last
	n       uint64   // how many there ever were
	changed chan struct{}
}

// maxRecentNotes is how many a slow client may miss before it misses one for good;
// it sees it when it asks for the incident.
const maxRecentNotes = 256

func (s *recentNotes) add(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ids = append(s.ids, id); len(s.ids) > maxRecentNotes {
		s.ids = s.ids[1:]
	}
	s.n++
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *recentNotes) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

func (s *recentNotes) last() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}

// since returns the ids behind the n-th, and how many there are now.
func (s *recentNotes) since(n uint64) ([]string, uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh := min(s.n-n, uint64(len(s.ids)))
	return append([]string(nil), s.ids[len(s.ids)-int(fresh):]...), s.n
}
