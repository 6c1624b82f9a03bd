package crosscheck

import "math"

// world is one run of a site. Without a recorder it only finds out how long the
// jobs' steps take.
type world struct {
	site   *site
	seed   uint64
	agenda agenda
	now    float64
	end    float64
	cond   conditions
	fabric *fabric
	plant  *plant
	gpus   []gpu
	jobs   []*job
	extra  []*pattern // streams that only a fault starts
	extras bool       // they run
	strike *strike    // nil: nothing is wrong
	rec    *recorder
}

// newWorld sets up a run of a plan.
func newWorld(p *plan, strike *strike, rec *recorder) *world {
	w := &world{site: p.site, seed: p.seed, end: p.length, strike: strike, rec: rec, plant: newPlant(p.site, newDice(p.seed, 21)), gpus: newGPUs(p.site, newDice(p.seed, 22))}
	w.cond.site = p.site
	w.cond.reset(len(p.jobs))
	w.fabric = newFabric(p.site, &w.cond)
	for i := range w.gpus {
		w.gpus[i].seat += p.seat[i]
	}
	for i := range p.jobs {
		w.jobs = append(w.jobs, newJob(w, i, &p.jobs[i]))
	}
	if strike != nil && strike.streams != nil {
		w.extra = strike.streams(w)
	}
	return w
}

// run plays the agenda to the end.
func (w *world) run() {
	if w.rec != nil {
		w.rec.begin(w)
	}
	for _, j := range w.jobs {
		w.agenda.add(j.spec.begin, func() { w.launch(j) })
	}
	if w.strike != nil {
		for _, at := range w.strike.changes() {
			w.agenda.add(at, w.reconsider)
		}
	}
	for w.agenda.Len() > 0 {
		next := w.agenda.next()
		if next.at >= w.end {
			break
		}
		w.now = next.at
		next.do()
	}
	w.now = w.end
	w.finish()
}

func (w *world) finish() {
	if w.rec == nil {
		return
	}
	for i := range w.gpus {
		w.advance(&w.gpus[i], w.end)
	}
	w.rec.catchUp(w)
}

// reconsider sets the conditions of now and whatever follows from them.
func (w *world) reconsider() {
	for i := range w.gpus { // what was read before now was read under the old conditions
		w.advance(&w.gpus[i], w.now)
	}
	if w.rec != nil {
		w.rec.catchUp(w)
	}
	w.change(func() {
		w.cond.reset(len(w.jobs))
		if level := w.strike.level(w.now); level > 0 {
			w.strike.apply(&w.cond, level)
		}
		w.plant.follow(w.site, &w.cond, w.now)
		w.fabric.forget()
		w.switchExtras()
	})
	for i := range w.gpus {
		if g := &w.gpus[i]; g.doing.engine > 0 {
			w.begin(g, w.now, g.doing)
		}
	}
}

// switchExtras starts or stops the streams that the fault brings along.
func (w *world) switchExtras() {
	if w.cond.foreign[0] == w.extras {
		return
	}
	w.extras = w.cond.foreign[0]
	for _, p := range w.extra {
		if w.extras {
			w.fabric.start(&transfer{pattern: p, left: math.Inf(1)})
		} else {
			w.fabric.stop(p)
		}
	}
}

// change accounts for the transfers up to now, changes them, and solves again.
func (w *world) change(f func()) {
	over := w.fabric.settle(w.now)
	f()
	end := w.fabric.solve()
	if w.rec != nil {
		w.rec.wires(w)
	}
	if version := w.fabric.version; !math.IsInf(end, 1) {
		w.agenda.add(max(end, w.now), func() {
			if w.fabric.version == version {
				w.change(func() {})
			}
		})
	}
	for _, t := range over {
		t.done()
	}
}

// noise is a normal number for a step of a job, of a part of it.
func (w *world) noise(j *job, step int, keys ...uint64) float64 {
	return normal(append([]uint64{w.seed, uint64(j.index), uint64(step)}, keys...)...)
}

// rest lets GPUs do nothing from now on.
func (w *world) rest(nodes []int) {
	for _, n := range nodes {
		for g := range gpusPerNode {
			w.begin(&w.gpus[n*gpusPerNode+g], w.now, resting())
		}
	}
}
