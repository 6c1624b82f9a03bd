package world

import (
	"math"

	"github.com/quintet-dc/quintet/lab/sim/gpu"
	"github.com/quintet-dc/quintet/lab/sim/random"
	"github.com/quintet-dc/quintet/lab/sim/state"
	"github.com/quintet-dc/quintet/lab/sim/work"
)

// phase is what a training job does. Within a step they follow one another in
// this order.
type phase uint8

const (
	off        phase = iota
	loading          // nothing is launched: input is not there yet
	computing        // ranks compute, those that are done wait
	draining         // all have computed; the pipeline empties
	exchanging       // exposed traffic inside the step
	reducing         // what is left of the gradients' ring
	saving           // a checkpoint: nothing is launched
)

// training is a training job as it runs.
type training struct {
	job   *work.Job
	index int
	seed  random.Source
	gpus  []int32 // by rank

	ring, exchange *traffic

	phase  phase
	until  float64 // end of a phase whose end is known
	left   float64 // share of exchange not yet sent
	sent   float64 // share of the ring sent
	step   int
	saved  int     // the step that begins after the last checkpoint
	first  int     // the step with which the job last started
	began  float64 // the step
	before float64 // seconds the step before took, less its waiting for input
	stuck  float64 // since when nothing can go on; -1 is not
	failed float64 // when; -1 has not
	dead   bool    // a rank's GPU does not work

	task    work.Task
	factor  float64 // of the work
	loads   []work.Load
	launch  []float64 // by rank: when its computing begins
	todo    []float64 // seconds at the top clock left; -1 is done
	busy    []float64 // seconds from the start of computing to its own end
	slow    []float64 // factor of NVLink time
	started float64   // of computing
	entered float64   // of the collective
	wait    float64   // for input
	moved   float64   // seconds of ring traffic in the open
	hidden  float64   // and behind computing
	swapped float64   // seconds of exchange
	save    float64

	collectives []uint32  // by rank, how many it has begun; see begun
	collective  []float32 // by rank, seconds of the last

	readFrom, readUntil, readRate, writeRate float64
	saveLoad                                 float64 // 1 where it saves as fast as storage takes it
	steps                                    []state.Step
	buffers                                  [][3][]float32
}

func newTraining(w *World, j *work.Job, index int) *training {
	n := j.Ranks
	t := &training{job: j, index: index, seed: w.seed.Named("job"), gpus: make([]int32, n), stuck: -1, failed: -1,
		loads: make([]work.Load, n), launch: make([]float64, n), todo: make([]float64, n), busy: make([]float64, n), slow: make([]float64, n),
		collectives: make([]uint32, n), collective: make([]float32, n)}
	t.seed = t.seed.Named(j.Name)
	for r := range n {
		p := j.Place(r)
		t.gpus[r] = int32(p.Node*j.GPUs + p.GPU)
	}
	t.ring = newTraffic(w.site, rings, j.Rings())
	t.exchange = newTraffic(w.site, exchanges, j.Exchanges())
	return t
}

// advance lets the job go on from one instant to another within a tick.
func (t *training) advance(w *World, from, to float64) {
	t.watch(w, from)
	for now := from; now < to; {
		switch t.phase {
		case off:
			now = t.idle(w, now, to)
		case loading:
			now = t.pass(now, to, func() { t.compute(w, t.until) })
		case computing:
			now = t.work(w, now, to)
		case draining:
			t.everybody(w, now, min(to, t.until), false)
			t.overlap(now, min(to, t.until))
			now = t.pass(now, to, func() { t.enter(w, t.until) })
		case exchanging, reducing:
			now = t.send(w, now, to)
		case saving:
			now = t.pass(now, to, func() { t.saveEnds(w, t.until) })
		}
	}
}

// pass goes on to the end of a phase, or to the end of the tick before that.
func (t *training) pass(now, to float64, next func()) float64 {
	if t.until > to {
		return to
	}
	now = max(now, t.until)
	next()
	return now
}

