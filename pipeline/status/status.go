package status

import (
	"cmp"
	"slices"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/survey"
	"github.com/quintet-dc/quintet/telemetry"
)

// State is how something is.
type State string

// The states, the worst first.
const (
	Degraded State = "degraded" // by an open incident, or a job that runs slower or not at all
	AtRisk   State = "at_risk"  // an open risk
	Alerting State = "alerting" // an alert fires that no open incident explains
	NoData   State = "no_data"  // nothing current is received
	Healthy  State = "healthy"  // data is received, and none of the above
)

// Role is the part that something has in an incident or a risk.
type Role string

// The roles, the gravest first.
const (
	Cause    Role = "cause"    // the root is here
	Suspect  Role = "suspect"  // the root may be here: an alternative, or below the wanted confidence
	Affected Role = "affected" // the root is elsewhere
)

func roles() []Role { return []Role{Cause, Suspect, Affected} }

// Status is the state of one thing, and the facts that it follows from.
type Status struct {
	State  State  `json:"state"`
	Reason string `json:"reason"` // in words
	// Role, Incident and Confidence are of the gravest incident or risk; empty
	// and null where there is none.
	Role       Role     `json:"role,omitempty"`
	Incident   string   `json:"incident,omitempty"`
	Confidence *float64 `json:"confidence"` // of its root, 0 to 1
	// Since is the earliest onset of what makes the state; null if healthy.
	Since *telemetry.Time `json:"since"`

	Incidents int          `json:"incidents"`
	Risks     int          `json:"risks"`
	Alerts    int          `json:"alerts"`
	Coverage  survey.Reach `json:"coverage"`
}

// Alert is a firing group of alerts.
type Alert struct {
	ID       string
	Title    string
	Domain   telemetry.Domain
	Entities []telemetry.Entity // the root first
	Since    telemetry.Time
}

// Job is a job that is degraded, with or without an open incident.
type Job struct {
	Entity telemetry.Entity
	State  string // slow, stalled, failed or restarted
}

// Facts is what states follow from.
type Facts struct {
	// Unreachable is why nothing current is known; empty where something is. What
	// was open last still counts.
	Unreachable string
	Incidents   []explain.Incident // open, with the risks
	Alerts      []Alert            // open, at least warnings, that no open incident explains
	Jobs        []Job
	Alarms      []string // of Quintet itself, by name
	Domains     []survey.DomainReach
}

// Of returns the status of a scope. It is the only place that decides between
// states.
func Of(f *Facts, s Scope) Status {
	out := Status{State: Healthy, Coverage: s.reach(f)}
	all := s.touching(f)
	alerts := slices.DeleteFunc(slices.Clone(f.Alerts), func(a Alert) bool { return !s.fires(&a) })
	jobs := slices.DeleteFunc(slices.Clone(f.Jobs), func(j Job) bool { return !s.runs(j) })
	for _, t := range all {
		switch {
		case t.in.Kind != explain.KindRisk:
			out.Incidents++
		case !s.whole() || !f.includes(t.in):
			out.Risks++
		}
	}
	out.Alerts = len(alerts)
	if s.whole() {
		out.Alerts += len(f.Alarms)
	}
	switch {
	case out.Incidents > 0 || len(jobs) > 0:
		out.State = Degraded
	case out.Risks > 0:
		out.State = AtRisk
	case out.Alerts > 0:
		out.State = Alerting
	case s.uncovered(f):
		out.State = NoData
	}
	if len(all) > 0 {
		first := all[0]
		out.Role, out.Incident = first.role, first.in.ID
		if rooted := !first.in.Root.Entity.IsZero(); rooted && (first.role != Affected || s.whole()) {
			c := first.in.Root.Confidence
			out.Confidence = &c
		}
	}
	out.Since = since(out.State, all, alerts)
	out.Reason = s.reason(f, &out, found{all, alerts, jobs})
	return out
}

// touched is an incident or a risk that a scope has a part in.
type touched struct {
	in   *explain.Incident
	role Role
}

// found is the findings within a scope.
type found struct {
	touched []touched
	alerts  []Alert
	jobs    []Job
}

// gravest orders incidents before risks, then by role, severity, time and id.
func gravest(a, b touched) int {
	kind := func(t touched) int { return slices.Index([]string{explain.KindIncident, explain.KindRisk}, t.in.Kind) }
	severity := func(t touched) int {
		return slices.Index([]string{explain.SeverityCritical, explain.SeverityWarning, explain.SeverityInfo}, t.in.Severity)
	}
	return cmp.Or(cmp.Compare(kind(a), kind(b)), cmp.Compare(slices.Index(roles(), a.role), slices.Index(roles(), b.role)),
		cmp.Compare(severity(a), severity(b)), cmp.Compare(a.in.Opened, b.in.Opened), cmp.Compare(a.in.ID, b.in.ID))
}

// since returns the earliest onset of what makes the state.
func since(of State, all []touched, alerts []Alert) (out *telemetry.Time) {
	take := func(at telemetry.Time) {
		if at != 0 && (out == nil || at < *out) {
			out = &at
		}
	}
	for _, t := range all {
		if (of == Degraded) == (t.in.Kind != explain.KindRisk) && (of == Degraded || of == AtRisk) {
			take(t.in.Onset.Earliest)
		}
	}
	for i := range alerts {
		if of == Alerting {
			take(alerts[i].Since)
		}
	}
	return out
}

// Site is the state of a site and of each of its domains.
type Site struct {
	Status
	Domains []Domain `json:"domains"` // in the order of telemetry.Domains
}

// Domain is the state of one domain.
type Domain struct {
	Domain telemetry.Domain `json:"domain"`
	Status
}

// OfSite returns the state of the site and of its domains.
func OfSite(f *Facts) Site {
	out := Site{Status: Of(f, Scope{}), Domains: []Domain{}}
	for _, d := range telemetry.Domains() {
		out.Domains = append(out.Domains, Domain{d, Of(f, Scope{Domain: d})})
	}
	return out
}
