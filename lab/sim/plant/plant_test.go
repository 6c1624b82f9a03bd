package plant_test

import (
	"math"
	"testing"

	"github.com/quintet-dc/quintet/lab/sim/condition"
	"github.com/quintet-dc/quintet/lab/sim/plant"
	"github.com/quintet-dc/quintet/lab/sim/random"
	"github.com/quintet-dc/quintet/lab/sim/site"
	"github.com/quintet-dc/quintet/lab/sim/state"
)

const (
	nodeMost = 8 * (700 + 450) // watts
	water    = 4186.0 / 60     // watts per litre per minute and kelvin
)

// bench is a plant with machines that draw what a test says.
type bench struct {
	t     *testing.T
	site  *site.Site
	plant *plant.Plant
	in    plant.Input
	state *state.State
}

func newBench(t *testing.T, nodes int, cfg plant.Config) *bench {
	t.Helper()
	s, err := site.New(site.Config{Nodes: nodes})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, site: s, plant: plant.New(s, random.New(7), cfg), in: plant.Input{
		GPUWatts: make([]float64, nodes*8), NodeWatts: make([]float64, nodes), Condition: condition.New(s, 0)},
		state: &state.State{Nodes: make([]state.Node, nodes), Switches: make([]state.Switch, s.Switches()), Racks: make([]state.Rack, s.Racks),
			Loops: make([]state.Loop, s.Racks), CDUs: make([]state.CDU, s.CDUs()), Rows: make([]state.Row, s.Rows()),
			PDUs: make([]state.Supply, 2*s.Rows()), UPSs: make([]state.Supply, 2*s.Halls()), Feeds: make([]state.Supply, 2)}}
	b.draw(500, 300)
	return b
}

// draw sets what each GPU draws and what its node draws beside it per GPU.
func (b *bench) draw(gpu, host float64) {
	for i := range b.in.GPUWatts {
		b.in.GPUWatts[i] = gpu
	}
	for i := range b.in.NodeWatts {
		b.in.NodeWatts[i] = 8 * (gpu + host)
	}
}

// run moves on by steps of a second and returns the state.
func (b *bench) run(seconds int) *state.State {
	for range seconds {
		b.plant.Step(b.in, 1)
	}
	b.plant.Fill(b.state)
	return b.state
}

func (b *bench) near(what string, got, want, tolerance float64) {
	b.t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		b.t.Errorf("%s: %g, want %g ± %g", what, got, want, tolerance)
	}
}

// TestHeatComesBack: what GPUs give to coolant is what flow and rise carry, of
// each loop and of the unit.
func TestHeatComesBack(t *testing.T) {
	b := newBench(t, 32, plant.Config{})
	s := b.run(3000)
	for i, l := range s.Loops {
		b.near("loop's watts", l.Flow*water*(l.Return-l.Supply), 32*500, 1e-6)
		b.near("loop's supply over its unit's", l.Supply, s.CDUs[i/4].Supply, 0.01)
	}
	for _, u := range s.CDUs {
		b.near("unit's watts", u.Flow*water*(u.Return-u.Supply), 4*32*500, 1e-6)
	}
	b.near("flows", s.Loops[0].Flow+s.Loops[1].Flow+s.Loops[2].Flow+s.Loops[3].Flow, s.CDUs[0].Flow, 1e-9)
	over := s.CDUs[0].Supply - s.CDUs[0].Facility
	b.draw(250, 300)
	s = b.run(3000)
	b.near("half the heat, half the rise over facility water", (s.CDUs[0].Supply-s.CDUs[0].Facility)/over, 0.5, 0.01)
}

func TestARunStartsNearRest(t *testing.T) {
	for _, cfg := range []plant.Config{{}, {Air: true}} {
		b := newBench(t, 32, cfg)
		b.draw(0.75*700, 0.75*450)
		first := b.run(1)
		supply, inlet := first.Loops[3].Supply, first.Nodes[9].Inlet
		last := b.run(600)
		b.near("supply", last.Loops[3].Supply, supply, 0.3)
		b.near("inlet", last.Nodes[9].Inlet, inlet, 0.3)
	}
}

