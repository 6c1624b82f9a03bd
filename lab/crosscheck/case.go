package crosscheck

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Case is a recording with its truth.
type Case struct {
	Name     string
	Samples  []Sample // by source time
	Events   []Event
	Edges    []Edge
	Switches map[string]string // tier by entity
	Truth    Truth
}

// Truth is what was wrong, in the form of a bundle's truth.json.
type Truth struct {
	Class  string   `json:"class"`
	Judged []string `json:"judged_jobs,omitempty"`
	Faults []Fault  `json:"faults"`
}

// Fault is one of a truth's faults. Times are nanoseconds since 1970.
type Fault struct {
	Signature        string   `json:"signature"`
	AcceptSignatures []string `json:"accept_signatures,omitempty"`
	Entity           string   `json:"entity"`
	Accept           []string `json:"accept,omitempty"`
	Domain           string   `json:"domain"`
	Expect           string   `json:"expect"`
	Onset            int64    `json:"onset_ns"`
	End              int64    `json:"end_ns"`
	Degraded         int64    `json:"hurt_ns,omitempty"`
	Jobs             []string `json:"jobs,omitempty"`
	Slowdown         float64  `json:"slowdown,omitempty"`
}

const (
	leastLoss = .035 // of the step time: what costs a job less is no incident
	attempts  = 60
)

// Generate returns the case of a kind of site and a seed.
func Generate(kind Kind, seed uint64) (*Case, error) {
	d := newDice(mix(seed)^uint64(len(kind)), 1)
	if d.IntN(6) == 0 {
		p := newPlan(kind, mix(seed))
		p.calm(newDice(p.seed, 12))
		return p.record(fmt.Sprintf("%04d-quiet", seed), nil, damage{}), nil
	}
	list := faultsOf(kind)
	for try := range uint64(attempts) {
		if try%20 == 0 && try > 0 || try == 0 {
			i := d.IntN(len(list))
			list[0], list[i] = list[i], list[0]
		}
		f := list[0]
		p := newPlan(kind, mix(seed+try*7919))
		fd := newDice(p.seed, 13)
		s := f.draw(p, fd)
		if s == nil {
			continue
		}
		s.name, s.domain = f.name, f.domain
		p.time(s, fd)
		if loss, ok := p.fit(s, fd); ok {
			return p.record(fmt.Sprintf("%04d-%s", seed, f.name), s, loss), nil
		}
	}
	return nil, fmt.Errorf("case %s %d: no site fits the fault in %d attempts", kind, seed, attempts)
}

// time draws when a fault begins and ends, and how it comes.
func (p *plan) time(s *strike, d dice) {
	slowest := 0.0
	for i := range p.jobs {
		if !p.jobs[i].serving {
			slowest = max(slowest, p.jobs[i].step)
		}
	}
	p.length = max(p.length, math.Floor(max(240, 24*slowest)+max(240, 22*slowest)))
	s.onset = d.between(max(240, 24*slowest), p.length-max(200, 20*slowest))
	s.end = p.length
	if d.chance(.4) && !s.stalls {
		s.end = min(p.length, s.onset+max(150, 16*slowest)*d.between(1, 2))
	}
	if s.on == 0 && !s.stalls && s.expect == "" && d.chance(.15) {
		s.on, s.off = max(20, 3*slowest)*d.between(1, 2), max(20, 3*slowest)*d.between(.5, 1.5)
	} else if s.on == 0 && !s.stalls && d.chance(.2) {
		s.ramp = d.between(20, 120)
	}
}

// damage is what a fault did to the jobs.
type damage struct {
	jobs     []string
	slowdown float64 // of the job that lost most, against the time before
	degraded float64
	stalled  bool
}

// fit finds the size at which a fault costs what was drawn for it. It reports
// false where the fault costs too little on this site.
func (p *plan) fit(s *strike, d dice) (damage, bool) {
	usual := newWorld(p, nil, nil)
	usual.run()
	s.size = 1
	if s.expect == "risk" {
		return damage{}, true
	}
	loss := p.compare(usual, s)
	if len(loss.jobs) == 0 || loss.stalled != s.stalls {
		return loss, false
	}
	if s.stalls || s.fixed {
		return loss, true
	}
	target := 1 + d.geometric(.05, 1.5)
	low, high := 0., 1.
	for range 6 {
		s.size = (low + high) / 2
		trial := p.compare(usual, s)
		if !trial.stalled && len(trial.jobs) > 0 && math.Abs(trial.slowdown-target) < .15*(target-1) {
			return trial, true
		}
		if trial.stalled || trial.slowdown > target {
			high = s.size
		} else {
			low = s.size
		}
	}
	s.size = high
	loss = p.compare(usual, s)
	return loss, len(loss.jobs) > 0 && !loss.stalled
}

