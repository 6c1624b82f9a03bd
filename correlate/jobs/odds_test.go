package jobs_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/telemetry"
)

// habit is how a simulated job's healthy steps vary.
type habit struct {
	name    string
	length  float64 // median, seconds
	spread  float64 // standard deviation over length
	memory  float64 // correlation of a step with the one before
	diurnal float64 // amplitude over length, a day's
	// A checkpoint every so many steps adds so many seconds, unannounced.
	every int
	extra float64
	// One step in so many is longer by up to its own length.
	hiccup int
	// One step in so many works on a long sequence: it takes up to three times as long.
	lengthy int
	// Its steps beat with those of a neighbour: longer and shorter in turn by so
	// much of its length, over so many steps.
	beat, turn float64
}

// trainer draws steps.
type trainer struct {
	habit
	r    *rand.Rand
	n    int
	now  float64
	last float64
	day  float64 // phase
}

func newTrainer(h habit, seed uint64) *trainer {
	r := rand.New(rand.NewPCG(seed, 77))
	return &trainer{habit: h, r: r, day: 2 * math.Pi * r.Float64()}
}

// next draws a healthy step.
func (t *trainer) next() float64 {
	t.n++
	t.last = t.memory*t.last + math.Sqrt(1-t.memory*t.memory)*t.r.NormFloat64()
	x := t.length * (1 + t.spread*t.last + t.diurnal*math.Sin(t.day+2*math.Pi*t.now/86400))
	if t.turn > 0 {
		x += t.length * t.beat * math.Sin(2*math.Pi*float64(t.n)/t.turn)
	}
	if t.every > 0 && t.n%t.every == 0 {
		x += t.extra * (1 + 0.1*t.r.NormFloat64())
	}
	if t.hiccup > 0 && t.r.IntN(t.hiccup) == 0 {
		x += t.length * t.r.Float64()
	}
	if t.lengthy > 0 && t.r.IntN(t.lengthy) == 0 {
		x += 2 * t.length * t.r.Float64()
	}
	t.now += x
	return x
}

// watch plays a trainer's steps, slowed by the factor from the step from on, and
// returns the steps and the seconds at which the book reported the beginning of a
// degradation.
func watch(t *trainer, steps, from int, factor float64) (began []int, at []float64) {
	var b jobs.Book
	job := telemetry.Entity{Kind: telemetry.Job, Name: "j"}
	now, grid := epoch, epoch
	senses := jobs.Senses{Working: notWorking}
	judge := func(g telemetry.Time, n int) {
		for _, c := range b.Close(g, senses) {
			switch c.Change {
			case jobs.Began:
				began, at = append(began, n), append(at, float64(g-epoch)/1e9)
			case jobs.Ended:
				c.Job.Forget(false, 0)
			}
		}
	}
	for n := range steps {
		x := t.next()
		if n >= from {
			x *= factor
		}
		now = now.Add(telemetry.Duration(x * 1e9))
		for ; grid.Add(1e9) < now; grid = grid.Add(1e9) {
			judge(grid.Add(1e9), n)
		}
		b.Observe(job, now, x, 0)
		judge(now, n)
	}
	return began, at
}

func habits() []habit {
	return []habit{
		{name: "steady", length: 3, spread: 0.01},
		{name: "loose", length: 3, spread: 0.02},
		{name: "remembers", length: 2, spread: 0.015, memory: 0.6},
		{name: "day", length: 4, spread: 0.012, diurnal: 0.02},
		{name: "checkpoints of 100", length: 3, spread: 0.012, every: 100, extra: 6},
		{name: "checkpoints of 30", length: 3, spread: 0.012, every: 30, extra: 4},
		{name: "checkpoints of 12", length: 2, spread: 0.012, every: 12, extra: 1},
		{name: "checkpoints of 500", length: 1.5, spread: 0.012, every: 500, extra: 20},
		{name: "hiccups", length: 3, spread: 0.012, hiccup: 300},
		{name: "long sequences, one in 40", length: 3.5, spread: 0.02, lengthy: 40},
		{name: "long sequences, one in 20", length: 3.5, spread: 0.05, lengthy: 20},
		{name: "long sequences, one in 12", length: 3.5, spread: 0.05, lengthy: 12},
		{name: "long sequences, one in 6", length: 3.5, spread: 0.05, lengthy: 6},
		{name: "long sequences, one in 3", length: 3.5, spread: 0.05, lengthy: 3},
		{name: "beats of 2", length: 1.2, spread: 0.004, beat: 0.12, turn: 2.03},
		{name: "beats of 8", length: 8, spread: 0.01, beat: 0.15, turn: 8.1},
		{name: "beats of 50", length: 2, spread: 0.01, beat: 0.08, turn: 50},
	}
}

