package pace_test

import (
	"math"
	"testing"

	"github.com/quintet-dc/quintet/correlate/pace"
	"github.com/quintet-dc/quintet/telemetry"
)

const second = telemetry.Duration(1e9)

// job is one whose steps compute for a part of their time and then send.
type job struct {
	step    func(n int) float64 // seconds
	compute float64             // part of the step before it sends
	bytes   float64             // per step
	noise   float64             // relative, of a step's length
	seed    uint64
}

// random is a small generator: the same numbers on every machine.
func (j *job) random() float64 {
	j.seed = j.seed*6364136223846793005 + 1442695040888963407
	return float64(j.seed>>11)/(1<<53) - 0.5
}

// play returns what the job moved in each of n grids of a second, and the ends
// of its steps.
func (j job) play(n int) (moved, ends []float64) {
	moved = make([]float64, n)
	at := 0.37
	for k := 0; at < float64(n); k++ {
		length := j.step(k) * (1 + 2*j.noise*j.random())
		begin, end := at+length*j.compute, at+length
		for g := int(begin); g <= int(end) && g < n; g++ {
			share := math.Min(end, float64(g+1)) - math.Max(begin, float64(g))
			moved[g] += j.bytes * math.Max(share, 0) / (end - begin)
		}
		at = end
		ends = append(ends, at)
	}
	return moved, ends
}

func constant(x float64) func(int) float64 { return func(int) float64 { return x } }

// TestPeriodWithinTwoPercent: of steps of five samples or more, over twenty of
// them, whatever part of a step sends and wherever the samples fall.
func TestPeriodWithinTwoPercent(t *testing.T) {
	for _, step := range []float64{5, 5.31, 6.7, 7.77, 9.1} {
		for _, compute := range []float64{0.3, 0.5, 0.7, 0.85} {
			for seed := range uint64(6) {
				j := job{step: constant(step), compute: compute, bytes: 1e9, noise: 0.01, seed: seed}
				moved, _ := j.play(int(20*step) + 1)
				p, ok := pace.Period(moved)
				if !ok || math.Abs(p/step-1) > 0.02 {
					t.Errorf("step %v s, %v of it computing, seed %d: period %v, %v", step, compute, seed, p, ok)
				}
			}
		}
	}
}

// TestNotIdentifiable: what does not repeat itself, or too fast for the samples,
// has no period.
func TestNotIdentifiable(t *testing.T) {
	noise := job{seed: 7}
	random := make([]float64, 192)
	for i := range random {
		random[i] = noise.random()
	}
	fast, _ := job{step: constant(1.3), compute: 0.5, bytes: 1, seed: 3}.play(192)
	for name, x := range map[string][]float64{"noise": random, "constant": make([]float64, 192), "two samples a step": fast, "too short": random[:20]} {
		if p, ok := pace.Period(x); ok && p < pace.LeastSamples*1.5 {
			t.Errorf("%s: period %v", name, p)
		} else if ok && name != "two samples a step" {
			t.Errorf("%s: period %v", name, p)
		}
	}
}

// TestStepsAreFound: after the period is known every step is, once, about when
// it ended, also where the job gets slower and faster again.
func TestStepsAreFound(t *testing.T) {
	slow := func(k int) float64 {
		if k >= 40 && k < 60 {
			return 9
		}
		return 6
	}
	for seed := range uint64(8) {
		j := job{step: slow, compute: 0.6, bytes: 4e9, noise: 0.01, seed: seed}
		moved, ends := j.play(600)
		var tr pace.Tracker
		var found []pace.Step
		for g, m := range moved {
			steps, _ := tr.Add(telemetry.Time(g+1)*telemetry.Time(second), m, second, true)
			found = append(found, steps...)
		}
		if tr.State() != pace.Counting || len(found) < 60 {
			t.Fatalf("seed %d: state %v, %d steps of %d found", seed, tr.State(), len(found), len(ends))
		}
		byLength := map[bool][]float64{}
		for _, s := range found[1:] {
			byLength[inside(s, ends, 42, 58)] = append(byLength[inside(s, ends, 42, 58)], s.Seconds)
		}
		usual, slowed := mean(byLength[false]), mean(byLength[true])
		if math.Abs(slowed/9-1) > 0.05 || math.Abs(usual-6) > 0.5 {
			t.Errorf("seed %d: usual %.2f s, slow %.2f s; want 6 and 9", seed, usual, slowed)
		}
	}
}

