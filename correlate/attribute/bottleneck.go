package attribute

import "github.com/quintet-dc/quintet/telemetry"

// Scores are the scores of bottlenecks: each is the percent of the available
// GPU-seconds that it takes, 0 to 100, nil where it cannot be observed for at least
// half of what jobs had.
type Scores struct {
	// Redundant is arithmetic beyond the model's: what the tensor pipes did, by
	// their activity and clock, less what the model needs. Recomputed activations,
	// padding and steps done again are in it.
	Redundant *float64 `json:"redundant_computation"`
	// LowMFU is computing that is neither the model's arithmetic nor waiting for
	// memory, at the clock that there was.
	LowMFU        *float64 `json:"low_mfu"`
	MemoryWall    *float64 `json:"memory_wall"`
	Communication *float64 `json:"communication_overhead"` // exposed
	// DensityCap is clocks limited by power: caps, lowered limits, brakes.
	DensityCap *float64 `json:"density_cap"`
	Thermal    *float64 `json:"thermal_limit"` // clocks limited by heat
}

// JobScores are the scores of one job.
type JobScores struct {
	Job telemetry.Entity `json:"job"`
	Scores
}

// Bottlenecks are the scores of the fleet and of every job.
type Bottlenecks struct {
	From      telemetry.Time `json:"from"`
	To        telemetry.Time `json:"to"`
	Fleet     Scores         `json:"bottlenecks"`
	Jobs      []JobScores    `json:"jobs"` // in identity order
	Truncated bool           `json:"truncated,omitempty"`
}

// Bottlenecks reports what limited the work in a window.
func (u *Usage) Bottlenecks(w Window) Bottlenecks {
	fleet := u.Tally(w, telemetry.Entity{})
	out := Bottlenecks{From: w.from, To: w.to, Fleet: fleet.scores(), Jobs: []JobScores{}}
	for _, t := range u.byJob(w) {
		switch {
		case t.job.IsZero():
		case len(out.Jobs) == maxListed:
			out.Truncated = true
		default:
			out.Jobs = append(out.Jobs, JobScores{t.job, t.tally.scores()})
		}
	}
	return out
}

func (t *Tally) scores() Scores {
	enough := (t.Whole - t.outside()) / 2
	percent := func(ps ...Part) *float64 {
		sum := 0.0
		for _, p := range ps {
			if !(t.Seen[p] > 0) || t.Seen[p] < enough {
				return nil
			}
			sum += t.Taken[p]
		}
		x := float64(100 * share(sum, t.Whole))
		return &x
	}
	s := Scores{LowMFU: percent(Compute), MemoryWall: percent(Memory), Communication: percent(Communication),
		DensityCap: percent(Power, Clock), Thermal: percent(Heat)}
	if t.Counted > 0 && t.Counted >= enough {
		x := float64(100 * share(max(0, t.Executed-t.Needed), t.Whole))
		s.Redundant = &x
	}
	return s
}
