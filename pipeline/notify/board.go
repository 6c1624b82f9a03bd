package notify

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/notify/graph"
	"github.com/quintet-dc/quintet/pipeline/notify/match"
	"github.com/quintet-dc/quintet/telemetry"
)

// Silences decides what is withheld (package silence).
type Silences interface {
	Muting(f match.Facts, at telemetry.Time) []string
	Known() bool
}

// Bounds of a board.
const (
	maxOpen     = 10_000
	maxAffected = 4096 // entities of one incident
	// silenceTimeout bounds how long a start waits for the silences to be read.
	silenceTimeout = 10 * time.Second
	// graphTimeout bounds the wait of a message for the entities above its root.
	graphTimeout = 3 * time.Second
)

// posted is an open incident, as its newest revision has it.
type posted struct {
	rev      *revision // without its bytes
	since    time.Time // when it was posted here, by our clock
	affected map[telemetry.Entity]bool
	jobs     map[telemetry.Entity]bool
}

// board is the state of the site's incidents that all desks share: which are open,
// the outcome of each, which flap.
type board struct {
	c     *Config
	began time.Time

	mu   sync.Mutex
	open map[string]*posted
	flaps
}

func newBoard(c *Config) *board {
	return &board{c: c, began: c.Now(), open: map[string]*posted{}, flaps: newFlaps(c.Flaps)}
}

// post takes in a revision of the stream, before any desk does.
func (b *board) post(rev *revision) {
	b.mu.Lock()
	defer b.mu.Unlock()
	old := b.open[rev.ID]
	b.flaps.note(rev, old != nil)
	if rev.resolved() {
		delete(b.open, rev.ID)
		return
	}
	if old == nil && len(b.open) >= maxOpen {
		return
	}
	p := newPosted(rev.bare())
	p.since = b.c.Now()
	if old != nil {
		p.since = old.since
	}
	b.open[rev.ID] = p
	if b.c.Graph != nil {
		b.c.Graph.Above(rev.root) // so that it is known when it is asked for
	}
}

func newPosted(rev *revision) *posted {
	p := &posted{rev: rev, affected: map[telemetry.Entity]bool{}, jobs: map[telemetry.Entity]bool{}}
	for _, l := range rev.chain {
		p.affect(l)
	}
	for _, e := range rev.entities {
		p.affect(e)
	}
	for _, j := range rev.jobs {
		p.jobs[j] = true
	}
	return p
}

func (p *posted) affect(e telemetry.Entity) {
	if len(p.affected) < maxAffected && e != p.rev.root {
		p.affected[e] = true
	}
}

// unread reports whether it is too early to decide: the silences are not read.
func (b *board) unread(now time.Time) bool {
	return b.c.Silences != nil && !b.c.Silences.Known() && now.Sub(b.began) < silenceTimeout
}

// muted is why an incident's messages are withheld.
type muted struct {
	outcome string // OutcomeSilenced, OutcomeInhibited or OutcomeFlapping; "" where they are not
	why     string
	notice  string // is to be sent with it
	again   time.Time
}

