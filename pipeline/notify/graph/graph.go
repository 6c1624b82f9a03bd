package graph

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/quintet-dc/quintet/pipeline/notify/match"
	"github.com/quintet-dc/quintet/telemetry"
)

// Asker asks the engine (package replica answers).
type Asker interface {
	Ask(ctx context.Context, what string, req []byte) ([]byte, error)
}

// Bounds of lookups and of the cache.
const (
	maxAbove     = 64 // entities above one
	maxDepth     = 8
	maxKept      = 4096
	fresh        = time.Minute
	maintains    = 10 * time.Second // between questions for what is under maintenance
	queryTimeout = 3 * time.Second  // with one question
)

// Step is how one entity is above another.
type Step struct {
	Entity telemetry.Entity
	// How is the relation in words, as in "contains gpu:n1/3".
	How string
	// Inside: the lower one is contained in it.
	Inside bool
	// Far: it is the other end of its cable or, by its name, contains that.
	Far bool
}

// Graph caches which entities are above others, and which are under maintenance.
type Graph struct {
	asker Asker
	log   *slog.Logger
	now   func() time.Time
	wish  chan telemetry.Entity

	mu         sync.Mutex
	kept       map[telemetry.Entity]found
	asked      map[telemetry.Entity]bool
	maintained map[telemetry.Entity]bool
}

type found struct {
	steps []Step
	at    time.Time
	whole bool // the engine has sent all of it
}

// New returns a graph that asks while Run runs. Without an asker names are all
// that it knows.
func New(a Asker, now func() time.Time, log *slog.Logger) *Graph {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if now == nil {
		now = time.Now
	}
	return &Graph{asker: a, now: now, log: log, wish: make(chan telemetry.Entity, 1024), kept: map[telemetry.Entity]found{}, asked: map[telemetry.Entity]bool{}}
}

// Run looks up the requested entities until ctx is done.
func (g *Graph) Run(ctx context.Context) {
	if g.asker == nil {
		return
	}
	look := time.NewTicker(maintains)
	defer look.Stop()
	g.maintenance(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			g.maintenance(ctx)
		case e := <-g.wish:
			steps, whole := g.climb(ctx, e)
			g.keep(e, found{steps, g.now(), whole})
		}
	}
}

func (g *Graph) keep(e telemetry.Entity, f found) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.asked, e)
	if old, known := g.kept[e]; known && old.whole && !f.whole {
		old.at = f.at // better an old answer than half of one
		f = old
	}
	if len(g.kept) >= maxKept {
		clear(g.kept)
	}
	g.kept[e] = f
}

// Above returns the entities above an entity, nearest first, and false while the
// engine has yet to be asked. It does not block.
func (g *Graph) Above(e telemetry.Entity) ([]Step, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f, known := g.kept[e]
	if (!known || g.now().Sub(f.at) > fresh) && g.asker != nil && !g.asked[e] {
		select {
		case g.wish <- e:
			g.asked[e] = true
		default: // as many wait as may
		}
	}
	if !known {
		return named(e), g.asker == nil
	}
	return f.steps, true
}

// Maintained returns what of an entity and its containers is under maintenance.
func (g *Graph) Maintained(e telemetry.Entity) (telemetry.Entity, bool) {
	steps, _ := g.Above(e)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.maintained[e] {
		return e, true
	}
	for _, s := range steps {
		if s.Inside && g.maintained[s.Entity] {
			return s.Entity, true
		}
	}
	return telemetry.Entity{}, false
}

// Within returns the facts of an incident with the containers of its root.
func (g *Graph) Within(f match.Facts, root telemetry.Entity) match.Facts {
	steps, _ := g.Above(root)
	var names []string
	for _, s := range steps {
		if s.Inside {
			names = append(names, s.Entity.String())
		}
	}
	return f.With(match.Within, names...)
}

// named returns the containers that follow from a name alone.
func named(e telemetry.Entity) (out []Step) {
	for _, c := range match.Containers(e)[1:] {
		out = append(out, Step{Entity: c, How: "contains " + e.String(), Inside: true})
	}
	return out
}