func inside(s pace.Step, ends []float64, from, to int) bool {
	at := float64(s.End) / 1e9
	return at > ends[from] && at < ends[to]
}

func mean(xs []float64) float64 {
	var s float64
	for _, x := range xs {
		s += x
	}
	return s / float64(len(xs))
}

// TestAHoleBeginsAnew: a step's bytes may lie in what was not seen.
func TestAHoleBeginsAnew(t *testing.T) {
	moved, _ := job{step: constant(6), compute: 0.6, bytes: 4e9, seed: 1}.play(400)
	var tr pace.Tracker
	for g, m := range moved[:300] {
		tr.Add(telemetry.Time(g+1)*telemetry.Time(second), m, second, true)
	}
	if tr.State() != pace.Counting {
		t.Fatalf("state %v before the hole", tr.State())
	}
	if got, same := tr.Add(310*telemetry.Time(second), 1e9, second, true); got != nil || !same || tr.State() != pace.Learning {
		t.Errorf("after a hole: %v, %v, state %v", got, same, tr.State())
	}
}

// TestTheSameBytesAfterAHole: steps that move what they did can be compared with
// those before the hole; others cannot.
func TestTheSameBytesAfterAHole(t *testing.T) {
	for name, c := range map[string]struct {
		bytes float64
		same  bool
	}{"same": {4e9, true}, "others": {6e9, false}} {
		var tr pace.Tracker
		before, _ := job{step: constant(6), compute: 0.6, bytes: 4e9, seed: 1}.play(300)
		after, _ := job{step: constant(6), compute: 0.6, bytes: c.bytes, seed: 2}.play(300)
		add := func(moved []float64, from int) (changes int) {
			for g, m := range moved {
				if _, same := tr.Add(telemetry.Time(from+g)*telemetry.Time(second), m, second, true); !same {
					changes++
				}
			}
			return changes
		}
		if n := add(before, 1); n != 1 {
			t.Errorf("%s: what is a step is found %d times, want once", name, n)
		}
		if n := add(after, 400); (n == 0) != c.same {
			t.Errorf("%s: what is a step changes %d times behind the hole", name, n)
		}
	}
}

// TestWithoutAPeriodEqualAmountsAreCounted: what shows no rhythm is watched by how
// long it takes to move as much.
func TestWithoutAPeriodEqualAmountsAreCounted(t *testing.T) {
	noise := job{seed: 11}
	var tr pace.Tracker
	var usual, slowed []float64
	for g := range 1200 {
		moved := 1e9 * (1 + noise.random())
		if g >= 800 {
			moved *= 0.7
		}
		steps, _ := tr.Add(telemetry.Time(g+1)*telemetry.Time(second), moved, second, true)
		for _, s := range steps {
			switch {
			case g < 800:
				usual = append(usual, s.Seconds)
			case g > 850:
				slowed = append(slowed, s.Seconds)
			}
		}
	}
	if tr.State() != pace.Flowing || len(usual) < 20 {
		t.Fatalf("state %v, %d portions", tr.State(), len(usual))
	}
	if r := mean(slowed) / mean(usual); math.Abs(r*0.7-1) > 0.05 {
		t.Errorf("a portion takes %.2f times as long at 0.7 of the rate", r)
	}
}