// TestOnePumpMakesUpForTheOther: as far as its speed goes, 1.3 times.
func TestOnePumpMakesUpForTheOther(t *testing.T) {
	b := newBench(t, 32, plant.Config{})
	healthy := *b.run(10)
	flow, pressure := healthy.CDUs[1].Flow, healthy.CDUs[1].Pressure
	b.near("its half", healthy.CDUs[1].Pump[0], flow/2, 1e-9)
	b.in.Condition.CDUs[1].Pump[0] = 0.8
	s := b.run(300)
	b.near("all of a small lack", s.CDUs[1].Flow/flow, 1, 1e-6)
	b.in.Condition.CDUs[1].Pump[0] = 0
	s = b.run(300)
	b.near("flow of one pump", s.CDUs[1].Flow/flow, 1.3/2, 1e-6)
	b.near("its own flow", s.CDUs[1].Pump[1]/(flow/2), 1.3, 1e-6)
	b.near("the other's", s.CDUs[1].Pump[0], 0, 0)
	b.near("pressure by the affinity law", s.CDUs[1].Pressure/pressure, 0.65*0.65, 1e-6)
	b.near("flow before the nodes", b.plant.Nodes[16].Flow, 0.65, 0.05)
	b.near("nothing elsewhere", b.plant.Nodes[15].Flow, 1, 0.05)
	b.in.Condition.CDUs[1].Pump[0] = -0.5
	s = b.run(300)
	b.near("a check valve that lets half a pump's flow back", s.CDUs[1].Flow/flow, 0.65-0.25, 1e-6)
}

// TestABlockedLoopGivesToTheOthers: its pumps climb their curve.
func TestABlockedLoopGivesToTheOthers(t *testing.T) {
	b := newBench(t, 16, plant.Config{})
	before := *b.run(5)
	flow0, flow1, pressure := before.Loops[0].Flow, before.Loops[1].Flow, before.CDUs[0].Pressure
	b.in.Condition.Loops[0].Flow = 0.1
	s := b.run(5)
	if ratio := s.Loops[0].Flow / flow0; ratio < 0.1 || ratio > 0.12 {
		t.Errorf("the blocked loop has %g of its flow, want a little over 0.1", ratio)
	}
	if s.Loops[1].Flow <= flow1 || s.CDUs[0].Pressure <= pressure {
		t.Errorf("the others' flow went from %g to %g at %g Pa, from %g", flow1, s.Loops[1].Flow, s.CDUs[0].Pressure, pressure)
	}
	b.near("its return is warmer by as much as its flow is less", (s.Loops[0].Return - s.Loops[0].Supply), 60, 1e-9)
}

// TestStillCoolantWarmsAtOnce: 22.4 kW of GPUs at 700 W on 3.4 litres, 1.6 K/s
// (rca.md C.1: 132 kW on 20 litres).
func TestStillCoolantWarmsAtOnce(t *testing.T) {
	b := newBench(t, 4, plant.Config{})
	b.draw(700, 0)
	b.in.Condition.Loops[0].Flow = 0
	start := b.run(1).Loops[0].Supply
	b.near("kelvins per second", (b.run(10).Loops[0].Supply-start)/10, 1.6, 0.05)
}

func TestWarmFacilityWaterArrivesWithItsLag(t *testing.T) {
	b := newBench(t, 16, plant.Config{})
	start := b.run(2000).CDUs[0].Supply
	b.in.Condition.CDUs[0].Facility = 10
	soon := b.run(10).CDUs[0].Supply - start
	if soon < 0.2 || soon > 3 {
		t.Errorf("after 10 s it is warmer by %g K, want little", soon)
	}
	b.near("in the end", b.run(1200).CDUs[0].Supply-start, 10, 0.2)
}