// compare runs a plan with a fault and measures it against the same without. Of
// jobs that are not judged nothing counts: one that floods the links is slower itself.
func (p *plan) compare(usual *world, s *strike) damage {
	w := newWorld(p, s, nil)
	w.run()
	out := damage{slowdown: 1, degraded: math.Inf(1)}
	for i, j := range w.jobs {
		if s.judged != nil && !slices.Contains(s.judged, j.spec.entity) {
			continue
		}
		ref := usual.jobs[i]
		slow, degraded, stalled := ratio(j, ref, s, p.length)
		if slow < 1+leastLoss && !stalled {
			continue
		}
		out.jobs = append(out.jobs, j.spec.entity)
		out.slowdown, out.degraded, out.stalled = max(out.slowdown, slow), min(out.degraded, degraded), out.stalled || stalled
	}
	return out
}

// ratio returns how much longer a job's steps became, when the first of them
// ended, and whether the job came to a halt.
func ratio(j, ref *job, s *strike, length float64) (slow, degraded float64, stalled bool) {
	with, without := j.steps, ref.steps
	if j.spec.serving {
		with, without = j.served, ref.served
	}
	mean := func(steps []stepRecord, from, to float64) float64 {
		sum, n := 0.0, 0.0
		for _, r := range steps {
			if r.end > from && r.begin < to {
				sum, n = sum+r.end-r.begin, n+1
			}
		}
		return sum / max(n, 1)
	}
	degraded = math.Inf(1)
	for i, r := range with {
		if i < len(without) && r.end-r.begin > 1.02*(without[i].end-without[i].begin) && r.end > s.onset {
			degraded = r.end
			break
		}
	}
	if n := len(with); n == 0 || n < len(without) && with[n-1].end < length-max(60, 6*j.spec.step) {
		return 1, min(degraded, s.onset+j.spec.step), len(without) > n+2
	}
	before, base := mean(without, j.spec.begin, s.onset), mean(without, s.onset, s.end)
	during := mean(with, s.onset, s.end)
	if base == 0 || before == 0 || during/base < 1+leastLoss {
		return 1, degraded, false
	}
	return during / before, degraded, false
}

// record runs a plan with its instruments.
func (p *plan) record(name string, s *strike, loss damage) *Case {
	rec := newRecorder(p)
	w := newWorld(p, s, rec)
	if p.upkeep >= 0 {
		e := p.site.nodeEntity(p.upkeep)
		rec.event(p.length*.4, e, "maintenance_started", "")
		rec.event(p.length*.8, e, "maintenance_ended", "")
	}
	for i := range p.jobs {
		if p.jobs[i].begin == 0 {
			rec.event(0, p.jobs[i].entity, "job_started", "")
		}
	}
	if s != nil {
		rec.announce(s)
	}
	w.run()
	slices.SortStableFunc(rec.samples, func(a, b Sample) int { return cmp.Compare(a.Time, b.Time) })
	slices.SortStableFunc(rec.events, func(a, b Event) int { return cmp.Compare(a.Time, b.Time) })
	c := &Case{Name: name, Samples: rec.samples, Events: rec.events, Edges: p.topology(), Switches: map[string]string{}, Truth: p.truth(s, loss)}
	for _, dev := range p.site.switches {
		c.Switches[dev.entity] = "leaf"
		if dev.spine {
			c.Switches[dev.entity] = "spine"
		}
	}
	return c
}

// announce records the events that a fault brings along.
func (r *recorder) announce(s *strike) {
	if s.xid != "" {
		r.event(s.onset, s.entity, "xid", s.xid)
	}
	if s.event != "" {
		r.event(s.onset, s.entity, s.event, "")
	}
}

// truth states what was wrong.
func (p *plan) truth(s *strike, loss damage) Truth {
	t := Truth{Class: "quiet", Faults: []Fault{}}
	if p.jobs[0].resize > 0 {
		t.Class = "workload-change"
		t.Faults = append(t.Faults, Fault{Signature: t.Class, Entity: p.jobs[0].entity, Domain: "software", Expect: "benign", Onset: p.nanos(p.jobs[0].resize), End: p.nanos(p.length), Jobs: []string{p.jobs[0].entity}})
	}
	if s == nil {
		return t
	}
	t.Class = s.name
	f := Fault{Signature: s.name, AcceptSignatures: s.acceptSignatures, Entity: s.entity, Accept: s.accept, Domain: s.domain, Expect: s.expect, Onset: p.nanos(s.onset), End: p.nanos(s.end), Jobs: loss.jobs}
	if f.Expect == "" {
		f.Expect = "incident"
	}
	if len(loss.jobs) > 0 && !math.IsInf(loss.degraded, 1) {
		f.Degraded = p.nanos(max(loss.degraded, s.onset))
	}
	if !loss.stalled && loss.slowdown > 1 {
		f.Slowdown = math.Round(1e4*loss.slowdown) / 1e4
	}
	t.Faults = append(t.Faults, f)
	t.Judged = s.judged
	return t
}
