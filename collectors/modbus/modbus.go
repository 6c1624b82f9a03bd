package modbus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/book"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/collectors/mapping"
	"github.com/quintet-dc/quintet/telemetry"
)

// sourceName is the collector in its sources.
const sourceName = "modbus"

// Collector reads the units of an entry. It is a collectors.Collector.
type Collector struct {
	mapping.Formers
	cfg     Config
	device  registerMap
	mapper  *mapping.Mapper
	connect func(ctx context.Context, network, address string) (net.Conn, error)
}

// New returns the collector of a configuration. It reads the files that describe the
// device, and connects to nothing until Run.
func New(c Config, g dial.Guard) (*Collector, error) {
	out := &Collector{cfg: c.withDefaults(), connect: g.DialContext}
	seen := map[string]bool{}
	for _, t := range c.Targets {
		if name := t.name(); seen[name] {
			return nil, fmt.Errorf("modbus: target %s: duplicate", name)
		}
		seen[t.name()] = true
	}
	var err error
	if c.Registers == "" {
		var f *mapping.File
		if out.device, f, err = shipped(c.Device); err == nil {
			out.mapper = mapping.NewMapper(f)
		}
	} else if out.device, err = readRegisters(c.Registers); err == nil {
		out.mapper, err = mapping.Read(c.Mappings, []string{})
	}
	if err != nil {
		return nil, fmt.Errorf("modbus: %w", err)
	}
	out.Formers = out.mapper.Formers
	return out, nil
}

// name is the target in sources and in the state of targets.
func (t Target) name() string { return fmt.Sprintf("%s/%d", t.Address, t.Unit) }

// Target names the source that is read.
func (c *Collector) Target() string {
	if n := len(c.cfg.Targets); n > 1 {
		return fmt.Sprintf("%s and %d more", c.cfg.Targets[0].name(), n-1)
	}
	return c.cfg.Targets[0].name()
}

// Run reads every address in a goroutine of its own until ctx is done. The collector
// is up while any unit answers.
func (c *Collector) Run(ctx context.Context, sink collectors.Sink) error {
	var all sync.WaitGroup
	s := &states{sink: sink, down: map[string]error{}, units: len(c.cfg.Targets)}
	for _, address := range c.addresses() {
		l := &line{c: c, address: address, states: s}
		for _, t := range c.cfg.Targets {
			if t.Address == address {
				l.units = append(l.units, c.unit(t))
			}
		}
		all.Go(func() { l.run(ctx, sink) })
	}
	all.Wait()
	return nil
}

// addresses lists the addresses of the targets, once each.
func (c *Collector) addresses() []string {
	seen := map[string]bool{}
	for _, t := range c.cfg.Targets {
		seen[t.Address] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// states is the state of all units of an entry.
type states struct {
	mu    sync.Mutex
	sink  collectors.Sink
	down  map[string]error
	units int
}

// swept reports a sweep of one address, after which its units are in these states.
func (s *states) swept(w collectors.Sweep) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, err := range w.Targets { // order-independent: each has a state of its own
		if delete(s.down, name); err != nil {
			s.down[name] = err
		}
	}
	if len(s.down) == s.units {
		for _, name := range slices.Sorted(maps.Keys(s.down))[:1] {
			w.Err = s.down[name]
		}
	}
	s.sink.Swept(w)
}

// unit is one target while Run reads it.
type unit struct {
	Target
	intake *mapping.Intake
}

func (c *Collector) unit(t Target) *unit {
	var labels []mapping.Label
	for _, k := range slices.Sorted(maps.Keys(t.Labels)) {
		labels = append(labels, mapping.Label{Name: k, Value: t.Labels[k]})
	}
	host, _, err := net.SplitHostPort(t.Address)
	if err != nil {
		host = t.Address
	}
	labels = append(labels, mapping.Label{Name: "host", Value: host}, mapping.Label{Name: "unit", Value: fmt.Sprint(t.Unit)})
	return &unit{Target: t, intake: mapping.NewIntake(mapping.IntakeConfig{
		Mapper: c.mapper, Target: labels, Foreign: collectors.Entity(sourceName, t.name()),
		Book: book.Config{Collector: sourceName, Target: t.name(), Class: c.class(), Cadence: c.cfg.Interval, Limit: 2 * 1024},
	})}
}

// class is how late samples may be: a slow serial line takes its time.
func (c *Collector) class() telemetry.LatenessClass {
	if c.cfg.Interval <= time.Second {
		return telemetry.Prompt
	}
	return telemetry.Delayed
}

// line is an address, and the units that are read over it one after the other.
type line struct {
	c       *Collector
	address string
	units   []*unit
	states  *states
	conn    *connection // nil while there is none
}

// run reads the units at every interval until ctx is done.
func (l *line) run(ctx context.Context, sink collectors.Sink) {
	defer l.close()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		began := time.Now()
		w := l.sweep(ctx, sink)
		if ctx.Err() != nil {
			return
		}
		w.Took = time.Since(began)
		l.states.swept(w)
		timer.Reset(max(l.c.cfg.Interval-w.Took, w.Took/2)) // a line that takes long has a rest
	}
}

