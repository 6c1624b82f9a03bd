package world_test

import (
	"math"
	"slices"
	"testing"

	"github.com/quintet-dc/quintet/lab/sim/condition"
	"github.com/quintet-dc/quintet/lab/sim/site"
	"github.com/quintet-dc/quintet/lab/sim/state"
	"github.com/quintet-dc/quintet/lab/sim/world"
)

// seen is what a minute under a condition changed, beside a minute of the same
// run without it.
type seen struct {
	slower        float64 // the first job's steps over those without
	now, without  *state.State
	other         float64 // the second job's steps over those without
	w             *world.World
	steps, health []step
}

// link is by how much a counter of a link rose beyond what it does in health.
func (s *seen) link(l int32, of func(*state.Link) float64) float64 {
	return of(&s.now.Links[l]) - of(&s.without.Links[l])
}

func (s *seen) nic(n int, of func(*state.NIC) float64) float64 {
	return of(&s.now.NICs[n]) - of(&s.without.NICs[n])
}

func stopped(l *state.Link) float64 { return l.StoppedTotal }
func damaged(l *state.Link) float64 { return l.DamagedTotal }
func dropped(l *state.Link) float64 { return l.DroppedTotal }
func marked(l *state.Link) float64  { return l.MarkedTotal }

// under runs the same site with and without a condition from second 30 on.
func under(t *testing.T, cfg world.Config, change func(*condition.Set, *world.World)) *seen {
	t.Helper()
	w, c := build(t, cfg)
	v, healthy := build(t, cfg)
	s := &seen{now: w.State(), without: v.State(), w: w}
	play(w, c, 30, nil)
	play(v, healthy, 30, nil)
	change(c, w)
	run := func(w *world.World, c *condition.Set) (first, second []step) {
		for range 150 {
			st := w.Step(c)
			if st.Second < 60 {
				continue
			}
			for _, x := range st.Jobs[0].Steps {
				first = append(first, step{Step: x})
			}
			for _, x := range st.Jobs[1].Steps {
				second = append(second, step{Step: x})
			}
		}
		return first, second
	}
	a, b := run(w, c)
	e, f := run(v, healthy)
	s.slower, s.other = mean(a, seconds)/mean(e, seconds), mean(b, seconds)/mean(f, seconds)
	s.steps, s.health = a, e
	return s
}

// The parts that the table below strikes: all of the first job. Node 4 is the
// second in its ring; NIC 34 its third.
const (
	node, gpu, nic = 4, 35, 34
)

// struck is a condition, and what it is expected to do.
type struck struct {
	name      string
	least     float64 // slower by at least this factor …
	most      float64 // … and at most
	change    func(*condition.Set, *world.World)
	shows     func(*seen) bool
	otherwise string
}

// leafOf is the leaf of NIC 34.
func leafOf(w *world.World) int { return w.Site().Switch(2, 1) }

const down, up = 2*nic + 1, 2 * nic // the NIC's links

