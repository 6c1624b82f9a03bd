package topology

import (
	"math"

	"github.com/quintet-dc/quintet/telemetry"
)

// StaleAfter is how long a statement is fresh after it was received. An edge that
// is not renewed for so long is stale: it is still used in answers, and
// it is a blind spot. A statement without a receipt (a file) never gets stale.
const StaleAfter = telemetry.Duration(15 * 60 * 1e9)

// MaxEdges bounds the edges in force and those that wait, each: what a hostile
// source can make a Graph hold. The reference site's full set (every queue,
// lane and link contained in something) is under a million.
const MaxEdges = 1 << 21

// Outcome is what became of a statement.
type Outcome uint8

// The outcomes of Add.
const (
	Accepted       Outcome = iota // filed; it counts from the Advance that reaches it
	Invalid                       // an entity, relation or time that cannot be
	SelfLoop                      // from and to are one entity; reported
	EndBeforeStart                // reported
	Full                          // MaxEdges are waiting; the statement is lost
)

// String returns the outcome in words.
func (o Outcome) String() string {
	return [...]string{"accepted", "invalid", "self loop", "end before start", "full"}[o]
}

// Graph holds a site's edges and answers what contains, connects, feeds, cools and
// runs what. Use New. It is changed by Add, Know, Forget, Advance and Snapshot
// only; between two Advances any number of readers may query it.
type Graph struct {
	at         telemetry.Time // the last Advance
	generation uint64

	pending  []telemetry.Edge // filed and not yet reached, in any order
	due      telemetry.Time   // no pending edge is due before
	knowing  []knowledge      // filed by Know and Forget, in that order
	overflow uint64           // statements refused because the graph was full
	refused  []Contradiction  // self loops and ends before starts, sorted, bounded

	ids     map[telemetry.Entity]int32
	verts   []vertex
	freeIDs []int32
	kinds   map[telemetry.Kind]*kindList

	keys      map[key]int32
	facts     []fact
	freeFacts []int32
	wake      telemetry.Time // no fact ends, gets stale or is forgotten before
	lost      int            // facts that lost to another or would close a loop
	stale     []int32        // facts that are stale, in no order; exact after expire
	upward    []int32        // live containments that do not lead to a greater depth; exact after nest
	looped    bool           // some upward containment closes a loop

	changed bool // since the last Advance, anything that an answer can show
	work    worklist
	scratch scratch
}

// worklist is what an Advance has still to update. Everything in it is empty
// between Advances. A vertex's marks show on which of them it is.
type worklist struct {
	touched []int32 // all vertices with a mark
	homes   []int32
	links   []int32
	pass    uint32 // stamps the vertices that a search has visited
	dead    []int32
	nesting bool // a stated containment changed
}

// scratch is memory that one step of an Advance lends to the next.
type scratch struct {
	facts, members, homes []int32
	links                 []link
}

type knowledge struct {
	entity telemetry.Entity
	forget bool
}

// never is later than any time.
const never = telemetry.Time(math.MaxInt64)

// New returns an empty graph.
func New() *Graph {
	return &Graph{
		due:   never,
		wake:  never,
		ids:   map[telemetry.Entity]int32{},
		kinds: map[telemetry.Kind]*kindList{},
		keys:  map[key]int32{},
	}
}

// Generation grows when an Advance changed anything that an answer can show;
// renewals alone do not.
func (g *Graph) Generation() uint64 { return g.generation }

// At returns the grid of the last Advance.
func (g *Graph) At() telemetry.Time { return g.at }

// Overflow returns how many statements were lost because the graph was full.
func (g *Graph) Overflow() uint64 { return g.overflow }

// Add files a statement. It counts from the first Advance at or after both its
// start and its receipt, whatever else came in between. The edge is copied.
func (g *Graph) Add(e *telemetry.Edge) Outcome {
	o := judge(e)
	if o == Invalid {
		return o
	}
	if len(g.pending) >= MaxEdges {
		g.overflow++
		return Full
	}
	g.pending = append(g.pending, copyEdge(e))
	g.due = min(g.due, dueAt(e))
	return o
}

// judge returns whether an edge can be filed. One that contradicts itself is, to be
// reported when it is due.
func judge(e *telemetry.Edge) Outcome {
	_, known := relationOf(e.Relation)
	if !known || e.From.Validate() != nil || e.To.Validate() != nil || e.Start < 0 || e.End < 0 || e.Received < 0 {
		return Invalid
	}
	switch contradictsItself(e) {
	case FaultSelfLoop:
		return SelfLoop
	case FaultEndsBeforeStart:
		return EndBeforeStart
	}
	return Accepted
}

// dueAt is when a statement may count: it is known from its receipt and true
// from its start.
func dueAt(e *telemetry.Edge) telemetry.Time { return max(e.Start, e.Received) }

// Know files an entity that telemetry has shown: from the next Advance it exists
// and is contained where its name implies.
func (g *Graph) Know(e telemetry.Entity) {
	if e.Validate() == nil {
		g.knowing = append(g.knowing, knowledge{entity: e})
	}
}

// Forget takes Know back: from the next Advance the entity exists only as far
// as an edge names it.
func (g *Graph) Forget(e telemetry.Entity) {
	g.knowing = append(g.knowing, knowledge{entity: e, forget: true})
}

// Advance moves the graph to grid at: due statements apply, edges whose end
// has come cease, those not renewed become stale. A time before the last
// Advance changes nothing.
func (g *Graph) Advance(at telemetry.Time) {
	if at < g.at {
		return
	}
	g.at = at
	g.learn()
	g.apply()
	g.expire()
	g.update()
	if g.changed {
		g.generation++
		g.changed = false
	}
}

// update brings every index up to date with the facts that were touched.
func (g *Graph) update() {
	if len(g.work.touched) == 0 && len(g.work.dead) == 0 {
		return
	}
	g.updateHomes()
	g.updateLinks()
	g.updateLists()
	g.updatePlacements()
	g.updateKinds()
	g.bury()
}

// updateLists rebuilds the sorted lists of every marked vertex.
func (g *Graph) updateLists() {
	for i := 0; i < len(g.work.touched); i++ {
		id := g.work.touched[i]
		v := &g.verts[id]
		if v.marks&markContents != 0 {
			g.listContents(id)
		}
		if v.marks&markGroups != 0 {
			g.listGroups(id)
		}
	}
	for i := 0; i < len(g.work.touched); i++ { // needs contents
		if id := g.work.touched[i]; g.verts[id].marks&markPorts != 0 {
			g.listPorts(id)
		}
	}
}
