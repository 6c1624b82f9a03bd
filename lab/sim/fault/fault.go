package fault

import (
	"fmt"

	"github.com/quintet-dc/quintet/lab/sim/condition"
	"github.com/quintet-dc/quintet/telemetry"
)

// Fault is one fault of a run. Times are seconds since the run's start.
type Fault struct {
	Name     string // of a Kind
	Entity   telemetry.Entity
	Severity float64 // 0 to 1; what it means depends on the kind
	Onset    float64
	Ramp     float64 // seconds from the onset in which severity rises from 0 in a straight line; 0 is at once
	End      float64 // 0 has no end
	Variant  int     // which of the kind's variants
	Apart    bool    // by Parameters instead of as the kind states
}

// Plan is the faults of a run, ready to be written. It keeps no state: what it
// writes depends on the instant alone.
type Plan struct {
	scene  *Scene
	faults []planned
}

type planned struct {
	fault Fault
	kind  *Kind
	at    place
}

// NewPlan reports what is wrong with a fault, or makes a plan of all of them.
func NewPlan(scene *Scene, faults []Fault) (*Plan, error) {
	p := &Plan{scene: scene}
	for i, f := range faults {
		k := Find(f.Name)
		if k == nil {
			return nil, fmt.Errorf("fault %d: no kind is called %q", i, f.Name)
		}
		if !(f.Severity >= 0 && f.Severity <= 1) || f.Ramp < 0 || f.End != 0 && f.End < f.Onset || f.Variant < 0 || f.Variant >= max(1, len(k.Variants)) {
			return nil, fmt.Errorf("fault %d (%s at %s): severity is 0 to 1, ramps are not negative, ends come after onsets, and it has %d variants",
				i, f.Name, f.Entity, max(1, len(k.Variants)))
		}
		at, err := scene.locate(f.Entity)
		if err != nil {
			return nil, fmt.Errorf("fault %d (%s): %w", i, f.Name, err)
		}
		if !k.strikes(f.Entity.Kind) {
			return nil, fmt.Errorf("fault %d: %s does not strike %s", i, f.Name, f.Entity)
		}
		p.faults = append(p.faults, planned{fault: f, kind: k, at: at})
	}
	return p, nil
}

// Apply puts dst in the condition that the site is in t seconds after the
// start: in order, but for the faults that are active. Of several on one part
// factors multiply, shares, kelvins and seconds add, and the lowest limit holds.
func (p *Plan) Apply(dst *condition.Set, t float64) {
	dst.Heal()
	for i := range p.faults {
		f := &p.faults[i]
		w := writing{set: dst, scene: p.scene, place: f.at, fault: f.fault, since: t - f.fault.Onset}
		if f.kind.before && w.since < 0 {
			f.kind.write(&w)
			continue
		}
		if w.strength(t) {
			f.kind.write(&w)
		}
	}
}

// writing is one fault being written at an instant.
type writing struct {
	set   *condition.Set
	scene *Scene
	place
	fault Fault
	since float64 // seconds since its onset
	x     float64 // severity now
}

// strength finds the severity now, and whether the fault is active.
func (w *writing) strength(t float64) bool {
	f := &w.fault
	lag, ramp, end := 0.0, f.Ramp, f.End
	own := ordinary()
	if f.Apart {
		own = parametersOf(f.Name)
		lag, ramp = own.Lag, max(ramp, own.Ramp)
	}
	if w.since < lag || end > 0 && t >= end {
		return false
	}
	w.since -= lag
	w.x = own.magnitude(f.Severity)
	if ramp > 0 && w.since < ramp {
		w.x = float64(w.x * w.since / ramp)
	}
	return own.on(w.since)
}

func multiply(x *float64, by float64) { *x = float64(*x * by) }

// addShare adds a share that strikes what the others left.
func addShare(x *float64, share float64) { *x = min(1, *x+share) }

// lower puts a limit where there is none or a higher one.
func lower(x *float64, limit float64) {
	if *x <= 0 || limit < *x {
		*x = limit
	}
}
