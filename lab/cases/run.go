package cases

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/lab/cases/baseline"
	"github.com/quintet-dc/quintet/lab/sim/fault"
	"github.com/quintet-dc/quintet/lab/sim/site"
	"github.com/quintet-dc/quintet/lab/sim/worlds"
	"github.com/quintet-dc/quintet/replay"
	"github.com/quintet-dc/quintet/replay/score"
	"github.com/quintet-dc/quintet/telemetry"
)

// Options determine how cases are run.
type Options struct {
	Engine engine.Config
	// Key is what else the answers depend on: the program. Outcomes are kept
	// under it, the case and the engine's rules.
	Key     string
	Cache   Cache
	Workers int // runs at once; 0 is 2
	// Ablation takes something away from the engine.
	Ablation Ablation
	// Baselines has the simple methods judge the same telemetry.
	Baselines bool
	// Progress, if set, is called after each case, one call at a time.
	Progress func(done, total int, o *Outcome)
}

// Run runs cases and returns what became of each, in their order. It changes
// nothing how many run at once.
func Run(outer context.Context, cs []Case, o Options) ([]Outcome, error) {
	ctx, cancel := context.WithCancel(outer)
	defer cancel()
	r := &runner{o: o}
	r.maker.shelf.most = shelved(cs)
	out, errs := make([]Outcome, len(cs)), make([]error, len(cs))
	next := make(chan int)
	done := 0
	var mu sync.Mutex
	var workers sync.WaitGroup
	for range min(cmp.Or(max(0, o.Workers), 2), max(1, len(cs))) {
		workers.Go(func() {
			for i := range next {
				out[i], errs[i] = r.one(ctx, cs[i])
				if errs[i] != nil {
					cancel()
					continue
				}
				mu.Lock()
				done++
				if o.Progress != nil {
					o.Progress(done, len(cs), &out[i])
				}
				mu.Unlock()
			}
		})
	}
	for i := range bySeed(cs) {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	workers.Wait()
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return nil, err
		}
	}
	return out, outer.Err()
}

// shelved is how many healthy runs are kept for other cases: a world of 8,192
// GPUs takes some hundred megabytes.
func shelved(cs []Case) int {
	for _, c := range cs {
		if c.GPUs > 512 {
			return 3
		}
	}
	return 12
}

// bySeed gives the cases' numbers so that those of one site follow each other:
// they share its healthy run.
func bySeed(cs []Case) func(func(int) bool) {
	order := make([]int, len(cs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(cs[a].GPUs, cs[b].GPUs), cmp.Compare(cs[a].Seed, cs[b].Seed))
	})
	return func(yield func(int) bool) {
		for _, i := range order {
			if !yield(i) {
				return
			}
		}
	}
}

// runner runs cases one at a time on each of several workers.
type runner struct {
	o     Options
	maker maker
}

func (r *runner) one(ctx context.Context, c Case) (Outcome, error) {
	key := digest(r.o.Key, r.o.Engine.Correlate.Rules, fmt.Sprintf("%+v", c), fmt.Sprint(r.o.Baselines), string(r.o.Ablation))
	var out Outcome
	if r.o.Cache.get(key, &out) {
		return out, nil
	}
	began := time.Now()
	out, err := r.run(ctx, c)
	var none *NoCaseError
	switch {
	case errors.As(err, &none):
		out = Outcome{Case: c, Dropped: none.Why}
	case err != nil:
		return out, err
	}
	out.Seconds = time.Since(began).Seconds()
	return out, r.o.Cache.put(key, &out)
}

// ready builds a case and finds its severity.
func (r *runner) ready(ctx context.Context, c Case) (*Build, error) {
	b, err := r.maker.build(c)
	if err != nil {
		return nil, err
	}
	if err := r.maker.tune(ctx, b); err != nil {
		return nil, err
	}
	return b, b.apart(ctx)
}

func (r *runner) run(ctx context.Context, c Case) (Outcome, error) {
	b, err := r.ready(ctx, c)
	if err != nil {
		return Outcome{}, err
	}
	cfg := r.o.Ablation.Engine(r.o.Engine, c.Class, c.Second)
	cfg.Correlate.Site = b.stage.name()
	stream, err := replay.NewStream(ctx, replay.RunConfig{Engine: cfg})
	if err != nil {
		return Outcome{}, err
	}
	w := edgeRecorder{jobs: b.jobs()}
	var simple *baseline.Watcher
	if r.o.Baselines && len(b.Faults) == 1 {
		simple = baseline.Watch(at(b.Faults[0].Onset), at(b.Faults[0].End))
	}
	h, err := b.play(ctx, func(rec *telemetry.Record) error {
		w.observe(rec)
		if simple != nil {
			if err := simple.Observe(rec); err != nil {
				return err
			}
		}
		if r.o.Ablation.Hides(rec) {
			return nil
		}
		return stream.Apply(rec)
	})
	if err != nil {
		return Outcome{}, err
	}
	out := b.outcome(h, stream.Result(), &w)
	if simple != nil {
		out.Baselines = simple.Rank()
	}
	return out, nil
}