// mutes returns whether an incident's newest revision is withheld at a desk, and
// why.
func (b *board) mutes(d *desk, p *pending, delivery *Delivery) muted {
	now := b.c.Now()
	if b.unread(now) {
		return muted{again: now.Add(100 * time.Millisecond)}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	at := b.open[delivery.Incident]
	if p.properties == nil {
		return muted{} // it contains nothing that could be matched
	}
	root, facts := p.properties.root, p.properties.facts
	if b.c.Graph != nil {
		_, known := b.c.Graph.Above(root)
		if !known && at != nil && now.Sub(at.since) < graphTimeout {
			return muted{again: now.Add(50 * time.Millisecond)}
		}
		if of, is := b.c.Graph.Maintained(root); is {
			return muted{outcome: OutcomeSilenced, why: fmt.Sprintf("%s is under maintenance", of)}
		}
		facts = b.c.Graph.Within(facts, root)
	}
	if b.c.Silences != nil {
		if ids := b.c.Silences.Muting(facts, telemetry.Time(now.UnixNano())); len(ids) > 0 {
			return muted{outcome: OutcomeSilenced, why: "silenced by " + ids[0]}
		}
	}
	if at != nil && b.c.Inhibit {
		if by, why := b.suppressor(d, at); by != "" {
			return muted{outcome: OutcomeInhibited, why: "suppressed by " + by + ": " + why}
		}
	}
	return b.flaps.mutes(p, delivery, telemetry.Time(now.UnixNano()))
}

// suppressor returns the open incident of which this one is a consequence, the
// first to open if there are several, and why. It must be at least as severe, and
// be sent to the desk's receiver: no receiver is left without a notification.
func (b *board) suppressor(d *desk, p *posted) (by, why string) {
	var above map[telemetry.Entity]graph.Step
	var first *posted
	for id, a := range b.open { // order-independent: the first to open is taken
		if id == p.rev.ID || a.rev.alert() || rank(a.rev.Severity) < rank(p.rev.Severity) || first != nil && earlier(first, a) < 0 {
			continue
		}
		if above == nil {
			above = aboveOf(b.c.Graph, p.rev.root)
		}
		how := consequence(p, a, above)
		if how == "" || d.refused(a.rev) != "" {
			continue
		}
		if !p.rev.alert() && consequence(a, p, aboveOf(b.c.Graph, a.rev.root)) != "" && rank(a.rev.Severity) == rank(p.rev.Severity) && earlier(p, a) < 0 {
			continue // each follows from the other: the first to open is sent
		}
		first, by, why = a, id, how
	}
	return by, why
}

// aboveOf returns the entities above an entity, and how they are related.
func aboveOf(g Graph, e telemetry.Entity) map[telemetry.Entity]graph.Step {
	out := map[telemetry.Entity]graph.Step{}
	if g == nil {
		for _, c := range match.Containers(e)[1:] {
			out[c] = graph.Step{Entity: c, How: "contains " + e.String(), Inside: true}
		}
		return out
	}
	steps, _ := g.Above(e)
	for _, s := range steps {
		if _, known := out[s.Entity]; !known {
			out[s.Entity] = s
		}
	}
	return out
}

func earlier(a, b *posted) int {
	return cmp.Or(cmp.Compare(a.rev.opened, b.rev.opened), cmp.Compare(a.rev.ID, b.rev.ID))
}

// unknown is the signature of incidents without an explanation.
const unknown = "unknown"

// consequence returns how p follows from a, or "".
func consequence(p, a *posted, above map[telemetry.Entity]graph.Step) string {
	root, cause := p.rev.root, a.rev.root
	switch up, is := above[cause]; {
	case is && (!up.Far || p.rev.alert()):
		return "its root " + cause.String() + " " + up.How
	case p.rev.alert():
		return covering(p, a, above)
	case root == cause && p.rev.Kind == explain.KindRisk && a.rev.Kind == explain.KindIncident:
		return "it has the same root, " + cause.String()
	}
	if p.rev.Kind != explain.KindRisk && p.rev.facts.Get(match.Signature) != unknown {
		return "" // the engine reports it as a fault of its own
	}
	for j := range p.jobs { // order-independent: all must be there
		if !a.jobs[j] {
			return ""
		}
	}
	switch {
	case a.jobs[root]:
		return "it degrades " + root.String()
	case a.affected[root]:
		return root.String() + " is one of the entities that it affects"
	}
	return ""
}

// covering returns how a, an incident or a risk, covers alert p, or "": it must be
// about each of the entities that p is about, or about a part of it, or about the
// other end of its root's cable.
func covering(p, a *posted, above map[telemetry.Entity]graph.Step) string {
	about := p.affected
	if len(about) == 0 {
		about = map[telemetry.Entity]bool{p.rev.root: true}
	}
	for e := range about { // order-independent: all must be there
		if e != a.rev.root && !a.jobs[e] && !a.affected[e] && !a.touches(e) && !(e == p.rev.root && a.farOf(above)) {
			return ""
		}
	}
	return "it is about " + p.rev.root.String() + ", too"
}

// farOf reports whether the incident is about the other end of a cable itself.
func (p *posted) farOf(above map[telemetry.Entity]graph.Step) bool {
	for x, s := range above { // order-independent: one is enough
		if s.Far && p.affected[x] && x.Kind != telemetry.Node && x.Kind != telemetry.Switch {
			return true
		}
	}
	return false
}

// touches reports whether the incident is about something that is contained in e.
func (p *posted) touches(e telemetry.Entity) bool {
	in := func(x telemetry.Entity) bool { return slices.Contains(match.Containers(x), e) }
	if in(p.rev.root) {
		return true
	}
	for x := range p.affected { // order-independent: one is enough
		if in(x) {
			return true
		}
	}
	return false
}

// rank orders severities.
func rank(severity string) int {
	return 1 + slices.Index([]string{explain.SeverityInfo, explain.SeverityWarning, explain.SeverityCritical}, severity)
}
