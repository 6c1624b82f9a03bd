package measure

import (
	"fmt"

	"github.com/quintet-dc/quintet/lab/sim/random"
	"github.com/quintet-dc/quintet/lab/sim/state"
	"github.com/quintet-dc/quintet/telemetry"
)

// source is one source of samples and how well it works.
type source struct {
	schema *telemetry.Schema
	print  telemetry.Fingerprint
	body   body
	clock  *clock
	random random.Source
	words  []uint64

	period telemetry.Duration
	next   telemetry.Duration // when it reads next, true time since the start
	phase  telemetry.Duration
	jitter float64 // seconds by which a reading strays
	// received states that the device has no clock worth trusting.
	received bool
	takes    [2]float64 // seconds between which an answer comes

	node, sw int32   // what must be up for it to be received; -1 nothing
	gpus     bool    // its entities are the GPUs of node
	server   int     // the job that reports, from 1; 0 none
	loss     float64 // share of frames that never come
	until    telemetry.Duration
	order    telemetry.Duration // nothing arrives before what was sent before
	quirks   []quirk

	incarnation, sequence uint64
	dark                  bool

	devices, turn int // a source that reads its devices one by one: how many, and whose turn it is; 0 reads all at once
}

// plan is what distinguishes one kind of source from another.
type plan struct {
	source    telemetry.Source
	entities  []telemetry.Entity
	body      body
	class     telemetry.LatenessClass
	period    telemetry.Duration
	clock     *clock // nil: by the time of receipt
	node, sw  int32
	gpus      bool
	server    int
	takes     [2]float64
	jitter    float64
	staggered bool // each entity is read at an instant of its own
}

// add makes a source. Its random numbers depend on its name alone.
func (m *Meter) add(p plan) {
	if !m.vary(&p) {
		return
	}
	r := m.stream("source/" + p.source.String())
	name, entities := m.named(p.source, p.entities)
	p.period *= telemetry.Duration(m.cfg.Coarsen)
	s := &source{
		schema: &telemetry.Schema{Source: name, Class: p.class, Cadence: p.period, Entities: entities, Columns: p.body.columns()},
		body:   p.body, clock: p.clock, random: r, period: p.period, received: p.clock == nil, takes: p.takes,
		node: p.node, sw: p.sw, gpus: p.gpus, server: p.server, incarnation: 1,
	}
	s.print = s.schema.Fingerprint()
	s.words = make([]uint64, s.schema.Len())
	s.phase = p.period
	if m.cfg.Imperfect {
		s.phase = ofSeconds(r.Uniform(0.02, 0.9)) + second*telemetry.Duration(r.Below(int(p.period/second)))
		s.jitter = p.jitter
		s.loss = m.lost(&p, &r)
	} else {
		s.takes = [2]float64{}
	}
	if p.staggered {
		s.devices = len(entities)
		s.period /= telemetry.Duration(s.devices)
	}
	s.next = s.phase
	p.body.begin(&r, m.cfg.Imperfect)
	if m.cfg.Imperfect {
		s.quirks = drawQuirks(s, &r)
	}
	s.random = r
	m.sources = append(m.sources, s)
}

// drawLoss is the share of a source's frames that are lost: none of most, up to
// 2 % of a few.
func drawLoss(r *random.Source) float64 {
	switch kind := r.Float64(); {
	case kind < 0.8:
		return 0
	case kind < 0.95:
		return r.Uniform(0.001, 0.005)
	}
	return r.Uniform(0.005, 0.02)
}

// receiving reports whether the device behind a source answers, and when it returns
// applies the effect on its counters: a host that was down has loaded its drivers
// again.
func (m *Meter) receiving(s *source, st *state.State) bool {
	up := (s.node < 0 || st.Nodes[s.node].Up && m.past.Nodes[s.node].Up) && (s.sw < 0 || st.Switches[s.sw].Up && m.past.Switches[s.sw].Up)
	up = up && (s.server == 0 || st.Jobs[s.server-1].Running)
	if up && s.dark {
		s.incarnation, s.sequence = s.incarnation+1, 0
		s.body.reset(&m.past)
	}
	s.dark = !up
	return up
}

