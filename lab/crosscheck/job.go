package crosscheck

import "math"

// jobSpec is what a job is like, drawn before the run.
type jobSpec struct {
	entity   string
	nodes    []int
	moe      bool
	serving  bool
	stages   int
	begin    float64
	end      float64 // 0: never
	step     float64 // seconds a step, about
	comm     float64 // share of the step in which data moves
	overlap  float64 // share of the last computing that hides the gradients
	memory   float64 // share of the computing that no clock quickens
	noise    float64 // of a step
	strideN  int     // steps in a report
	interval float64 // between checkpoints, 0: none
	ckpt     float64 // seconds of a checkpoint
	grow     float64 // share by which each checkpoint is longer than the one before
	inside   bool    // a checkpoint is part of its step
	eval     float64 // time of an evaluation, 0: none
	resize   float64 // time at which the batch becomes larger, 0: none
	factor   float64 // by how much
	restart  float64 // time of a planned restart, 0: none
	load     float64 // of a serving job: share of its capacity in use
}

// stepRecord is one step as it was.
type stepRecord struct{ begin, end float64 }

// rankTimes is how a rank spent the steps since its last report.
type rankTimes struct{ compute, wait, transfer float64 }

// job is a job under way.
type job struct {
	index    int
	spec     *jobSpec
	middle   []*pattern // of each part but the last: exchange of tokens or parameters
	gradient []*pattern
	parts    int
	work     float64 // seconds of computing a part at the nominal clock
	bytes    [2]float64

	steps     []stepRecord
	begun     float64
	part      int
	partBegun float64
	pending   int
	moving    float64 // when the transfers of this part began
	lastCkpt  float64
	saves     int
	ranks     []rankTimes
	arrived   []float64 // in this part, of a rank
	dataWait  float64
	ckptTime  float64
	evaluated bool
	restarted bool
	queue     float64 // requests waiting
	served    []stepRecord
}

func newJob(w *world, index int, spec *jobSpec) *job {
	j := &job{index: index, spec: spec, ranks: make([]rankTimes, len(spec.nodes)*gpusPerNode), lastCkpt: spec.begin, arrived: make([]float64, len(spec.nodes)*gpusPerNode)}
	s := w.site
	for r := range s.rails {
		for stage := range max(spec.stages, 1) {
			var nics []int
			for _, n := range spec.stageNodes(stage) {
				nics = append(nics, s.nics[n][r])
			}
			if len(nics) < 2 {
				continue
			}
			j.gradient = append(j.gradient, w.fabric.ring(index, nics, r*3+index))
			if spec.moe {
				for _, to := range nics {
					j.middle = append(j.middle, w.fabric.gather(index, nics, to))
				}
			}
		}
	}
	if !spec.moe {
		j.middle = j.gradient
	}
	j.parts = int(min(max(spec.step/1.5, 1), 8))
	gain := 1 + spec.overlap*(1-spec.comm)/float64(j.parts)/2 // what the overlap hides is made up for
	j.work = spec.step * (1 - spec.comm) / float64(j.parts)
	total := spec.step * spec.comm * gain * s.speed * wireShare
	j.bytes[1] = total / 2
	if j.parts > 1 {
		j.bytes[0] = total / 2 / float64(j.parts-1)
	} else {
		j.bytes[1] = total
	}
	return j
}

// stageNodes returns the nodes of a stage of the pipeline.
func (s *jobSpec) stageNodes(stage int) []int {
	per := len(s.nodes) / max(s.stages, 1)
	return s.nodes[stage*per : (stage+1)*per]
}

// launch begins a job.
func (w *world) launch(j *job) {
	if w.rec != nil && j.spec.begin > 0 {
		w.rec.event(w.now, j.spec.entity, "job_started", "")
	}
	if j.spec.serving {
		w.serve(j)
		return
	}
	w.beginStep(j)
}

// beginStep waits for the input of a step.
func (w *world) beginStep(j *job) {
	if j.spec.end > 0 && w.now > j.spec.end {
		w.rest(j.spec.nodes)
		if w.rec != nil {
			w.rec.event(w.now, j.spec.entity, "job_ended", "")
		}
		return
	}
	k := len(j.steps)
	j.begun, j.part = w.now, 0
	load := .6 * j.spec.step * w.cond.storage * (1 + .05*math.Abs(w.noise(j, k, 5)))
	hidden := j.spec.step * .95
	j.dataWait = j.spec.step*.006*(1+.4*math.Abs(w.noise(j, k, 6))) + max(0, load-hidden) + w.cond.input[j.index]*(1+.15*w.noise(j, k, 7))
	if j.dataWait > .02*j.spec.step {
		w.rest(j.spec.nodes)
	}
	w.agenda.add(w.now+j.dataWait, func() { w.compute(j) })
}

// compute lets all GPUs of a job compute one part of a step.
func (w *world) compute(j *job) {
	j.partBegun = w.now
	last := j.part == j.parts-1
	arrivals, seconds := w.arrivals(j)
	j.pending = len(arrivals) + 1
	launch := 0.0
	for i := range j.spec.nodes {
		if math.IsInf(arrivals[i], 1) {
			launch = arrivals[i]
			continue
		}
		lead := 0.0
		if last {
			lead = j.spec.overlap * (arrivals[i] - w.now)
		}
		launch = max(launch, arrivals[i]-lead)
		w.agenda.add(arrivals[i], func() { w.arrive(j, i, seconds[i*gpusPerNode:(i+1)*gpusPerNode]) })
	}
	if !math.IsInf(launch, 1) {
		w.agenda.add(launch, func() { w.communicate(j, last) })
	}
}

