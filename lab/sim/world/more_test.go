package world_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/lab/sim/condition"
	"github.com/quintet-dc/quintet/lab/sim/site"
	"github.com/quintet-dc/quintet/lab/sim/state"
	"github.com/quintet-dc/quintet/lab/sim/world"
)

// TestServing: more requests than the pools can take queue up, fill the cache
// and keep users waiting; a slow way between the pools keeps them waiting for
// the first token alone; slower decoding for the others.
func TestServing(t *testing.T) {
	after := func(change func(*condition.Set, *world.World)) state.Serving {
		w, c := build(t, world.Standard(256, 3))
		change(c, w)
		play(w, c, 90, nil)
		return w.State().Jobs[2].Serving
	}
	usual := after(func(*condition.Set, *world.World) {})
	more := after(func(c *condition.Set, _ *world.World) { c.Jobs[2].Load = 1.3 })
	if more.TTFT99 > 2*usual.TTFT99 || more.Queue > 5 || more.Tokens < 1.2*usual.Tokens {
		t.Errorf("a third more load: %+v, was %+v", more, usual)
	}
	over := after(func(c *condition.Set, _ *world.World) { c.Jobs[2].Load = 4 })
	if over.Queue < 100 || over.TTFT50 < 3 || over.Cache <= usual.Cache || over.ITL50 > 2*usual.ITL50 {
		t.Errorf("four times the load: %+v", over)
	}
	far := after(func(c *condition.Set, w *world.World) {
		for _, n := range w.Jobs()[2].Nodes {
			for i := range 8 {
				c.Links[site.Up(8*n+i)].Speed = 0.001
			}
		}
	})
	if far.TTFT50 < 1.3*usual.TTFT50 || far.ITL50 > 1.05*usual.ITL50 {
		t.Errorf("slow transfers: %+v, was %+v", far, usual)
	}
	slow := after(func(c *condition.Set, w *world.World) {
		n := w.Jobs()[2].Nodes[2]
		for i := range 8 {
			c.GPUs[8*n+i].Clock = 0.4
		}
	})
	if slow.ITL50 < 1.1*usual.ITL50 {
		t.Errorf("slow decoding: %+v, was %+v", slow, usual)
	}
}

// TestSettingsAreStatedWhereTheyAre: events name the part, the setting, the value
// before and after; a site whose changes are not reported has none.
func TestSettingsAreStatedWhereTheyAre(t *testing.T) {
	for _, reported := range []bool{true, false} {
		cfg := two(1)
		cfg.ChangesReported = reported
		w, c := build(t, cfg)
		play(w, c, 3, nil)
		c.Switches[2].NoMarks, c.Switches[3].Headroom, c.Switches[4].Eager = true, 0.5, 0.1
		c.NICs[9].Class = true
		c.GPUs[8].Limit, c.Nodes[2].Limit, c.Racks[1].Limit = 500, 6000, 30000
		_, events := play(w, c, 2, nil)
		var got []string
		for _, e := range events {
			if e.Name == "config_changed" {
				got = append(got, e.Entity.String()+" "+e.Text)
			}
		}
		want := []string{
			w.Site().SwitchName(2).String() + " ecn: on -> off",
			w.Site().SwitchName(3).String() + " pfc_headroom: 1.00 -> 0.50",
			w.Site().SwitchName(4).String() + " ecn_min_bytes: 1600000 -> 160000",
			"nic:n0001/mlx5_1 rdma_class: lossless -> best effort",
			"gpu:n0001/0 power_limit_watts: 700 -> 500",
			"node:n0002 power_limit_watts: none -> 6000",
			"rack:r001 power_limit_watts: none -> 30000",
		}
		if !reported {
			want = nil
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %s", strings.Join(got, "; "))
		}
	}
}