// begin starts a step: its input, its loads, its delays.
func (t *training) begin(w *World, now float64) {
	c, spec := &w.condition.Jobs[t.index], t.job.Training
	t.began, t.phase = now, loading
	t.factor = c.Work
	t.task = work.Task{Work: t.scatter(w, c.Work), Stage: c.Stage, StageMore: c.StageMore, Experts: c.Experts}
	if n := spec.EvaluateEvery; n > 0 && t.step >= n && t.step%n < spec.EvaluateFor {
		t.task.Evaluates = true
	}
	t.task.Evaluates = t.task.Evaluates || c.Evaluates
	t.job.Draw(t.loads, t.seed, t.step, t.task)
	t.wait = t.load(w, now)
	t.until = now + t.wait
	t.sent, t.moved, t.hidden, t.swapped, t.save = 0, 0, 0, 0, 0
	for _, tr := range []*traffic{t.ring, t.exchange} {
		if tr != nil {
			tr.begin()
		}
	}
}

// load is how long the whole job waits for a step's input. Loading has been
// going on since the step before began (prefetch of one).
func (t *training) load(w *World, now float64) float64 {
	spec, c := t.job.Training, w.condition
	r := t.seed.Named("input")
	r = r.At(uint64(t.step))
	seconds := float64(spec.Input*t.factor*r.LogNormal(1, 0.05)) / max(c.Storage.Read, 0.001)
	t.readFrom, t.readUntil = now, now+max(seconds, tick)
	t.readRate = float64(spec.InputBytes*t.factor) / max(seconds, tick)
	hidden := t.before
	if hidden == 0 {
		hidden = spec.Seconds
	}
	return max(float64(0.004*r.Float64()), seconds-hidden) + c.Jobs[t.index].Input
}

// compute starts the ranks, each after what delays it.
func (t *training) compute(w *World, now float64) {
	t.phase, t.started = computing, now
	c := w.condition
	jitter := t.seed.Named("jitter")
	jitter = jitter.At(uint64(t.step))
	struck := -1
	var strike float64
	for r, g := range t.gpus {
		node := int(g) / t.job.GPUs
		if r%t.job.GPUs == 0 {
			struck = -1
			if mean := c.Nodes[node].Jitter; mean > 0 {
				d := jitter.At(uint64(node))
				struck, strike = r+d.Below(t.job.GPUs), d.Exponential(mean)
			}
		}
		t.launch[r] = now + c.Nodes[node].Input + c.GPUs[g].Delay
		if r == struck {
			t.launch[r] += strike
		}
		t.todo[r] = t.loads[r].Seconds
	}
}

// work lets the ranks compute until the tick ends or all are done.
func (t *training) work(w *World, now, to float64) float64 {
	done, last := true, now
	for r := range t.gpus {
		if t.todo[r] >= 0 {
			done = t.rank(w, r, now, to) && done
		}
		if t.todo[r] < 0 {
			last = max(last, t.started+t.busy[r])
		}
	}
	end := to
	if done {
		end = min(last, to)
		t.phase = draining
		t.until = max(end, t.started+t.job.Sync(t.busy))
	}
	for r, g := range t.gpus {
		if t.todo[r] < 0 {
			if since := max(now, t.started+t.busy[r]); since < end {
				w.machines[g].add(waiting(t.loads[r].SM), (end-since)/tick)
			}
		}
	}
	t.overlap(now, end)
	return end
}

// rank lets one rank compute and reports whether it is done.
func (t *training) rank(w *World, r int, now, to float64) bool {
	spec, m := t.job.Training, &w.machines[t.gpus[r]]
	start := max(now, t.launch[r])
	if !m.works || start >= to {
		return false
	}
	x := max(m.governor.Clock/m.model.Top, 0.05)
	slower := float64((1-spec.TensorShare)*gpu.Stretch(spec.Bound, x)) + float64(spec.TensorShare*t.slow[r])
	took := float64(t.todo[r] * slower)
	sends := spec.NVLink / spec.Seconds
	if took > to-start {
		m.add(gpu.Computing(), (to-start)/tick)
		m.sum.nvlink += float64(sends*(to-start)) / slower
		t.todo[r] = max(0, t.todo[r]-(to-start)/slower)
		return false
	}
	m.add(gpu.Computing(), took/tick)
	m.sum.nvlink += float64(sends * t.todo[r])
	t.todo[r] = -1
	t.busy[r] = start + took - t.started
	return true
}

