package measure

import (
	"fmt"

	"github.com/quintet-dc/quintet/lab/sim/random"
	"github.com/quintet-dc/quintet/lab/sim/site"
	"github.com/quintet-dc/quintet/lab/sim/state"
	"github.com/quintet-dc/quintet/lab/sim/worlds"
	"github.com/quintet-dc/quintet/telemetry"
)

// Set describes how many series a device states.
type Set uint8

const (
	// Essential is what moves when something happens: some 25 series a GPU, 30 a
	// NIC, 20 a port.
	Essential Set = iota
	// Lean has as many as a lean configuration of collectors: 25 series a switch port, 40
	// a GPU, 60 a NIC. The rest are what such devices state besides and what the
	// simulated physics never moves.
	Lean
)

// Config describes how a site is measured.
type Config struct {
	Seed      uint64
	Start     telemetry.Time // of second 0
	Imperfect bool           // false: every reading is exact, punctual and there
	Set       Set
	// InfiniBand states that the fabric has credits instead of pause.
	InfiniBand bool
	// Switches is how often switches report their ports, whole seconds; 1 s.
	Switches telemetry.Duration
	// Boards is how often a board controller is asked, whole seconds; zero draws
	// 10 to 30 s for each.
	Boards telemetry.Duration
	// Collectives has NCCL report how many each rank has begun. Few sites read it,
	// and no case relies on it.
	Collectives bool
	// Coarsen divides the cadence of every source that has one; 0 and 1 change
	// nothing. Steps are reported as before.
	Coarsen int
	// Lateness and Grid go into the site's configuration record; zero takes the
	// defaults.
	Lateness telemetry.Lateness
	Grid     telemetry.Duration

	// What a world changes; zero is the standard site.
	Cadence     worlds.Cadence
	Noise       worlds.Noise // of sensors; only Steps is not read
	Instruments worlds.Instruments
	Names       worlds.Names
}

// Job is what must be known of a job to measure it.
type Job struct {
	Entity  telemetry.Entity
	Ranks   []Rank
	Storage string // name of the storage it uses, "" none
	Serving bool   // it reports as a server, not by steps
	// RankTimes states that each rank's times are reported.
	RankTimes bool
	// Every is how many steps a report covers; 0 and 1: each is reported.
	Every int
	// Start is when it is placed, in seconds; 0 is from the beginning.
	Start float64
}

// Rank is where a rank runs and its coordinates; -1 where a kind of parallelism
// is not used.
type Rank struct {
	Node, GPU      int
	DP, TP, PP, EP int
	Role           string // "prefill" or "decode" of a serving job
}

// Meter measures one site. It is not safe for concurrent use.
type Meter struct {
	cfg     Config
	site    *site.Site
	jobs    []Job
	hosts   []clock        // by node
	nodes   map[string]int // by name
	sources []*source
	tellers []teller // by job
	past    state.State
	begun   bool
	gone    []bool // by GPU: fallen off its bus
	anyLost bool
	placed  []bool // by job

	enc     telemetry.Encoder
	frame   telemetry.Frame
	record  telemetry.Record
	buffer  []byte
	reading reading
	gaps    []int32
	states  []telemetry.State
	waiting []delayed
	free    [][]byte
	events  random.Source
}

// New returns a meter of a site and its jobs, or states what cannot be measured.
func New(s *site.Site, jobs []Job, cfg Config) (*Meter, error) {
	if cfg.Switches == 0 {
		cfg.Switches = second
	}
	cfg.Coarsen = max(1, cfg.Coarsen)
	if cfg.Grid == 0 {
		cfg.Grid = telemetry.DefaultSiteConfig().Grid
	}
	if cfg.Lateness == (telemetry.Lateness{}) {
		cfg.Lateness = telemetry.DefaultLateness()
	}
	if cfg.Switches < second || cfg.Switches%second != 0 || cfg.Boards < 0 || cfg.Boards%second != 0 {
		return nil, fmt.Errorf("measure: cadence of switches %v, of boards %v: want whole seconds", cfg.Switches, cfg.Boards)
	}
	m := &Meter{cfg: cfg, site: s, jobs: jobs, gone: make([]bool, s.Nodes*s.GPUs), placed: make([]bool, len(jobs))}
	root := random.New(cfg.Seed)
	m.events = root.Named("events")
	m.hosts, m.nodes = m.clocks(s.Nodes, "host"), map[string]int{}
	for n := range s.Nodes {
		m.nodes[site.NodeName(n).Name] = n
	}
	m.addNodes()
	m.addSwitches()
	m.addPlant()
	m.addStorage()
	if err := m.addJobs(); err != nil {
		return nil, err
	}
	for _, src := range m.sources {
		if err := src.schema.Validate(); err != nil {
			return nil, fmt.Errorf("measure: %w", err)
		}
	}
	return m, nil
}