// TestEvents of physics come once each, when it happens.
func TestEvents(t *testing.T) {
	cfg := two(1)
	cfg.Jobs[1].Start, cfg.Jobs[1].End = 20, 80
	cfg.Jobs[0].Training.Checkpoint, cfg.Jobs[0].Training.CheckpointSeconds, cfg.Jobs[0].Training.Announced = 10, 3, true
	w, c := build(t, cfg)
	_, events := play(w, c, 120, func(second int) {
		c.Subnet.Failover = second > 30 && second < 40
		c.Links[5].Down = second > 50 && second < 55
		if second > 100 {
			c.GPUs[3].Broken = "79, GPU has fallen off the bus"
		}
	})
	count := map[string]int{}
	for i, e := range events {
		count[e.Entity.String()+" "+e.Name]++
		if i > 0 && e.At < events[i-1].At {
			t.Errorf("%v after %v", e, events[i-1])
		}
	}
	for _, once := range []string{"job:a job_started", "job:b job_started", "job:b job_ended", "sm:p0 sm_master_changed", "nic:n0000/mlx5_2 link_down",
		"nic:n0000/mlx5_2 link_up", "port:p2-leaf00/eth1 link_down", "port:p2-leaf00/eth1 link_up", "gpu:n0000/3 xid"} {
		if count[once] != 1 {
			t.Errorf("%d times %s", count[once], once)
		}
	}
	if n := count["job:a checkpoint_started"]; n < 2 || n-count["job:a checkpoint_ended"] > 1 {
		t.Errorf("%v", count)
	}
	if w.State().GPUs[3].XIDs != 1 || w.State().Links[5].DownsTotal != 1 {
		t.Error("counters of the same")
	}
}

// TestCheckpoints: a step with one takes longer by it, nothing is launched
// meanwhile, and the bytes are written; more slowly to slow storage. Who reads meanwhile waits.
func TestCheckpoints(t *testing.T) {
	cfg := two(1)
	cfg.Jobs[0].Training.Checkpoint, cfg.Jobs[0].Training.CheckpointSeconds, cfg.Jobs[0].Training.CheckpointBytes = 5, 6, 1e12
	w, c := build(t, cfg)
	idle, quick, slow := 0, 1.0, 0.0
	steps, _ := play(w, c, 200, func(int) {
		if v := w.State().Storage.ReadLatency; v > 0 {
			quick, slow = min(quick, v), max(slow, v)
		}
		if g := &w.State().GPUs[0]; g.Engine == 0 && g.Reasons == 1 {
			idle++
		}
	})
	saves := 0
	for _, s := range steps {
		if (s.Checkpoint > 0) != (s.Number%5 == 4) {
			t.Errorf("step %d saves for %v s", s.Number, s.Checkpoint)
		}
		if s.Checkpoint > 0 {
			saves++
			near(t, "checkpoint", s.Checkpoint, 6, 1e-9)
		}
	}
	near(t, "written", w.State().Storage.WrittenTotal, float64(saves)*1e12, 0.15)
	if idle < 4*saves {
		t.Errorf("idle for %d s in %d checkpoints", idle, saves)
	}
	near(t, "reads that wait behind a checkpoint", slow, 3*quick, 1e-9)
	c.Storage.Write, c.Jobs[0].Checkpoint = 0.5, 1.5
	steps, _ = play(w, c, 120, nil)
	near(t, "slow checkpoint", slices.MaxFunc(steps, func(a, b step) int { return int(1000*a.Checkpoint) - int(1000*b.Checkpoint) }).Checkpoint, 18, 1e-9)
}

