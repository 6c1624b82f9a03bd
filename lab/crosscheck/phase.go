package crosscheck

// endStep reports a step and goes on with what comes between steps.
func (w *world) endStep(j *job) {
	s := j.spec
	due := s.interval > 0 && w.now-j.lastCkpt >= s.interval
	if due && s.inside {
		w.save(j, func() { w.closeStep(j); w.beginStep(j) })
		return
	}
	w.closeStep(j)
	switch {
	case due:
		w.phase(j, "", w.saveTime(j))
		j.lastCkpt = w.now
	case s.eval > 0 && w.now > s.eval && !j.evaluated:
		j.evaluated = true
		w.phase(j, "phase eval", 9*s.step+20)
	case s.restart > 0 && w.now > s.restart && !j.restarted:
		j.restarted = true
		w.recover(j)
	default:
		w.beginStep(j)
	}
}

func (w *world) closeStep(j *job) {
	j.steps = append(j.steps, stepRecord{j.begun, w.now})
	if w.rec != nil && len(j.steps)%j.spec.strideN == 0 {
		w.rec.report(w, j)
	}
}

// saveTime returns the seconds that the next checkpoint takes.
func (w *world) saveTime(j *job) float64 {
	j.saves++
	t := j.spec.ckpt * w.cond.ckpt[j.index] * (1 + .06*w.noise(j, j.saves, 13))
	for range j.saves {
		t *= 1 + j.spec.grow
	}
	return t * (1 + .5*(w.cond.storage-1))
}

// save writes a checkpoint within a step.
func (w *world) save(j *job, then func()) {
	w.rest(j.spec.nodes)
	j.ckptTime = w.saveTime(j)
	j.lastCkpt = w.now
	w.agenda.add(w.now+j.ckptTime, then)
}

// phase is a time in which a job does something else than train.
func (w *world) phase(j *job, text string, seconds float64) {
	w.rest(j.spec.nodes)
	if w.rec != nil {
		w.rec.event(w.now, j.spec.entity, "checkpoint_started", text)
	}
	if text == "" {
		j.ckptTime = seconds
	}
	w.agenda.add(w.now+seconds, func() {
		if w.rec != nil {
			w.rec.event(w.now, j.spec.entity, "checkpoint_ended", text)
		}
		w.beginStep(j)
	})
}

// recover is a restart on request.
func (w *world) recover(j *job) {
	w.rest(j.spec.nodes)
	if w.rec != nil {
		w.rec.event(w.now, j.spec.entity, "job_ended", "requested by its owner")
	}
	w.agenda.add(w.now+60+4*j.spec.step, func() {
		if w.rec != nil {
			w.rec.event(w.now, j.spec.entity, "job_started", "")
		}
		w.beginStep(j)
	})
}

// serveInterval is the time between the reports of a serving job, in seconds.
const serveInterval = 5.0

// serve answers requests for one interval and reports them.
func (w *world) serve(j *job) {
	k := len(j.served)
	capacity, slowest := 0.0, 1.0
	for _, n := range j.spec.nodes {
		worst := 1.0
		for r := range gpusPerNode {
			g := &w.gpus[n*gpusPerNode+r]
			worst = min(worst, w.begin(g, w.now, mixed(computing(), min(.25+.7*j.spec.load, 1)))*w.cond.nvlink[g.index])
		}
		if w.lost(n) {
			worst = 0
		}
		speed := worst / w.cond.delay[n]
		capacity += speed / float64(len(j.spec.nodes))
		slowest = min(slowest, speed)
	}
	asked := j.spec.load * w.cond.arrivals[j.index] * (1 + .05*w.noise(j, k, 1))
	const full = 40.0 // requests a second at capacity
	j.queue = max(0, j.queue+(asked-capacity)*full*serveInterval)
	use := min(asked/max(capacity, .01), .98)
	a := answers{queue: j.queue + 6*use*use/(1-use), cache: min(1, .15+.75*use+j.queue/400)}
	a.itl = .028 / max(capacity, .05) * (1 + .35*use) * (1 + .015*w.noise(j, k, 2))
	a.itlWorst = a.itl * 1.6 * capacity / max(slowest, .05)
	a.ttft = .35*(1+.5*use/(1.02-use))/max(capacity, .05)*(1+.04*w.noise(j, k, 3)) + j.queue/full
	a.ttftWorst = 2.2*a.ttft + .1
	j.served = append(j.served, stepRecord{w.now, w.now + a.ttft})
	if w.rec != nil {
		w.rec.answers(w, j, a)
	}
	w.agenda.add(w.now+serveInterval, func() { w.serve(j) })
}

// answers is how a serving job did in an interval.
type answers struct{ ttft, ttftWorst, itl, itlWorst, queue, cache float64 }
