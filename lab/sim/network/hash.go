package network

import "github.com/quintet-dc/quintet/lab/sim/random"

// Key is what a switch hashes of a packet: the ends and what the sender varies
// to spread itself (the UDP source port of RoCE).
type Key struct {
	From, To uint32
	Entropy  uint32
}

// Choose returns which of n equal ways a switch's hash gives a flow. seed is
// the switch's; one seed at both tiers polarises: what chose at the leaf
// chooses alike at the spine.
func Choose(seed uint64, k Key, n int) int {
	if n < 2 {
		return 0
	}
	h := random.Mix(seed ^ random.Mix(uint64(k.From)<<32|uint64(k.To)))
	h = random.Mix(h + uint64(k.Entropy))
	return int(h >> 32 * uint64(n) >> 32)
}

// Collective traffic in time, in the units of size over rate. latency is of one
// step. The closed forms assume that the slowest member's rate holds for all
// (Thakur, Rabenseifner and Gropp, IJHPCA 2005).

// RingAllReduce is the time to sum size over n members in a ring, each sending
// at rate: 2(n-1) steps of size/n.
func RingAllReduce(n int, size, rate, latency float64) float64 {
	return float64(2 * RingGather(n, size, rate, latency))
}

// RingGather is the time of a ring all-gather, or of a reduce-scatter, of size
// in total over n members: n-1 steps of size/n.
func RingGather(n int, size, rate, latency float64) float64 {
	steps := float64(n - 1)
	return float64(steps * (float64(size/float64(n))/rate + latency))
}

// AllToAll is the time in which each of n members sends size/n to each other
// at rate altogether.
func AllToAll(n int, size, rate, latency float64) float64 { return RingGather(n, size, rate, latency) }
