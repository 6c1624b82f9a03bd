package cases

import (
	"context"
	"fmt"

	"github.com/quintet-dc/quintet/lab/sim/measure"
	"github.com/quintet-dc/quintet/telemetry"
)

// play plays a built case: what its instruments report, and a tick at the end of
// each second. It returns what became of the jobs. A frame is emit's until emit
// returns.
func (b *Build) play(ctx context.Context, emit func(*telemetry.Record) error) (*history, error) {
	a, err := b.stage.begin()
	if err != nil {
		return nil, err
	}
	if a.plan, err = b.plan(); err != nil {
		return nil, err
	}
	v := b.stage.world()
	m, err := measure.New(a.world.Site(), Measured(a.world.Jobs()), measure.Config{Seed: b.Case.Seed, Start: Start, Imperfect: true,
		Set: b.set, InfiniBand: b.stage.infiniBand, Coarsen: b.Case.Coarsen,
		Cadence: v.Cadence, Noise: v.Noise, Instruments: v.Instruments, Names: v.Names})
	if err != nil {
		return nil, fmt.Errorf("case %s: %w", b.Case.Name(), err)
	}
	h := newHistory(a)
	for range v.Jobs.Lead {
		h.add(a.step())
	}
	b.sensed = map[telemetry.Entity]bool{}
	for _, s := range m.Schemas() {
		for _, e := range s.Entities {
			b.sensed[e] = true
		}
	}
	if err := m.Start(emit); err != nil {
		return nil, err
	}
	for s := v.Jobs.Lead; s < b.Until; s++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		st := a.step()
		h.add(st)
		if err := m.Observe(st, emit); err != nil {
			return nil, err
		}
		tick := telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: Start.Add(telemetry.Duration(s+1) * 1e9)}}
		if err := emit(&tick); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// simulate plays a built case without instruments, until the steps have ended
// that its faults overlap.
func (b *Build) simulate(ctx context.Context) (*history, error) {
	a, err := b.stage.begin()
	if err != nil {
		return nil, err
	}
	if a.plan, err = b.plan(); err != nil {
		return nil, err
	}
	h := newHistory(a)
	until := 0.0
	for i := range b.Faults {
		until = max(until, b.Faults[i].End)
	}
	for range min(b.Until, int(until+b.stage.pace().after())) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		h.add(a.step())
	}
	return h, nil
}
