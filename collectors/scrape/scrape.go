package scrape

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/book"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/collectors/mapping"
	"github.com/quintet-dc/quintet/telemetry"
)

// sourceName is the collector in its sources.
const sourceName = "scrape"

// Collector reads the pages of an entry. It is a collectors.Collector.
type Collector struct {
	mapping.Formers
	cfg     Config
	mapper  *mapping.Mapper
	targets []target
	guard   dial.Guard
	clients func() (*http.Client, func(), error)
}

// target is one page, with its defaults.
type target struct {
	url, name      string
	every, timeout time.Duration
	labels         []mapping.Label
}

// ErrNoTarget means that an entry has nothing to read.
var ErrNoTarget = errors.New("scrape: no target")

// New returns the collector of a configuration. It reads the mapping files, and
// dials nothing until Run.
func New(c Config, g dial.Guard) (*Collector, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("scrape: %w", err)
	}
	if len(c.Targets) == 0 {
		return nil, ErrNoTarget
	}
	m, err := mapping.Read(c.Files, c.Mappings)
	if err != nil {
		return nil, fmt.Errorf("scrape: %w", err)
	}
	if _, err := c.TLS.Config(); err != nil {
		return nil, fmt.Errorf("scrape: tls: %w", err)
	}
	out := &Collector{Formers: m.Formers, cfg: c, mapper: m, guard: g}
	out.clients = out.client
	seen := map[string]bool{}
	for i, t := range c.Targets {
		u, err := parseURL(t.URL)
		if err != nil {
			return nil, fmt.Errorf("scrape: target %d: %w", i+1, err)
		}
		own := target{url: t.URL, name: t.Name, every: t.Every}
		if own.name == "" {
			own.name = u.Host + u.Path
		}
		if own.every == 0 {
			own.every = c.Every
		}
		own.timeout = min(c.Timeout, max(own.every, minTimeout))
		for _, k := range slices.Sorted(maps.Keys(t.Labels)) {
			own.labels = append(own.labels, mapping.Label{Name: k, Value: t.Labels[k]})
		}
		own.labels = append(own.labels, mapping.Label{Name: "host", Value: u.Hostname()})
		if seen[own.name] {
			return nil, fmt.Errorf("scrape: target %d: another is called %q: give it a name", i+1, own.name)
		}
		seen[own.name] = true
		out.targets = append(out.targets, own)
	}
	return out, nil
}

// Target returns the targets that are read.
func (c *Collector) Target() string {
	if n := len(c.targets); n > 1 {
		return fmt.Sprintf("%s and %d more", c.targets[0].name, n-1)
	}
	return c.targets[0].name
}

// Run reads every page in its own time until ctx is done. A page that cannot be
// had is asked for again when it is due; the collector is up while any is read.
func (c *Collector) Run(ctx context.Context, sink collectors.Sink) error {
	client, closed, err := c.clients()
	if err != nil {
		return err
	}
	defer closed()
	s := &status{sink: sink, errs: make([]error, len(c.targets))}
	for _, t := range c.targets {
		s.names = append(s.names, t.name)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	failed := make(chan error, len(c.targets))
	for i := range c.targets {
		all.Go(func() {
			if err := c.keep(ctx, client, s, i); err != nil {
				failed <- err
				cancel()
			}
		})
	}
	all.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// client returns what pages are fetched with, and what closes it.
func (c *Collector) client() (*http.Client, func(), error) {
	settings, err := c.cfg.TLS.Config()
	if err != nil {
		return nil, nil, fmt.Errorf("scrape: tls: %w", err)
	}
	t := &http.Transport{
		DialContext: c.guard.DialContext, TLSClientConfig: settings, TLSHandshakeTimeout: c.cfg.Timeout,
		MaxIdleConnsPerHost: 1, MaxConnsPerHost: 2, IdleConnTimeout: 5 * time.Minute, ForceAttemptHTTP2: true, HTTP2: dial.HTTP2(c.cfg.Timeout),
		MaxResponseHeaderBytes: 64 << 10,
	}
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return errRedirect }}, t.CloseIdleConnections, nil
}

// status is the common status of the targets of an entry.
type status struct {
	mu    sync.Mutex
	sink  collectors.Sink
	names []string // of the targets
	errs  []error  // the latest, by target
}

