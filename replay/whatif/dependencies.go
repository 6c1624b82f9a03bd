package whatif

import (
	"fmt"
	"slices"
)

// plan returns in which order operations can be played: groups of operations that
// end together, each after everything that it depends on.
type plan struct {
	deps   [][]int // by operation: what must have ended before it begins
	groups []group // in an order that respects deps
}

// group is one operation, or the two ends of a transfer, or the ranks of a
// collective: data moves when the last has come.
type group struct {
	ops []int
	dp  bool // all data-parallel ranks take part, too
}

// network finds operations of a timeline.
type network struct {
	t     *Timeline
	index map[op]int
	deps  [][]int
}

func (n *network) find(kind string, stage, k int) (int, bool) {
	i, ok := n.index[op{kind, stage, k}]
	return i, ok
}

// after makes b depend on a, where both exist.
func (n *network) after(b, a op) {
	i, okB := n.index[b]
	j, okA := n.index[a]
	if okA && okB {
		n.deps[i] = append(n.deps[i], j)
	}
}

// planOf derives the dependencies of a one-forward-one-backward pipeline with
// data parallelism (Megatron's schedule): what a worker computes it computes in
// order; a received activation is needed, a computed one is sent; weights are
// gathered first; after the last computation come collector, gradients,
// clipping, optimizer.
func planOf(t *Timeline) (*plan, error) {
	n := &network{t: t, index: map[op]int{}, deps: make([][]int, len(t.ops))}
	for i, o := range t.ops {
		n.index[o] = i
	}
	for stage := range t.PP {
		n.computing(stage)
		for _, kind := range []string{forwardSend, forwardRecv, backSend, backRecv, gather, scatter} {
			n.stream(kind, stage)
		}
		n.transfers(stage)
		n.ending(stage)
	}
	return n.sort(n.groups())
}

// computing chains what a stage computes, behind its gathered weights.
func (n *network) computing(stage int) {
	order := n.t.order[stage]
	for k := 1; k < len(order); k++ {
		n.deps[order[k]] = append(n.deps[order[k]], order[k-1])
	}
	if last, ok := n.last(gather, stage); ok {
		n.deps[order[0]] = append(n.deps[order[0]], last)
	}
}

// stream chains the operations of one kind at a stage.
func (n *network) stream(kind string, stage int) {
	for k := 1; ; k++ {
		if _, ok := n.find(kind, stage, k); !ok {
			return
		}
		n.after(op{kind, stage, k}, op{kind, stage, k - 1})
	}
}

// transfers ties sends and receives to what is computed: a receive is posted
// when the computation before it is done.
func (n *network) transfers(stage int) {
	for _, d := range [][3]string{{forward, forwardSend, forwardRecv}, {backward, backSend, backRecv}} {
		compute, send, recv := d[0], d[1], d[2]
		for k := 0; ; k++ {
			if _, ok := n.find(compute, stage, k); !ok {
				break
			}
			n.after(op{send, stage, k}, op{compute, stage, k})
			n.after(op{compute, stage, k}, op{recv, stage, k})
			n.after(op{recv, stage, k}, op{compute, stage, k - 1})
		}
	}
	n.warmUp(stage)
}

// warmUp: the first gradients are asked for after the last forward pass but one
// before the first backward pass.
func (n *network) warmUp(stage int) {
	order := n.t.order[stage]
	first := slices.IndexFunc(order, func(o int) bool { return n.t.ops[o].kind == backward })
	if first < 2 {
		return
	}
	for _, kind := range []string{backRecv, backSend} {
		n.after(op{kind, stage, 0}, n.t.ops[order[first-2]])
	}
}

// ending chains what follows a stage's last computation.
func (n *network) ending(stage int) {
	order := n.t.order[stage]
	before := order[len(order)-1]
	for _, kind := range []string{collector, layernorm, embedding, scatter, clip, optimizer} {
		for k := 0; ; k++ {
			o, ok := n.find(kind, stage, k)
			if !ok {
				break
			}
			n.deps[o] = append(n.deps[o], before)
			before = o
		}
	}
}

func (n *network) last(kind string, stage int) (int, bool) {
	last, found := 0, false
	for k := 0; ; k++ {
		o, ok := n.find(kind, stage, k)
		if !ok {
			return last, found
		}
		last, found = o, true
	}
}

// groups lists which operations end together.
func (n *network) groups() []group {
	var out []group
	taken := make([]bool, len(n.t.ops))
	for i, o := range n.t.ops {
		if taken[i] {
			continue
		}
		g := group{ops: []int{i}, dp: o.kind == gather || o.kind == scatter || o.kind == clip}
		for _, peer := range n.peers(o) {
			if j, ok := n.index[peer]; ok && j != i && !taken[j] {
				g.ops = append(g.ops, j)
			}
		}
		for _, j := range g.ops {
			taken[j] = true
		}
		out = append(out, g)
	}
	return out
}

// peers are the operations of a lane that end with o.
func (n *network) peers(o op) []op {
	switch o.kind {
	case forwardSend:
		return []op{{forwardRecv, o.stage + 1, o.n}}
	case forwardRecv:
		return []op{{forwardSend, o.stage - 1, o.n}}
	case backSend:
		return []op{{backRecv, o.stage - 1, o.n}}
	case backRecv:
		return []op{{backSend, o.stage + 1, o.n}}
	case embedding:
		return []op{{embedding, 0, o.n}, {embedding, n.t.PP - 1, o.n}}
	case clip:
		var all []op
		for stage := range n.t.PP {
			all = append(all, op{clip, stage, o.n})
		}
		return all
	}
	return nil
}

// sort puts groups into an order in which each comes after what its operations
// depend on.
func (n *network) sort(groups []group) (*plan, error) {
	of := make([]int, len(n.t.ops))
	for g := range groups {
		for _, o := range groups[g].ops {
			of[o] = g
		}
	}
	waits, next := make([]int, len(groups)), make([][]int, len(groups))
	for o, deps := range n.deps {
		for _, d := range deps {
			if of[d] == of[o] {
				return nil, fmt.Errorf("timeline: %s waits for itself", n.t.describe(o, 0))
			}
			waits[of[o]]++
			next[of[d]] = append(next[of[d]], of[o])
		}
	}
	var ready []int
	for g, w := range waits {
		if w == 0 {
			ready = append(ready, g)
		}
	}
	p := &plan{deps: n.deps}
	for len(ready) > 0 {
		g := ready[0]
		ready = ready[1:]
		p.groups = append(p.groups, groups[g])
		for _, h := range next[g] {
			if waits[h]--; waits[h] == 0 {
				ready = append(ready, h)
			}
		}
	}
	if len(p.groups) < len(groups) {
		return nil, fmt.Errorf("timeline: operations wait for each other in a circle")
	}
	return p, nil
}