// TestAHealthyJobIsLeftAlone: at most one false alarm in 20,000 healthy steps, two
// where unannounced checkpoints stop the job for the first time, and four where some
// steps take three times as long as others: several of these in a row come about.
func TestAHealthyJobIsLeftAlone(t *testing.T) {
	const steps = 20_000
	for _, h := range habits() {
		began, _ := watch(newTrainer(h, 1), steps, steps, 1)
		most := 1
		switch {
		case h.lengthy > 0:
			most = 4
		case h.extra >= 2*h.length:
			most = 2
		}
		if len(began) > most {
			t.Errorf("%s: %d false alarms in %d steps, at %v", h.name, len(began), steps, began)
		}
	}
}

// TestASlightSlowdownIsFound: of 5 %, in steps that vary by 1 to 2 %, within
// ten of them on average in nine jobs of ten; of 10 % within three in all.
func TestASlightSlowdownIsFound(t *testing.T) {
	const seeds, from = 50, 120
	for _, h := range habits() {
		if h.turn > 0 || h.lengthy > 0 {
			continue
		}
		for _, c := range []struct {
			factor, share, after float64
		}{{1.05, 0.9, 10}, {1.07, 0.97, 5.5}, {1.1, 1, 3}, {1.3, 1, 2.6}} {
			found, after := 0.0, 0.0
			for seed := range uint64(seeds) {
				began, _ := watch(newTrainer(h, 100+seed), from+40, from, c.factor)
				for _, n := range began {
					if n >= from {
						found, after = found+1, after+float64(n-from+1)
						break
					}
				}
			}
			// Of short steps as many are needed as cost half a second.
			if found < c.share*seeds || after/found > max(c.after, 1+0.5/(h.length*(c.factor-1))) {
				t.Errorf("%s slower by %.0f %%: found in %.0f of %d, after %.1f steps", h.name, 100*(c.factor-1), found, seeds, after/found)
			}
		}
	}
}

// TestASlowdownOfAJobWithLongSequencesIsFound: where few steps take up to three times as
// long as the others, these show that all take longer by 30 % within four steps, and by
// 10 % within fifteen. Where one in three is long, such a loss stays within what is usual.
func TestASlowdownOfAJobWithLongSequencesIsFound(t *testing.T) {
	const seeds, from = 50, 120
	for _, h := range habits() {
		if h.lengthy < 12 {
			continue
		}
		for _, c := range []struct {
			factor, share, after float64
		}{{1.1, 0.9, 15}, {1.3, 0.96, 4}} {
			found, after := 0.0, 0.0
			for seed := range uint64(seeds) {
				began, _ := watch(newTrainer(h, 100+seed), from+40, from, c.factor)
				if i := slices.IndexFunc(began, func(n int) bool { return n >= from }); i >= 0 {
					found, after = found+1, after+float64(began[i]-from+1)
				}
			}
			if found < c.share*seeds || after/found > c.after {
				t.Errorf("%s slower by %.0f %%: found in %.0f of %d, after %.1f steps", h.name, 100*(c.factor-1), found, seeds, after/found)
			}
		}
	}
}

// TestASlowdownOfAJobThatBeatsIsFound: where long and short steps come in turn, 5 %
// is found in the means of eight, within five of them. Beats that take longer than
// that hide it.
func TestASlowdownOfAJobThatBeatsIsFound(t *testing.T) {
	const seeds, from = 50, 120
	for _, h := range habits() {
		if h.turn == 0 || h.turn > 10 {
			continue
		}
		for _, c := range []struct {
			factor, after float64
		}{{1.05, 40}, {1.07, 28}, {1.3, 24}} {
			found, after := 0.0, 0.0
			for seed := range uint64(seeds) {
				began, _ := watch(newTrainer(h, 100+seed), from+60, from, c.factor)
				if len(began) > 0 && began[0] >= from {
					found, after = found+1, after+float64(began[0]-from+1)
				}
			}
			if found < seeds || after/found > c.after {
				t.Errorf("%s slower by %.0f %%: found in %.0f of %d, after %.1f steps", h.name, 100*(c.factor-1), found, seeds, after/found)
			}
		}
	}
}

// TestADegradationIsOneDegradation: the degradation of a job that is 5 % slower for 300 steps
// begins once, or is ended in between at most once.
func TestADegradationIsOneDegradation(t *testing.T) {
	for _, h := range habits() {
		if h.turn > 10 || h.lengthy > 0 {
			continue // 6 % is less than its beats, or its long steps
		}
		for seed := range uint64(10) {
			began, _ := watch(newTrainer(h, 300+seed), 420, 120, 1.06)
			n := 0
			for _, at := range began {
				if at >= 120 {
					n++
				}
			}
			if n < 1 || n > 2 {
				t.Errorf("%s, seed %d: began %v", h.name, seed, began)
			}
		}
	}
}
