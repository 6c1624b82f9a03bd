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
