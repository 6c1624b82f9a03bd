package gnmi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/collectors/mapping"
)

// Collector reads switches. It is a collectors.Collector.
type Collector struct {
	mapping.Formers
	cfg      Config
	guard    dial.Guard
	profiles map[string]*Profile
	pace     pace
}

// New returns the collector of a configuration, which it completes and checks.
// Nothing is dialled until Run.
func New(c Config, g dial.Guard) (*Collector, error) {
	c.Targets = slices.Clone(c.Targets)
	c, err := c.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("gnmi: %w", err)
	}
	out := &Collector{cfg: c, guard: g, profiles: map[string]*Profile{}, pace: usualPace()}
	for _, t := range c.Targets {
		if out.profiles[t.Profile] != nil {
			continue
		}
		p, err := LoadProfile(t.Profile)
		if err != nil {
			return nil, fmt.Errorf("gnmi: %w", err)
		}
		out.profiles[t.Profile] = p
		out.Formers = append(out.Formers, p.Formers...)
	}
	if !c.Plaintext {
		if _, err := c.TLS.Config(); err != nil {
			return nil, fmt.Errorf("gnmi: tls: %w", err)
		}
	}
	return out, nil
}

// Target returns the targets that are read.
func (c *Collector) Target() string {
	var names []string
	for _, t := range c.cfg.Targets {
		names = append(names, t.Name)
	}
	if len(names) > 8 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:8], ", "), len(names)-8)
	}
	return strings.Join(names, ", ")
}

// Run keeps a session with every target until ctx is done.
func (c *Collector) Run(ctx context.Context, sink collectors.Sink) error {
	slots := make(chan struct{}, c.cfg.Dialling)
	known := map[string]bool{}
	for _, t := range c.cfg.Targets {
		known[t.Name] = true
	}
	var all sync.WaitGroup
	var devices []*device
	for _, t := range c.cfg.Targets {
		d := &device{target: t, cfg: &c.cfg, guard: c.guard, slots: slots, log: sink.Logger(), profile: c.profiles[t.Profile], alive: c.cfg.Keepalive,
			pace: c.pace, err: errNotYet}
		for i := range d.profile.groups {
			d.subs = append(d.subs, &subscription{group: &d.profile.groups[i]})
		}
		d.reader = newReader(d.profile, t, &c.cfg, sink)
		d.reader.peer = func(system string) bool { return known[system] }
		devices = append(devices, d)
		all.Go(func() { d.keep(ctx) })
	}
	tick := time.NewTicker(c.pace.sweep)
	defer tick.Stop()
	for last := time.Now(); ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			all.Wait()
			return nil
		}
		now := time.Now()
		sink.Swept(sweep(devices, now.Sub(last)))
		last = now
	}
}

// errNotYet is the state of a target before its first session.
var errNotYet = errors.New("not connected yet")

// namedErrors is how many targets an error names.
const namedErrors = 4

// sweep sums the results of the devices. The source as a whole is down while no
// target has a session; one of many that is down shows in its drops, and in the
// gaps of its series.
func sweep(devices []*device, took time.Duration) collectors.Sweep {
	s := collectors.Sweep{Took: took, Dropped: map[collectors.Reason]int{}, Targets: map[string]error{}}
	away, waiting := map[string]error{}, 0
	for _, d := range devices {
		d.mu.Lock()
		readings, dropped := d.reader.drain()
		switch {
		case !d.up && errors.Is(d.err, errNotYet):
			waiting++ // its first session is being opened: no trouble yet
		case !d.up:
			away[d.target.Name], s.Targets[d.target.Name] = d.err, d.err
		default:
			s.Targets[d.target.Name] = nil
		}
		d.mu.Unlock()
		s.Read += readings
		for why, n := range dropped {
			s.Dropped[why] += n
		}
	}
	if len(away)+waiting < len(devices) || len(away) == 0 {
		return s
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(away)) {
		if len(errs) == namedErrors {
			errs = append(errs, fmt.Errorf("%d more", len(away)-namedErrors))
			break
		}
		errs = append(errs, fmt.Errorf("%s: %w", name, away[name]))
	}
	s.Err = errors.Join(errs...)
	return s
}