// stream returns the random numbers of a thing.
func (m *Meter) stream(of string) random.Source {
	root := random.New(m.cfg.Seed)
	return root.Named(of)
}

// Start emits what is stated before the first second: the site's configuration,
// its edges, the placement of its jobs, and the schemas of all sources. A
// record is the caller's until emit returns; an edge, event, schema or
// configuration in it stays.
func (m *Meter) Start(emit func(*telemetry.Record) error) error {
	c := telemetry.SiteConfig{Site: m.site.Name, Grid: m.cfg.Grid, Lateness: m.cfg.Lateness}
	if err := emit(&telemetry.Record{Kind: telemetry.ConfigRecord, Config: c.Record()}); err != nil {
		return err
	}
	if err := m.Edges(emit); err != nil {
		return err
	}
	for _, src := range m.sources {
		if err := emit(&telemetry.Record{Kind: telemetry.SchemaRecord, Schema: src.schema}); err != nil {
			return err
		}
	}
	return nil
}

// Schemas lists the schemas of all sources.
func (m *Meter) Schemas() []*telemetry.Schema {
	out := make([]*telemetry.Schema, 0, len(m.sources))
	for _, src := range m.sources {
		out = append(out, src.schema)
	}
	return out
}

// Series is how many series the site states.
func (m *Meter) Series() int {
	n := 0
	for _, src := range m.sources {
		n += src.schema.Len()
	}
	return n
}

// Observe emits what has reached the log by the end of the second that the
// state describes. States come second by second. The first is where counters
// begin: it emits nothing but events. A world at rest, before its first second,
// is none yet.
func (m *Meter) Observe(st *state.State, emit func(*telemetry.Record) error) error {
	now := telemetry.Duration(st.Second) * second
	if err := m.release(now, emit); err != nil {
		return err
	}
	if err := m.happened(st, emit); err != nil {
		return err
	}
	if m.begun {
		for _, src := range m.sources {
			if err := m.observe(src, st, emit); err != nil {
				return err
			}
		}
		for i := range m.tellers {
			if err := m.emitSteps(i, st, emit); err != nil {
				return err
			}
		}
	}
	m.remember(st)
	return nil
}

// remember keeps a copy of a state: a reading inside the next second lies
// between the two.
func (m *Meter) remember(st *state.State) {
	p := &m.past
	p.Second, p.Storage = st.Second, st.Storage
	p.Links = append(p.Links[:0], st.Links...)
	p.NICs = append(p.NICs[:0], st.NICs...)
	p.GPUs = append(p.GPUs[:0], st.GPUs...)
	p.Nodes = append(p.Nodes[:0], st.Nodes...)
	p.Switches = append(p.Switches[:0], st.Switches...)
	p.Racks = append(p.Racks[:0], st.Racks...)
	p.Loops = append(p.Loops[:0], st.Loops...)
	p.CDUs = append(p.CDUs[:0], st.CDUs...)
	p.Rows = append(p.Rows[:0], st.Rows...)
	p.PDUs = append(p.PDUs[:0], st.PDUs...)
	p.UPSs = append(p.UPSs[:0], st.UPSs...)
	p.Feeds = append(p.Feeds[:0], st.Feeds...)
	p.Jobs = append(p.Jobs[:0], st.Jobs...)
	m.begun = true
}
