package world_test

import (
	"math"
	"slices"
	"testing"

	"github.com/quintet-dc/quintet/lab/sim/site"
	"github.com/quintet-dc/quintet/lab/sim/state"
	"github.com/quintet-dc/quintet/lab/sim/world"
	"github.com/quintet-dc/quintet/lab/sim/worlds"
)

// steps are the lengths of a world's steps by job, without those of checkpoints.
func steps(t *testing.T, cfg world.Config, seconds int) [][]float64 {
	t.Helper()
	w, c := build(t, cfg)
	out := make([][]float64, len(w.Jobs()))
	for range seconds {
		st := w.Step(c)
		for i := range st.Jobs {
			for k := range st.Jobs[i].Steps {
				if x := &st.Jobs[i].Steps[k]; x.Checkpoint == 0 && !x.Evaluates {
					out[i] = append(out[i], x.Seconds)
				}
			}
		}
	}
	return out
}

// scatter is the deviation of numbers over their mean.
func scatter(xs []float64) float64 {
	xs = xs[min(2, len(xs)):]
	sum, squares := 0.0, 0.0
	for _, x := range xs {
		sum += x
	}
	mean := sum / float64(len(xs))
	for _, x := range xs {
		squares += (x - mean) * (x - mean)
	}
	return math.Sqrt(squares/float64(len(xs))) / mean
}

func TestNoiseScattersSteps(t *testing.T) {
	usual := scatter(steps(t, world.Standard(64, 5), 300)[0])
	noisy := scatter(steps(t, world.Drawn(64, 5, worlds.World{Noise: worlds.Noise{Shape: worlds.Gaussian, Steps: 0.05}}), 300)[0])
	if usual > 0.015 || noisy < 0.03 {
		t.Errorf("steps scatter by %.3f, with noise of 0.05 by %.3f", usual, noisy)
	}
}

func TestStepSecondsSetsHowLongStepsAre(t *testing.T) {
	for _, want := range []float64{0.3, 3, 60} {
		xs := steps(t, world.Drawn(64, 5, worlds.World{Jobs: worlds.Jobs{StepSeconds: want}}), int(30+8*want))[0]
		if got := slices.Sorted(slices.Values(xs))[len(xs)/2]; got < 0.6*want || got > 1.6*want {
			t.Errorf("steps of %g s, want about %g", got, want)
		}
	}
}

func TestBeatMakesEachNextJobSlower(t *testing.T) {
	v := worlds.World{Jobs: worlds.Jobs{StepSeconds: 3, Split: []int{1, 1}, Beat: 0.3}}
	cfg := world.Drawn(64, 5, v)
	if a, b := cfg.Jobs[0].Training.Seconds, cfg.Jobs[1].Training.Seconds; math.Abs(b/a-1.3) > 1e-9 {
		t.Errorf("steps of %g and %g s, want 1.3 times as long", a, b)
	}
}

func TestCheckpointsGrow(t *testing.T) {
	v := worlds.World{Jobs: worlds.Jobs{StepSeconds: 1, SaveSeconds: 10, Growth: 0.5}}
	w, c := build(t, world.Drawn(64, 5, v))
	var saves []float64
	for range 200 {
		for _, x := range w.Step(c).Jobs[0].Steps {
			if x.Checkpoint > 0 {
				saves = append(saves, x.Checkpoint)
			}
		}
	}
	if len(saves) < 3 || math.Abs(saves[2]/saves[0]-2) > 0.01 {
		t.Errorf("checkpoints of %v s: want the third twice the first", saves)
	}
}

// sent is what the links between leaves and spines sent after some seconds.
func sent(t *testing.T, cfg world.Config, seconds int) (bytes float64, last *state.State) {
	t.Helper()
	w, c := build(t, cfg)
	for range seconds {
		last = w.Step(c)
	}
	for cable := w.Site().HostCables(); cable < w.Site().Cables(); cable++ {
		bytes += last.Links[site.Up(cable)].SentTotal
	}
	return bytes, last
}

func TestTenantsLoadUplinksAndSlowJobs(t *testing.T) {
	v := worlds.World{Neighbours: worlds.Neighbours{Phased: true, Tenants: []worlds.Tenant{{Share: 0.5, Period: 20, Duty: 0.5, Each: 1}}}}
	usual, _ := sent(t, world.Standard(64, 5), 60)
	busy, _ := sent(t, world.Drawn(64, 5, v), 60)
	if busy < 1.1*usual {
		t.Errorf("uplinks sent %.3g bytes, %.3g with a tenant", usual, busy)
	}
	if alone, beside := scatter(steps(t, world.Standard(64, 5), 200)[0]), scatter(steps(t, world.Drawn(64, 5, v), 200)[0]); beside < 2*alone {
		t.Errorf("steps scatter by %.3f, beside a tenant by %.3f", alone, beside)
	}
}

func TestHashedPathsCollideInHealth(t *testing.T) {
	slower := 0
	for seed := range uint64(4) {
		picked := steps(t, world.Drawn(64, seed, worlds.World{}), 60)[0]
		hashed := steps(t, world.Drawn(64, seed, worlds.World{Fabric: worlds.Fabric{Spread: worlds.Hashed}}), 60)[0]
		if hashed[1] > 1.02*picked[1] {
			slower++
		}
	}
	if slower == 0 {
		t.Error("hashed paths cost nothing on any of four sites")
	}
}

// TestPhysicsKeepsHealthCool: no world of the family throttles by heat in
// health, and powers differ as they say.
func TestPhysicsKeepsHealthCool(t *testing.T) {
	var watts []float64
	for seed := range uint64(12) {
		cfg := world.Drawn(64, seed, worlds.Draw(worlds.PhysicsFamily, seed))
		cfg.Air = seed%2 == 0
		_, st := sent(t, cfg, 150)
		hot, most := 0, 0.0
		for i := range st.GPUs {
			most = max(most, st.GPUs[i].Watts)
			if st.GPUs[i].HeatTotal > 5 {
				hot++
			}
		}
		watts = append(watts, most)
		if hot > 3 {
			t.Errorf("seed %d: %d of 64 GPUs throttle in health", seed, hot)
		}
	}
	if slices.Max(watts) < 1.5*slices.Min(watts) {
		t.Errorf("GPUs draw %.0f to %.0f W at most", slices.Min(watts), slices.Max(watts))
	}
}