// close ends the connection, if there is one.
func (l *line) close() {
	if l.conn != nil {
		_ = l.conn.conn.Close() // nothing is written that could be lost
		l.conn = nil
	}
}

// sweep reads every unit once.
func (l *line) sweep(ctx context.Context, sink collectors.Sink) collectors.Sweep {
	w := collectors.Sweep{Dropped: map[collectors.Reason]int{}, Targets: map[string]error{}}
	for _, u := range l.units {
		err := l.open(ctx)
		if err == nil {
			err = l.read(ctx, u, w.Dropped)
		}
		now := telemetry.Time(time.Now().UnixNano())
		got, encoding := u.intake.Emit(sink, telemetry.Instant{Source: now, Received: now}, err == nil)
		w.Read += got.Read
		for why, n := range got.Dropped {
			w.Dropped[why] += n
		}
		if err != nil {
			w.Dropped[reason(err)]++
		}
		w.Targets[u.name()] = errors.Join(err, encoding)
	}
	return w
}

// reason is the reason under which a failed reading is counted.
func reason(err error) collectors.Reason {
	var refused *dial.RefusedError
	switch {
	case errors.As(err, &refused):
		return collectors.Refused
	case errors.Is(err, errFrame):
		return collectors.Malformed
	}
	return collectors.Unreadable
}

// open connects to the address where there is no connection.
func (l *line) open(ctx context.Context) error {
	if l.conn != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, l.c.cfg.Timeout)
	defer cancel()
	c, err := l.c.connect(ctx, "tcp", l.address)
	if err != nil {
		return err
	}
	l.conn = &connection{conn: c}
	return nil
}

// read takes every register of a unit. A block that the unit refuses is counted and
// left out; the unit is down where it answers none, or its gateway reports that it
// does not.
func (l *line) read(ctx context.Context, u *unit, dropped map[collectors.Reason]int) error {
	d, answered := &l.c.device, 0
	var last error
	for _, b := range d.blocks {
		words, err := l.conn.read(ctx, byte(u.Unit), d.function, b, l.c.cfg.Timeout)
		var refused exception
		switch {
		case err == nil:
			answered++
			u.take(d, b, words)
		case errors.As(err, &refused) && (refused == illegalAddress || refused == illegalFunction):
			dropped[collectors.Unsupported] += b.n
			last = err
		case errors.As(err, &refused):
			return err
		default:
			l.close() // where its next answer begins is not known
			return err
		}
	}
	if answered == 0 {
		return fmt.Errorf("none of its registers can be read: %w", last)
	}
	return nil
}

// take hands the registers of a block to the mapping.
func (u *unit) take(d *registerMap, b block, words []uint16) {
	for i := b.first; i < b.first+b.n; i++ {
		x := &d.registers[i]
		n := d.number(x, b, words)
		e := u.intake.Known([]byte(x.Name))
		if e == nil {
			e = u.intake.Understand(x.Name, mapping.Series{Name: x.Name, Counter: strings.HasSuffix(x.Name, "_total"), First: n})
		}
		u.intake.Take(e, 0, n)
	}
}
