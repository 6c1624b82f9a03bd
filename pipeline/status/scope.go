package status

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/notify/match"
	"github.com/quintet-dc/quintet/pipeline/survey"
	"github.com/quintet-dc/quintet/telemetry"
)

// Scope is the subject of a status. Its zero value is the site.
type Scope struct {
	// Domain is one of the five; zero: not a domain.
	Domain telemetry.Domain
	// Entity includes the entities that it contains by name: gpu:n1/3 is a part of
	// node:n1. Reach is the data received of it.
	Entity telemetry.Entity
	Reach  survey.Reach
	// Confidence is the least, from 0 to 1, with which a root within the scope is
	// its cause; below, the scope is a suspect.
	Confidence float64
}

// whole reports whether the scope is the site.
func (s Scope) whole() bool { return s.Domain == 0 && s.Entity.IsZero() }

// touching returns the incidents and risks that the scope has a part in, the
// gravest first.
func (s Scope) touching(f *Facts) (out []touched) {
	for i := range f.Incidents {
		in := &f.Incidents[i]
		if role := s.Role(in); role != "" {
			out = append(out, touched{in, role})
		}
	}
	slices.SortFunc(out, gravest)
	return out
}

// Role returns the scope's part in an incident, "" if it has none.
func (s Scope) Role(in *explain.Incident) Role {
	linked := func(l explain.Link) bool { return l.Domain == s.Domain }
	switch {
	case s.whole():
		return Cause
	case s.Domain != 0 && in.Root.Domain == s.Domain:
		return Cause
	case s.Domain != 0 && slices.ContainsFunc(in.Chain, linked):
		return Affected
	case s.Domain != 0:
		return ""
	case s.contains(in.Root.Entity):
		if in.Root.Confidence < s.Confidence {
			return Suspect
		}
		return Cause
	case slices.ContainsFunc(in.Alternatives, func(a explain.Alternative) bool { return s.contains(a.Entity) }):
		return Suspect
	case s.affected(in):
		return Affected
	}
	return ""
}

// includes reports whether an open incident includes a risk: the root of the risk
// is the root or on the chain of the incident.
func (f *Facts) includes(risk *explain.Incident) bool {
	at := risk.Root.Entity
	return !at.IsZero() && slices.ContainsFunc(f.Incidents, func(in explain.Incident) bool {
		return in.Kind != explain.KindRisk && (in.Root.Entity == at || slices.ContainsFunc(in.Chain, func(l explain.Link) bool { return l.Entity == at }))
	})
}

func (s Scope) affected(in *explain.Incident) bool {
	return slices.ContainsFunc(in.Chain, func(l explain.Link) bool { return s.contains(l.Entity) }) ||
		slices.ContainsFunc(in.Impact.Entities, s.contains) ||
		slices.ContainsFunc(in.Impact.Jobs, func(j explain.JobImpact) bool { return s.contains(j.Job) })
}

// contains reports whether e is the scope's entity or a part of it.
func (s Scope) contains(e telemetry.Entity) bool {
	return !e.IsZero() && slices.Contains(match.Containers(e), s.Entity)
}

// fires reports whether an alert is about something within the scope.
func (s Scope) fires(a *Alert) bool {
	return s.whole() || s.Domain != 0 && a.Domain == s.Domain || s.Domain == 0 && slices.ContainsFunc(a.Entities, s.contains)
}

// runs reports whether a job counts within the scope.
func (s Scope) runs(j Job) bool {
	return s.whole() || s.Domain == telemetry.Software || s.contains(j.Entity)
}

// reach returns the data received of the scope; of a site, of all its domains.
func (s Scope) reach(f *Facts) survey.Reach {
	if !s.Entity.IsZero() {
		return s.Reach
	}
	var sum survey.Reach
	for _, d := range f.Domains {
		switch {
		case s.Domain == d.Domain:
			return d.Reach
		case s.whole():
			sum.Sources, sum.Stale, sum.Series = sum.Sources+d.Sources, sum.Stale+d.Stale, sum.Series+d.Series
			if d.Latest != nil && (sum.Latest == nil || *d.Latest > *sum.Latest) {
				sum.Latest = d.Latest
			}
		}
	}
	return sum
}

// uncovered reports whether nothing current is received of the scope; of a site,
// of one of its domains.
func (s Scope) uncovered(f *Facts) bool {
	if f.Unreachable != "" {
		return true
	}
	if s.whole() {
		return len(f.Domains) == 0 || len(uncovered(f)) > 0
	}
	return s.reach(f).Empty()
}

// uncovered returns the domains of which nothing current is received.
func uncovered(f *Facts) (out []string) {
	for _, d := range f.Domains {
		if d.Empty() {
			out = append(out, d.Domain.String())
		}
	}
	return out
}
