package accuracy

import (
	"math"
	"slices"

	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/lab/cases"
	"github.com/quintet-dc/quintet/replay/score"
	"github.com/quintet-dc/quintet/telemetry"
)

// judged is one case with what the judge made of it.
type judged struct {
	outcome  *cases.Outcome
	verdicts []score.Verdict // of its faults that expect an incident
	falses   int
	healthy  float64 // hours outside faults
	risks    []score.Verdict
	benign   int // benign changes that drew an incident of another name
}

func (j *judged) seed() uint64 { return j.outcome.Case.Seed }

// judge judges each case by itself. Pooling is by counts, so the sum is that of
// score.Judge over all of them.
func judge(outcomes []cases.Outcome) []*judged {
	var out []*judged
	for i := range outcomes {
		o := &outcomes[i]
		if o.Dropped != "" {
			continue
		}
		r := score.Judge([]score.Case{o.Score}, score.Settings{})
		j := &judged{outcome: o, falses: r.Detail.Total.Detail.FalseIncidents, healthy: r.Detail.Total.Detail.HealthyHours}
		for _, v := range r.Detail.Faults {
			switch v.Expect {
			case score.ExpectIncident:
				j.verdicts = append(j.verdicts, v)
			case score.ExpectRisk:
				j.risks = append(j.risks, v)
			}
		}
		if r.Detail.Benign != nil {
			j.benign = r.Detail.Benign.Detail.FalseIncidents
		}
		out = append(out, j)
	}
	return out
}

// sheet is what a group of cases comes to.
type sheet struct {
	cases, faults, found, falses int
	first, three, named          int // right entity first, in three, right signature
	domains, domain, victims     int
	losses, delays, steps        []float64 // errors of loss; seconds, and usual steps, to detect beyond the cadence
	confident, unknown           int       // wrong with confidence 0.8 or more; answered unknown
	stalls, stallsFound          int       // stalled jobs; found in time with the right root
	hours                        float64
}

func add(js []*judged) sheet {
	var s sheet
	for _, j := range js {
		s.cases++
		s.falses += j.falses
		s.hours += j.healthy
		for i := range j.verdicts {
			s.verdict(j, &j.verdicts[i])
		}
	}
	return s
}

func (s *sheet) verdict(j *judged, v *score.Verdict) {
	s.faults++
	s.found += one(v.Found)
	s.first += one(v.Rank == 1)
	s.three += one(v.Rank >= 1 && v.Rank <= 3)
	s.named += one(v.SignatureRight)
	s.domains++
	s.domain += one(v.DomainRight)
	s.victims += one(v.VictimAsRoot)
	s.unknown += one(v.AnswerSignature == "unknown")
	s.confident += one(v.Found && v.Rank != 1 && v.Confidence >= 0.8)
	if v.LossError != nil && !j.outcome.Stops {
		s.losses = append(s.losses, *v.LossError)
	}
	usual := usualStep(j.outcome)
	late := math.Inf(1)
	if v.TimeToDetect != nil {
		late = *v.TimeToDetect
		beyond := max(0, late-j.outcome.Cadence)
		s.delays = append(s.delays, beyond)
		if usual > 0 {
			s.steps = append(s.steps, beyond/usual)
		}
	}
	if j.outcome.Stops {
		s.stalls++
		s.stallsFound += one(late <= max(15, 3*usual) && v.Rank == 1)
	}
}

// usualStep is the median step before the fault of the first degraded job.
func usualStep(o *cases.Outcome) float64 {
	if len(o.Score.Truth.Faults) == 0 || len(o.Score.Truth.Faults[0].Jobs) == 0 {
		return 0
	}
	var xs []float64
	f := &o.Score.Truth.Faults[0]
	for _, st := range o.Score.Steps {
		if st.Job == f.Jobs[0] && st.End <= f.Onset {
			xs = append(xs, st.Seconds)
		}
	}
	if len(xs) == 0 {
		return 0
	}
	return stats.Median(xs)
}

func (s *sheet) f1() float64 {
	return share(2*s.found, s.faults+s.found+s.falses)
}

func share(k, n int) float64 {
	if n == 0 {
		return math.NaN()
	}
	return float64(k) / float64(n)
}

func quantile(xs []float64, q float64) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	return stats.Quantile(slices.Clone(xs), q)
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// right reports whether an entity is the root of a case's first fault.
func right(o *cases.Outcome, e telemetry.Entity) bool {
	f := &o.Score.Truth.Faults[0]
	return e == f.Entity || slices.Contains(f.Accept, e)
}
