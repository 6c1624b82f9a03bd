package plant

// limitFollows is how fast a node's part of its rack's limit falls when it draws
// less, seconds, so that a pause between two steps does not cost it its part;
// when it draws more, its part rises at once. Ours.
const limitFollows = 30.0

// leastDraw is what a node counts for at least when a rack's limit is dealt
// out, in parts of the most it draws: an idle node must be able to begin.
const leastDraw = 0.3

// limit deals a rack's limit out to its nodes in proportion to what they
// drew lately. The rack's limit applies at its shelves' inputs, a node's at the
// outputs. A node's own limit applies in addition.
func (p *power) limit(pl *Plant, in Input, rack int, follow float64) {
	first, last := nodesOf(pl.site, rack)
	sum := 0.0
	for node := first; node < last; node++ {
		now := max(in.NodeWatts[node], float64(leastDraw*p.nodeMost))
		p.draw[node] = max(now, p.draw[node]+float64(follow*(now-p.draw[node])))
		sum += p.draw[node]
	}
	allowed := float64(in.Condition.Racks[rack].Limit * p.efficiency.shelf)
	for node := first; node < last; node++ {
		limit := in.Condition.Nodes[node].Limit
		if allowed > 0 {
			dealt := float64(allowed * p.draw[node] / sum)
			if limit <= 0 || dealt < limit {
				limit = dealt
			}
		}
		pl.Nodes[node].Limit = limit
	}
}