// observe lets a source read in the second that ends with st, if its time has
// come.
func (m *Meter) observe(s *source, st *state.State, emit func(*telemetry.Record) error) error {
	if err := m.poll(s, st, emit); err != nil || s.devices == 0 {
		return err
	}
	for s.next <= telemetry.Duration(st.Second)*second {
		if err := m.poll(s, st, emit); err != nil {
			return err
		}
	}
	return nil
}

// poll lets a source read once.
func (m *Meter) poll(s *source, st *state.State, emit func(*telemetry.Record) error) error {
	now := telemetry.Duration(st.Second) * second
	if s.next > now {
		s.body.pass(st)
		return nil
	}
	at := s.next
	if at <= now-second { // the run began later than it
		s.next = s.later(now)
		s.body.pass(st)
		return nil
	}
	s.next = s.later(at)
	if !m.receiving(s, st) {
		return nil
	}
	if m.cfg.Imperfect && s.fails(at, &m.past) {
		s.body.pass(st)
		return nil
	}
	m.read(s, st, float64(at-(now-second))/1e9)
	return m.send(s, at, now, emit)
}

// later returns when a source reads after a time: its phase in the next period, and
// the jitter of a reading.
func (s *source) later(t telemetry.Duration) telemetry.Duration {
	n := (t-s.phase+s.period/2)/s.period + 1
	next := s.phase + n*s.period
	if s.jitter > 0 {
		next += ofSeconds(s.random.Uniform(-s.jitter, s.jitter))
	}
	return max(next, t+1)
}

// read fills the words of a reading.
func (m *Meter) read(s *source, st *state.State, share float64) {
	r := &m.reading // kept: what an interface is given lives on the heap
	*r = reading{past: &m.past, now: st, share: share, device: s.device(), words: s.words, gaps: m.gaps[:0], random: &s.random, imperfect: m.cfg.Imperfect}
	s.body.read(r)
	if m.anyLost && s.gpus {
		m.blank(s, r)
	}
	if m.cfg.Imperfect {
		s.odd(r, telemetry.Duration(st.Second)*second)
	}
	s.alone(r)
	m.gaps = r.gaps
}

// blank makes gaps of all that a GPU states which has fallen off its bus.
func (m *Meter) blank(s *source, r *reading) {
	n := len(s.schema.Entities)
	for i := range n {
		if m.gone[int(s.node)*m.site.GPUs+i] {
			for at := i; at < len(s.words); at += n {
				r.gaps, s.words[at] = append(r.gaps, int32(at)), 0
			}
		}
	}
}

// send encodes what was read and emits it, or keeps it until it arrives.
func (m *Meter) send(s *source, at, now telemetry.Duration, emit func(*telemetry.Record) error) error {
	arrives := max(at+s.delay(), s.until, s.order)
	s.order = arrives + 1
	f := &m.frame
	f.Fingerprint, f.Incarnation, f.Sequence, f.ByReceived = s.print, s.incarnation, s.sequence, s.received
	s.sequence++
	instant := telemetry.Instant{Received: m.cfg.Start.Add(arrives)}
	if !s.received {
		instant.Source = m.cfg.Start.Add(s.clock.at(at))
	}
	f.Instants, f.Words, f.States = append(f.Instants[:0], instant), s.words, m.stated(s)
	b, err := m.enc.AppendFrame(m.buffer[:0], s.schema, f)
	if err != nil {
		return fmt.Errorf("measure: %s: %w", s.schema.Source, err)
	}
	m.buffer = b
	return m.deliver(b, arrives, now, emit)
}

// delay is how long an answer takes.
func (s *source) delay() telemetry.Duration {
	if s.takes[1] == 0 {
		return 0
	}
	return ofSeconds(s.random.Uniform(s.takes[0], s.takes[1]))
}

// device is whose turn it is in a source that reads its devices one by one, and
// passes the turn on.
func (s *source) device() int {
	if s.devices == 0 {
		return all
	}
	d := s.turn
	s.turn = (s.turn + 1) % s.devices
	return d
}