// ofLinks is what is wrong with cables and NICs.
func ofLinks() []struck {
	return []struck{
		{"receiver takes less", 1.3, 3, func(c *condition.Set, _ *world.World) { c.Links[down].Drain = 0.3 },
			func(s *seen) bool {
				return s.link(down, stopped) > 20 && s.link(down, stopped) > 2*s.link(site.Up(2), stopped) && s.link(up, stopped) < 1
			}, "its NIC stops the leaf, and that others less"},
		{"PCIe lanes lost", 1.2, 4, func(c *condition.Set, _ *world.World) { c.NICs[nic].PCIe = 0.25 },
			func(s *seen) bool {
				return s.link(down, stopped) > 10 && s.now.NICs[nic].Width == 4 && s.link(9, stopped) < 5
			}, "it stops the leaf"},
		{"link at a quarter", 1.2, 3, func(c *condition.Set, _ *world.World) { c.Links[up].Speed, c.Links[down].Speed = 0.25, 0.25 },
			func(s *seen) bool {
				return s.now.Links[up].Speed == 1e11 && s.link(down, marked) > 1e5 && s.link(down, stopped) < 1
			}, "marks before it, no pause"},
		{"packets damaged", 1.1, 2, func(c *condition.Set, _ *world.World) { c.Links[down].Corrupt = 0.01 },
			func(s *seen) bool {
				return s.link(down, damaged) > 1e5 && s.nic(nic, func(n *state.NIC) float64 { return n.SequenceTotal }) == 0 &&
					s.nic(2, func(n *state.NIC) float64 { return n.SequenceTotal }) > 1e5
			}, "counted at the receiver, asked for again at its sender"},
		{"packets vanish", 1.1, 2, func(c *condition.Set, _ *world.World) { c.Links[up].Loss = 0.01 },
			func(s *seen) bool {
				return s.link(up, damaged) == 0 && s.now.Links[up].SentTotal > 1.001*s.now.Links[up].TakenTotal
			}, "no counter but the difference of the ends"},
		{"bit errors beyond what is mended", 1.05, 20, func(c *condition.Set, _ *world.World) { c.Links[down].Decades = 5.45 },
			func(s *seen) bool {
				return s.link(down, func(l *state.Link) float64 { return l.UncorrectableTotal }) > 1e4 && s.now.Links[down].BER > 5e-4
			}, "uncorrectable codewords"},
		{"bit errors that are mended", 0.999, 1.001, func(c *condition.Set, _ *world.World) { c.Links[down].Decades = 3 },
			func(s *seen) bool {
				return s.now.Links[down].CorrectedTotal > 100*s.without.Links[down].CorrectedTotal && s.link(down, damaged) < 1
			}, "corrected bits alone"},
		{"out of order, put in place", 0.999, 1.001, func(c *condition.Set, _ *world.World) { c.Links[down].Reorder = 0.1 },
			func(s *seen) bool {
				return s.nic(nic, func(n *state.NIC) float64 { return n.OutOfOrderTotal }) > 1e6 && s.nic(2, func(n *state.NIC) float64 { return n.SequenceTotal }) == 0
			}, "out of order without a NAK"},
		{"out of order, taken for lost", 1.1, 5, func(c *condition.Set, _ *world.World) { c.Links[down].Reorder, c.NICs[nic].Strict = 0.01, true },
			func(s *seen) bool { return s.nic(2, func(n *state.NIC) float64 { return n.SequenceTotal }) > 1e5 }, "NAKs"},
		{"hot NIC", 1.1, 3, func(c *condition.Set, _ *world.World) { c.NICs[nic].Heat = 55 },
			func(s *seen) bool { return s.now.NICs[nic].Celsius > 110 && s.link(down, stopped) > 1 }, "heat, then pause"},
	}
}