// TestVictims: where nothing but pause slows senders down, a job that shares an
// uplink with traffic that backs up behind a slow receiver is slowed down with
// it, without a CNP.
func TestVictims(t *testing.T) {
	w, c := build(t, two(1))
	v, healthy := build(t, two(1))
	// All of job b's flows from node 3 share the uplink of node 1's.
	for i := range w.Site().Switches() {
		c.Switches[i].NoMarks, healthy.Switches[i].NoMarks = true, true
	}
	for i := range 8 {
		fabric, leaf := w.Site().Leaf(3, i)
		for _, set := range []*condition.Set{c, healthy} {
			set.Links[site.Up(w.Site().UplinkCable(fabric, leaf, 0))].Pile = 1
		}
		c.Links[site.Down(8*4+i)].Drain = 0.05
	}
	play(w, c, 120, nil)
	play(v, healthy, 120, nil)
	b := func(w *world.World) float64 { return w.State().Links[site.Up(8*3)].SentTotal }
	if b(w) > 0.97*b(v) {
		t.Errorf("the victim sends %v of what it would", b(w)/b(v))
	}
	cnps := func(w *world.World) float64 { return w.State().NICs[8*3].CNPHandledTotal }
	if cnps(w) > 0 {
		t.Errorf("it handles %v CNPs", cnps(w))
	}
}

// TestAdaptiveRouting leads flows around an uplink that carries little, takes no
// notice of hashes, and has some packets out of order that cost nothing.
func TestAdaptiveRouting(t *testing.T) {
	slower := func(adaptive bool) (slow, piled float64, out float64) {
		for k, change := range []func(*condition.Set, *world.World){
			func(*condition.Set, *world.World) {},
			func(c *condition.Set, w *world.World) { c.Links[carrier(w)].Speed = 0.25 },
			func(c *condition.Set, w *world.World) { c.Links[carrier(w)].Pile = 1 },
		} {
			cfg := world.Standard(256, 4)
			cfg.Adaptive = adaptive
			w, c := build(t, cfg)
			play(w, c, 2, nil) // what a job carries is known a second after it began
			change(c, w)
			steps, _ := play(w, c, 60, nil)
			switch x := mean(steps, seconds); k {
			case 0:
				out = w.State().NICs[0].OutOfOrderTotal
				if naks := w.State().NICs[0].SequenceTotal; naks > 0 {
					t.Errorf("%v NAKs in health", naks)
				}
				slow, piled = 1/x, 1/x
			case 1:
				slow *= x
			default:
				piled *= x
			}
		}
		return slow, piled, out
	}
	slow, piled, out := slower(true)
	if slow > 1.02 || piled > 1.001 || out == 0 {
		t.Errorf("adaptive: %v times as long over a slow uplink, %v under a pile, %v packets out of order", slow, piled, out)
	}
	if slow, piled, out := slower(false); slow < 1.2 || piled < 1.2 || out != 0 {
		t.Errorf("hashed: %v, %v, %v", slow, piled, out)
	}
}

// carrier is the first leaf's uplink that carries most of the first job.
func carrier(w *world.World) (link int32) {
	for u := range w.Site().Uplinks {
		if l := site.Up(w.Site().UplinkCable(0, 0, u)); u == 0 || w.Carries(0)[l] > w.Carries(0)[link] {
			link = l
		}
	}
	return link
}

// TestRails: where NIC i of a block's nodes shares leaf i, jobs run as they do over
// planes, and a fault of one leaf degrades one rail.
func TestRails(t *testing.T) {
	cfg := world.Standard(256, 4)
	cfg.Site.Wiring = site.Rails
	w, c := build(t, cfg)
	steps, _ := play(w, c, 60, nil)
	if m := mean(steps, seconds); m < 3 || m > 7 {
		t.Errorf("steps of %v s", m)
	}
	c.Switches[w.Site().Switch(0, 3)].Eager = 0.01
	before := slices.Clone(w.State().NICs)
	after, _ := play(w, c, 60, nil)
	if mean(after, seconds) < 1.05*mean(steps, seconds) {
		t.Error("a leaf that marks at once slows nobody")
	}
	for i := range 8 {
		n := w.Jobs()[0].Nodes[0]*8 + i
		grew := (w.State().NICs[n].MarkedTotal - before[n].MarkedTotal) > 10*before[n].MarkedTotal
		if grew != (i == 3) {
			t.Errorf("marks at rail %d: %v, then %v", i, before[n].MarkedTotal, w.State().NICs[n].MarkedTotal)
		}
	}
}