// TestAPeriodIsNotLookedForInAChange: a job that showed no period shows one once it is
// slower. What was counted before goes on to be counted while it is not steady.
func TestAPeriodIsNotLookedForInAChange(t *testing.T) {
	noise := job{seed: 11}
	slow, _ := job{step: constant(12), compute: 0.5, bytes: 6e9, seed: 2}.play(400)
	for _, steady := range []bool{false, true} {
		var tr pace.Tracker
		renewed := 0
		for g := range 400 + len(slow) {
			moved := 1e9 * (1 + noise.random())
			if g >= 400 {
				moved = slow[g-400]
			}
			if _, same := tr.Add(telemetry.Time(g+1)*telemetry.Time(second), moved, second, g < 400 || steady); !same {
				renewed++
			}
		}
		if wanted := map[bool]int{false: 1, true: 2}[steady]; renewed != wanted {
			t.Errorf("steady %v: what is a step is found %d times, want %d", steady, renewed, wanted)
		}
	}
}

// TestAPeriodOfIdleTimeIsForgotten: what a job's NICs exchange before it trains has
// a period too, and no step of training is as small.
func TestAPeriodOfIdleTimeIsForgotten(t *testing.T) {
	idle, _ := job{step: constant(10), compute: 0.9, bytes: 1e5, seed: 3}.play(300)
	busy, _ := job{step: constant(8), compute: 0.5, bytes: 4e9, seed: 4}.play(400)
	var tr pace.Tracker
	renewed, last := 0, 0.0
	for g, m := range append(idle, busy...) {
		steps, same := tr.Add(telemetry.Time(g+1)*telemetry.Time(second), m, second, true)
		if !same {
			renewed++
		}
		for _, s := range steps {
			if last = s.Seconds; last < 1 {
				t.Fatalf("grid %d: a step of %v s", g, last)
			}
		}
	}
	if renewed != 2 || math.Abs(last/8-1) > 0.1 {
		t.Errorf("steps were found anew %d times, the last of %v s; want twice, 8 s", renewed, last)
	}
}

// TestAJobIsNotNewWhenItsStepsAreFound: those that ended in what was kept to find them
// count, too, one after the other, whether a period is seen or equal amounts are counted.
func TestAJobIsNotNewWhenItsStepsAreFound(t *testing.T) {
	noise := job{seed: 5}
	flow := make([]float64, 300)
	for i := range flow {
		flow[i] = 1e9 * (1 + noise.random())
	}
	rhythm, _ := job{step: constant(6), compute: 0.6, bytes: 4e9, noise: 0.01, seed: 2}.play(300)
	for name, c := range map[string]struct {
		moved  []float64
		length float64
		least  int // steps with the first that is found
	}{"a rhythm": {rhythm, 6, 13}, "none": {flow, pace.Window / 8, 6}} {
		var tr pace.Tracker
		var all []pace.Step
		first := 0
		for g, m := range c.moved {
			steps, _ := tr.Add(telemetry.Time(g+1)*telemetry.Time(second), m, second, true)
			if all = append(all, steps...); first == 0 {
				first = len(steps)
			}
		}
		if first < c.least {
			t.Errorf("%s: %d steps are known when they are found, want %d", name, first, c.least)
		}
		for i, s := range all {
			if math.Abs(s.Seconds/c.length-1) > 0.2 {
				t.Errorf("%s: step %d takes %.2f s, want %v", name, i, s.Seconds, c.length)
			}
			if i > 0 && math.Abs(s.End.Sub(all[i-1].End).Seconds()-s.Seconds) > 0.01 {
				t.Errorf("%s: step %d of %.2f s ends %.2f s after the one before", name, i, s.Seconds, s.End.Sub(all[i-1].End).Seconds())
			}
		}
	}
}

// TestWhatGoesByInFitsIsNoStep: a program that sends in fits, of any length and amount, has no
// amount of bytes that is a step of it; its steps are not identifiable.
func TestWhatGoesByInFitsIsNoStep(t *testing.T) {
	noise := job{seed: 7}
	var tr pace.Tracker
	moved, left := 0.0, 0
	for g := range 3 * pace.Window {
		if left--; left < 0 {
			left, moved = int(60*noise.random()), 1e9*noise.random()*noise.random()
		}
		if steps, _ := tr.Add(telemetry.Time(g+1)*telemetry.Time(second), moved, second, true); len(steps) > 0 {
			t.Fatalf("after %d s it counts steps of %v s", g, steps[0].Seconds)
		}
	}
}
