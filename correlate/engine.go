package correlate

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/detect"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/correlate/topology"
	"github.com/quintet-dc/quintet/correlate/window"
	"github.com/quintet-dc/quintet/telemetry"
)

// history is how many closed grids explanations can look back on.
const history = 192

// oldest is the earliest that explanations at grid g look back to.
func (e *sight) oldest(g telemetry.Time) telemetry.Time { return g.Add(-(history - 2) * e.cfg.Grid) }

// MaxJump is how far one tick may move time: one that is further ahead is refused. A
// ticker catches up after an outage step by step; a tick of the year 2200 is a mistake,
// and must not cost the grids until then.
const MaxJump = telemetry.Duration(24 * 3600e9)

// ahead is how far ahead of the closed grids a frame is taken. After an outage of
// the log, what was kept comes faster than ticks may catch up (ten times real
// time): this bridges a quarter of an hour.
const ahead = telemetry.Duration(15 * 60e9)

// maxCatchUp bounds how far before the first tick the first grid may be: a
// frame with a clock of 1970 must not cost fifty years of empty grids.
const maxCatchUp = 3600

// Engine is the pure state machine. It is not safe for concurrent use: one
// goroutine of the shell owns it.
type Engine struct {
	sight     *sight
	memory    *memory
	roll      *roll
	signals   *signals
	activity  *activity
	examiner  *examiner
	risks     *risks
	incidents *caseBook
	costs     *costs

	// earliest is the first instant of any frame seen before the first tick.
	earliest telemetry.Time
	counts   *Counts
	out      *Output
}

// Output is what one record brought about. It is valid until the next Step.
type Output struct {
	// Incidents are the revisions that this record published, by time, job,
	// id.
	Incidents []explain.Incident
	// Findings are those that began or ended, by time, entity, metric, shape.
	Findings []detect.Finding
	// Judgements are what this record had judged, if the configuration asks for
	// them.
	Judgements []explain.Judgement
	Counts     Counts // since the engine began
}

// Counts counts the records, by outcome.
type Counts struct {
	Window        window.Counts
	Ticks         uint64
	TicksPast     uint64 // ticks at or before one already seen
	TicksFuture   uint64 // ticks more than a day beyond the last one
	Grids         uint64 // grids closed
	Events        uint64
	EventsRepeat  uint64
	EventsRefused uint64 // beyond the bound on pending events
	RisksRefused  uint64 // beyond the bound on open risks
	ModelsRefused uint64 // what jobs reported of their models and cannot be parsed
	Edges         uint64
	Configs       uint64
	ConfigRefused uint64 // not readable, not known, or too late to apply
	Unknown       uint64 // records of no known kind
	StepsRefused  uint64 // no length of time, no utilisation, or no number
	Forgotten     uint64 // jobs and ranks dropped for new ones, those without data for longest first
}

// New returns an engine that has seen nothing. It refuses a configuration that
// makes no sense; nothing after that is an error.
func New(cfg Config) (*Engine, error) {
	cfg = cfg.withDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.Signatures = explain.Compile(cfg.Signatures)
	e := assemble(cfg)
	e.build()
	return e, nil
}

// assemble puts an engine together from its parts, each of which uses those below
// it: series and topology, events, jobs; what may become trouble; what a case is
// explained from; risks, incidents, and what they cost.
func assemble(cfg Config) *Engine {
	e := &Engine{counts: &Counts{}, out: &Output{}}
	e.sight = &sight{cfg: cfg, graph: topology.New(), book: &jobs.Book{}}
	e.memory = &memory{sight: e.sight, counts: e.counts}
	e.roll = &roll{sight: e.sight}
	e.signals = &signals{sight: e.sight}
	e.activity = &activity{sight: e.sight}
	e.examiner = &examiner{sight: e.sight, memory: e.memory, roll: e.roll, signals: e.signals}
	e.risks = &risks{sight: e.sight, signals: e.signals, memory: e.memory, out: e.out}
	e.costs = &costs{sight: e.sight, roll: e.roll, counts: e.counts}
	e.incidents = &caseBook{sight: e.sight, examiner: e.examiner, roll: e.roll, risks: e.risks, ledger: &e.costs.ledger, out: e.out}
	e.examiner.openCase = e.incidents.caseOf
	e.costs.incidents = e.incidents
	e.signals.spare = &e.costs.spare
	return e
}

