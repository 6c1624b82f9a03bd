package world_test

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/lab/sim/condition"
	"github.com/quintet-dc/quintet/lab/sim/network"
	"github.com/quintet-dc/quintet/lab/sim/site"
	"github.com/quintet-dc/quintet/lab/sim/state"
	"github.com/quintet-dc/quintet/lab/sim/work"
	"github.com/quintet-dc/quintet/lab/sim/world"
)

// line is what a 400 Gb/s link carries of use, bytes per second.
const line = 0.95 * 400e9 / 8

// two is a site of 64 GPUs with a job on six nodes, in two stages of three, and
// one on two, their nodes under both leaves.
func two(seed uint64) world.Config {
	train := func(pipeline int) *work.Training {
		return &work.Training{Tensor: 8, Pipeline: pipeline, Seconds: 3, Bound: 0.7, TensorShare: 0.1, Microbatches: 16, Ring: 1.5 * line,
			Overlap: 0.5, Stage: 0.03 * line, NVLink: 1e11, Input: 1, InputBytes: 4e9, Tokens: 1e6, FLOPs: 2.4e10 * 4 * float64(pipeline),
			Ranks: true, Timeout: 40, Restart: 60}
	}
	return world.Config{Site: site.Sized(64), Seed: seed, Jobs: []work.Spec{
		{Name: "a", Nodes: []int{0, 4, 1, 5, 2, 6}, Training: train(2)},
		{Name: "b", Nodes: []int{3, 7}, Training: train(1)},
	}}
}

func build(t testing.TB, cfg world.Config) (*world.World, *condition.Set) {
	t.Helper()
	w, err := world.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return w, condition.New(w.Site(), len(w.Jobs()))
}

// step is a step of a job with its own copy of the ranks' times.
type step struct {
	state.Step
	compute, wait, transfer []float32
}

// play runs so many seconds under a condition that may change, and returns the
// first job's steps.
func play(w *world.World, c *condition.Set, seconds int, at func(second int)) (steps []step, events []state.Event) {
	for range seconds {
		if at != nil {
			at(w.State().Second)
		}
		st := w.Step(c)
		for _, s := range st.Jobs[0].Steps {
			steps = append(steps, step{s, slices.Clone(s.Compute), slices.Clone(s.Wait), slices.Clone(s.Transfer)})
		}
		events = append(events, slices.Clone(st.Events)...)
	}
	return steps, events
}

func mean(steps []step, of func(*step) float64) float64 {
	sum := 0.0
	for i := range steps {
		sum += of(&steps[i])
	}
	return sum / float64(len(steps))
}

func seconds(s *step) float64 { return s.Seconds }

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within*math.Max(1e-9, math.Abs(want))) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// TestEveryRanksTimesMakeUpTheStep: computing, waiting and moving data fill the
// step but for its wait for input, whichever rank is asked.
func TestEveryRanksTimesMakeUpTheStep(t *testing.T) {
	w, c := build(t, two(1))
	steps, _ := play(w, c, 60, nil)
	if len(steps) < 12 {
		t.Fatalf("%d steps in a minute", len(steps))
	}
	for _, s := range steps {
		for r := range s.compute {
			near(t, "step", float64(s.compute[r])+float64(s.wait[r])+float64(s.transfer[r])+s.DataWait, s.Seconds, 1e-5)
		}
	}
}

// TestStepsFollowFromTheirParts: a step is the pipeline's time over its ranks'
// computing, then what of the ring computing did not hide, by closed forms.
func TestStepsFollowFromTheirParts(t *testing.T) {
	cfg := two(1)
	cfg.Jobs = cfg.Jobs[:1]
	w, c := build(t, cfg)
	steps, _ := play(w, c, 60, nil)
	for _, s := range steps[1:] {
		busy := make([]float64, len(s.compute))
		for i, x := range s.compute {
			busy[i] = float64(x)
		}
		ring := 0.5 * 1.5 // half of it is hidden; a NIC sends for 1.5 s at its line's rate
		stages := 0.03
		near(t, "step", s.Seconds, s.DataWait+w.Jobs()[0].Sync(busy)+ring+stages, 1e-3)
		near(t, "MFU", s.MFU, 1e6*2.4e10*8/s.Seconds/48/work.Peak, 1e-9)
	}
}

