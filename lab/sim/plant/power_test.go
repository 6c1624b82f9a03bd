package plant_test

import (
	"testing"

	"github.com/quintet-dc/quintet/lab/sim/condition"
	"github.com/quintet-dc/quintet/lab/sim/plant"
)

// TestPowerIsKept: what feeds give is what machines draw, over the efficiencies
// on the way, and charging apart both sides give the same.
func TestPowerIsKept(t *testing.T) {
	for _, c := range []struct {
		cfg             plant.Config
		shelf, pdu, ups float64
	}{{plant.Config{}, 0.955, 0.99, 0.96}, {plant.Config{Direct: true}, 0.985, 0.995, 0.98}} {
		b := newBench(t, 64, c.cfg)
		s := b.run(5)
		machines := 64*8*800/c.shelf + float64(b.site.Switches())*1200
		b.near("feeds", s.Feeds[0].Watts+s.Feeds[1].Watts, machines/c.pdu/c.ups, 1)
		b.near("a rack", s.Racks[0].Watts, 4*8*800/c.shelf, 1e-6)
		b.near("a row", s.Rows[0].Watts, 8*s.Racks[0].Watts, 1e-6)
		if !c.cfg.Direct {
			b.near("sides", s.Feeds[0].Watts, s.Feeds[1].Watts, 1e-6)
		}
	}
}

func TestADirectRackIsCarriedByOneShelf(t *testing.T) {
	b := newBench(t, 4, plant.Config{Direct: true})
	s := b.run(2)
	b.near("the first shelf", s.Racks[0].Shelf[0].Watts, 4*8*800, 1e-6)
	b.near("the second", s.Racks[0].Shelf[1].Watts, 0, 0)
	b.in.Condition.Racks[0].Shelf[0] = 0
	s = b.run(2)
	b.near("the second after the first", s.Racks[0].Shelf[1].Watts, 4*8*800, 1e-6)
	if n := b.plant.Nodes[0]; n.Brake || !n.Powered {
		t.Errorf("node %+v", n)
	}
}

// TestOneSideCarriesAll: whatever stops on side b, side a gives what both gave
// and nothing brakes.
func TestOneSideCarriesAll(t *testing.T) {
	for name, stop := range map[string]func(c *condition.Set){
		"shelf":  func(c *condition.Set) { c.Racks[0].Shelf[1] = 0 },
		"PSUs":   func(c *condition.Set) { c.Racks[0].PSUs[1] = 6 },
		"branch": func(c *condition.Set) { c.Racks[0].Branch, c.Racks[0].Side = true, 1 },
		"PDU":    func(c *condition.Set) { c.PDUs[1].Down = true },
		"UPS":    func(c *condition.Set) { c.UPSs[1].Down = true },
	} {
		b := newBench(t, 32, plant.Config{})
		b.draw(700, 450)
		stop(b.in.Condition)
		s := b.run(30)
		b.near(name+": a", s.Racks[0].Shelf[0].Watts, 4*nodeMost, 1e-6)
		b.near(name+": b", s.Racks[0].Shelf[1].Watts, 0, 0)
		if n := b.plant.Nodes[0]; n.Brake || !n.Powered {
			t.Errorf("%s: node %+v", name, n)
		}
	}
}

func TestWithoutBothSidesItIsDark(t *testing.T) {
	b := newBench(t, 64, plant.Config{})
	b.in.Condition.PDUs[0].Down, b.in.Condition.PDUs[1].Down = true, true
	s := b.run(2)
	for i := range b.plant.Nodes {
		if got, want := b.plant.Nodes[i].Powered, i >= 32; got != want {
			t.Errorf("node %d powered: %v", i, got)
		}
	}
	for i := range b.plant.Switches {
		if got, want := b.plant.Switches[i].Powered, b.site.SwitchRow(i) == 1; got != want {
			t.Errorf("switch %d powered: %v", i, got)
		}
	}
	if s.PDUs[0].Up || !s.PDUs[2].Up {
		t.Errorf("PDUs %+v", s.PDUs)
	}
}

// TestBatteriesBridgeAFeed: for five minutes at what a UPS was built for, longer
// at less; then the other side carries all; when the feed is back they fill.
func TestBatteriesBridgeAFeed(t *testing.T) {
	b := newBench(t, 32, plant.Config{})
	s := b.run(1)
	minutes := 5 * s.UPSs[0].Limit / s.UPSs[0].Watts
	b.in.Condition.Feeds[0].Down = true
	half := int(minutes * 30)
	s = b.run(half)
	b.near("charge after half the time", s.UPSs[0].Charge, 0.5, 0.01)
	b.near("the other's charge", s.UPSs[1].Charge, 1, 0)
	if s.UPSs[0].Up || s.Feeds[0].Up || !s.PDUs[0].Up {
		t.Errorf("feed %+v, UPS %+v, PDU %+v", s.Feeds[0], s.UPSs[0], s.PDUs[0])
	}
	b.near("still half on the side", s.Racks[0].Shelf[0].Watts, 4*8*400, 1e-6)
	s = b.run(half + 10)
	b.near("then none", s.Racks[0].Shelf[0].Watts, 0, 0)
	b.near("and all on the other", s.Racks[0].Shelf[1].Watts, 4*8*800, 1e-6)
	if n := b.plant.Nodes[0]; n.Brake || !n.Powered {
		t.Errorf("node %+v", n)
	}
	b.in.Condition.Feeds[0].Down = false
	if s = b.run(60); s.UPSs[0].Charge < 0.02 || !s.UPSs[0].Up || s.Feeds[0].Watts <= s.Feeds[1].Watts {
		t.Errorf("a minute after, the battery has %g, feeds %+v", s.UPSs[0].Charge, s.Feeds)
	}
}