// build makes the mechanisms that depend on the grid and the lateness.
func (e *Engine) build() {
	e.sight.window = window.New(window.Config{Grid: e.sight.cfg.Grid, Lateness: e.sight.cfg.Lateness, Catalogue: e.sight.cfg.Catalogue, History: history, Ahead: ahead})
	e.sight.detect = detect.New(detect.Config{Catalogue: e.sight.cfg.Catalogue})
	e.signals.heeds = heeded{}
}

// Step takes the next record of the log. It is the only method that changes
// the engine, Restore apart.
func (e *Engine) Step(r *telemetry.Record) Output {
	e.out.Incidents, e.out.Findings, e.out.Judgements = e.out.Incidents[:0], e.out.Findings[:0], e.out.Judgements[:0]
	switch r.Kind {
	case telemetry.SchemaRecord:
		e.schema(r.Schema)
	case telemetry.FrameRecord:
		e.frame(r.Frame)
	case telemetry.EventRecord:
		e.memory.event(r.Event)
	case telemetry.EdgeRecord:
		e.counts.Edges++
		e.sight.graph.Add(r.Edge)
	case telemetry.ConfigRecord:
		e.configure(r.Config)
	case telemetry.TickRecord:
		e.tick(r.Tick)
	default:
		e.counts.Unknown++
	}
	e.counts.Window = e.sight.window.Counts()
	e.counts.StepsRefused = e.sight.book.Refused + e.sight.perStep.Refused
	e.counts.RisksRefused = e.risks.refused
	e.counts.Forgotten = e.sight.book.Forgotten + e.sight.perStep.Forgotten
	e.out.Counts = *e.counts
	return *e.out
}

// schema makes the series of a source known, and the entities that have them:
// containment by name follows from that where no edge states it.
func (e *Engine) schema(s *telemetry.Schema) {
	if e.sight.window.AddSchema(s) != window.Accepted {
		return
	}
	for _, x := range s.Entities {
		e.sight.graph.Know(x)
	}
}

func (e *Engine) frame(f telemetry.EncodedFrame) {
	if e.sight.at == 0 {
		if h, err := f.Header(); err == nil && (e.earliest == 0 || h.First < e.earliest) {
			e.earliest = h.First
		}
	}
	e.sight.window.AddFrame(f)
}

// configure applies a config record. Grid and lateness are fixed with the first
// tick; the shell applies signatures and catalogue when it builds the engine.
func (e *Engine) configure(c *telemetry.Config) {
	e.counts.Configs++
	switch c.Key {
	case telemetry.ConfigHole:
		e.memory.lose(c.Content)
		return
	case telemetry.ConfigSite:
	default:
		return
	}
	site, err := telemetry.ParseSiteConfig(c.Content)
	next := e.sight.cfg
	next.Site, next.Grid, next.Lateness = site.Site, site.Grid, site.Lateness
	same := next.Grid == e.sight.cfg.Grid && next.Lateness == e.sight.cfg.Lateness
	if err != nil || next.Validate() != nil || !same && (e.sight.at != 0 || e.sight.window.Slots() > 0) {
		e.counts.ConfigRefused++
		return
	}
	e.sight.cfg = next
	if !same {
		e.build()
	}
}

// tick closes, one by one, every grid that ends by t less its class's lateness
// (I9).
func (e *Engine) tick(t telemetry.Tick) {
	e.counts.Ticks++
	end := floor(t.At, e.sight.cfg.Grid)
	if e.sight.at == 0 {
		e.sight.at = e.firstGrid(end)
	}
	switch {
	case end <= e.sight.at:
		e.counts.TicksPast++
		return
	case end.Sub(e.sight.at) > MaxJump:
		e.counts.TicksFuture++
		return
	}
	e.memory.endHoles(end)
	for e.sight.at < end {
		e.sight.at = e.sight.at.Add(e.sight.cfg.Grid)
		e.advance()
	}
}

// firstGrid is the instant before the first grid to be closed.
func (e *Engine) firstGrid(end telemetry.Time) telemetry.Time {
	g := e.sight.cfg.Grid
	first := end.Add(-g)
	if e.earliest != 0 && e.earliest < first {
		first = floor(e.earliest, g).Add(-g)
	}
	if oldest := end.Add(-maxCatchUp * g); first < oldest {
		first = oldest
	}
	return first
}