// arrivals returns when each node is done with its part, and for how long each
// GPU computes. A node that has failed never is.
func (w *world) arrivals(j *job) (at, seconds []float64) {
	step, part := len(j.steps), uint64(j.part)
	common := j.spec.noise * w.noise(j, step, 1)
	if uniform(w.seed, uint64(j.index), uint64(step), 2) < .008 {
		common += .03 * uniform(w.seed, uint64(j.index), uint64(step), 3) // a collection of garbage
	}
	slowest := make([]float64, max(j.spec.stages, 1))
	per := len(j.spec.nodes) / len(slowest)
	for i, n := range j.spec.nodes {
		longest := 0.0
		for r := range gpusPerNode {
			g := &w.gpus[n*gpusPerNode+r]
			clock := w.begin(g, w.now, computing())
			own := 1 + common + .6*j.spec.noise*w.noise(j, step, 8, part, uint64(g.index))
			t := j.work * w.workOf(j) * own * ((1-j.spec.memory)/clock + j.spec.memory)
			seconds = append(seconds, t)
			longest = max(longest, t)
		}
		whole := w.nodeTime(j, n, i/per, longest)
		for r := range gpusPerNode { // what slows the node is computing to its ranks
			seconds[i*gpusPerNode+r] *= whole / longest
		}
		longest = whole
		at = append(at, longest)
		slowest[i/per] = max(slowest[i/per], longest)
		if w.lost(n) {
			at[i] = math.Inf(1)
		}
	}
	if len(slowest) > 1 {
		w.pipeline(at, slowest)
	}
	for i := range at {
		at[i] += w.now
	}
	return at, seconds
}

// workOf is the factor on a job's work at this step.
func (w *world) workOf(j *job) float64 {
	f := w.cond.work[j.index]
	if j.spec.resize > 0 && w.now > j.spec.resize {
		f *= j.spec.factor
	}
	return f
}

// nodeTime adds to a node's computing what slows the node as a whole.
func (w *world) nodeTime(j *job, n, stage int, t float64) float64 {
	slow := 1.0
	for r := range gpusPerNode {
		slow = min(slow, w.cond.nvlink[n*gpusPerNode+r])
	}
	t *= (.86 + .14/slow) * w.cond.delay[n]
	if stage == max(j.spec.stages, 1)-1 {
		t *= w.cond.stage[j.index]
	}
	if j.spec.moe {
		uneven := .08 + w.cond.experts[j.index] - 1
		t *= 1 + uneven*uniform(w.seed, uint64(j.index), uint64(len(j.steps)), 9, uint64(j.part), uint64(n))
	}
	if p := w.cond.jitter[n]; p > 0 && uniform(w.seed, uint64(n), uint64(len(j.steps)), 10) < p && j.part == int(mix(uint64(len(j.steps)))%uint64(j.parts)) {
		t += j.spec.step * (.3 + .5*uniform(w.seed, uint64(n), uint64(len(j.steps)), 11))
	}
	return t
}

// lost reports whether a node will not arrive.
func (w *world) lost(n int) bool {
	broken := w.cond.dead[n]
	for r := range gpusPerNode {
		broken = broken || w.cond.broken[n*gpusPerNode+r]
	}
	return broken
}

// pipeline turns the stages' own times into the time of the whole.
func (w *world) pipeline(at, slowest []float64) {
	const microbatches = 12
	sum, most := 0.0, 0.0
	for _, t := range slowest {
		sum += t
		most = max(most, t)
	}
	whole := (sum + (microbatches-1)*most) / (microbatches + float64(len(slowest)) - 1)
	for i := range at {
		if !math.IsInf(at[i], 1) {
			at[i] = max(whole, .2*at[i])
		}
	}
}

// arrive ends the computing of the job's i-th node.
func (w *world) arrive(j *job, i int, seconds []float64) {
	n := j.spec.nodes[i]
	if w.lost(n) {
		return
	}
	for r, t := range seconds {
		g := &w.gpus[n*gpusPerNode+r]
		w.advance(g, min(max(g.at, j.partBegun+t), w.now))
		w.begin(g, w.now, waiting())
		j.arrived[i*gpusPerNode+r] = j.partBegun + t
		j.ranks[i*gpusPerNode+r].compute += t
	}
	w.part(j)
}

// communicate starts the transfers of a part.
func (w *world) communicate(j *job, last bool) {
	patterns, bytes := j.middle, j.bytes[0]
	if last {
		patterns, bytes = j.gradient, j.bytes[1]
	}
	if j.spec.moe && !last {
		bytes *= 1 + .5*(w.cond.experts[j.index]-1)
	}
	bytes *= 1 + .004*w.noise(j, len(j.steps), 12)
	j.moving = w.now
	j.pending += len(patterns) - 1
	w.change(func() {
		for _, p := range patterns {
			w.fabric.start(&transfer{pattern: p, left: bytes, done: func() { w.part(j) }})
		}
	})
	if len(patterns) == 0 {
		w.part(j)
	}
}

// part counts one of the things that a part of a step waits for.
func (w *world) part(j *job) {
	if j.pending--; j.pending > 0 {
		return
	}
	for i := range j.ranks {
		r := &j.ranks[i]
		r.wait += max(0, j.moving-j.arrived[i])
		r.transfer += max(0, w.now-max(j.moving, j.arrived[i]))
	}
	for _, n := range j.spec.nodes {
		for r := range gpusPerNode {
			w.gpus[n*gpusPerNode+r].nvlink += j.work * 60e9
		}
	}
	if j.part++; j.part < j.parts {
		w.compute(j)
		return
	}
	w.endStep(j)
}
