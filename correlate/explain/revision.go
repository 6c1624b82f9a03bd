package explain

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// The bands: a slowdown or a confidence that leaves its band makes
// a revision; inside it the field is refreshed without one.
const (
	slowdownBand   = 0.3 // of the published slowdown less one, at least a tenth
	confidenceBand = 0.2
)

// Differs reports whether next differs from the published revision in a way that is
// worth publishing: state, kind, severity, root entity, signature, the set of jobs,
// a blind spot, for a risk the knowledge of when it degrades a job, or a value out
// of its band.
func Differs(published, next *Incident) bool {
	return published.State != next.State || published.Kind != next.Kind || published.Severity != next.Severity ||
		published.Root.Entity != next.Root.Entity || published.Root.Signature != next.Root.Signature ||
		outOfBand(published.Root.Confidence, next.Root.Confidence, confidenceBand) ||
		published.Kind == KindRisk && len(published.Claims) != len(next.Claims) ||
		!slices.Equal(published.BlindSpots, next.BlindSpots) || jobsDiffer(published.Impact.Jobs, next.Impact.Jobs)
}

// jobsDiffer compares sets of jobs: their order does not matter.
func jobsDiffer(a, b []JobImpact) bool {
	byJob := func(js []JobImpact) []JobImpact {
		return slices.SortedFunc(slices.Values(js), func(x, y JobImpact) int { return x.Job.Compare(y.Job) })
	}
	return !slices.EqualFunc(byJob(a), byJob(b), func(x, y JobImpact) bool {
		if x.Job != y.Job || x.State != y.State || (x.Slowdown == nil) != (y.Slowdown == nil) {
			return false
		}
		return x.Slowdown == nil || !outOfBand(*x.Slowdown, *y.Slowdown, max(float64(slowdownBand*(*x.Slowdown-1)), 0.1))
	})
}

func outOfBand(published, now, band float64) bool {
	return now > published+band || now < published-band
}

// Subject returns the first degraded job, or the root where no job is degraded.
func (in *Incident) Subject() telemetry.Entity {
	if len(in.Impact.Jobs) > 0 {
		return in.Impact.Jobs[0].Job
	}
	return in.Root.Entity
}

// Snapshot writes or restores the incident, as its JSON.
func (in *Incident) Snapshot(c *snapshot.Codec) { codeJSON(c, in) }

// Snapshot writes or restores the impact, as its JSON.
func (j *JobImpact) Snapshot(c *snapshot.Codec) { codeJSON(c, j) }

func codeJSON(c *snapshot.Codec, v any) {
	var b []byte
	if c.Writing() {
		var err error
		if b, err = json.Marshal(v); err != nil {
			c.Fail(err)
		}
	}
	c.Bytes(&b)
	if !c.Writing() && c.Err() == nil {
		if err := json.Unmarshal(b, v); err != nil {
			c.Fail(err)
		}
	}
}

// Worse returns the worse of two severities.
func Worse(a, b string) string {
	rank := map[string]int{SeverityInfo: 0, SeverityWarning: 1, SeverityCritical: 2}
	if rank[b] > rank[a] {
		return b
	}
	return a
}

// WithOthers adds the other degraded jobs to a title.
func WithOthers(title string, impacts []JobImpact) string {
	if len(impacts) < 2 {
		return title
	}
	var names []string
	for _, j := range impacts[1:] {
		names = append(names, j.Job.Name)
	}
	return title + alsoDegraded + strings.Join(names, ", ") + "."
}

const alsoDegraded = " Also degraded: "

// WithoutOthers removes what WithOthers adds.
func WithoutOthers(title string) string {
	if i := strings.LastIndex(title, alsoDegraded); i >= 0 {
		return title[:i]
	}
	return title
}
