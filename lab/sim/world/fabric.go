package world

import (
	"math"

	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/lab/sim/condition"
	"github.com/quintet-dc/quintet/lab/sim/plant"
	"github.com/quintet-dc/quintet/lab/sim/random"
	"github.com/quintet-dc/quintet/lab/sim/site"
	"github.com/quintet-dc/quintet/lab/sim/worlds"
)

// fabric is what each link can do under the condition. Slices are by link
// unless they state otherwise.
type fabric struct {
	site             *site.Site
	sender, receiver []int32 // switches; -1 is a NIC
	nic              []int32 // the NIC at its one end; -1 between switches
	leaf             []int32 // the leaf (fabric·Leaves + leaf) whose uplink it is; -1 at a NIC

	base    []float64 // decades of BER in health
	celsius []float64 // of the sender's module in health
	bursts  []float64 // factor: how often bursts meet there

	up            []bool
	speed         []float64 // bits per second that it carries
	drain         []float64 // factor: what its receiver takes of that
	hold          []bool
	lost          []float64 // share of packets that do not arrive
	damaged       []float64 // share that arrives damaged, of those lost
	reorder       []float64
	ber           []float64
	corrected     []float64 // bits per second
	uncorrectable []float64 // codewords per second

	stir []uint64 // by leaf: what is mixed into its hash
	pile []pile   // by leaf

	powered []bool // switches

	retry   int     // seconds that flows stand still on a link that is gone
	gone    []int32 // links that went down in the last seconds …
	waiting []int   // … and by link, how many seconds their flows still wait
	mark    uint64  // of all that decides about rates
}

// pile is an uplink that gets more than its due of its leaf's flows.
type pile struct {
	uplink int
	share  float64
}

func newFabric(s *site.Site, seed random.Source, p worlds.Physics) *fabric {
	n := s.Links()
	f := &fabric{site: s, retry: int(p.Retry.Of(retry)), sender: make([]int32, n), receiver: make([]int32, n), nic: make([]int32, n), leaf: make([]int32, n),
		base: make([]float64, n), celsius: make([]float64, n), bursts: make([]float64, n), up: make([]bool, n),
		speed: make([]float64, n), drain: make([]float64, n), hold: make([]bool, n), lost: make([]float64, n),
		damaged: make([]float64, n), reorder: make([]float64, n), ber: make([]float64, n), corrected: make([]float64, n),
		uncorrectable: make([]float64, n), stir: make([]uint64, s.Fabrics*s.Leaves), pile: make([]pile, s.Fabrics*s.Leaves),
		powered: make([]bool, s.Switches()), waiting: make([]int, n)}
	for c := range s.Cables() {
		lower, upper, nic, leaf := f.ends(c)
		up, down := site.Up(c), site.Down(c)
		f.sender[up], f.receiver[up], f.sender[down], f.receiver[down] = lower, upper, upper, lower
		f.nic[up], f.nic[down], f.leaf[up], f.leaf[down] = nic, nic, leaf, leaf
	}
	for l := range n {
		r := seed.At(uint64(l))
		f.base[l] = r.Within(-8, 0.3) // 1e-8 in health, rca.md B.2
		f.celsius[l] = r.Within(50, 2.5)
		f.bursts[l] = p.Bursts.Of(r.LogNormal(1, 0.5))
	}
	return f
}

// ends returns a cable's switches (-1 for a NIC), its NIC and its leaf.
func (f *fabric) ends(c int) (lower, upper, nic, leaf int32) {
	s := f.site
	if c < s.HostCables() {
		fab, l := s.Leaf(c/s.GPUs, c%s.GPUs)
		return -1, int32(s.Switch(fab, l)), int32(c), -1
	}
	c -= s.HostCables()
	uplink, l, fab := c%s.Uplinks, c/s.Uplinks%s.Leaves, c/s.Uplinks/s.Leaves
	return int32(s.Switch(fab, l)), int32(s.Switch(fab, s.Leaves+uplink%s.Spines)), -1, int32(fab*s.Leaves + l)
}

// seldom is a share of codewords that is not reached in practice, 1 in some years
// of a 400 Gb/s link.
const seldom = 1e-15

const (
	packet   = 4096.0     // bytes
	window   = 150.0      // packets in flight: 400 Gb/s over some 12 µs of round trip
	codeword = 5140.0     // bits of payload in one of RS(544,514)
	perFrame = 7.0        // codewords that a packet touches
	moduleOK = 15.0       // kelvins a module bears beyond its usual temperature; ours
	nicOK    = 25.0       // kelvins a NIC bears; ours
	slowing  = 0.02       // of its rate per kelvin beyond
	pcieRoom = 512. / 400 // what 16 lanes of generation 5 carry over a 400 Gb/s port
)

// retry is how long flows stand still, seconds, whose link between switches went
// down: what was on it is sent again after the queue pair's timeout, which
// libraries set to 4.096 µs · 2^18 to 2^20, 1.07 to 4.3 s (NCCL_IB_TIMEOUT).
const retry = 2

// pass lets a second pass for flows that wait, and reports whether some need
// another way now.
func (f *fabric) pass() bool {
	over, left := false, f.gone[:0]
	for _, l := range f.gone {
		f.waiting[l]--
		if f.waiting[l] > 0 {
			left = append(left, l)
		} else {
			over = true
		}
	}
	f.gone = left
	return over
}

// waits reports whether a way has a link whose loss has not been noticed.
func (f *fabric) waits(path []int32) bool {
	for _, l := range path {
		if !f.up[l] && f.waiting[l] > 0 {
			return true
		}
	}
	return false
}

