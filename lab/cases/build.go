package cases

import (
	"fmt"

	"github.com/quintet-dc/quintet/lab/sim/fault"
	"github.com/quintet-dc/quintet/lab/sim/measure"
	"github.com/quintet-dc/quintet/lab/sim/random"
	"github.com/quintet-dc/quintet/lab/sim/world"
	"github.com/quintet-dc/quintet/telemetry"
)

// Start is the instant at which every case's second 0 is.
const Start = telemetry.Time(1_790_000_000e9)

const (
	// someSaves is how much longer a fault is to last that shows in checkpoints
	// alone: three or four of them.
	someSaves = 300.0
)

// Build is a case made ready to be played.
type Build struct {
	Case     Case
	Faults   []fault.Fault // none of a healthy run
	Kinds    []*fault.Kind // of each
	Degrades []int         // of each, the number of the job that it is meant to degrade
	Until    int           // seconds, when the run ends

	stage   stage
	scene   *fault.Scene
	healthy history                   // the same without the faults, up to Until
	alone   []*history                // of several faults, the run with each of them only
	set     measure.Set               // how many series devices state
	sensed  map[telemetry.Entity]bool // what has a series of its own; nil before the run
}

// maker builds cases; it keeps the healthy runs that they share.
type maker struct{ shelf shelf }

// build draws what a case is made of, but for the severity, or states why there is
// no such case.
func (m *maker) build(c Case) (*Build, error) {
	switch c.Class {
	case Healthy:
		return quiet(c)
	case Soak:
		return m.soak(c)
	}
	k := fault.Find(c.Class)
	if k == nil {
		return nil, fmt.Errorf("case %s: no kind of fault is called %q", c.Name(), c.Class)
	}
	b := &Build{Case: c}
	st := c.stage()
	st.saves = savesMatter(c.Class) || savesMatter(c.Second)
	for _, s := range st.others() {
		found, err := m.on(b, s, k)
		if err != nil {
			return nil, err
		}
		if found {
			return b, m.finish(b)
		}
	}
	return nil, &NoCaseError{Case: c, Why: "no site of this size has a place for it"}
}

// NoCaseError states why a case cannot be.
type NoCaseError struct {
	Case Case
	Why  string
}

func (e *NoCaseError) Error() string { return fmt.Sprintf("case %s: %s", e.Case.Name(), e.Why) }

// savesMatter reports whether a fault shows in checkpoints alone.
func savesMatter(class string) bool {
	return class == "checkpoint-stall" || class == "checkpoint-pattern" || class == "storage-slow"
}

// quiet is a healthy run: nothing is drawn, and nothing has to be compared.
func quiet(c Case) (*Build, error) {
	minutes := c.Minutes
	if minutes == 0 {
		minutes = 15
	}
	s := c.stage()
	return &Build{Case: c, stage: s, Until: max(60*minutes, int(s.pace().health()+s.pace().fault(1)))}, nil
}

// on tries to place a case's faults on a stage.
func (m *maker) on(b *Build, s stage, k *fault.Kind) (bool, error) {
	_, sent, err := m.shelf.of(s).until(s, sentOver)
	if err != nil {
		return false, err
	}
	w, err := world.New(s.still())
	if err != nil {
		return false, fmt.Errorf("case %s: %w", b.Case.Name(), err)
	}
	b.stage, b.scene, b.Faults, b.Kinds, b.Degrades = s, s.scene(w, sent), nil, nil, nil
	if !b.place(k, "first", -1) {
		return false, nil
	}
	if b.Case.Second == "" {
		return true, nil
	}
	other := fault.Find(b.Case.Second)
	if other == nil {
		return false, fmt.Errorf("case %s: no kind of fault is called %q", b.Case.Name(), b.Case.Second)
	}
	return b.place(other, "second", b.Degrades[0]), nil
}

// place draws which job a fault degrades and where it is injected. Two faults of
// one run degrade different jobs where there are two to choose from, or one job
// twice.
func (b *Build) place(k *fault.Kind, which string, besides int) bool {
	r := b.Case.draws(which)
	var jobs []int
	for j := range b.scene.Jobs {
		if len(k.Eligible(b.scene, j)) > 0 {
			jobs = append(jobs, j)
		}
	}
	if len(jobs) == 0 {
		return false
	}
	job := b.choose(jobs, besides, &r)
	places := k.Eligible(b.scene, job)
	f := fault.Fault{Name: k.Name, Entity: places[r.Below(len(places))], Ramp: k.Ramp, Apart: b.Case.Apart}
	f.Onset = b.stage.pace().health() + float64(int(r.Uniform(0, 10)*1000))/1000
	if besides >= 0 { // the second begins inside the first's window, but not with it
		f.Onset += r.Uniform(20, 60)
	}
	if n := len(k.Variants); n > 1 {
		f.Variant = r.Below(n)
	}
	f.Severity = k.Loud
	if b.Case.Severity == Quiet {
		f.Severity = k.Quiet
	}
	f.Severity = max(0, min(1, f.Severity))
	if k.Loud == 0 && k.Quiet == 0 {
		f.Severity = 1
	}
	b.Faults, b.Kinds, b.Degrades = append(b.Faults, f), append(b.Kinds, k), append(b.Degrades, job)
	return true
}

// last states when each fault ends, so that there are enough slow steps, and
// returns when the last does.
func (b *Build) last() float64 {
	most := 0.0
	for i := range b.Faults {
		f, k := &b.Faults[i], b.Kinds[i]
		ramp, lag := f.Ramp, k.Lag[1]
		if b.Case.Apart {
			for _, p := range fault.Apart() {
				if p.Name == f.Name {
					ramp, lag = max(ramp, p.Ramp), lag+p.Lag
				}
			}
		}
		slow := 1.1
		if b.Case.Severity == Loud {
			slow = 1.8
		}
		f.End = f.Onset + ramp + lag + b.stage.pace().fault(slow)
		if savesMatter(f.Name) {
			f.End += someSaves
		}
		most = max(most, f.End)
	}
	return most
}

// choose draws which of several jobs is to be degraded: one that trains seven times
// in eight, and every second time one that no other fault degrades.
func (b *Build) choose(jobs []int, besides int, r *random.Source) int {
	serving := r.Chance(0.125)
	var likely []int
	for _, j := range jobs {
		if b.scene.Jobs[j].Serving == serving {
			likely = append(likely, j)
		}
	}
	if len(likely) == 0 {
		likely = jobs
	}
	job := likely[r.Below(len(likely))]
	for _, j := range likely {
		if job == besides && j != besides && r.Chance(0.5) {
			job = j
		}
	}
	return job
}

// finish states when the run ends, and fetches the same run without the faults.
func (m *maker) finish(b *Build) error {
	if len(b.Faults) > 0 {
		b.Until = int(b.last() + b.stage.pace().after())
	}
	var err error
	b.healthy, _, err = m.shelf.of(b.stage).until(b.stage, b.Until)
	return err
}

// plan is the faults ready to be written; nil of a healthy run.
func (b *Build) plan() (*fault.Plan, error) {
	if len(b.Faults) == 0 {
		return nil, nil
	}
	p, err := fault.NewPlan(b.scene, b.Faults)
	if err != nil {
		return nil, fmt.Errorf("case %s: %w", b.Case.Name(), err)
	}
	return p, nil
}