// TestOneSlowGPU: all wait for it, it waits least, and the step takes longer by
// what it computes longer: synchronous amplification.
func TestOneSlowGPU(t *testing.T) {
	w, c := build(t, two(2))
	before, _ := play(w, c, 60, nil)
	c.GPUs[8*4+3].Clock = 0.6 // rank 11: the second node
	play(w, c, 10, nil)
	after, _ := play(w, c, 60, nil)
	own := func(s *step) float64 { return float64(s.compute[11]) }
	more := mean(after, own) - mean(before, func(s *step) float64 { return float64(slices.Max(s.compute)) })
	if more < 0.5 {
		t.Fatalf("it computes %v s longer than the slowest did", more)
	}
	// Its stage sets the pace of 15 of 16 microbatches.
	near(t, "the step's part", mean(after, seconds)-mean(before, seconds), more*15/16, 0.1)
	for _, s := range after {
		if least := slices.Index(s.wait, slices.Min(s.wait)); least != 11 {
			t.Errorf("rank %d waits least", least)
		}
	}
	g := &w.State().GPUs[8*4+3]
	if g.Reasons != 0 || g.Clock > 0.61*1980e6 {
		t.Errorf("it states %#x at %v Hz", g.Reasons, g.Clock)
	}
}

// TestTheSameButForTheFault: until a fault begins a run is the same to the last
// bit as one without, and the work of each step stays the same after it.
func TestTheSameButForTheFault(t *testing.T) {
	a, ca := build(t, two(3))
	b, cb := build(t, two(3))
	for s := range 100 {
		if s == 50 {
			cb.Links[site.Down(8*4+2)].Drain = 0.3
		}
		same := digest(a.Step(ca)) == digest(b.Step(cb))
		if same != (s < 50) {
			t.Fatalf("second %d: the same is %v", s, same)
		}
	}
	var first, second []float64
	for range 100 {
		for _, s := range a.Step(ca).Jobs[0].Steps {
			first = append(first, float64(s.Number), float64(s.Compute[5]))
		}
		for _, s := range b.Step(cb).Jobs[0].Steps {
			second = append(second, float64(s.Number), float64(s.Compute[5]))
		}
	}
	shared := 0
	for i := 0; i < len(first); i += 2 {
		for k := 0; k < len(second); k += 2 {
			if first[i] == second[k] {
				shared++
				near(t, fmt.Sprintf("computing in step %v", first[i]), second[k+1], first[i+1], 0.01)
			}
		}
	}
	if shared < 5 {
		t.Errorf("%d steps to compare", shared)
	}
}

// digest is the bits of what instruments could read.
func digest(st *state.State) uint64 {
	h := fnv.New64a()
	add := func(xs ...float64) {
		var b [8]byte
		for _, x := range xs {
			binary.LittleEndian.PutUint64(b[:], math.Float64bits(x))
			_, _ = h.Write(b[:])
		}
	}
	for _, l := range st.Links {
		add(l.SentTotal, l.TakenTotal, l.StoppedTotal, l.FramesTotal, l.WaitTotal, l.MarkedTotal, l.DroppedTotal, l.CorrectedTotal, l.Queue, l.BER)
	}
	for _, n := range st.NICs {
		add(n.MarkedTotal, n.CNPSentTotal, n.CNPHandledTotal, n.OutOfOrderTotal, n.SequenceTotal)
	}
	for _, g := range st.GPUs {
		add(g.Engine, g.SM, g.Tensor, g.Clock, g.Celsius, g.Watts, g.EnergyTotal, float64(g.Reasons), g.NVLinkTotal)
	}
	for _, n := range st.Nodes {
		add(n.Watts, n.Inlet, n.Supply)
	}
	for _, j := range st.Jobs {
		for _, s := range j.Steps {
			add(s.End, s.Seconds, s.MFU)
		}
		add(j.Serving.TTFT99, j.Serving.Queue)
	}
	return h.Sum64()
}

// goldenBits is the digest of five minutes of 64 GPUs with two faults, to the
// last bit (I7): the same on every machine. A change of the physics changes it.
const goldenBits = 0x221e99ed9edc71de

func TestTheSameBitsTwice(t *testing.T) {
	run := func() uint64 {
		w, c := build(t, world.Standard(64, 5))
		sum := uint64(0)
		for s := range 300 {
			c.Links[site.Down(9)].Corrupt = 0.001 * float64(s/100)
			c.CDUs[0].Pump[0] = 1 - float64(s/150)
			sum = sum*31 + digest(w.Step(c))
		}
		return sum
	}
	first := run()
	if second := run(); second != first {
		t.Errorf("%#x, then %#x", first, second)
	}
	if first != goldenBits {
		t.Errorf("the bits are %#x, were %#x", first, uint64(goldenBits))
	}
}

