package redfish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/collectors/mapping"
	"github.com/quintet-dc/quintet/telemetry"
)

// sourceName is the collector in its sources and the source of its edges.
const sourceName = "redfish"

// Collector reads one service. It is a collectors.Collector.
type Collector struct {
	mapping.Formers
	cfg    Config
	rules  *library
	client *client
	also   []pattern
	named  []named
	clock  func() time.Time
	kept   map[traitOf]string // configuration as it was last seen, for changes across runs
	logs   map[string]*logMemory
}

// traitOf is a property of configuration. Several pages may have one of the same
// thing: every controller on a board has firmware.
type traitOf struct {
	entity     telemetry.Entity
	page, name string
}

// logMemory is what is known of a log: which entries were there.
type logMemory struct {
	read bool
	seen map[string]bool
}

// New returns the collector of a configuration, which it completes and checks; g
// decides where it may connect to. Nothing is opened until Run but the files that
// the configuration names.
func New(c Config, g dial.Guard) (*Collector, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("redfish: %w", err)
	}
	out := &Collector{cfg: c, clock: time.Now, kept: map[traitOf]string{}, logs: map[string]*logMemory{}}
	if out.rules, err = loadMapping(c.Mappings); err != nil {
		return nil, err
	}
	out.Formers = out.rules.Formers
	if out.client, err = newClient(&out.cfg, g); err != nil {
		return nil, fmt.Errorf("redfish: %w", err)
	}
	for p, e := range c.Entities {
		out.named = append(out.named, named{clean(p), e})
	}
	slices.SortFunc(out.named, func(a, b named) int { return strings.Compare(a.path, b.path) })
	want := func(text string) {
		var p pattern
		_ = p.Set(text) // they are ours
		out.also = append(out.also, p)
	}
	if !c.NoReports {
		want("TelemetryService/MetricReports/*")
	}
	if !c.NoEvents {
		want("EventService")
	}
	if !c.NoLogs {
		for _, l := range out.rules.logs {
			entries := pattern{slices.Clone(l.Path)}
			out.also = append(out.also, pattern{append(entries.Path, mapping.Step{Name: mapping.Selector{Template: mapping.Template{{Text: "Entries"}}}})})
		}
	}
	return out, nil
}

// Target returns the service's entity, with its kind, because a shelf and a PDU may
// have the same name.
func (c *Collector) Target() string { return c.cfg.Entity.String() }

// Run reads the service until ctx is done. A service that does not answer is not a
// failure of Run: every sweep then reports it, and it is retried from time to time.
func (c *Collector) Run(ctx context.Context, sink collectors.Sink) error {
	ctx, cancel := context.WithCancel(ctx)
	r := c.newReader(sink)
	defer func() {
		cancel()
		r.streams.Wait()
		c.client.logout()
	}()
	r.run(ctx)
	return nil
}

// Once walks the service and emits its readings: the dry run.
func (c *Collector) Once(ctx context.Context, sink collectors.Sink) error {
	r := c.newReader(sink)
	defer c.client.logout()
	for {
		p := r.unread()
		if p == nil || ctx.Err() != nil {
			break
		}
		a := c.client.get(ctx, p.target(), p.etag, r.wait(p))
		r.handle(p, a)
		if a.away {
			r.flush()
			return fmt.Errorf("redfish: %s: %w", c.cfg.Address, a.err)
		}
	}
	r.flush()
	if len(r.owners) == 0 && ctx.Err() == nil {
		return fmt.Errorf("redfish: %s: %w", c.cfg.Address, errNothing)
	}
	return ctx.Err()
}

// errNothing means that a service has nothing that the mapping knows.
var errNothing = errors.New("nothing in it means anything to the mapping")

// unread is a page that was not read yet, or not to its end; nil if all were.
func (r *reader) unread() *page {
	var first *page
	for _, p := range r.pages {
		if (!p.read || p.more != "" || p.period == 0) && (first == nil || p.due.Before(first.due) || p.due.Equal(first.due) && p.path < first.path) {
			first = p
		}
	}
	return first
}