// ofSwitches is what is wrong with switches, ways and neighbours.
func ofSwitches() []struck {
	return []struck{
		{"one uplink for all", 1.2, 3, func(c *condition.Set, w *world.World) {
			c.Links[site.Up(w.Site().UplinkCable(2, 1, 0))].Pile = 1
		}, func(s *seen) bool {
			hot := site.Up(s.w.Site().UplinkCable(2, 1, 0))
			return s.link(hot, marked) > 1e5 && s.now.Links[hot].SentTotal > 1.5*s.without.Links[hot].SentTotal
		}, "it carries more and marks"},
		{"more for one plane", 1.1, 3, func(c *condition.Set, w *world.World) {
			for i := range 6 {
				c.Switches[w.Site().Switch(2, i)].Weight = 3
			}
		}, func(s *seen) bool {
			return s.now.Links[up].SentTotal > 1.3*s.without.Links[up].SentTotal && s.now.Links[up+2].SentTotal < s.without.Links[up+2].SentTotal
		}, "its NICs send more"},
		{"marks too early", 1.1, 3, func(c *condition.Set, w *world.World) { c.Switches[leafOf(w)].Eager = 0.01 },
			func(s *seen) bool {
				return s.link(down, marked) > 1e6 && s.link(down, stopped) < 1 && s.now.Links[down].QueueMost < 1e6
			}, "marks without a queue"},
		{"no marks", 1.02, 1.5, func(c *condition.Set, w *world.World) { c.Switches[leafOf(w)].NoMarks = true },
			func(s *seen) bool {
				return s.link(down, marked) <= 0 && s.link(site.Up(2), stopped)+s.link(site.Up(nic), stopped) > 1
			}, "pause without marks"},
		{"no headroom", 1.02, 1.5, func(c *condition.Set, w *world.World) { c.Switches[leafOf(w)].Headroom = 0.1 },
			func(s *seen) bool { return s.link(down, dropped) > 1e4 }, "drops"},
		{"NIC in the wrong class", 1.02, 1.5, func(c *condition.Set, _ *world.World) { c.NICs[nic].Class = true },
			func(s *seen) bool {
				return s.nic(nic, func(n *state.NIC) float64 { return n.SequenceTotal }) > 1e4 && s.nic(nic, func(n *state.NIC) float64 { return n.CNPHandledTotal }) < 0
			}, "losses, and marks no more"},
		{"switch in the wrong class", 1.02, 1.5, func(c *condition.Set, w *world.World) { c.Switches[leafOf(w)].Class = true },
			func(s *seen) bool { return s.link(down, dropped) > 1e4 && s.link(down, marked) < 0 }, "drops, no marks"},
		{"all send to one NIC", 1.3, 6, func(c *condition.Set, _ *world.World) { c.Jobs[0].Incast, c.Jobs[0].Rate = nic, 1.5 },
			func(s *seen) bool {
				return s.link(down, marked) > 1e6 && s.link(down, stopped) < 1 && s.now.Links[down].Queue > 1e6
			}, "a queue before it, which is not itself stopped"},
		{"a neighbour's surge", 1.02, 3, func(c *condition.Set, _ *world.World) { c.Jobs[1].Traffic = 8 },
			func(s *seen) bool {
				return s.now.Links[site.Up(24)].SentTotal > 1.5*s.without.Links[site.Up(24)].SentTotal
			}, "its NICs send more"},
		{"an uplink gone", 1, 2, func(c *condition.Set, w *world.World) { c.Links[site.Up(w.Site().UplinkCable(2, 1, 1))].Down = true },
			func(s *seen) bool {
				l := site.Up(s.w.Site().UplinkCable(2, 1, 1))
				return !s.now.Links[l].Up && !s.now.Links[l+1].Up && s.now.Links[l].DownsTotal == 1
			}, "both directions are down"},
	}
}

// ofMachines is what is wrong with GPUs and what feeds and cools them.
func ofMachines() []struck {
	return []struck{
		{"a slower clock", 1.2, 2, func(c *condition.Set, _ *world.World) { c.GPUs[gpu].Clock = 0.6 },
			func(s *seen) bool { return s.now.GPUs[gpu].Reasons&0x66 == 0 && s.now.GPUs[gpu].Watts < 650 }, "no reason stated"},
		{"a lower power limit", 1.1, 2, func(c *condition.Set, _ *world.World) { c.GPUs[gpu].Limit = 350 },
			func(s *seen) bool {
				return s.now.GPUs[gpu].Limit == 350 && s.now.GPUs[gpu].PowerTotal > s.without.GPUs[gpu].PowerTotal
			}, "power reason, lower limit"},
		{"a node's power limit", 1.1, 2, func(c *condition.Set, _ *world.World) { c.Nodes[node].Limit = 5000 },
			func(s *seen) bool {
				return s.now.Nodes[node].Watts < 5300 && s.now.GPUs[gpu].Limit < 500 && s.now.Nodes[node].Limit == 5000
			}, "it keeps to it"},
		{"dry paste", 1.1, 4, func(c *condition.Set, _ *world.World) { c.GPUs[gpu].Plate = 6 },
			func(s *seen) bool {
				return s.now.GPUs[gpu].Celsius > 75 && s.now.GPUs[gpu].HeatTotal > 10 && s.now.GPUs[gpu+1].HeatTotal == 0
			}, "one GPU is hot and throttled"},
		{"NVLink at a fifth", 1.1, 2, func(c *condition.Set, _ *world.World) { c.GPUs[gpu].NVLink = 0.2 },
			func(s *seen) bool { return s.now.GPUs[gpu].NVLinksUp < 18 && s.now.GPUs[gpu].NVLinkReplayTotal > 0 }, "links missing, replays"},
		{"a loop without flow", 1.1, 5, func(c *condition.Set, _ *world.World) { c.Loops[1].Flow = 0.03 },
			func(s *seen) bool { return s.now.GPUs[gpu].HeatTotal > 1 && s.now.GPUs[0].HeatTotal == 0 }, "its rack's GPUs are hot"},
		{"a shelf that cannot carry", 1.1, 3, func(c *condition.Set, _ *world.World) { c.Racks[1].Shelf = [2]float64{0.2, 1} },
			func(s *seen) bool { return s.now.GPUs[gpu].BrakeTotal > 5 && s.now.GPUs[0].BrakeTotal == 0 }, "its rack brakes"},
	}
}

