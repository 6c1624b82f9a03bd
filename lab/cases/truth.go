package cases

import (
	"cmp"
	"slices"

	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/lab/sim/fault"
	"github.com/quintet-dc/quintet/replay/score"
	"github.com/quintet-dc/quintet/telemetry"
)

// harm is what a fault did to a job, against the same run without it.
type harm struct {
	job      telemetry.Entity
	loss     float64 // seconds per step above the counterfactual since the first degraded one, a share of it
	excess   float64 // the same in seconds
	degraded float64 // seconds: end of the first step 2 % over its counterfactual
	stopped  bool    // it stalled or failed
	steps    int     // since the first degraded one, as far as they overlap the fault
}

const (
	felt       = 1.02 // of its counterfactual, from which on a step is degraded
	feltPhased = 1.04 // where links carry others' phases, which a fault shifts
	feltServ   = 1.05 // of a serving job's latency, which wanders more
)

// compare states what became of a job between onset and end.
func compare(with, without *track, onset, end float64) harm {
	h := harm{job: with.entity}
	if len(without.served) > 0 {
		return compareServed(with, without, onset, end)
	}
	usual := map[int]step{}
	for _, s := range without.steps {
		usual[s.number] = s
	}
	var own, counter float64
	for _, s := range with.steps {
		c, ok := usual[s.number]
		if !ok || s.end <= onset || s.end-s.seconds >= end || with.failed > 0 && s.end > with.failed {
			continue
		}
		if h.degraded == 0 && s.seconds >= felt*c.seconds {
			h.degraded = s.end
		}
		if h.degraded > 0 {
			h.steps++
			own, counter = own+s.seconds, counter+c.seconds
		}
	}
	if h.steps > 0 {
		h.excess = (own - counter) / float64(h.steps)
		h.loss = own/counter - 1
	}
	h.stalled(with, without, onset, end)
	return h
}

// stalled finds a job that failed, or that had ended no step for longer than 15 s
// and three usual steps when the fault ended. It is degraded from when the step
// that hangs should have ended.
func (h *harm) stalled(with, without *track, onset, end float64) {
	var usual []float64
	for _, s := range without.steps {
		usual = append(usual, s.seconds)
	}
	if len(usual) == 0 {
		return
	}
	at := 0.0
	for _, s := range with.steps {
		if s.end <= end && (with.failed == 0 || s.end < with.failed) {
			at = s.end
		}
	}
	failed := with.failed > onset && with.failed <= end
	if !failed && end-at <= max(15, 3*stats.Median(usual)) {
		return
	}
	h.stopped, h.loss = true, stalledLoss
	if h.degraded > 0 && h.degraded <= at {
		return
	}
	h.degraded = max(at, onset)
	for _, s := range without.steps {
		if s.end > h.degraded {
			h.degraded = s.end
			break
		}
	}
}

// stalledLoss is the loss of a job that stalls.
const stalledLoss = 1e3

// compareServed compares seconds instead of steps: the worse of time to first
// token and time between tokens.
func compareServed(with, without *track, onset, end float64) harm {
	h := harm{job: with.entity}
	var worst [2]float64
	var n float64
	for s := int(onset); s < int(end) && s < len(with.served) && s < len(without.served); s++ {
		a, b := with.served[s], without.served[s]
		if b.itl <= 0 || b.ttft <= 0 {
			continue
		}
		ttft, itl := float64(a.ttft/b.ttft), float64(a.itl/b.itl)
		if a.itl <= 0 { // it answers nothing
			h.stopped, itl, ttft = true, 2, 2
		}
		n++
		worst[0], worst[1] = worst[0]+min(ttft, 100)-1, worst[1]+min(itl, 100)-1
		if h.degraded == 0 && max(ttft, itl) >= 1.1 {
			h.degraded = float64(s + 1)
		}
	}
	if n > 0 {
		h.loss = max(worst[0], worst[1]) / n
	}
	return h
}

// degrades reports whether a job of a stage is degraded.
func (h *harm) degrades(serving bool, s stage) bool {
	switch {
	case serving:
		return h.loss >= feltServ-1
	case s.world().Neighbours.Phased:
		return h.stopped || h.loss >= feltPhased-1
	}
	return h.stopped || h.loss >= felt-1
}

// harms compares all jobs, the most degraded first. Of several faults each is
// compared in a run of its own.
func (b *Build) harms(with *history, i int) []harm {
	var out []harm
	f := &b.Faults[i]
	if len(b.alone) > 0 {
		with = b.alone[i]
	}
	for k := range with.jobs {
		h := compare(&with.jobs[k], &b.healthy.jobs[k], f.Onset, f.End)
		if h.degrades(b.scene.Jobs[k].Serving, b.stage) {
			out = append(out, h)
		}
	}
	slices.SortStableFunc(out, func(x, y harm) int { return cmp.Compare(y.loss, x.loss) })
	return out
}

// truth returns the truth file of the case (docs/format-bundle.md), as measured.
func (b *Build) truth(with *history) score.Truth {
	t := score.Truth{Class: b.Case.Group(), Faults: []score.Fault{}}
	for i := range b.Faults {
		t.Faults = append(t.Faults, b.named(b.fault(i, with)))
	}
	return t
}

func (b *Build) fault(i int, with *history) score.Fault {
	f, k := &b.Faults[i], b.Kinds[i]
	out := score.Fault{Signature: k.Name, AcceptSignatures: k.Alike, Entity: f.Entity, Expect: score.Expect(k.Expect),
		Onset: at(f.Onset), End: at(f.End)}
	if a, err := b.scene.Answer(*f); err == nil {
		out.Accept, out.Victims, out.AcceptSignatures = a.Accept, a.Victims, a.Alike
	}
	if d, err := telemetry.ParseDomain(k.Domain); err == nil {
		out.Domain = d
	}
	if k.Expect == fault.Benign {
		out.Jobs = b.concerned(i)
		return out
	}
	harms := b.harms(with, i)
	if k.Expect != fault.Incident {
		out.Jobs = b.concerned(i)
		if len(harms) == 0 {
			return out
		}
		out.Expect = score.ExpectIncident // a risk that came true
	}
	if len(harms) == 0 {
		return out
	}
	out.Jobs = nil
	for _, h := range harms {
		out.Jobs = append(out.Jobs, h.job)
	}
	first := &harms[0]
	out.Degraded, out.StepsInFault = at(first.degraded), first.steps
	if before := b.before(first.job, f.Onset); before > 0 && !first.stopped {
		out.Slowdown = 1 + first.excess/before
	}
	return out
}

// concerned are the jobs that a fault without a degraded job is about.
func (b *Build) concerned(i int) []telemetry.Entity {
	return []telemetry.Entity{{Kind: telemetry.Job, Name: b.scene.Jobs[b.Degrades[i]].Name}}
}

// before is the mean of a job's steps that ended by the onset, as the judge
// takes it.
func (b *Build) before(job telemetry.Entity, onset float64) float64 {
	sum, n := 0.0, 0.0
	for i := range b.healthy.jobs {
		t := &b.healthy.jobs[i]
		if t.entity != job {
			continue
		}
		for _, s := range t.steps {
			if s.end <= onset && !s.evaluates {
				sum, n = sum+s.seconds, n+1
			}
		}
	}
	if n == 0 {
		return 0
	}
	return sum / n
}

// at is an instant of a case.
func at(seconds float64) telemetry.Time {
	return Start.Add(telemetry.Duration(seconds * 1e9))
}