// TestBytesAreConserved: in health what is sent is taken, NICs send what the
// job's rings and stages are due, and what leaves NICs arrives at NICs. Where
// packets are lost, what is taken is what was sent less the share lost there.
func TestBytesAreConserved(t *testing.T) {
	w, c := build(t, two(4))
	steps, _ := play(w, c, 120, nil)
	st := w.State()
	up, down := 0.0, 0.0
	for cable := range w.Site().Cables() {
		for _, l := range []int32{site.Up(cable), site.Down(cable)} {
			near(t, "taken", st.Links[l].TakenTotal, st.Links[l].SentTotal, 1e-12)
		}
		if cable < w.Site().HostCables() {
			up += st.Links[site.Up(cable)].SentTotal
			down += st.Links[site.Down(cable)].TakenTotal
		}
	}
	near(t, "arrived", down, up, 1e-9)
	due := float64(len(steps)) * (1.5 + 0.03) * line
	near(t, "what it sends in the mean", w.Carries(0)[site.Up(3)], st.Links[site.Up(3)].SentTotal*8/120, 0.06)
	near(t, "a NIC of the job sent", st.Links[site.Up(3)].SentTotal, due, 0.06) // the last step is under way
	lossy := site.Up(4*8 + 1)
	c.Links[lossy].Corrupt = 0.01
	sent, taken := st.Links[lossy].SentTotal, st.Links[lossy].TakenTotal
	play(w, c, 60, nil)
	l := &st.Links[lossy]
	near(t, "taken of what was sent", (l.TakenTotal-taken)/(l.SentTotal-sent), 0.99, 1e-9)
	near(t, "damaged packets", l.DamagedTotal*4096, l.SentTotal-sent-(l.TakenTotal-taken), 1e-6)
}

// TestInACollectiveTheEngineIsBusy holds the facts that distinguish a wait for
// others from one for input: in a collective the engine is busy, a tenth to a
// quarter of the SMs, no tensor core, reason 0x1 not set; without anything launched
// the engine is idle and 0x1 set.
func TestInACollectiveTheEngineIsBusy(t *testing.T) {
	w, c := build(t, two(5))
	play(w, c, 20, nil)
	c.GPUs[8].Delay = 30 // rank 16 begins late: the others wait for it
	play(w, c, 14, nil)
	for g := range 8 {
		x := &w.State().GPUs[g]
		if x.Engine < 0.99 || x.SM < 0.1 || x.SM > 0.25 || x.Tensor != 0 || x.Reasons&1 != 0 {
			t.Errorf("waiting: %+v", x)
		}
	}
	if x := &w.State().GPUs[8]; x.Engine != 0 || x.Reasons != 1 {
		t.Errorf("the late one: %+v", x)
	}
	c.GPUs[8].Delay, c.Jobs[0].Input = 0, 30
	play(w, c, 40, nil)
	for g := range 16 {
		if x := &w.State().GPUs[g]; x.Engine > 1e-9 || x.Reasons != 1 {
			t.Errorf("without input: %+v", x)
		}
	}
}

// TestADeadNode: its job stands still, fails after its timeout, and runs again
// when the node does, from its last checkpoint. Its switch ports go down.
func TestADeadNode(t *testing.T) {
	cfg := two(6)
	cfg.Jobs[0].Training.Checkpoint, cfg.Jobs[0].Training.CheckpointSeconds = 5, 2
	w, c := build(t, cfg)
	steps, events := play(w, c, 400, func(second int) { c.Nodes[4].Down = second >= 60 && second < 200 })
	var failed, again float64
	downs := 0
	for _, e := range events {
		switch {
		case e.Name == "job_failed" && e.Entity.Name == "a":
			failed = e.At
		case e.Name == "job_restarted":
			again = e.At
		case e.Name == "link_down":
			downs++
			if !strings.Contains(e.Entity.Name, "leaf") {
				t.Errorf("%s tells that its link is down", e.Entity)
			}
		}
	}
	near(t, "failed", failed, 100, 0.01)
	near(t, "again", again, 200, 0.01)
	if downs != 8 {
		t.Errorf("%d links down", downs)
	}
	last := 0
	for _, s := range steps {
		if s.End > 60 && s.End < 200 {
			t.Errorf("a step ends at %v", s.End)
		}
		if s.End < 60 {
			last = s.Number
		} else if s.Number <= last && s.Number%5 != 0 {
			last = -1
			t.Errorf("it goes on from step %d", s.Number)
		} else {
			break
		}
	}
	if !w.State().Nodes[4].Up || w.State().Nodes[4].Watts < 1000 {
		t.Error("the node is not back")
	}
}

