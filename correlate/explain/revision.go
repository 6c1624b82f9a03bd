package explain

import (
	"encoding/json"
	"slices"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// The bands of design A5: a slowdown or a confidence that leaves its band makes
// a revision; inside it the field is refreshed without one.
const (
	slowdownBand   = 0.25 // of the published slowdown less one
	confidenceBand = 0.2
)

// Differs reports whether next says something that the published revision did
// not: state, kind, severity, root entity, signature, the set of jobs, a blind
// spot, or a value out of its band.
func Differs(published, next *Incident) bool {
	return published.State != next.State || published.Kind != next.Kind || published.Severity != next.Severity ||
		published.Root.Entity != next.Root.Entity || published.Root.Signature != next.Root.Signature ||
		outOfBand(published.Root.Confidence, next.Root.Confidence, confidenceBand) ||
		!slices.Equal(published.BlindSpots, next.BlindSpots) || jobsDiffer(published.Impact.Jobs, next.Impact.Jobs)
}

func jobsDiffer(a, b []JobImpact) bool {
	return !slices.EqualFunc(a, b, func(x, y JobImpact) bool {
		if x.Job != y.Job || x.State != y.State || (x.Slowdown == nil) != (y.Slowdown == nil) {
			return false
		}
		return x.Slowdown == nil || !outOfBand(*x.Slowdown, *y.Slowdown, max(slowdownBand*(*x.Slowdown-1), 0.05))
	})
}

func outOfBand(published, now, band float64) bool {
	return now > published+band || now < published-band
}

// Subject is the first hurt job, or the root where no job is hurt.
func (in *Incident) Subject() telemetry.Entity {
	if len(in.Impact.Jobs) > 0 {
		return in.Impact.Jobs[0].Job
	}
	return in.Root.Entity
}

// Snapshot writes or restores the incident, as its JSON.
func (in *Incident) Snapshot(c *snapshot.Codec) {
	var b []byte
	if c.Writing() {
		var err error
		if b, err = json.Marshal(in); err != nil {
			c.Fail(err)
		}
	}
	c.Bytes(&b)
	if !c.Writing() && c.Err() == nil {
		if err := json.Unmarshal(b, in); err != nil {
			c.Fail(err)
		}
	}
}
