package bundle

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/telemetry"
)

// check finds what contradicts itself. What cannot be true is an error; what
// two sources may well report differently is a warning, as the engine reports it
// too.
func (t *topology) check(r *report) {
	t.duplicates(r)
	t.rivals(r, telemetry.Contains, "is contained in", func(e *telemetry.Edge) [][2]telemetry.Entity { return [][2]telemetry.Entity{{e.To, e.From}} })
	t.rivals(r, telemetry.Connects, "is connected to", func(e *telemetry.Edge) [][2]telemetry.Entity {
		return [][2]telemetry.Entity{{e.From, e.To}, {e.To, e.From}}
	})
	t.ends(r)
	for i := range t.edges {
		if e := &t.edges[i]; e.Relation == telemetry.Contains {
			t.container[e.To] = e.From
		}
	}
	if loop, line := t.loop(telemetry.Contains); loop != "" {
		r.fail(place{topologyFile, line}, "edges", fmt.Errorf("containment runs in a loop: %s", loop))
	}
	for _, rel := range []telemetry.Relation{telemetry.Feeds, telemetry.Cools} {
		if loop, line := t.loop(rel); loop != "" {
			r.warn(place{topologyFile, line}, "%s runs in a loop: %s", rel, loop)
		}
	}
}

// duplicates refuses an edge that is stated twice. A job may run several ranks
// on one node, and a link may be stated from both ends.
func (t *topology) duplicates(r *report) {
	type identity struct {
		from, to telemetry.Entity
		rel      telemetry.Relation
		start    telemetry.Time
	}
	first := map[identity]int{}
	keep, places := t.edges[:0:0], t.places[:0:0]
	for i := range t.edges {
		e := &t.edges[i]
		id := identity{e.From, e.To, e.Relation, e.Start}
		j, again := first[id]
		switch {
		case again && e.Relation == telemetry.Runs && !slices.Equal(e.Attrs, t.edges[j].Attrs):
		case again:
			if r.fail(place{topologyFile, t.places[i]}, "edges", fmt.Errorf("%s %s %s is also in line %d", e.From, e.Relation, e.To, t.places[j])) {
				return
			}
			continue
		case e.Relation == telemetry.Connects:
			if _, turned := first[identity{e.To, e.From, e.Relation, e.Start}]; turned {
				continue
			}
		}
		if !again {
			first[id] = i
		}
		keep, places = append(keep, *e), append(places, t.places[i])
	}
	t.edges, t.places = keep, places
}

// rivals warns where an entity has two partners at one time and can have one.
func (t *topology) rivals(r *report, rel telemetry.Relation, verb string, pairs func(*telemetry.Edge) [][2]telemetry.Entity) {
	byEntity := map[telemetry.Entity][]int{}
	partner := func(i int, of telemetry.Entity) telemetry.Entity {
		if t.edges[i].From == of {
			return t.edges[i].To
		}
		return t.edges[i].From
	}
	for i := range t.edges {
		e := &t.edges[i]
		if e.Relation != rel {
			continue
		}
		for _, p := range pairs(e) {
			for _, j := range byEntity[p[0]] {
				if o := &t.edges[j]; partner(j, p[0]) != p[1] && overlap(e, o) {
					r.warn(place{topologyFile, t.places[i]}, "%s %s %s, but line %d has %s", p[0], verb, p[1], t.places[j], partner(j, p[0]))
					break
				}
			}
			if len(byEntity[p[0]]) < 64 {
				byEntity[p[0]] = append(byEntity[p[0]], i)
			}
		}
	}
}

func overlap(a, b *telemetry.Edge) bool {
	end := func(e *telemetry.Edge) telemetry.Time {
		if e.End == 0 {
			return math.MaxInt64
		}
		return e.End
	}
	return a.Start < end(b) && b.Start < end(a)
}

// ends warns about an edge whose ends are of no use to its relation.
func (t *topology) ends(r *report) {
	wire := []telemetry.Kind{telemetry.Port, telemetry.NIC}
	for i := range t.edges {
		e := &t.edges[i]
		var bad telemetry.Entity
		switch e.Relation {
		case telemetry.Connects:
			if !slices.Contains(wire, e.From.Kind) {
				bad = e.From
			} else if !slices.Contains(wire, e.To.Kind) {
				bad = e.To
			}
		case telemetry.Runs:
			if e.From.Kind != telemetry.Job && e.From.Kind != telemetry.Rank {
				bad = e.From
			} else if e.To.Kind != telemetry.Node && e.To.Kind != telemetry.GPU {
				bad = e.To
			}
		}
		if !bad.IsZero() {
			r.warn(place{topologyFile, t.places[i]}, "%s %s %s: a %s cannot be there", e.From, e.Relation, e.To, bad.Kind)
		}
	}
}

// loop returns the first loop of a relation in words, and the line of one of
// its edges.
func (t *topology) loop(rel telemetry.Relation) (words string, line int) {
	next := map[telemetry.Entity][]int{}
	var starts []telemetry.Entity
	for i := range t.edges {
		if e := &t.edges[i]; e.Relation == rel {
			if next[e.From] == nil {
				starts = append(starts, e.From)
			}
			next[e.From] = append(next[e.From], i)
		}
	}
	w := walk{t: t, next: next, done: map[telemetry.Entity]bool{}, on: map[telemetry.Entity]bool{}}
	for _, s := range starts {
		if last, found := w.from(s); found {
			return w.words(last), t.places[last]
		}
	}
	return "", 0
}

// walk is a depth-first walk that keeps its own stack, for a chain may be as
// long as the file.
type walk struct {
	t     *topology
	next  map[telemetry.Entity][]int
	done  map[telemetry.Entity]bool
	on    map[telemetry.Entity]bool // on the present path
	path  []int                     // edges of the present path
	tries []int                     // for each entity of the path, edges tried
}

func (w *walk) from(s telemetry.Entity) (closing int, found bool) {
	if w.done[s] {
		return 0, false
	}
	w.path, w.tries = w.path[:0], append(w.tries[:0], 0)
	w.on[s] = true
	for at := s; ; {
		k := len(w.tries) - 1
		if w.tries[k] == len(w.next[at]) {
			w.done[at], w.on[at] = true, false
			w.tries = w.tries[:k]
			if k == 0 {
				return 0, false
			}
			at = w.t.edges[w.path[k-1]].From
			w.path = w.path[:k-1]
			continue
		}
		i := w.next[at][w.tries[k]]
		w.tries[k]++
		to := w.t.edges[i].To
		if w.on[to] {
			return i, true
		}
		if !w.done[to] {
			w.on[to] = true
			w.path, w.tries, at = append(w.path, i), append(w.tries, 0), to
		}
	}
}

// words names the entities of the loop that an edge closes.
func (w *walk) words(closing int) string {
	end := w.t.edges[closing].To
	var names []string
	for i := len(w.path) - 1; i >= 0; i-- {
		e := &w.t.edges[w.path[i]]
		names = append(names, e.To.String())
		if e.From == end || len(names) == 8 {
			break
		}
	}
	slices.Reverse(names)
	return strings.Join(append(append([]string{end.String()}, names...), end.String()), " → ")
}

var errNoSamples = errors.New("no samples")
