package explain_test

import (
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/telemetry"
)

// sparing are symptoms of which some have another cause than the root that was
// removed.
type sparing struct {
	symptoms
	over   map[telemetry.Entity]bool // what stands over the GPU
	spared bool
}

func (s sparing) Relation(cause, effect telemetry.Entity) (telemetry.Relation, bool) {
	return telemetry.Cools, s.over[cause] && effect.Kind == telemetry.GPU
}

func (s sparing) Spared(x telemetry.Entity) bool { return s.spared && x.Kind == telemetry.GPU }

// TestAGPUThatStatesNoHeatIsNotTheLoops: a loop fails, and of the GPUs behind it
// one that is as hot reports no heat and is slow. That one has a fault of its own,
// wherever the loop's chain leads, and the row is no other name for what the loop
// does. One that is slowed by its heat is the loop's, and the row is then what
// another fault would be.
func TestAGPUThatStatesNoHeatIsNotTheLoops(t *testing.T) {
	gpu, loop, row := entity("gpu:h0/1"), entity("loop:r0"), entity("row:a")
	heat, hotter := &explain.Reading{Metric: "gpu_clock_event_reasons", Take: explain.TakeBits, Bits: 0x60}, &explain.Reading{Metric: "gpu_temperature_celsius", Take: explain.TakeShift}
	explained := explain.Feature{Name: "dose", Measure: explain.ClockExplained, None: 0.1, Full: 0.5, For: 6, Against: -5, Required: true}
	states := explain.Feature{Name: "heat", Reading: heat, None: 0.05, Full: 0.4, For: 3, Against: -8}
	denies := explain.Feature{Name: "no-heat", Reading: heat, None: 0.3, Full: 0.05, For: 1, Against: -8}
	cooler := explain.Feature{Name: "not-hotter", Reading: hotter, None: 8, Full: 2, For: 1, Against: -6}
	sig := func(name string, d telemetry.Domain, root telemetry.Kind, features ...explain.Feature) explain.Signature {
		return explain.Signature{Name: name, Domain: d, Expect: explain.ExpectIncident, Roots: []telemetry.Kind{root}, Features: features}
	}
	sigs := []explain.Signature{
		sig("coolant-flow-loss", telemetry.Cooling, telemetry.Loop, explained),
		sig("inlet-warm", telemetry.Cooling, telemetry.Row, explained),
		sig("gpu-slow", telemetry.Computing, telemetry.GPU, explained, denies, cooler),
		sig("cold-plate", telemetry.Cooling, telemetry.GPU, explained, states),
	}
	sigs = explain.Compile(sigs)
	for i, apart := range []bool{true, true, false, false} {
		if explain.Apart(&sigs[i], &sigs[2]) != apart || explain.Apart(&sigs[2], &sigs[i]) != apart {
			t.Errorf("%s and gpu-slow", sigs[i].Name)
		}
	}
	for _, spared := range []bool{true, false} {
		slow := explain.Values{explain.ClockExplained: 0.8, explain.Recall: 1}
		hot := explain.Values{explain.ClockExplained: 0.8, sigs[2].Features[2].Key(): 30}
		e := &explain.Evidence{Job: entity("job:train"), Degradation: &jobs.Degradation{}, Symptoms: sparing{symptoms: symptoms{
			order: []telemetry.Entity{gpu, loop, row},
			show:  map[telemetry.Entity]explain.Values{gpu: hot, loop: slow, row: slow},
		}, over: map[telemetry.Entity]bool{loop: true, row: true}, spared: spared}}
		answers := explain.Without(sigs, e, explain.Remainder{Root: &explain.Answer{Entity: loop, Signature: &sigs[0]}, Chain: []explain.Link{{Entity: loop}, {Entity: gpu}}, Alone: explain.Alone})
		if got := answers[0]; spared && (got.Name() != "gpu-slow" || got.Entity != gpu || !e.Certain(answers)) || !spared && (got.Entity != row || holds(answers, gpu)) {
			t.Errorf("spared %v: the loop leaves %s at %s (%.2f)", spared, got.Name(), got.Entity, got.Confidence)
		}
	}
}