// update derives what links can do from the condition.
func (f *fabric) update(c *condition.Set, p *plant.Plant) {
	s := f.site
	for i := range f.powered {
		f.powered[i] = !c.Switches[i].Down && p.Switches[i].Powered
	}
	clear(f.stir)
	clear(f.pile)
	f.mark = 0
	for cable := range s.Cables() {
		u, d := site.Up(cable), site.Down(cable)
		up := !c.Links[u].Down && !c.Links[d].Down && f.alive(f.sender[u]) && f.alive(f.receiver[u])
		if nic := f.nic[u]; nic >= 0 {
			node := int(nic) / s.GPUs
			up = up && !c.Nodes[node].Down && p.Nodes[node].Powered
		} else {
			f.hash(cable, &c.Links[u])
		}
		f.link(u, up, &c.Links[u])
		f.link(d, up, &c.Links[d])
		if nic := f.nic[u]; nic >= 0 {
			f.port(u, d, &c.NICs[nic])
		}
		f.sign(u)
		f.sign(d)
	}
}

// sign mixes into mark what of a link decides about rates.
func (f *fabric) sign(l int32) {
	for _, x := range [4]float64{f.speed[l], f.drain[l], f.lost[l], f.reorder[l]} {
		f.mark = random.Mix(f.mark ^ math.Float64bits(x))
	}
	if f.hold[l] {
		f.mark = random.Mix(f.mark + 1)
	}
	if leaf := f.leaf[l]; leaf >= 0 {
		f.mark = random.Mix(f.mark ^ f.stir[leaf] ^ math.Float64bits(f.pile[leaf].share) + uint64(f.pile[leaf].uplink))
	}
}

func (f *fabric) alive(sw int32) bool { return sw < 0 || f.powered[sw] }

// hash keeps what makes a leaf choose otherwise.
func (f *fabric) hash(cable int, l *condition.Link) {
	leaf := f.leaf[site.Up(cable)]
	uplink := (cable - f.site.HostCables()) % f.site.Uplinks
	if l.Hash != 0 {
		f.stir[leaf] = random.Mix(f.stir[leaf] ^ random.Mix(l.Hash+uint64(uplink)))
	}
	if l.Pile > f.pile[leaf].share {
		f.pile[leaf] = pile{uplink: uplink, share: l.Pile}
	}
}

func (f *fabric) link(l int32, up bool, c *condition.Link) {
	if f.up[l] && !up && f.nic[l] < 0 {
		if f.waiting[l] == 0 {
			f.gone = append(f.gone, l)
		}
		f.waiting[l] = f.retry
	}
	f.up[l] = up
	if !up {
		f.speed[l], f.drain[l], f.hold[l], f.lost[l], f.damaged[l], f.reorder[l] = 0, 1, false, 0, 0, 0
		f.ber[l], f.corrected[l], f.uncorrectable[l] = 0, 0, 0
		return
	}
	f.speed[l] = float64(float64(f.site.Speed*c.Speed) * slowed(c.Heat-moduleOK))
	f.drain[l], f.hold[l], f.reorder[l] = c.Drain, c.Hold, c.Reorder
	// A module's BER rises by some decade in 20 K beyond what it bears; ours.
	decades := c.Decades + max(0, c.Heat-moduleOK)/20
	f.ber[l] = power10(f.base[l] + decades)
	f.corrected[l] = float64(f.ber[l] * f.site.Speed)
	damaged := c.Corrupt
	f.uncorrectable[l] = 0
	bad := 0.0
	if decades > 1 {
		bad = uncorrectable(f.ber[l])
	}
	if bad > seldom {
		f.uncorrectable[l] = float64(bad*f.site.Speed) / codeword
		damaged += float64((1 - damaged) * min(1, float64(perFrame*bad)))
	}
	f.damaged[l] = min(1, damaged)
	f.lost[l] = min(1, f.damaged[l]+c.Loss)
}

// port is what a NIC does to its two links.
func (f *fabric) port(up, down int32, n *condition.NIC) {
	rate := slowed(n.Heat - nicOK)
	pcie := 1.0
	if n.PCIe < 1 {
		pcie = min(1, float64(n.PCIe*pcieRoom))
	}
	f.speed[up] = float64(float64(f.speed[up]*rate) * pcie)
	f.drain[down] = float64(float64(f.drain[down]*rate) * pcie)
}

// slowed is the factor of the rate that heat beyond what is borne leaves.
func slowed(kelvin float64) float64 { return max(0.2, 1-float64(slowing*max(0, kelvin))) }

const ln10 = 2.302585092994046

func power10(x float64) float64 { return stats.Exp(float64(x * ln10)) }

// uncorrectable is the probability that a codeword of RS(544,514) has more than
// 15 symbols of ten bits in error: the tail of a binomial, errors at random
// (rca.md B.2: 2.8e-8 at 5e-4, 1.5e-4 at 1e-3, 7.9e-2 at 2e-3).
func uncorrectable(ber float64) float64 {
	const symbols, mended = 544, 15
	if ber <= 0 {
		return 0
	}
	p := 1 - stats.Pow(1-min(ber, 0.5), 10)
	logOdds := stats.Log(p) - stats.Log(1-p)
	log := float64(symbols * stats.Log(1-p)) // of the term with no error
	sum := 0.0
	for k := 1; k <= symbols; k++ {
		log += stats.Log(float64(symbols-k+1)/float64(k)) + logOdds
		if k > mended {
			sum += stats.Exp(log)
			if k > 60 && log < -40 {
				break
			}
		}
	}
	return min(1, sum)
}