func TestAWarmRowWarmsItsNodes(t *testing.T) {
	b := newBench(t, 64, plant.Config{Air: true})
	before, elsewhere := b.run(1000).Nodes[3].Inlet, b.state.Nodes[40].Inlet
	fans := b.state.Nodes[3].Fans[0]
	b.in.Condition.Rows[0].Supply = 10
	s := b.run(1000)
	b.near("inlet", s.Nodes[3].Inlet-before, 10, 0.1)
	b.near("in another row", s.Nodes[40].Inlet-elsewhere, 0, 0.1)
	if s.Nodes[3].Fans[0] <= fans || b.plant.Nodes[3].Flow <= b.plant.Nodes[40].Flow {
		t.Errorf("its fans go at %g, went at %g", s.Nodes[3].Fans[0], fans)
	}
	b.near("a switch of the row", b.plant.Switches[0].Inlet, s.Rows[b.site.SwitchRow(0)].Supply+1.5, 1e-9)
}

// TestExhaustComesRound: the air before a row's nodes is warmer than it is
// supplied in proportion to what they draw, and what one draws warms its
// neighbours most.
func TestExhaustComesRound(t *testing.T) {
	b := newBench(t, 32, plant.Config{Air: true})
	s := b.run(2000)
	full := s.Rows[0].Inlet - s.Rows[0].Supply
	if full < 1.5 || full > 5 {
		t.Errorf("the row takes in air %g K warmer than supplied", full)
	}
	b.draw(250, 150)
	s = b.run(2000)
	b.near("half the draw", (s.Rows[0].Inlet-s.Rows[0].Supply)/full, 0.5, 1e-3)
	far, near := s.Nodes[31].Inlet, s.Nodes[1].Inlet
	b.in.NodeWatts[0] += 4000
	s = b.run(2000)
	if s.Nodes[1].Inlet-near < 4*(s.Nodes[31].Inlet-far) {
		t.Errorf("4 kW at node 0 warm its rack by %g K and the row's end by %g", s.Nodes[1].Inlet-near, s.Nodes[31].Inlet-far)
	}
}

func TestAStoppedFanHeatsWhatIsBehindIt(t *testing.T) {
	b := newBench(t, 4, plant.Config{Air: true})
	b.run(600)
	before := b.plant.Nodes[2]
	b.in.Condition.Nodes[2].Fans, b.in.Condition.Nodes[2].Fan = 0, 1
	s := b.run(100)
	n := &b.plant.Nodes[2]
	if n.FlowAt(0) > 0.7*before.Flow || n.FlowAt(7) < before.Flow {
		t.Errorf("of %g it has %g behind the fan and %g elsewhere", before.Flow, n.FlowAt(0), n.FlowAt(7))
	}
	if s.Nodes[2].Fans[0] != 0 || s.Nodes[2].Fans[1] <= s.Nodes[1].Fans[1] {
		t.Errorf("fans %v beside %v", s.Nodes[2].Fans, s.Nodes[1].Fans)
	}
	b.in.Condition.Nodes[2].Fans, b.in.Condition.Nodes[2].Fan = 0.4, 0
	s = b.run(100)
	b.near("all fans at two fifths of full", s.Nodes[2].Fans[3], 0.4, 1e-3)
	if hot, cool := s.Nodes[2].Exhaust-s.Nodes[2].Inlet, s.Nodes[1].Exhaust-s.Nodes[1].Inlet; hot < 1.5*cool {
		t.Errorf("it blows out air %g K warmer, its neighbour %g", hot, cool)
	}
}

func TestTheDayGoesRound(t *testing.T) {
	b := newBench(t, 4, plant.Config{})
	low, high := math.Inf(1), math.Inf(-1)
	for range 2 * 144 {
		b.plant.Step(b.in, 600)
		b.plant.Fill(b.state)
		low, high = min(low, b.state.CDUs[0].Facility), max(high, b.state.CDUs[0].Facility)
	}
	if high-low < 1 || high-low > 3 {
		t.Errorf("facility water swings by %g K in two days", high-low)
	}
}
