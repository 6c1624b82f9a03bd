package network_test

import (
	"math"
	"testing"

	"github.com/quintet-dc/quintet/lab/sim/network"
	"github.com/quintet-dc/quintet/lab/sim/random"
)

func links(speeds ...float64) []network.Link {
	var out []network.Link
	for _, v := range speeds {
		out = append(out, network.Link{Speed: v, Drain: v})
	}
	return out
}

func stop(links []network.Link, flows ...network.Flow) network.Lossless {
	var s network.Solver
	var out network.Lossless
	s.Stop(&out, links, flows)
	return out
}

func TestNobodyStopsWhereAllFits(t *testing.T) {
	out := stop(links(100, 100, 100), offers(60, 0, 2), offers(40, 1, 2))
	for l := range out.Stopped {
		if out.Stopped[l] != 0 || out.Full[l] {
			t.Errorf("link %d: stopped %g, full %v", l, out.Stopped[l], out.Full[l])
		}
	}
	near(t, "rate", out.Rates[0], 60, 0)
}

// TestIncast: four senders at full speed to one receiver. Each gets a quarter
// and stands still for the rest; the receiver's own link is full, not stopped.
func TestIncast(t *testing.T) {
	out := stop(links(100, 100, 100, 100, 100), offers(100, 0, 4), offers(100, 1, 4), offers(100, 2, 4), offers(100, 3, 4))
	for i := range 4 {
		near(t, "rate", out.Rates[i], 25, 1e-12)
		near(t, "stopped", out.Stopped[i], 0.75, 1e-12)
	}
	if out.Stopped[4] != 0 || !out.Full[4] {
		t.Errorf("receiver's link: stopped %g, full %v", out.Stopped[4], out.Full[4])
	}
}

// TestASlowReceiverSpreads: a receiver that takes a fifth stops its leaf, the
// leaf its uplinks, and those the sender, which also hurts what the sender has
// for another: a victim whose own way is free.
//
//	sender ─0─ leaf ─1─ spine ─2─ leaf ─3─ slow receiver
//	                             └──4─ free receiver
//	other  ─5─ leaf (the slow one's) ─4─ free receiver
func TestASlowReceiverSpreads(t *testing.T) {
	ls := links(100, 100, 100, 100, 100, 100)
	ls[3].Drain = 20
	out := stop(ls, offers(60, 0, 1, 2, 3), offers(40, 0, 1, 2, 4), offers(50, 5, 4))
	near(t, "to the slow one", out.Rates[0], 20, 1e-12)
	near(t, "the victim", out.Rates[1], 40.0/3, 1e-12)
	near(t, "one who does not share a stopped link", out.Rates[2], 50, 0)
	near(t, "the slow one's link", out.Stopped[3], 0.8, 1e-12)
	for _, l := range []int{0, 1, 2} {
		near(t, "back up the tree", out.Stopped[l], 1-100.0/3/100, 1e-12)
	}
	for _, l := range []int{4, 5} {
		if out.Stopped[l] != 0 {
			t.Errorf("link %d is stopped %g of the time", l, out.Stopped[l])
		}
	}
	for l, full := range out.Full {
		if full != (l == 3) {
			t.Errorf("link %d full: %v", l, full)
		}
	}
}

// TestADeadReceiverStopsAll: one that takes nothing stops its feeders for good.
func TestADeadReceiverStopsAll(t *testing.T) {
	ls := links(100, 100)
	ls[1].Drain = 0
	out := stop(ls, offers(10, 0, 1), offers(90, 0))
	near(t, "rate", out.Rates[0]+out.Rates[1], 0, 0)
	near(t, "stopped", out.Stopped[0], 1, 0)
	near(t, "stopped", out.Stopped[1], 1, 0)
}

// TestLossless holds laws over drawn trees: no link carries more than it can,
// no flow gets more than it offers, one that gets less crosses a link that is
// stopped or full, a stopped link has a full one downstream of some flow, and
// scaling all rates scales rates and leaves shares of time alone.
func TestLosslessLaws(t *testing.T) {
	for seed := range uint64(60) {
		ls, flows := tree(seed)
		out := stop(ls, flows...)
		load := make([]float64, len(ls))
		for f, flow := range flows {
			slowed := false
			for _, l := range flow.Path {
				load[l] += out.Rates[f]
				slowed = slowed || out.Full[l] || out.Stopped[l] > 0
			}
			if out.Rates[f] > flow.Demand*(1+1e-12) || out.Rates[f] < flow.Demand*(1-1e-9) && !slowed {
				t.Fatalf("seed %d: flow %d gets %g of %g, slowed %v", seed, f, out.Rates[f], flow.Demand, slowed)
			}
		}
		for l := range ls {
			if limit := min(ls[l].Speed, ls[l].Drain); load[l] > limit*(1+1e-9) || out.Full[l] && load[l] < limit*(1-1e-9) {
				t.Fatalf("seed %d: link %d carries %g of %g, full %v", seed, l, load[l], limit, out.Full[l])
			}
		}
		for l := range ls {
			ls[l].Speed, ls[l].Drain = 4*ls[l].Speed, 4*ls[l].Drain
		}
		for f := range flows {
			flows[f].Demand *= 4
		}
		again := stop(ls, flows...)
		for l := range ls {
			near(t, "stopped when all is four times as fast", again.Stopped[l], out.Stopped[l], 1e-9)
		}
		for f := range flows {
			near(t, "rate when all is four times as fast", again.Rates[f], 4*out.Rates[f], 1e-9)
		}
	}
}

// tree draws hosts under leaves under one spine: up links of hosts and leaves
// first, then down links.
func tree(seed uint64) ([]network.Link, []network.Flow) {
	r := random.New(seed)
	const hosts, leaves = 12, 3
	ls := links()
	for range 2 * (hosts + leaves) {
		ls = append(ls, network.Link{Speed: 100, Drain: 100})
	}
	if down := hosts + leaves + r.Below(hosts); r.Chance(0.7) {
		ls[down].Drain = r.Uniform(0, 90)
	}
	var flows []network.Flow
	for range 20 {
		a, b := r.Below(hosts), r.Below(hosts)
		f := network.Flow{Path: []int32{int32(a)}, Demand: r.Uniform(5, 100)}
		if a%leaves != b%leaves {
			f.Path = append(f.Path, int32(hosts+a%leaves), int32(2*hosts+leaves+b%leaves))
		}
		f.Path = append(f.Path, int32(hosts+leaves+b))
		flows = append(flows, f)
	}
	return ls, flows
}

// TestPauseFrames: full pause is at least 2,980 frames a second at 100 Gb/s.
func TestPauseFrames(t *testing.T) {
	near(t, "frames", network.LeastPauseFrames(1, 100e9), 2980, 1e-3)
	near(t, "half", network.LeastPauseFrames(0.5, 400e9), 2*2980, 1e-3)
}

// TestXmitWait: a port of 400 Gb/s without a credit fills 32 bits in under a
// second, and stays there.
func TestXmitWait(t *testing.T) {
	w := network.Wait{BytesPerTick: 8, Width: 32}
	second := w.Ticks(1, 400e9)
	near(t, "ticks", second, 6.25e9, 1e-12)
	if got := w.Count(second); got != math.MaxUint32 {
		t.Errorf("after a second %d, want it stuck at %d", got, uint32(math.MaxUint32))
	}
	if got := w.Count(w.Ticks(0.5, 400e9)); got != 3125000000 {
		t.Errorf("after half a second %d", got)
	}
	old := network.Wait{BytesPerTick: 32, Width: 64}
	near(t, "older ASIC", old.Ticks(1, 400e9), second/4, 1e-12)
}
