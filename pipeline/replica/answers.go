package replica

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/engine/grants"
	"github.com/quintet-dc/quintet/telemetry"
)

// The questions that a replica answers on the bus.
const (
	AskStatus    = "status"
	AskJobs      = "jobs"
	AskIncidents = "incidents" // the open ones, as of now
	AskTopology  = "topology"
	AskCoverage  = "coverage"
	AskLosses    = "losses"
	AskCoupling  = "coupling"
	AskBudget    = "budget"

	AskBottlenecks = "bottlenecks"
	AskMaintenance = "maintenance" // what is under it
	AskSurvey      = "survey"
	AskReach       = "reach"
	AskFind        = "find"
)

// Limits of one answer.
const (
	maxListed = 20000
)

// Status is the answer to AskStatus.
type Status struct {
	Site     string          `json:"site"`
	Engine   string          `json:"engine"`
	Rules    string          `json:"rules"`
	Tick     *telemetry.Time `json:"tick"`
	Speed    float64         `json:"speed"` // of the tick, in times of real time, over the last seconds; 0 where it is not known
	Position uint64          `json:"position"`
	Started  telemetry.Time  `json:"started"`
	Replicas []Presence      `json:"replicas"` // this one first
	Alarms   []Alarm         `json:"alarms"`
	Sources  int             `json:"sources"`
	Silent   int             `json:"silent"`
	Demo     string          `json:"demo"`
	Replay   bool            `json:"replay,omitempty"` // a recording is played and can be steered
	Log      LogState        `json:"log"`
}

// LogState is the extent of the log.
type LogState struct {
	First uint64          `json:"first"`
	Last  uint64          `json:"last"`
	Bytes uint64          `json:"bytes"`
	Tick  *telemetry.Time `json:"tick"` // the newest; the engine's own is behind it while it catches up
}

// JobsQuestion asks for jobs; with Recent their last steps are returned, too.
type JobsQuestion struct {
	Recent bool `json:"recent"`
}

// Jobs is the answer to AskJobs.
type Jobs struct {
	Jobs      []Job               `json:"jobs"`
	Fleet     correlate.FleetView `json:"fleet"`
	Truncated bool                `json:"truncated,omitempty"`
}

// Job is one job of Jobs.
type Job struct {
	correlate.JobView
	Recent *Steps `json:"recent,omitempty"`
}

// Steps are steps, the oldest first: when each ended, in milliseconds since
// 1970, and how many seconds it took; and the ends of those that are longer than
// usual and in which a checkpoint was reported.
type Steps struct {
	Ends    []int64   `json:"t"`
	Seconds []float64 `json:"v"`
	Saved   []int64   `json:"checkpoints,omitempty"`
}

// Incidents is the answer to AskIncidents, the newest first.
type Incidents struct {
	Incidents []explain.Incident `json:"incidents"`
}

// Coverage is the answer to AskCoverage.
type Coverage struct {
	Sources   []Source `json:"sources"`
	Gaps      []Gap    `json:"gaps"` // the last to begin first
	Truncated bool     `json:"truncated,omitempty"`
	// Processes are those that have a grant or were refused something.
	Processes []grants.ProcessState `json:"processes,omitempty"`
}

// Source is one source of a Coverage.
type Source struct {
	Collector   string          `json:"collector"`
	Target      string          `json:"target"`
	Part        string          `json:"part"`
	Series      int             `json:"series"`
	Latest      *telemetry.Time `json:"latest"`
	Silent      bool            `json:"silent"`
	Cadence     float64         `json:"cadence_seconds"`
	ClockOffset float64         `json:"clock_offset_seconds"` // receive less source time
}

// Gap is an interval in which a known source had no data, or in which the log lost
// entries: then the source is quintet, log, and the positions.
type Gap struct {
	Collector string          `json:"collector"`
	Target    string          `json:"target"`
	Part      string          `json:"part"`
	From      telemetry.Time  `json:"from"` // of its last sample before
	To        *telemetry.Time `json:"to"`   // of its first one again; null while it is silent
}

// answers answers questions while this replica is the one to ask.
type answers struct {
	cfg     Config
	log     *slog.Logger
	count   *counters
	do      func(ctx context.Context, f func(*owner)) error
	started telemetry.Time
	self    func(status) Presence
	stops   []func() // set while questions are answered

	mu   sync.Mutex
	roll []Presence // the other replicas
}

// publishing begins or ends answering.
func (a *answers) publishing(yes bool) {
	if !yes {
		a.stop()
	}
	if !yes || len(a.stops) > 0 {
		return
	}
	for what, fn := range map[string]func(context.Context, []byte) (any, error){
		AskStatus: a.status, AskJobs: a.jobs, AskIncidents: a.incidents, AskTopology: a.topology, AskCoverage: a.coverage,
		AskLosses: a.losses, AskCoupling: a.coupling, AskBudget: a.budget, AskBottlenecks: a.bottlenecks, AskSurvey: a.survey,
		AskMaintenance: a.maintenance, AskReach: a.reach, AskFind: a.find,
	} {
		stop, err := a.cfg.Bus.Answer(what, a.counted(fn))
		if err != nil {
			a.log.Warn("questions are not answered", "what", what, "error", err)
			continue
		}
		a.stops = append(a.stops, stop)
	}
}

