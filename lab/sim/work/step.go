package work

import "github.com/quintet-dc/quintet/lab/sim/random"

const (
	// spread is the deviation of a step's computing time from rank to rank and
	// step to step, and rankSpread that of a rank's own constant: ours, within the
	// 1 to 2 % of healthy noise in reference rca.md F.1. The rest of the
	// difference between ranks is their silicon.
	spread     = 0.01
	rankSpread = 0.004
	// evaluated is the part of a step's computing that a forward pass takes.
	evaluated = 1.0 / 3
)

// Load is what one rank does in one step.
type Load struct {
	Seconds float64 // of computing at the top clock
	SM      float64 // share of SMs busy while it waits in a collective
}

// Task is what is to be done in a step in addition to the spec: all 1 and 0
// for a usual one.
type Task struct {
	Work      float64 // factor of the work
	Stage     int     // which has more to do …
	StageMore float64 // … by this share
	Experts   float64 // share of tokens beyond its due at the fullest expert, the first of each group
	Evaluates bool
}

// Draw fills dst, one for each rank, with the loads of a step.
func (j *Job) Draw(dst []Load, seed random.Source, step int, task Task) {
	t := j.Training
	ranks, now := seed.Named("rank"), seed.Named("step")
	now = now.At(uint64(step))
	for r := range dst {
		own, at := ranks.At(uint64(r)), now.At(uint64(r))
		seconds := float64(t.Seconds * task.Work * own.LogNormal(1, rankSpread) * at.LogNormal(1, spread))
		if task.Evaluates {
			seconds = float64(seconds * evaluated)
		}
		if task.StageMore != 0 || task.Experts != 0 {
			p := j.Place(r)
			if p.Pipeline == task.Stage {
				seconds = float64(seconds * (1 + task.StageMore))
			}
			if t.Experts > 1 && p.Expert == 0 {
				seconds = float64(seconds * (1 + float64(expertShare*task.Experts)))
			}
		}
		dst[r] = Load{Seconds: seconds, SM: at.Uniform(0.1, 0.25)}
	}
}

// expertShare is the part of a step's computing that experts do where there
// are any; ours.
const expertShare = 0.5

// Sync is how long after its start a step's computing is over everywhere, from
// how long each rank computes (its delays included).
//
// Tensor-parallel ranks wait for each other in every layer, so their node's
// part takes as long as the slowest. A pipeline of p stages passes m
// microbatches through: the slowest stage sets the pace, the others are filled
// and drained once (1F1B; the bubble is (p−1)/(m+p−1) where stages are alike).
// All replicas then wait for the slowest.
func (j *Job) Sync(busy []float64) float64 {
	t := j.Training
	perStage := j.Ranks / j.stages
	m := float64(max(1, t.Microbatches))
	latest := 0.0
	for first := 0; first < perStage; first += t.Tensor {
		most, sum := 0.0, 0.0
		for s := range j.stages {
			slowest := 0.0
			for _, b := range busy[s*perStage+first : s*perStage+first+t.Tensor] {
				slowest = max(slowest, b)
			}
			most, sum = max(most, slowest), sum+slowest
		}
		latest = max(latest, (float64((m-1)*most)+sum)/m)
	}
	return latest
}

// MFU is model FLOPs utilisation by the PaLM convention: tokens a second times
// FLOPs a token over the peak of all GPUs (Chowdhery et al. 2022, appendix B).
func (j *Job) MFU(tokens, seconds float64) float64 {
	return float64(tokens*j.Training.FLOPs) / float64(seconds*float64(j.Ranks)*Peak)
}
