package whatif

import "fmt"

// Verdict names who made the steps long.
type Verdict string

// The verdicts.
const (
	Healthy         Verdict = "no-straggler"
	SlowWorker      Verdict = "worker"
	SequenceLengths Verdict = "sequence-length-imbalance"
	StageImbalance  Verdict = "stage-imbalance"
	CollectorPauses Verdict = "collector-pauses"
	Communication   Verdict = "communication"
	Spread          Verdict = "spread"
)

const (
	// leastSlowdown is that of a job with stragglers (the paper's 1.1).
	leastSlowdown = 1.1
	// paired is the correlation from which sequence lengths are the cause (the
	// paper's 0.9).
	paired = 0.9
	// most of the lost time makes a cause the cause.
	most = 0.5
)

// judge names the cause. A few workers come first: no imbalance of the work goes
// away with 3 % of them. Sequence lengths come before the last stage, which has the
// loss on top and so is affected most by the longest sequences.
func (r *Report) judge() {
	worst := r.Workers[0]
	switch {
	case r.Slowdown < leastSlowdown:
		r.add(Healthy, "steps are %.1f %% longer than ideal", 100*(r.Slowdown-1))
	case r.WorstWorkers >= most:
		r.add(SlowWorker, "data-parallel rank %d at stage %d: without the worst 3 %% of the workers %.0f %% of the lost time is gone", worst.DP, worst.PP, 100*r.WorstWorkers)
	case r.Collector >= most:
		r.add(CollectorPauses, "pauses of the collector alone bring %.0f %% of the lost time", 100*r.Collector)
	case r.Pairing >= paired:
		r.add(SequenceLengths, "a microbatch that is long forwards is long backwards (correlation %.2f), on every rank alike: sequences differ in length", r.Pairing)
	case r.LastStage >= most:
		r.add(StageImbalance, "without the last stage's excess %.0f %% of the lost time is gone: it has more to do than the others", 100*r.LastStage)
	case communication(r.Operations[0].Name):
		r.add(Communication, "%s alone makes steps %.1f %% longer", r.Operations[0].Name, 100*(r.Operations[0].Slowdown-1))
	default:
		r.add(Spread, "no worker, stage, sequence or pause is an outlier; %s alone makes steps %.1f %% longer", r.Operations[0].Name, 100*(r.Operations[0].Slowdown-1))
	}
}

func (r *Report) add(v Verdict, format string, args ...any) {
	r.Verdict, r.Why = v, fmt.Sprintf(format, args...)
}