// outcome puts together what a case came to.
func (b *Build) outcome(h *history, result *replay.Result, w *edgeRecorder) Outcome {
	out := Outcome{Case: b.Case, Score: score.Case{Dir: b.Case.Name(), Class: b.Case.Group(), Fabric: b.Case.fabric(),
		Truth: b.truth(h), Incidents: result.Incidents, Published: result.Published, Worst: result.Worst, Affected: result.Affected, Start: result.First, End: result.Last}}
	out.Score.Edges = w.edges
	for i := range b.Faults {
		if b.Case.Class == Soak {
			break
		}
		hs := b.harms(h, i)
		out.Severity, out.Loss = b.Faults[0].Severity, max(out.Loss, worst(hs))
		out.Cadence = max(out.Cadence, b.cadence(i), b.reported(h, hs))
		for k := range hs {
			out.Stops = out.Stops || hs[k].stopped
		}
	}
	degraded := map[telemetry.Entity]bool{}
	for i := range out.Score.Truth.Faults {
		for _, j := range out.Score.Truth.Faults[i].Jobs {
			degraded[j] = true
		}
	}
	for i := range h.jobs {
		t := &h.jobs[i]
		if !degraded[t.entity] {
			continue
		}
		for _, s := range t.steps {
			if !s.evaluates {
				out.Score.Steps = append(out.Score.Steps, score.Step{Job: t.entity, End: at(s.end), Seconds: s.seconds})
			}
		}
	}
	if len(b.Faults) > 0 && b.Kinds[0].Expect == fault.Incident && len(out.Score.Truth.Faults[0].Jobs) == 0 {
		out.Dropped = "it hurts no job"
	}
	return out
}

// fabric is the group of sites that a case is scored with.
func (c Case) fabric() string {
	if c.World != worlds.Standard {
		return string(c.World)
	}
	return fmt.Sprintf("%d GPUs", c.GPUs)
}

// jobs are the jobs of the run, and the nodes they run on.
func (b *Build) jobs() map[string]bool {
	nodes := map[string]bool{}
	if b.scene == nil {
		return nodes
	}
	names := b.stage.world().Names
	for _, j := range b.Degrades {
		for _, n := range b.scene.Jobs[j].Nodes {
			nodes[names.Entity(site.NodeName(n)).Name] = true
		}
	}
	return nodes
}

// cadence is the cadence, in seconds, of the slowest source that reports a fault's
// root.
func (b *Build) cadence(i int) float64 {
	switch b.Faults[i].Entity.Kind {
	case telemetry.Rack, telemetry.Shelf, telemetry.PSU, telemetry.Fan:
		return 30
	case telemetry.CDU, telemetry.Loop, telemetry.Pump, telemetry.CRAH, telemetry.PDU, telemetry.UPS, telemetry.Feed:
		return 30
	case telemetry.Storage:
		return 10
	}
	return 1
}

// reported is how long, in seconds, a slow step has ended before the report that
// contains it: four more steps for a job that reports every fifth. Other sources
// report a job that stalls.
func (b *Build) reported(with *history, hs []harm) float64 {
	if len(hs) == 0 || hs[0].stopped {
		return 0
	}
	for i := range with.jobs {
		if t := &with.jobs[i]; t.entity == hs[0].job && t.every > 1 {
			return float64(t.every-1) * b.before(t.entity, b.Faults[0].Onset)
		}
	}
	return 0
}

// edgeRecorder keeps the edges that a judge needs: where jobs run, and what is in,
// next to and behind the nodes of the degraded one.
type edgeRecorder struct {
	jobs  map[string]bool
	edges []telemetry.Edge
}

func (w *edgeRecorder) observe(r *telemetry.Record) {
	if r.Kind != telemetry.EdgeRecord {
		return
	}
	switch e := r.Edge; e.Relation {
	case telemetry.Runs:
		if w.jobs[host(e.To)] {
			w.edges = append(w.edges, *e)
		}
	case telemetry.Contains, telemetry.Pairs, telemetry.Connects:
		if w.jobs[host(e.From)] && !strings.HasPrefix(string(e.To.Kind), "nvlink") && !strings.HasPrefix(string(e.From.Kind), "nvlink") {
			w.edges = append(w.edges, *e)
		}
	}
}

// host is the first part of a name.
func host(e telemetry.Entity) string {
	name, _, _ := strings.Cut(e.Name, "/")
	return name
}