// advance closes one grid of every class and judges the site.
func (e *Engine) advance() {
	e.counts.Grids++
	for class := range telemetry.LatenessClasses {
		g := e.sight.at.Add(-e.sight.cfg.Lateness[class])
		e.sight.window.Advance(class, g, e.sight.cfg.ForEach, e.detected)
	}
	e.evaluate(e.sight.at.Add(-e.sight.cfg.Lateness[telemetry.Prompt]))
}

// detected takes what came to light with grids that were closed.
func (e *Engine) detected(closed *window.Closed) {
	found := e.sight.detect.Run(e.sight.window, closed.Class, e.sight.cfg.ForEach)
	e.memory.notice(found)
	e.signals.signalFindings(found, closed.Grid)
	e.out.Findings = append(e.out.Findings, found...)
	if len(closed.Switched) > 0 {
		e.sight.links = nil // a series is judged by another source now
	}
	e.observe(closed.Steps)
}

// observe files steps in the order of time. That a job reports steps is known before what
// else it reports of the first one.
func (e *Engine) observe(steps []window.StepSample) {
	for _, s := range steps {
		if s.Series.Metric == metricStep {
			e.roll.reported(s.Series.Entity)
		}
	}
	for i, s := range steps {
		e.sight.perStep.Observe(s.Series, s.At, s.Value)
		switch s.Series.Metric {
		case metricStep:
			e.observeTokens(steps[i:])
			e.sight.book.Observe(s.Series.Entity, s.At, s.Value, s.Wait-e.sight.cfg.Lateness[telemetry.Prompt])
		case metricTokens:
			e.roll.states(&s)
		case metricMFU:
			e.roll.states(&s)
			e.sight.book.ObserveMFU(s.Series.Entity, s.Value)
		case metricCheckpoint:
			e.sight.book.ObserveCheckpoint(s.Series.Entity, s.At, s.Value)
		}
	}
}

// observeTokens takes the tokens that were reported with the first of the steps: in
// the order of names, they follow its length.
func (e *Engine) observeTokens(steps []window.StepSample) {
	first := steps[0]
	for _, s := range steps[1:] {
		if s.At != first.At || s.Series.Entity != first.Series.Entity {
			return
		}
		if s.Series.Metric == metricTokens {
			e.sight.book.ObserveTokens(s.Series.Entity, s.At, s.Value)
			return
		}
	}
}

const (
	metricStep    telemetry.MetricName = "job_step_seconds"
	metricCompute telemetry.MetricName = "rank_compute_seconds"
	metricMFU     telemetry.MetricName = "job_mfu_ratio"
)

// maxEvents bounds the events that wait for their grid.
const maxEvents = 65536

// event files an event in order; a repeat is ignored.
func (e *memory) event(ev *telemetry.Event) {
	i, ok := slices.BinarySearchFunc(e.events, *ev, telemetry.Event.Compare)
	_, before := slices.BinarySearchFunc(e.processed, *ev, telemetry.Event.Compare)
	switch {
	case ok || before:
		e.counts.EventsRepeat++
	case len(e.events) >= maxEvents:
		e.counts.EventsRefused++
	default:
		e.counts.Events++
		e.events = slices.Insert(e.events, i, *ev)
	}
}

// due takes the events that happened by g, in order, and remembers them for as
// long as a repeat may still come.
func (e *memory) due(g telemetry.Time) []telemetry.Event {
	n := 0
	for n < len(e.events) && e.events[n].At <= g {
		n++
	}
	due := slices.Clone(e.events[:n])
	e.events = slices.Delete(e.events, 0, n)
	for _, ev := range due {
		i, _ := slices.BinarySearchFunc(e.processed, ev, telemetry.Event.Compare)
		e.processed = slices.Insert(e.processed, i, ev)
	}
	keep := g.Add(-e.cfg.Lateness[telemetry.Batch])
	old := 0
	for old < len(e.processed) && (e.processed[old].At < keep || len(e.processed)-old > maxEvents) {
		old++
	}
	e.processed = slices.Delete(e.processed, 0, old)
	return due
}

func floor(t telemetry.Time, grid telemetry.Duration) telemetry.Time {
	return t - t%telemetry.Time(grid)
}