func (a *answers) stop() {
	for _, stop := range a.stops {
		stop()
	}
	a.stops = nil
}

func (a *answers) others(who []Presence) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.roll = who
}

func (a *answers) counted(fn func(context.Context, []byte) (any, error)) func(context.Context, []byte) ([]byte, error) {
	return func(ctx context.Context, req []byte) ([]byte, error) {
		a.count.questions.Inc()
		x, err := fn(ctx, req)
		if err != nil {
			a.count.unanswered.Inc()
			return nil, err
		}
		return json.Marshal(x)
	}
}

func (a *answers) status(ctx context.Context, _ []byte) (any, error) {
	s := Status{Site: a.cfg.Engine.Correlate.Site, Started: a.started}
	s.Engine, s.Rules = a.cfg.identity()
	var me Presence
	err := a.do(ctx, func(o *owner) {
		me = a.self(o.status())
		s.Tick, s.Position, s.Alarms = stated(o.runner.Tick()), o.seen, o.alarms.list()
		s.Speed = o.progress.speed(o.runner.Tick(), time.Now())
		for _, x := range o.runner.Sources() {
			s.Sources++
			if x.Stale {
				s.Silent++
			}
		}
	})
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	s.Replicas = append([]Presence{me}, a.roll...)
	a.mu.Unlock()
	for _, p := range s.Replicas[1:] {
		if p.Diverged {
			s.Alarms = append(s.Alarms, Alarm{Diverged, p.Tick, p.Name + " reports that the incident stream refused its revision"})
		}
	}
	if log, err := a.cfg.Bus.State(ctx); err == nil { // all else is reported without it
		s.Log = LogState{First: log.First, Last: log.Last, Bytes: log.Bytes}
	}
	if at, ok, err := a.cfg.Bus.LastTick(ctx); err == nil && ok {
		s.Log.Tick = stated(at)
	}
	return s, nil
}

func (a *answers) jobs(ctx context.Context, req []byte) (any, error) {
	var q JobsQuestion
	if err := decode(req, &q); err != nil {
		return nil, err
	}
	var views []correlate.JobView
	out := Jobs{Jobs: []Job{}}
	err := a.do(ctx, func(o *owner) { views, out.Fleet = o.runner.Jobs(), o.runner.Fleet() })
	if len(views) > maxListed {
		views, out.Truncated = views[:maxListed], true
	}
	for _, v := range views {
		x := Job{JobView: v}
		if q.Recent {
			x.Recent = &Steps{Ends: []int64{}, Seconds: []float64{}}
			for _, s := range v.Recent {
				end := int64(s.End) / 1e6
				x.Recent.Ends, x.Recent.Seconds = append(x.Recent.Ends, end), append(x.Recent.Seconds, s.Seconds)
				if s.Saved {
					x.Recent.Saved = append(x.Recent.Saved, end)
				}
			}
		}
		out.Jobs = append(out.Jobs, x)
	}
	return out, err
}

func (a *answers) incidents(ctx context.Context, _ []byte) (any, error) {
	var out Incidents
	err := a.do(ctx, func(o *owner) { out.Incidents = o.runner.Live() })
	slices.SortStableFunc(out.Incidents, func(x, y explain.Incident) int {
		return cmp.Or(cmp.Compare(y.Opened, x.Opened), cmp.Compare(x.ID, y.ID))
	})
	return out, err
}

func (a *answers) coverage(ctx context.Context, _ []byte) (any, error) {
	out := Coverage{Sources: []Source{}, Gaps: []Gap{}}
	err := a.do(ctx, func(o *owner) {
		out.Processes = slices.DeleteFunc(o.runner.Processes(), func(s grants.ProcessState) bool { return s.Grant == nil && len(s.Refused) == 0 })
		for _, h := range slices.Backward(o.runner.Holes()) {
			out.Gaps = append(out.Gaps, Gap{Collector: "quintet", Target: "log", Part: fmt.Sprintf("positions %d to %d", h.First, h.Last), From: h.From, To: stated(h.To)})
		}
		for _, g := range slices.Backward(o.runner.Gaps()) {
			out.Gaps = append(out.Gaps, Gap{g.Source.Collector, g.Source.Target, g.Source.Part, g.From, stated(g.To)})
		}
		for _, s := range o.runner.Sources() {
			x := Source{Collector: s.Source.Collector, Target: s.Source.Target, Part: s.Source.Part, Series: s.Series, Silent: s.Stale,
				Cadence: s.Cadence.Seconds(), ClockOffset: s.Offset.Seconds()}
			if s.Latest > 0 {
				x.Latest = stated(s.Latest)
			}
			out.Sources = append(out.Sources, x)
		}
	})
	if len(out.Processes) > maxListed {
		out.Processes, out.Truncated = out.Processes[:maxListed], true
	}
	if len(out.Sources) > maxListed {
		out.Sources, out.Truncated = out.Sources[:maxListed], true
	}
	return out, err
}

// decode reads a question; an empty one leaves q as it is.
func decode(req []byte, q any) error {
	if len(req) == 0 {
		return nil
	}
	if err := json.Unmarshal(req, q); err != nil {
		return fmt.Errorf("question: %w", err)
	}
	return nil
}

// stated is nil for what is not.
func stated(t telemetry.Time) *telemetry.Time {
	if t == 0 {
		return nil
	}
	return &t
}
