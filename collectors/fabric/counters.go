package fabric

import (
	"context"
	"strconv"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/book"
	"github.com/quintet-dc/quintet/collectors/fabric/ibdiag"
	"github.com/quintet-dc/quintet/collectors/mapping"
	"github.com/quintet-dc/quintet/telemetry"
)

// Counters that are looked at here as well.
const (
	waitTicks   = "port_xmit_wait_ticks_total"
	waitSeconds = "port_xmit_wait_seconds_total"
	vl15        = "port_vl15_dropped_total"
	linkDowns   = "port_link_downs_total"
)

// fields finds a profile's counters by what perfquery calls them.
type fields map[string]int

func fieldsOf(p *Profile) fields {
	out := fields{}
	for i := len(p.Rules) - 1; i >= 0; i-- { // the first of a name counts
		for _, name := range p.Rules[i].Fields {
			out[name] = i
		}
	}
	return out
}

// readPortion runs perfquery for some ports of a node and emits its output.
func (r *reader) readPortion(ctx context.Context, p *portion) {
	m := p.of
	if m.rests > 0 {
		m.rests--
		r.drop(collectors.Skipped, len(p.ports))
		return
	}
	start := r.clock()
	r.pace.spend(start, p.cost())
	q := request{program: r.perfquery, args: p.args(r.timeout()), most: 1 << 20, patient: r.replyTimeout(p.cost())}
	r.local(&q)
	a := r.run.run(ctx, q)
	if ctx.Err() != nil {
		return
	}
	end := r.clock()
	t := tally{r: r, portion: p, got: make(map[int]bool, len(p.ports))}
	faults, err := ibdiag.ParseCounters(a.out, t.take)
	r.drop(collectors.Malformed, faults.Count)
	if a.cut {
		r.dropped[collectors.OverLimit]++
	}
	if len(t.got) == 0 {
		r.log.Debug("a node's counters cannot be read", "node", m.node.name, "lid", p.lid, "err", err, "program", a.err, "says", string(a.complaints))
	}
	for _, number := range p.ports {
		if !t.got[number] {
			r.dropped[collectors.Unreadable]++
			t.gap(m.ports[number])
		}
	}
	if len(t.got) == 0 {
		m.failures++
		m.rests = 1 << min(m.failures, 5)
		r.failed++
	} else {
		m.failures = 0
	}
	r.emit(m.book, start, end)
	r.lost(end, ibdiag.Timeouts(a.complaints))
	if t.drops > 0 {
		r.log.Warn("subnet management packets dropped: back-off", "at", m.node.name, "packets", t.drops)
		r.pace.rest(end)
	}
	if t.downs {
		r.hurry(end)
	}
}

// soon is when the subnet is looked at again after a link went down.
const soon = 2 * time.Second

// hurry brings the next discovery forward, as far as discoveries may take of
// the rate.
func (r *reader) hurry(at time.Time) {
	next := at.Add(soon)
	if next.Before(r.soonest) {
		next = r.soonest
	}
	if next.Before(r.nextSurvey) {
		r.nextSurvey = next
	}
}

// tally takes the blocks of one run of perfquery.
type tally struct {
	r       *reader
	portion *portion
	got     map[int]bool
	drops   uint64 // VL15 packets since the last reading
	downs   bool   // a link went down since then
}

// take records a port's counters.
func (t *tally) take(c *ibdiag.Counters) {
	r, m := t.r, t.portion.of
	x := m.ports[c.Port]
	if x == nil || c.LID != x.lid || c.Set == ibdiag.Other {
		r.drop(collectors.Unknown, len(c.Fields))
		return
	}
	wide, waits := c.Set == ibdiag.Extended, false
	for _, f := range c.Fields {
		i, ok := r.fields[string(f.Name)]
		if !ok {
			r.dropped[collectors.Unknown]++
			continue
		}
		k := &r.profile.Rules[i]
		if k.Metric == waitTicks {
			waits = true
		}
		if k.Metric == "" || !wide && !k.Narrow {
			continue
		}
		t.got[c.Port] = true
		t.put(x, i, f.Value)
	}
	if wide && !waits && !m.narrow {
		m.narrow, r.stalePlan = true, true
	}
}

// put stores one counter.
func (t *tally) put(x *port, i int, value uint64) {
	r, k := t.r, &t.r.profile.Rules[i]
	cell := &x.cells[i]
	if !cell.Known() {
		var ok bool
		if *cell, ok = t.portion.of.book.Cell(x.entity, k.quantity.Column); !ok {
			r.dropped[collectors.OverLimit]++
			return
		}
	}
	word, why := k.quantity.Word(mapping.UintNumber(value))
	if why != "" || value == 1<<64-1 {
		r.dropped[collectors.Saturated]++
		t.portion.of.book.Gap(*cell)
		return
	}
	t.portion.of.book.Set(*cell, word)
	switch k.Metric {
	case waitTicks:
		t.wait(x, value)
	case vl15:
		before := x.dropped.value
		if x.dropped.rose(value) {
			t.drops += value - before
		}
	case linkDowns:
		t.downs = x.downs.rose(value) || t.downs
	}
}

// narrowFull is where a narrow PortXmitWait sticks.
const narrowFull = 1<<32 - 1

// wait adds the time that the port waited, where the length of a tick is known. A
// saturated counter gives no time.
func (t *tally) wait(x *port, ticks uint64) {
	if x.tick == 0 {
		return
	}
	b := t.portion.of.book
	if !x.seconds.Known() {
		var ok bool
		if x.seconds, ok = b.Cell(x.entity, telemetry.Column{Metric: waitSeconds, Type: telemetry.Decimal, Exp: 6}); !ok {
			t.r.dropped[collectors.OverLimit]++
			return
		}
	}
	x.waited.add(ticks, x.tick)
	if t.portion.basic && ticks == narrowFull {
		b.Gap(x.seconds)
		return
	}
	b.Set(x.seconds, telemetry.Column{Type: telemetry.Decimal, Exp: 6}.Word(x.waited.seconds))
}

// gap records that a port was asked and did not answer.
func (t *tally) gap(x *port) {
	m := t.portion.of
	for i, c := range x.cells {
		if c.Known() && (t.r.profile.Rules[i].Narrow && m.narrow) == t.portion.basic {
			m.book.Gap(c)
		}
	}
	if x.seconds.Known() && m.narrow == t.portion.basic {
		m.book.Gap(x.seconds)
	}
}

// emit sends what a book has, as read between two instants.
func (r *reader) emit(b *book.Book, start, end time.Time) {
	n, err := b.Emit(r.sink, telemetry.Instant{Source: telemetry.Time(start.UnixNano()), Received: telemetry.Time(end.UnixNano())})
	if err != nil {
		r.log.Error("encoding a schema failed", "err", err)
		r.dropped[collectors.Other]++
	}
	r.read += n
}

// bookOf returns an empty book of a part of the subnet.
func (r *reader) bookOf(part string, cadence time.Duration) *book.Book {
	return book.New(book.Config{Collector: sourceName, Target: r.cfg.Subnet, Part: part, Class: telemetry.Prompt, Cadence: cadence,
		Limit: (r.cfg.Ports + 64) * (len(r.profile.Rules) + 1)})
}

func (r *reader) timeout() string {
	return strconv.FormatInt(r.cfg.Timeout.Milliseconds(), 10)
}
