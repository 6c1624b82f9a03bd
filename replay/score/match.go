package score

// match finds a maximum one-to-one matching between n incidents and m faults,
// where meets states which pairs may be matched. It returns, for each incident,
// its fault or -1.
//
// Incidents come in the order of their opening and faults in that in which they
// were first felt. Of all maximum matchings it takes the one that uses the earliest
// incidents (the sets of incidents that can be matched are a matroid, so taking
// them greedily in order is exact), and of those the one that gives the earlier
// incident the earlier fault. What an incident states plays no part.
func match(n, m int, meets func(incident, fault int) bool) []int {
	g := matching{m: m, meets: meets, fault: filled(n), incident: filled(m), fixed: make([]bool, n)}
	for i := range n {
		g.augment(i, make([]bool, m))
	}
	for i := range n {
		if g.fault[i] >= 0 {
			g.settle(i)
		}
	}
	return g.fault
}

// matching is a matching under construction.
type matching struct {
	m        int
	meets    func(incident, fault int) bool
	fault    []int  // of each incident, or -1
	incident []int  // of each fault, or -1
	fixed    []bool // incidents whose fault no longer changes
}

// augment gives incident i a fault, moving others to other faults where that
// is needed (Kuhn's algorithm); it never leaves one without. tried marks the
// faults already asked for.
func (g *matching) augment(i int, tried []bool) bool {
	for f := range g.m {
		if tried[f] || !g.meets(i, f) {
			continue
		}
		tried[f] = true
		holder := g.incident[f]
		if holder >= 0 && (g.fixed[holder] || !g.augment(holder, tried)) {
			continue
		}
		g.fault[i], g.incident[f] = f, i
		return true
	}
	return false
}

// settle moves matched incident i to the earliest fault that leaves everybody
// matched, and fixes it there.
func (g *matching) settle(i int) {
	defer func() { g.fixed[i] = true }()
	for f := range g.fault[i] {
		if g.meets(i, f) && g.move(i, f) {
			return
		}
	}
}

// move tries to give fault f to incident i and reports whether it did. The fault
// that i had before is free for the incident that has to give up f.
func (g *matching) move(i, f int) bool {
	holder, old := g.incident[f], g.fault[i]
	if holder < 0 {
		g.fault[i], g.incident[f], g.incident[old] = f, i, -1
		return true
	}
	if g.fixed[holder] {
		return false
	}
	g.fault[i], g.incident[f], g.incident[old] = f, i, -1
	tried := make([]bool, g.m)
	tried[f] = true
	if g.augment(holder, tried) {
		return true
	}
	g.fault[i], g.incident[f], g.incident[old] = old, holder, i
	return false
}

func filled(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = -1
	}
	return out
}