// swept records how one target was read; the entry as a whole cannot be read when
// none of its targets can.
func (s *status) swept(i int, w collectors.Sweep, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errs[i] = err
	w.Targets = map[string]error{s.names[i]: err}
	if !slices.Contains(s.errs, nil) {
		w.Err = err
	}
	s.sink.Swept(w)
}

// keep reads one page in its time.
func (c *Collector) keep(ctx context.Context, client *http.Client, s *status, i int) error {
	t := c.targets[i]
	f, r := c.reader(t, client)
	timer := time.NewTimer(c.spread(t))
	defer timer.Stop()
	for next := time.Now(); ; {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil
		}
		began := time.Now()
		sweep, err := c.once(ctx, f, r, s.sink)
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, errUnsound) {
			return err
		}
		s.swept(i, sweep, err)
		next = following(next, began, t.every)
		timer.Reset(time.Until(next))
	}
}

// reader returns what fetches and what reads a target's pages.
func (c *Collector) reader(t target, client *http.Client) (*fetcher, *reader) {
	return &fetcher{cfg: c.cfg, target: t, client: client}, &reader{intake: mapping.NewIntake(mapping.IntakeConfig{
		Mapper: c.mapper, Target: t.labels, MaxForeign: c.cfg.MaxForeign,
		Foreign: collectors.Entity(sourceName, t.name),
		Book:    book.Config{Collector: sourceName, Target: printable(t.name), Class: class(t), Cadence: t.every, Limit: c.cfg.MaxSeries},
	})}
}

// errUnsound means that what was read cannot be encoded: a bug of ours.
var errUnsound = errors.New("scrape: encoding a frame failed")

// once reads a page and emits it.
func (c *Collector) once(ctx context.Context, f *fetcher, r *reader, sink collectors.Sink) (collectors.Sweep, error) {
	began := time.Now()
	dropped := map[collectors.Reason]int{}
	body, form, err := f.fetch(ctx, dropped)
	if err == nil {
		err = r.read(body, form, dropped)
	}
	if err != nil {
		why := collectors.Unreadable
		var refused *dial.RefusedError
		switch {
		case errors.As(err, &refused):
			why = collectors.Refused
		case errors.Is(err, errDenied):
			why = collectors.Denied
		case errors.Is(err, errNoPage), errors.Is(err, errProtobuf):
			why = collectors.Malformed
		}
		dropped[why]++
		return collectors.Sweep{Took: time.Since(began), Dropped: dropped}, err
	}
	at := telemetry.Instant{Source: telemetry.Time(began.UnixNano()), Received: telemetry.Time(time.Now().UnixNano())}
	got, err := r.intake.Emit(sink, at, true)
	if err != nil {
		return collectors.Sweep{}, fmt.Errorf("%w: %w", errUnsound, err)
	}
	for why, n := range got.Dropped {
		dropped[why] += n
	}
	return collectors.Sweep{Took: time.Since(began), Read: got.Read, Dropped: dropped}, nil
}

// spread returns when a target is first asked: at a place of its own in its
// period, so that not all are asked at once.
func (c *Collector) spread(t target) time.Duration {
	if len(c.targets) == 1 {
		return 0
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(t.url)) // a hash takes everything
	return time.Duration(h.Sum32()) % min(t.every, 10*time.Second)
}

// following returns when to read next: at even times, but a target that takes
// long is left alone for as long as it took, and what was missed is not made up
// for.
func following(planned, began time.Time, every time.Duration) time.Time {
	next, now := planned.Add(every), time.Now()
	if rest := now.Add(min(now.Sub(began), every)); next.Before(rest) && now.Sub(began) > every/2 {
		return rest
	}
	if next.Before(now) {
		return began.Add(every)
	}
	return next
}

// minTimeout is how long a page may take however often it is asked for: one
// that is late once is read late, not lost, and is not asked again meanwhile.
const minTimeout = 5 * time.Second

// class is how late a target's samples may be: one that is asked every second
// answers within it.
func class(t target) telemetry.LatenessClass {
	if t.every <= time.Second {
		return telemetry.Prompt
	}
	return telemetry.Delayed
}

// printable is a target's name as part of a source's.
func printable(name string) string {
	b := []byte(name)
	for i, c := range b {
		if c == '|' || c <= ' ' || c == 0x7f {
			b[i] = '_'
		}
	}
	return string(b)
}