// edge is one of the engine's.
type edge struct {
	From     telemetry.Entity   `json:"from"`
	To       telemetry.Entity   `json:"to"`
	Relation telemetry.Relation `json:"rel"`
}

// climb walks upwards from an entity, breadth first.
func (g *Graph) climb(ctx context.Context, e telemetry.Entity) (out []Step, whole bool) {
	whole = true
	level := []Step{{Entity: e, Inside: true}}
	seen := map[telemetry.Entity]bool{e: true}
	for range maxDepth {
		var next []Step
		for _, at := range level {
			edges, err := g.around(ctx, at.Entity)
			if err != nil {
				whole = false
			}
			for _, s := range steps(at, edges) {
				if s.Far && at.Entity != e {
					continue
				}
				if seen[s.Entity] || len(out) == maxAbove {
					continue
				}
				seen[s.Entity] = true
				if out = append(out, s); !s.Far {
					next = append(next, s)
				}
			}
		}
		level = next
	}
	return out, whole
}

// steps are the ways up from a place: by name and by edges.
func steps(at Step, edges []edge) []Step {
	var out []Step
	for _, c := range match.Containers(at.Entity)[1:] {
		out = append(out, Step{Entity: c, How: "contains " + at.Entity.String(), Inside: at.Inside})
	}
	for _, x := range edges {
		switch {
		case x.To == at.Entity && x.Relation == telemetry.Contains:
			out = append(out, Step{Entity: x.From, How: "contains " + at.Entity.String(), Inside: at.Inside})
		case x.To == at.Entity && x.Relation == telemetry.Feeds:
			out = append(out, Step{Entity: x.From, How: "feeds " + at.Entity.String()})
		case x.To == at.Entity && x.Relation == telemetry.Cools:
			out = append(out, Step{Entity: x.From, How: "cools " + at.Entity.String()})
		case x.From == at.Entity && x.Relation == telemetry.Runs:
			out = append(out, Step{Entity: x.To, How: "runs " + at.Entity.String()})
		case x.From == at.Entity && x.Relation == telemetry.Uses:
			out = append(out, Step{Entity: x.To, How: "serves " + at.Entity.String()})
		case x.Relation == telemetry.Connects:
			far := x.From
			if far == at.Entity {
				far = x.To
			}
			out = append(out, Step{Entity: far, How: "is the other end of the cable of " + at.Entity.String(), Far: true})
			for _, c := range match.Containers(far)[1:] {
				out = append(out, Step{Entity: c, How: "contains the other end of the cable of " + at.Entity.String(), Far: true})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Step) int { return a.Entity.Compare(b.Entity) })
	return out
}

// The questions (package replica).
const (
	askTopology    = "topology"
	askMaintenance = "maintenance"
)

func (g *Graph) around(ctx context.Context, e telemetry.Entity) ([]edge, error) {
	req, err := json.Marshal(struct {
		Entity telemetry.Entity `json:"entity"`
		Hops   int              `json:"hops"`
	}{e, 1})
	if err != nil {
		return nil, err
	}
	var out struct {
		Edges []edge `json:"edges"`
	}
	err = g.ask(ctx, askTopology, req, &out)
	return out.Edges, err
}

func (g *Graph) ask(ctx context.Context, what string, req []byte, into any) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	b, err := g.asker.Ask(ctx, what, req)
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		g.log.Debug("topology not received from the engine", "question", what, "error", err)
	}
	return err
}

// maintenance queries what is under maintenance. An entity without an answer keeps
// its state.
func (g *Graph) maintenance(ctx context.Context) {
	var out struct {
		Entities []telemetry.Entity `json:"entities"`
	}
	if g.ask(ctx, askMaintenance, nil, &out) != nil {
		return
	}
	m := make(map[telemetry.Entity]bool, len(out.Entities))
	for _, e := range out.Entities {
		m[e] = true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.maintained = m
}
