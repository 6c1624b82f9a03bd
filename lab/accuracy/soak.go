package accuracy

import (
	"fmt"
	"io"
	"math"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/lab/cases"
	"github.com/quintet-dc/quintet/replay/score"
)

// reference is how many GPUs the bound of a soak is scaled to.
const reference = 16384

// WriteSoak describes how many false warnings and criticals so many days of healthy
// noise brought, and what that bounds.
func WriteSoak(w io.Writer, gpus int, outcomes []cases.Outcome) error {
	days, alarms := 0.0, 0
	for i := range outcomes {
		c := &outcomes[i].Score
		days += c.End.Sub(c.Start).Hours() / 24
		r := score.Judge([]score.Case{*c}, score.Settings{})
		for _, f := range r.Detail.FalseAlarms {
			severity := severityOf(c, f.Incident)
			_, err := fmt.Fprintf(w, "%s: %s %s at %s (opened %s)\n", f.Dir, severity, f.Signature, f.Answer, f.Opened.Clock())
			if err != nil {
				return fmt.Errorf("write soak: %w", err)
			}
			alarms += one(severity != explain.SeverityInfo)
		}
	}
	upper := poissonUpper(alarms)
	_, err := fmt.Fprintf(w, "%.1f days of %d GPUs: %d false warnings or criticals. At most %.2f in 30 days with 95 %% confidence; scaled to %d GPUs, %.1f.\n",
		days, gpus, alarms, upper/days*30, reference, upper/days*30*reference/float64(gpus))
	if err != nil {
		return fmt.Errorf("write soak: %w", err)
	}
	return nil
}

// severityOf is the worst severity that an incident was published with: an engineer
// who was woken by it was woken, even if it was lowered later.
func severityOf(c *score.Case, id string) string {
	worst := explain.SeverityInfo
	for i := range c.Incidents {
		if c.Incidents[i].ID == id {
			worst = explain.Worse(worst, c.Incidents[i].Severity)
		}
	}
	return explain.Worse(worst, c.Worst[id])
}

// poissonUpper is the exact one-sided 95 % bound on a mean of which n were seen
// (Garwood 1936), by bisection of the distribution.
func poissonUpper(n int) float64 {
	low, high := float64(n), float64(n)+10+10*math.Sqrt(float64(n)+1)
	for range 100 {
		mid := (low + high) / 2
		term, sum := math.Exp(-mid), 0.0
		for k := range n + 1 {
			sum += term
			term *= mid / float64(k+1)
		}
		if sum > 0.05 {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}