// ofWork is what is wrong with hosts, storage and the work itself.
func ofWork() []struck {
	return []struck{
		{"a jittery host", 1.02, 2, func(c *condition.Set, _ *world.World) { c.Nodes[node].Jitter = 0.5 }, nil, ""},
		{"a late rank", 1.2, 2, func(c *condition.Set, _ *world.World) { c.GPUs[gpu].Delay = 1.5 },
			func(s *seen) bool {
				return s.now.GPUs[gpu].HeatTotal+s.now.GPUs[gpu].BrakeTotal == 0 && s.now.GPUs[gpu].PowerTotal <= s.without.GPUs[gpu].PowerTotal
			}, "without a reason"},
		{"input of a node", 1.2, 2, func(c *condition.Set, _ *world.World) { c.Nodes[node].Input = 1.5 },
			func(s *seen) bool { return mean(s.steps, func(x *step) float64 { return x.DataWait }) > 1.4 }, "data wait"},
		{"input of a job", 1.3, 2, func(c *condition.Set, _ *world.World) { c.Jobs[0].Input = 2 },
			func(s *seen) bool { return mean(s.steps, func(x *step) float64 { return x.DataWait }) > 1.9 }, "data wait"},
		{"slow storage", 1.3, 6, func(c *condition.Set, _ *world.World) { c.Storage.Read = 0.15 },
			func(s *seen) bool {
				return mean(s.steps, func(x *step) float64 { return x.DataWait }) > 1 && s.now.Storage.ReadLatency > 4e-3 && s.other > 1.3
			}, "data wait of all, latency"},
		{"storage as slow as is hidden", 0.999, 1.001, func(c *condition.Set, _ *world.World) { c.Storage.Read = 0.4 }, nil, ""},
		{"a stage with more to do", 1.1, 2, func(c *condition.Set, _ *world.World) { c.Jobs[0].Stage, c.Jobs[0].StageMore = 1, 0.4 }, nil, ""},
		{"more work", 1.2, 2, func(c *condition.Set, _ *world.World) { c.Jobs[0].Work = 1.5 },
			func(s *seen) bool {
				return math.Abs(mean(s.steps, func(x *step) float64 { return x.MFU })/mean(s.health, func(x *step) float64 { return x.MFU })-1) < 0.15 &&
					s.steps[5].Tokens == 1.5*s.health[5].Tokens
			}, "more tokens at about the same MFU"},
		{"evaluation", 0.2, 0.5, func(c *condition.Set, _ *world.World) { c.Jobs[0].Evaluates = true },
			func(s *seen) bool { return s.steps[3].Evaluates && s.steps[3].Tokens == 0 }, "it says so"},
	}
}

// TestWhatConditionsDo: each makes the step longer where it should, and shows
// where instruments would look for it.
func TestWhatConditionsDo(t *testing.T) {
	for _, x := range slices.Concat(ofLinks(), ofSwitches(), ofMachines(), ofWork()) {
		t.Run(x.name, func(t *testing.T) {
			s := under(t, two(9), x.change)
			if !(s.slower >= x.least && s.slower <= x.most) {
				t.Errorf("steps take %.3f times as long, want %v to %v", s.slower, x.least, x.most)
			}
			if x.shows != nil && !x.shows(s) {
				t.Errorf("does not show: %s", x.otherwise)
			}
		})
	}
}
