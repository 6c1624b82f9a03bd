package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/pipeline/access"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/exposition"
	"github.com/quintet-dc/quintet/pipeline/notify/graph"
	"github.com/quintet-dc/quintet/pipeline/notify/silence"
)

// How long a client may take. Streams of events have limits of their own.
const (
	headerTimeout = 5 * time.Second
	bodyTimeout   = 30 * time.Second
	answerTimeout = 60 * time.Second
	idleTimeout   = 2 * time.Minute
	drainTimeout  = 5 * time.Second
	maxHeader     = 16 << 10
)

// readings is how many histories of incidents are read back at a time.
const readings = 4

var errDisconnected = errors.New("the log cannot be reached")

// server is a running server.
type server struct {
	cfg       Config
	reply     *reply
	count     counters
	ledger    *ledger
	alerts    *ledger // of our own rules
	live      *live
	questions *questions
	own       *exposition.Page
	notes     *notebook
	silences  *silence.Book
	above     *graph.Graph
	states    *states
	spoke     *recentNotes
	streams   *streams
	page      *page
	secure    *tls.Config // nil without a certificate
	access    *access.Book
	reading   chan struct{} // holds one for each history that is read back

	capturing chan struct{} // holds one for each trace that is written

	now          func() time.Time
	writeTimeout time.Duration // with a client that does not read its events
	started      time.Time
	noEngine     *absence
	closing      context.Context // done when streams of events are to end
}

// Run serves until ctx is done; then it ends the streams of events, completes the
// requests in flight, and returns nil. It returns an error at once if c is invalid
// or its address is not available.
func Run(ctx context.Context, c Config) error {
	s, err := newServer(ctx, c)
	if err != nil {
		return err
	}
	return s.run(ctx)
}

func (s *server) run(ctx context.Context) error {
	l, err := s.listen()
	if err != nil {
		return err
	}
	inner, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	wg.Go(func() { s.follow(inner, s.ledger, s.cfg.Incidents) })
	if s.cfg.Firing != nil {
		wg.Go(func() { s.follow(inner, s.alerts, s.cfg.Firing) })
	}
	wg.Go(func() { s.notes.run(inner) })
	wg.Go(func() { s.silences.Run(inner) })
	wg.Go(func() { s.above.Run(inner) })
	wg.Go(func() { s.states.run(inner) })
	if s.cfg.Listening != nil {
		s.cfg.Listening(l.Addr())
	}
	return s.serve(ctx, l)
}

func newServer(ctx context.Context, c Config) (*server, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	s := &server{cfg: c, reply: &reply{}, ledger: newLedger(c.Metrics, "incidents", maxIncidents, ringSize),
		alerts: newLedger(c.Metrics, "alerts", maxAlerts, 0), now: time.Now, writeTimeout: writeTimeout, started: time.Now(), closing: ctx,
		spoke: &recentNotes{changed: make(chan struct{})}, streams: &streams{}, reading: make(chan struct{}, readings), capturing: make(chan struct{}, captures), noEngine: &absence{}}
	s.questions = &questions{asker: c.Bus, closing: ctx}
	s.live = &live{questions: s.questions, now: s.now}
	s.own = exposition.New(append([]*metrics.Set{c.Metrics}, c.Sets...)...)
	s.notes = newNotebook(c.Bus, c.Logger, s.spoke.add)
	s.silences, s.ledger.owners, s.alerts.owners = silence.NewBook(c.Bus, c.Logger), c.Teams, c.Teams
	s.above = graph.New(c.Bus, func() time.Time { return s.now() }, c.Logger)
	s.states = newStates(s)
	s.count = newCounters(s)
	var err error
	if s.page, err = newPage(c.Page); err != nil {
		return nil, err
	}
	if s.access, err = access.Open(c.Access); err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	s.secure, err = c.tls()
	return s, err
}

// follow reads a stream until ctx is done.
func (s *server) follow(ctx context.Context, l *ledger, from Stream) {
	for ctx.Err() == nil {
		err := l.follow(ctx, from)
		if ctx.Err() != nil {
			return
		}
		s.cfg.Logger.Warn("the stream of incidents or alerts is interrupted", "error", err)
		bus.Sleep(ctx, time.Second)
	}
}

// listen opens the address. Where it was a name, only now is it known for
// certain where it leads.
func (s *server) listen() (net.Listener, error) {
	l := s.cfg.Listener
	if l == nil {
		var err error
		if l, err = net.Listen("tcp", s.cfg.Listen); err != nil {
			return nil, fmt.Errorf("serve: %w", err)
		}
	}
	if err := s.cfg.exposed(l.Addr().String()); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

func (s *server) serve(ctx context.Context, l net.Listener) error {
	l = dial.Limit{Total: dial.Connections, Address: dial.ConnectionsAddress, Refused: s.count.refused("connection").Inc}.Listener(l)
	h := &http.Server{
		Handler:           s.handler(onLoopback(l.Addr().String())),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       bodyTimeout,
		WriteTimeout:      answerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(s.cfg.Logger.Handler(), slog.LevelDebug),
		TLSConfig:         s.secure,
	}
	ended := make(chan error, 1)
	go func() {
		if s.secure != nil {
			ended <- h.ServeTLS(l, "", "")
			return
		}
		ended <- h.Serve(l)
	}()
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	if err := h.Shutdown(drain); err != nil {
		s.cfg.Logger.Warn("answers are broken off", "error", err)
		_ = h.Close() // it is over either way
	}
	<-ended
	return nil
}
