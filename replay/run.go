package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/correlate/detect"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/replay/trace"
	"github.com/quintet-dc/quintet/telemetry"
)

// RunConfig describes how a recording is replayed.
type RunConfig struct {
	Engine engine.Config
	// Tick, if any, is called before each tick passes: a caller may show
	// progress in it, or wait. An error ends the replay.
	Tick func(at telemetry.Time) error
	// Publish, if any, is called with every published revision, in order.
	Publish func(in explain.Incident)
	// Judged, if any, is called with what each judgement was weighed from.
	Judged func(j explain.Judgement)
	// Findings, if any, is called with the findings that a tick began or ended;
	// they are valid until it returns.
	Findings func(at telemetry.Time, f []detect.Finding)
	// Hide, if any, states which records the engine does not get.
	Hide func(r *telemetry.Record) bool
}

// Result is what a replay came to.
type Result struct {
	Incidents []explain.Incident // the newest revision of each, newest opening first, as the API lists them
	// Published gives for each incident the grid whose closing first published
	// it as an incident rather than a risk.
	Published map[string]telemetry.Time
	// Worst gives for each incident the worst severity it was published with.
	Worst map[string]string
	// Affected gives for each incident the jobs that any revision of it named.
	Affected map[string][]telemetry.Entity
	Digest   string // of everything published, see package engine
	// First and Last are the ends of the first and last grid that ticks moved
	// time to; zero where there was no tick.
	First, Last telemetry.Time
	Records     uint64
	Counts      correlate.Counts
	Warnings    []string        // beyond those of opening: a snapshot refused, blocks skipped
	Cut         *trace.CutError // the trace was cut off: the above covers what is left of it
}

// Run replays a recording to its end. It returns when ctx is done, too, with
// its error.
func Run(ctx context.Context, rec *Recording, c RunConfig) (*Result, error) {
	if c.Engine.Correlate.Site == "" {
		c.Engine.Correlate.Site = rec.Site()
	}
	p, err := newPlay(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := p.restore(rec); err != nil {
		return nil, err
	}
	err = rec.Each(p.record)
	if err != nil && !errors.As(err, &p.out.Cut) {
		return nil, fmt.Errorf("replay %s: %w", rec.Path, err)
	}
	if rec.Trace != nil {
		for _, d := range rec.Trace.Info().Damaged {
			p.out.Warnings = append(p.out.Warnings, "skipped: "+d.Error())
		}
	}
	return p.result(), nil
}

// RunRecords replays records that lie in memory, such as a scenario's, at
// positions 1, 2, 3 …
func RunRecords(ctx context.Context, records []*telemetry.Record, c RunConfig) (*Result, error) {
	s, err := NewStream(ctx, c)
	if err != nil {
		return nil, err
	}
	for _, r := range records {
		if err := s.Apply(r); err != nil {
			return nil, err
		}
	}
	return s.Result(), nil
}

// play is a replay under way.
type play struct {
	ctx    context.Context
	c      RunConfig
	runner *engine.Runner
	after  uint64 // the snapshot's position: records up to it are in it
	warm   bool
	out    *Result
}

func newPlay(ctx context.Context, c RunConfig) (*play, error) {
	c.Engine.Correlate.Study = c.Judged != nil
	runner, err := engine.New(c.Engine)
	if err != nil {
		return nil, err
	}
	return &play{ctx: ctx, c: c, runner: runner, out: &Result{Published: map[string]telemetry.Time{}, Worst: map[string]string{}, Affected: map[string][]telemetry.Entity{}}}, nil
}

func (p *play) result() *Result {
	p.out.Incidents = NewestFirst(p.runner.Incidents())
	p.out.Digest, p.out.Counts = p.runner.Digest(), p.runner.Output().Counts
	return p.out
}

// restore begins with the recording's snapshot. One of another engine or of other
// rules is refused with a message: the replay then begins without history.
func (p *play) restore(rec *Recording) error {
	snapshot, err := rec.Snapshot()
	if err != nil || snapshot == nil {
		return err
	}
	p.after, err = p.runner.Restore(snapshot)
	switch {
	case errors.Is(err, engine.ErrSnapshotEngine), errors.Is(err, engine.ErrSnapshotRules):
		p.out.Warnings = append(p.out.Warnings, fmt.Sprintf("no history before this time: %v", err))
		return nil
	case err != nil:
		return fmt.Errorf("replay %s: %w", rec.Path, err)
	}
	p.warm = true
	return nil
}

func (p *play) record(position uint64, r *telemetry.Record) error {
	if p.warm && position <= p.after || p.c.Hide != nil && p.c.Hide(r) {
		return nil
	}
	if r.Kind == telemetry.TickRecord {
		if err := p.tick(r.Tick.At); err != nil {
			return err
		}
	}
	changed, err := p.runner.Apply(position, r)
	if err != nil {
		return err
	}
	p.out.Records++
	for _, in := range changed {
		if _, known := p.out.Published[in.ID]; !known && in.Kind == explain.KindIncident {
			p.out.Published[in.ID] = in.Updated
		}
		p.out.Worst[in.ID] = explain.Worse(in.Severity, p.out.Worst[in.ID])
		p.affected(&in)
		if p.c.Publish != nil {
			p.c.Publish(in)
		}
	}
	for _, j := range p.runner.Output().Judgements {
		p.c.Judged(j)
	}
	if f := p.runner.Output().Findings; p.c.Findings != nil && len(f) > 0 {
		p.c.Findings(p.out.Last, f)
	}
	return nil
}

// affected notes the jobs that an incident names.
func (p *play) affected(in *explain.Incident) {
	known := p.out.Affected[in.ID]
	for i := range in.Impact.Jobs {
		if j := in.Impact.Jobs[i].Job; !slices.Contains(known, j) {
			known = append(known, j)
		}
	}
	p.out.Affected[in.ID] = known
}

func (p *play) tick(at telemetry.Time) error {
	if err := p.ctx.Err(); err != nil {
		return err
	}
	if p.out.First == 0 {
		p.out.First = at
	}
	p.out.Last = at
	if p.c.Tick == nil {
		return nil
	}
	return p.c.Tick(at)
}

// NewestFirst orders incidents as lists show them: the last to open first, and
// of those that opened together by id.
func NewestFirst(in []explain.Incident) []explain.Incident {
	slices.SortStableFunc(in, func(a, b explain.Incident) int {
		return cmp.Or(cmp.Compare(b.Opened, a.Opened), cmp.Compare(a.ID, b.ID))
	})
	return in
}
