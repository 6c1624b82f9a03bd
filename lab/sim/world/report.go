package world

import (
	"fmt"
	"math"

	"github.com/quintet-dc/quintet/lab/sim/state"
	"github.com/quintet-dc/quintet/lab/sim/work"
	"github.com/quintet-dc/quintet/telemetry"
)

func jobEntity(j *work.Job) telemetry.Entity {
	return telemetry.Entity{Kind: telemetry.Job, Name: j.Name}
}

// report states the step that ends now and begins the next. Every step is
// stated; how many a report sums up is measurement.
func (t *training) report(w *World, now float64) {
	spec := t.job.Training
	seconds := now - t.began
	most := 0.0
	for r, g := range t.gpus {
		if r%t.job.GPUs == 0 {
			most = max(most, w.condition.Nodes[int(g)/t.job.GPUs].Input)
		}
	}
	s := t.next()
	s.Number, s.End, s.Seconds, s.Evaluates = t.step, now, seconds, t.task.Evaluates
	s.DataWait, s.Checkpoint = t.wait+most, t.save
	s.Tokens = float64(spec.Tokens * t.factor)
	s.MFU = t.job.MFU(s.Tokens, seconds)
	if t.task.Evaluates {
		s.Tokens, s.MFU = 0, 0
	}
	if spec.Ranks {
		t.times(s)
	}
	t.before = seconds - t.wait
	t.step++
	t.begin(w, now)
}

// next is one more reported step, in memory that is used again each second.
func (t *training) next() *state.Step {
	n := len(t.steps)
	if n == len(t.buffers) {
		var b [3][]float32
		if t.job.Training.Ranks {
			for i := range b {
				b[i] = make([]float32, t.job.Ranks)
			}
		}
		t.buffers = append(t.buffers, b)
	}
	b := t.buffers[n]
	t.steps = append(t.steps, state.Step{Compute: b[0], Wait: b[1], Transfer: b[2]})
	return &t.steps[n]
}

// times fills what each rank reports: how long it computed (with what delayed
// it), how long data moved for it, and how long it waited for others.
func (t *training) times(s *state.Step) {
	open := t.entered - t.started
	perStage := len(t.gpus) / t.job.Stages()
	share := 1.0 // of the ring's time that was in the open
	if t.ring != nil && t.ring.seconds > 0 && !math.IsInf(t.ring.seconds, 1) {
		share = t.moved / t.ring.seconds
	}
	for r := range t.gpus {
		transfer := t.swapped
		if t.ring != nil && t.moved > 0 {
			own := float64(share * t.ring.group[min(r/perStage, len(t.ring.group)-1)])
			transfer += min(t.moved, own)
		}
		s.Compute[r] = float32(t.busy[r])
		s.Transfer[r] = float32(transfer)
		s.Wait[r] = float32(max(0, open-t.busy[r]) + t.moved + t.swapped - transfer)
		t.collective[r] = s.Wait[r] + s.Transfer[r] + float32(t.hidden)
	}
}

// idle waits for the time to start, or to start again.
func (t *training) idle(w *World, now, to float64) float64 {
	c := &w.condition.Jobs[t.index]
	at := max(now, t.job.Start)
	again := t.failed >= 0
	if again {
		at = max(at, t.failed+t.job.Training.Restart)
	}
	switch {
	case t.job.End > 0 && now >= t.job.End, c.Stopped, at >= to,
		again && (t.job.Training.Restart <= 0 || t.blocked()):
		return to
	}
	name := "job_started"
	if again {
		name = "job_restarted"
	}
	w.event(at, jobEntity(t.job), name, "")
	t.failed, t.stuck, t.before, t.step = -1, -1, 0, t.saved
	t.first = t.step
	w.dirty = true
	t.begin(w, at)
	return at
}

// blocked reports whether nothing can go on: a GPU that does not work, or
// traffic without a way.
func (t *training) blocked() bool {
	return t.dead || t.ring != nil && math.IsInf(t.ring.seconds, 1) || t.exchange != nil && math.IsInf(t.exchange.seconds, 1)
}

// begun is how many collectives each rank has begun: the steps before, and this
// one's where it has computed.
func (t *training) begun() []uint32 {
	for r := range t.collectives {
		n := t.step - t.first
		if t.phase > computing || t.phase == computing && t.todo[r] < 0 {
			n++
		}
		t.collectives[r] = uint32(n)
	}
	return t.collectives
}

// watch ends the job where its time is over, and fails it where it has stalled
// still for too long.
func (t *training) watch(w *World, now float64) {
	if t.phase == off {
		return
	}
	c := &w.condition.Jobs[t.index]
	if c.Stopped || t.job.End > 0 && now >= t.job.End {
		w.event(now, jobEntity(t.job), "job_ended", "")
		t.saved = t.step
		t.halt(w)
		return
	}
	still := t.dead
	switch t.phase {
	case exchanging:
		still = still || math.IsInf(t.exchange.seconds, 1)
	case reducing:
		still = still || math.IsInf(t.ring.seconds, 1)
	}
	switch {
	case !still:
		t.stuck = -1
	case t.stuck < 0:
		t.stuck = now
	case now-t.stuck >= t.job.Training.Timeout:
		w.event(now, jobEntity(t.job), "job_failed", fmt.Sprintf("a collective timed out after %.0f s", t.job.Training.Timeout))
		t.failed = now
		t.halt(w)
	}
}

func (t *training) halt(w *World) {
	t.phase, t.stuck = off, -1
	t.readUntil = 0
	w.dirty = true
}

// look takes in a changed condition.
func (t *training) look(w *World) {
	t.dead = false
	group := t.job.Training.Tensor
	for first := 0; first < len(t.gpus); first += group {
		least := 1.0
		for _, g := range t.gpus[first : first+group] {
			least = min(least, w.condition.GPUs[g].NVLink)
			t.dead = t.dead || !w.machines[g].works
		}
		for r := first; r < first+group; r++ {
			t.slow[r] = 1 / max(least, 0.01)
		}
	}
}

// estimate is about how long a step takes, for what it offers in the mean.
func (t *training) estimate() float64 {
	spec := t.job.Training
	m := float64(max(1, spec.Microbatches))
	seconds := float64(1.05*spec.Seconds) * (m + float64(t.job.Stages()-1)) / m
	if t.exchange != nil {
		seconds += t.exchange.seconds
	}
	if t.ring != nil {
		seconds += float64((1 - spec.Overlap) * t.ring.seconds)
	}
	return seconds
}
