package cases

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/quintet-dc/quintet/lab/sim/fault"
	"github.com/quintet-dc/quintet/lab/sim/measure"
	"github.com/quintet-dc/quintet/telemetry"
)

// Live is a site that goes on for as long as it is stepped, on which faults are
// struck as one goes. What is read of it is exact: devices answer what is so.
type Live struct {
	act    *act
	scene  *fault.Scene
	meter  *measure.Meter
	faults []fault.Fault
	struck int
	seed   uint64
	start  telemetry.Time
}

// NewLive sets up the usual site of a size and seed, whose second 0 is at start.
func NewLive(gpus int, seed uint64, start telemetry.Time) (*Live, error) {
	s := usual(gpus, seed)
	s.saves = true
	var m maker
	_, sent, err := m.shelf.of(s).until(s, sentOver)
	if err != nil {
		return nil, err
	}
	scened, err := s.begin()
	if err != nil {
		return nil, err
	}
	l := &Live{seed: seed, start: start, scene: s.scene(scened.world, sent)}
	if l.act, err = s.begin(); err != nil {
		return nil, err
	}
	l.meter, err = measure.New(l.act.world.Site(), Measured(l.act.world.Jobs()), measure.Config{Seed: seed, Start: start,
		InfiniBand: s.infiniBand, Collectives: true})
	return l, err
}

// Scene is what faults can strike.
func (l *Live) Scene() *fault.Scene { return l.scene }

// Begin emits what is stated before the first second: edges, placements, schemas.
func (l *Live) Begin(emit func(*telemetry.Record) error) error { return l.meter.Start(emit) }

// Second describes how many have passed.
func (l *Live) Second() int { return l.act.world.State().Second }

// Step lets a second pass and emits what its devices would report, and a tick at
// its end.
func (l *Live) Step(emit func(*telemetry.Record) error) error {
	if err := l.meter.Observe(l.act.step(), emit); err != nil {
		return err
	}
	return emit(&telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: l.start.Add(telemetry.Duration(l.Second()) * 1e9)}})
}

// Strike has a fault begin in a few seconds, at an entity or, if that is zero,
// where the seed determines, as loud as its kind knows and for so many seconds. It
// returns the fault as it was struck.
func (l *Live) Strike(name string, at telemetry.Entity, seconds float64) (fault.Fault, error) {
	k := fault.Find(name)
	if k == nil {
		return fault.Fault{}, fmt.Errorf("no kind of fault is called %q", name)
	}
	b := &Build{Case: Case{Class: name, Severity: Loud, Seed: l.seed}, scene: l.scene}
	if !b.place(k, fmt.Sprintf("live/%d", l.struck), -1) {
		return fault.Fault{}, fmt.Errorf("%s: this site has no place for it", name)
	}
	f := b.Faults[0]
	f.Severity = cmp.Or(f.Severity, k.Quiet) // some kinds have no loud severity
	if !at.IsZero() {
		f.Entity = at
	}
	f.Onset = float64(l.Second() + 2)
	f.End = f.Onset + f.Ramp + seconds
	faults := append(slices.Clone(l.faults), f)
	plan, err := fault.NewPlan(l.scene, faults)
	if err != nil {
		return fault.Fault{}, err
	}
	l.act.plan, l.faults, l.struck = plan, faults, l.struck+1
	return f, nil
}

// Costs simulates a fault on the usual site of a size and seed and returns what part
// of its steps the most degraded job loses, 1 where it stalls, 0 where none is
// degraded: a fault may be possible at a place and change nothing for any job.
func Costs(ctx context.Context, gpus int, seed uint64, f fault.Fault) (float64, error) {
	k := fault.Find(f.Name)
	if k == nil {
		return 0, fmt.Errorf("no kind of fault is called %q", f.Name)
	}
	b, s := &Build{Case: Case{Class: f.Name, Severity: Loud, GPUs: gpus, Seed: seed}}, usual(gpus, seed)
	s.saves = true
	var m maker
	if found, err := m.on(b, s, k); err != nil || !found {
		return 0, err
	}
	f.Onset, f.End = b.Faults[0].Onset, b.Faults[0].Onset+f.End-f.Onset
	b.Faults[0] = f
	if err := m.finish(b); err != nil {
		return 0, err
	}
	h, err := b.simulate(ctx)
	if err != nil {
		return 0, err
	}
	harms := b.harms(h, 0)
	if slices.ContainsFunc(harms, func(h harm) bool { return h.stopped }) {
		return 1, nil
	}
	return worst(harms), nil
}

// Struck lists the faults that were struck, in order.
func (l *Live) Struck() []fault.Fault { return slices.Clone(l.faults) }