// TestAStalledQueueHasDrained: where a job waits for a node that is gone, no
// queue of its own is left, and no port is paused for it.
func TestAStalledQueueHasDrained(t *testing.T) {
	w, c := build(t, two(6))
	play(w, c, 60, nil)
	c.Nodes[4].Down = true
	play(w, c, 10, nil)
	st := w.State()
	own, before := w.Carries(1), make([]float64, len(st.Links))
	for l := range st.Links {
		before[l] = st.Links[l].StoppedTotal
	}
	play(w, c, 20, nil)
	for l := range st.Links {
		if x := &st.Links[l]; own[l] == 0 && (x.Queue > 0 || x.StoppedTotal > before[l]) {
			t.Errorf("link %d has %v bytes queued and was stopped for %v s", l, x.Queue, x.StoppedTotal-before[l])
		}
	}
}

// TestInfiniBand has no pause frames, marks or CNPs: ports wait for credits.
func TestInfiniBand(t *testing.T) {
	cfg := two(7)
	cfg.InfiniBand = true
	w, c := build(t, cfg)
	c.Links[site.Down(8*4)].Drain = 0.3
	play(w, c, 60, nil)
	waits := 0.0
	for _, l := range w.State().Links {
		if l.StoppedTotal != 0 || l.FramesTotal != 0 || l.MarkedTotal != 0 {
			t.Fatalf("%+v", l)
		}
		waits += l.WaitTotal
	}
	if own := w.State().Links[site.Down(8*4)].WaitTotal; own < 10 || waits < 1.3*own {
		t.Errorf("the port before the slow NIC waits %v s, all %v", own, waits)
	}
}

// TestPauseFrames: a port that is stopped for a second counts at least the
// fewest frames that can do that.
func TestPauseFrames(t *testing.T) {
	w, c := build(t, two(8))
	c.Links[site.Down(8*4)].Hold = true
	play(w, c, 30, nil)
	l := &w.State().Links[site.Down(8*4)]
	near(t, "stopped", l.StoppedTotal, 30, 1e-9)
	if l.FramesTotal < network.LeastPauseFrames(30, 400e9) {
		t.Errorf("%v frames in 30 s", l.FramesTotal)
	}
}

// TestNothingIsAllocatedInSteadyState bounds what a second costs.
func TestNothingIsAllocatedInSteadyState(t *testing.T) {
	w, c := build(t, world.Standard(256, 1))
	play(w, c, 60, nil)
	if n := testing.AllocsPerRun(50, func() { w.Step(c) }); n > 1 {
		t.Errorf("%v allocations a second", n)
	}
}

// TestStandard: sites of jobs are as a reader expects them: steps of 3 to 7 s, MFU
// about 0.4, nothing overloaded, all of it from the seed.
func TestStandard(t *testing.T) {
	for gpus, jobs := range map[int]int{16: 1, 64: 2, 256: 3, 1024: 6} {
		for seed := uint64(1); seed <= 3; seed++ {
			w, c := build(t, world.Standard(gpus, seed))
			if len(w.Jobs()) != jobs {
				t.Errorf("%d GPUs run %d jobs", gpus, len(w.Jobs()))
			}
			for range 30 {
				st := w.Step(c)
				for i, j := range st.Jobs {
					for _, s := range j.Steps {
						if s.Seconds < 3 || s.Seconds > 7 || s.MFU < 0.28 || s.MFU > 0.45 {
							t.Errorf("%d GPUs, seed %d, %s: %v s, MFU %v", gpus, seed, w.Jobs()[i].Name, s.Seconds, s.MFU)
						}
					}
					if v := j.Serving; w.Jobs()[i].Serving != nil && (v.TTFT50 <= 0 || v.TTFT99 > 2 || v.Queue > 5 || v.ITL50 > 0.1 || v.Tokens <= 0) {
						t.Errorf("%d GPUs, seed %d: %+v", gpus, seed, v)
					}
				}
			}
		}
	}
	if len(world.Standard(8192, 1).Jobs) < 8 {
		t.Error("too few jobs at 8,192")
	}
}

func TestWhatCannotBeBuilt(t *testing.T) {
	for want, spoil := range map[string]func(*world.Config){
		"nodes":      func(c *world.Config) { c.Site.Nodes = 0 },
		"no node 99": func(c *world.Config) { c.Jobs[0].Nodes[0] = 99 },
		"runs a":     func(c *world.Config) { c.Jobs[1].Nodes[0] = 0 },
		"stages":     func(c *world.Config) { c.Jobs[0].Training.Pipeline = 5 },
	} {
		cfg := two(1)
		spoil(&cfg)
		if _, err := world.New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// BenchmarkStep is a second of a site in health.
func BenchmarkStep(b *testing.B) {
	for _, gpus := range []int{64, 256, 1024, 16384} {
		b.Run(fmt.Sprint(gpus), func(b *testing.B) {
			w, c := build(b, world.Standard(gpus, 1))
			play(w, c, 5, nil)
			b.ReportAllocs()
			for b.Loop() {
				w.Step(c)
			}
		})
	}
}
