package fault

import "github.com/quintet-dc/quintet/telemetry"

// jobKinds are what is wrong in a job's own work, or with the storage it uses.
func jobKinds() []Kind {
	job := []telemetry.Kind{telemetry.Job}
	return []Kind{
		{Name: "input-stall", Domain: "software", Expect: Incident, Loud: 0.2, Quiet: 0.05, Lag: [2]float64{0, 6},
			Severity: "seconds that a job, or the ranks of a node, wait for input in each step, up to 8",
			strike:   []telemetry.Kind{telemetry.Job, telemetry.Node}, eligible: in(trains, func(s *Scene, job int) []telemetry.Entity {
				return append(onJob(s, job), onNodes(s, job)...)
			}),
			write: func(w *writing) {
				if w.job >= 0 {
					w.set.Jobs[w.job].Input += w.scene.Pace.Of(float64(8 * w.x))
					return
				}
				w.set.Nodes[w.node].Input += w.scene.Pace.Of(float64(8 * w.x))
			}},
		{Name: "storage-slow", Domain: "software", Expect: Incident, Loud: 0.8, Quiet: 0.3, Lag: [2]float64{0, 20},
			Severity: "share of its bandwidth for reading that storage lacks, up to 0.99; for writing up to 0.7",
			strike:   []telemetry.Kind{telemetry.Storage}, eligible: in(trains, func(s *Scene, _ int) []telemetry.Entity {
				return []telemetry.Entity{s.storage()}
			}),
			write: func(w *writing) {
				multiply(&w.set.Storage.Read, 1-float64(0.99*w.x))
				multiply(&w.set.Storage.Write, 1-float64(0.7*w.x))
			}},
		{Name: "checkpoint-stall", Domain: "software", Expect: Incident, Loud: 0.35, Quiet: 0.07, Lag: [2]float64{0, 120},
			Severity: "time that checkpoints take beyond their due, up to eight times that",
			strike:   job, eligible: in(saves, onJob),
			write: func(w *writing) { multiply(&w.set.Jobs[w.job].Checkpoint, 1+float64(8*w.x)) }},
		{Name: "stage-imbalance", Domain: "software", Expect: Incident, Loud: 0.45, Quiet: 0.1, Lag: [2]float64{0, 6},
			Severity: "what the last pipeline stage has to do beyond its due, up to as much again",
			strike:   job, eligible: in(staged, onJob),
			write: func(w *writing) {
				j := &w.set.Jobs[w.job]
				j.Stage = w.scene.Jobs[w.job].Stages - 1
				j.StageMore += w.x
			}},
		{Name: "expert-imbalance", Domain: "software", Expect: Incident, Loud: 0.45, Quiet: 0.1, Lag: [2]float64{0, 6},
			Severity: "tokens beyond its due that go to the fullest expert, up to twice that",
			strike:   job, eligible: in(expert, onJob),
			write: func(w *writing) { w.set.Jobs[w.job].Experts += float64(2 * w.x) }},
		// More requests that the job still takes are no fault (load-rise): its latency
		// is a little longer, and that is all there is to see.
		{Name: "serving-overload", Domain: "software", Expect: Incident, Loud: 0.6, Ramp: 20, Lag: [2]float64{0, 60},
			Severity: "requests beyond a serving job's due, up to four times that",
			strike:   job, eligible: in(serves, onJob),
			write: func(w *writing) { multiply(&w.set.Jobs[w.job].Load, 1+float64(4*w.x)) }},
	}
}