// TestTheBrakeIsDrawnWhereAShelfCannotCarryItsHalf, not before, and only on its
// rack.
func TestTheBrakeIsDrawnWhereAShelfCannotCarryItsHalf(t *testing.T) {
	just := 8 * 800.0 / 2 / (1.1 * nodeMost) // of a shelf's capacity
	for factor, want := range map[float64]bool{just * 1.01: false, just * 0.9: true} {
		b := newBench(t, 8, plant.Config{})
		b.in.Condition.Racks[0].Shelf[0] = factor
		b.run(60)
		if b.plant.Nodes[2].Brake != want || b.plant.Nodes[5].Brake {
			t.Errorf("at %g of its capacity the rack brakes: %v; its neighbour: %v", factor, b.plant.Nodes[2].Brake, b.plant.Nodes[5].Brake)
		}
	}
}

// TestLostSuppliesAreALostPartOfTheShelf: four of six leave a third, too little
// for half of a full rack.
func TestLostSuppliesAreALostPartOfTheShelf(t *testing.T) {
	b := newBench(t, 4, plant.Config{})
	b.draw(700, 450)
	b.in.Condition.Racks[0].PSUs[0] = 3
	if b.run(60); b.plant.Nodes[0].Brake {
		t.Error("three of six carry half of all")
	}
	b.in.Condition.Racks[0].PSUs[0] = 4
	s := b.run(60)
	b.near("capacity", s.Racks[0].Shelf[0].Capacity, 1.1*4*nodeMost/3, 1e-6)
	if !b.plant.Nodes[0].Brake || s.Racks[0].Shelf[0].PSUs[3] || !s.Racks[0].Shelf[0].PSUs[4] {
		t.Errorf("brake %v, supplies %v", b.plant.Nodes[0].Brake, s.Racks[0].Shelf[0].PSUs)
	}
}

// TestASmallLackMakesShortBrakes: with machines that draw 0.6 while braking, the
// part of the time that is braked is lack ÷ (lack + what is left while braking).
func TestASmallLackMakesShortBrakes(t *testing.T) {
	for _, what := range []struct {
		name     string
		lack     func(c *condition.Set, missing float64)
		racks    float64 // behind it
		switches float64 // watts behind it
		loss     float64
	}{
		{"shelf", func(c *condition.Set, m float64) { c.Racks[0].Shelf[0] = 1 - m }, 1, 0, 1},
		{"PDU", func(c *condition.Set, m float64) { c.PDUs[0].Sag = m }, 8, 48 * 1200, 0.955},
	} {
		for _, short := range []float64{0.03, 0.1, 0.2} {
			b := newBench(t, 32, plant.Config{})
			if b.site.Switches() != 48 {
				t.Fatalf("%d switches", b.site.Switches())
			}
			half := what.racks*4*8*400/what.loss + what.switches/2
			capacity := half * (1 - short)
			what.lack(b.in.Condition, 1-capacity/(1.1*(what.racks*4*nodeMost/what.loss+what.switches)))
			braked := 0.0
			const seconds = 6000
			for range seconds {
				if b.plant.Nodes[0].Brake {
					braked++
					b.draw(0.6*500, 0.6*300)
				} else {
					b.draw(500, 300)
				}
				b.run(1)
			}
			spare := min(capacity-0.6*(half-what.switches/2)-what.switches/2, 0.3*capacity)
			want := short * half / (short*half + spare)
			b.near(what.name+"'s brake", braked/seconds, want, 0.25*want) // brakes last whole seconds here
		}
	}
}

// TestWithoutReserveTheLossOfASideBrakes: a site that sold its reserve.
func TestWithoutReserveTheLossOfASideBrakes(t *testing.T) {
	b := newBench(t, 32, plant.Config{Side: 0.6})
	if b.run(60); b.plant.Nodes[0].Brake {
		t.Error("both sides carry all")
	}
	b.in.Condition.PDUs[1].Down = true
	if b.run(5); !b.plant.Nodes[0].Brake || !b.plant.Nodes[0].Powered {
		t.Errorf("node %+v", b.plant.Nodes[0])
	}
}

func TestARacksLimitIsDealtOutInProportion(t *testing.T) {
	b := newBench(t, 8, plant.Config{})
	for gpu := range 8 {
		b.in.GPUWatts[gpu] = 300
	}
	b.in.NodeWatts[0] = 8 * 500
	if b.run(100); b.plant.Nodes[0].Limit != 0 {
		t.Errorf("a limit of %g without a policy", b.plant.Nodes[0].Limit)
	}
	b.in.Condition.Racks[0].Limit = 20000
	b.in.Condition.Nodes[3].Limit = 3000
	s := b.run(100)
	sum := b.plant.Nodes[0].Limit + 3*b.plant.Nodes[1].Limit
	b.near("at the outputs", sum, 20000*0.955, 1e-6)
	b.near("in proportion", b.plant.Nodes[0].Limit/b.plant.Nodes[1].Limit, 500.0/800, 1e-3)
	b.near("a node's own", b.plant.Nodes[3].Limit, 3000, 0)
	b.near("another rack's", b.plant.Nodes[4].Limit, 0, 0)
	b.near("as shown", s.Racks[0].Limit, 20000, 0)
	b.near("provisioned", s.Racks[1].Limit, 4*nodeMost/0.955, 1e-6)
}

// TestStepsDoNotAllocate: a reference site steps each second.
func TestStepsDoNotAllocate(t *testing.T) {
	b := newBench(t, 64, plant.Config{Air: true})
	b.run(1)
	if n := testing.AllocsPerRun(20, func() { b.run(1) }); n > 0 {
		t.Errorf("%g allocations a step", n)
	}
}