// everybody waits (or moves data) in a collective.
func (t *training) everybody(w *World, now, to float64, moves bool) {
	if to <= now {
		return
	}
	share := (to - now) / tick
	for r, g := range t.gpus {
		m := &w.machines[g]
		if !m.works {
			continue
		}
		if moves {
			m.add(moving(), share)
		} else {
			m.add(waiting(t.loads[r].SM), share)
		}
	}
}

// backward is when, in parts of a step's computing, the first gradients are
// there to be summed: a forward pass takes a third.
const backward = 0.4

// overlap sends what may go while the backward pass computes.
func (t *training) overlap(now, to float64) {
	if t.ring == nil || t.task.Evaluates {
		return
	}
	spec := t.job.Training
	start := max(now, t.started+float64(float64(backward*spec.Seconds)*t.factor))
	if start >= to || t.sent >= spec.Overlap {
		return
	}
	d := min(to-start, float64((spec.Overlap-t.sent)*t.ring.seconds))
	t.sent += t.ring.pass(d, start+d >= to)
	t.hidden += d
}

// pass is on for so long, and returns the share that goes in it.
func (t *traffic) pass(d float64, on bool) float64 {
	share := 0.0
	if !math.IsInf(t.seconds, 1) {
		share = d / max(t.seconds, 1e-9)
	}
	t.share += share
	t.active += d
	t.on = on
	return share
}

// enter begins the collectives that computing could not hide.
func (t *training) enter(w *World, now float64) {
	t.entered, t.left = now, 1
	switch {
	case t.exchange != nil:
		t.phase = exchanging
	case t.ring != nil && !t.task.Evaluates:
		t.phase = reducing
	default:
		t.finish(w, now)
	}
}

// send lets data move until the tick ends or all has gone.
func (t *training) send(w *World, now, to float64) float64 {
	tr, left := t.exchange, t.left
	if t.phase == reducing {
		tr, left = t.ring, max(0, 1-t.sent)
	}
	need := math.Inf(1)
	if !math.IsInf(tr.seconds, 1) {
		need = float64(left * tr.seconds)
	} else if left <= 0 {
		need = 0
	}
	d := min(need, to-now)
	t.everybody(w, now, now+d, !math.IsInf(tr.seconds, 1))
	share := tr.pass(d, need > to-now)
	over := need <= to-now
	if t.phase == reducing {
		t.moved += d
		t.sent += share
	} else {
		t.swapped += d
		t.left -= share
	}
	if !over {
		return to
	}
	if t.phase == exchanging && t.ring != nil && !t.task.Evaluates {
		t.phase = reducing
	} else {
		t.finish(w, now+d)
	}
	return now + d
}

// finish ends a step, or begins its checkpoint.
func (t *training) finish(w *World, now float64) {
	spec := t.job.Training
	if n := spec.Checkpoint; n > 0 && (t.step+1)%n == 0 && !t.task.Evaluates {
		t.save = float64(t.growth()*spec.CheckpointSeconds*w.condition.Jobs[t.index].Checkpoint) / max(w.condition.Storage.Write, 0.001)
		t.writeRate = spec.CheckpointBytes / max(t.save, tick)
		t.saveLoad = loadOf(w.condition.Jobs[t.index].Checkpoint)
		t.phase, t.until = saving, now+t.save
		if spec.Announced {
			w.event(now, jobEntity(t.job), "checkpoint_started", "")
		}
		return
	}
	t.report(w, now)
}

// growth is by how much a checkpoint is larger than the job's first.
func (t *training) growth() float64 {
	spec := t.job.Training
	return 1 + float64(spec.CheckpointGrowth*float64((t.step+1)/spec.Checkpoint-1))
}

// scatter puts the world's noise of step times on a step's work.
func (t *training) scatter(w *World, work float64) float64 {
	n := &w.cfg.Noise
	if n.Steps == 0 {
		return work
	}
	return float64(work * max(least, 1+float64(n.Steps*n.At(t.seed.Named("noise"), t.step))))
}

// least is what noise leaves of a step's work at least.
const least = 0.5

func (t *training) saveEnds(w *World, now float64) {
	t.saved = t.step + 1
	if t.job.Training.Announced {
		w.event(now, jobEntity(t.job), "checkpoint_ended", "")
	}
	t.report(w, now)
}
