package status

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/survey"
	"github.com/quintet-dc/quintet/telemetry"
)

// mostJobs is how many jobs a reason lists by name.
const mostJobs = 2

// reason describes the facts of a status.
func (s Scope) reason(f *Facts, st *Status, x found) string {
	var parts []string
	add := func(text string) {
		if text != "" {
			parts = append(parts, text)
		}
	}
	counted := s.whole() && len(x.jobs) > 0 // the jobs report what is wrong
	switch {
	case counted:
		add(jobsDegraded(f, x.jobs))
		add(counts(st))
	case len(x.touched) > 0:
		add(st.part(x.touched[0], s.whole()))
		add(more(st))
	default:
		add(jobsDegraded(f, x.jobs))
	}
	if len(x.touched) == 0 && !counted && len(x.alerts) > 0 {
		add(survey.Plural(len(x.alerts), "alert") + ": " + x.alerts[0].Title)
	}
	if s.whole() && len(f.Alarms) > 0 {
		add(strings.Join(f.Alarms, ", "))
	}
	add(s.missing(f, st))
	if st.State == Healthy && s.whole() {
		parts = append([]string{"no incident, risk or alert"}, parts...)
	}
	return strings.Join(parts, "; ")
}

// missing describes which data is received and which is not.
func (s Scope) missing(f *Facts, st *Status) string {
	c := st.Coverage
	switch {
	case f.Unreachable != "":
		return f.Unreachable
	case s.whole() && len(f.Domains) == 0:
		return "coverage is not known"
	case s.whole() && len(uncovered(f)) > 0:
		return "not receiving " + strings.Join(uncovered(f), ", ")
	case c.Series == 0:
		return "nothing received"
	case c.Empty():
		return "none of " + survey.Plural(c.Sources, "source") + " reports"
	case c.Stale > 0 && !s.whole():
		return fmt.Sprintf("%d of %s not reporting", c.Stale, survey.Plural(c.Sources, "source"))
	case st.State == Healthy && !s.whole():
		return "data from " + survey.Plural(c.Sources, "source")
	}
	return ""
}

// part writes the part that the scope, the whole site or some of it, has in its
// gravest incident or risk.
func (st *Status) part(t touched, whole bool) string {
	what, root := "incident", place(t.in)
	if t.in.Kind == explain.KindRisk {
		what = "risk"
	}
	switch {
	case root == "":
		return what + " " + t.in.ID + ", cause under investigation"
	case t.role == Affected:
		return "affected by " + what + ": " + root
	case t.role == Suspect:
		return "possible cause of " + what + ", most likely: " + root
	}
	switch {
	case whole:
		return root
	case t.in.Kind == explain.KindRisk:
		return "risk: " + root
	}
	return "cause of incident: " + root
}

// place writes the root of an incident; empty where it is under investigation.
func place(in *explain.Incident) string {
	if in.Root.Entity.IsZero() {
		return ""
	}
	return fmt.Sprintf("%s %s (%s)", in.Root.Entity.Kind, in.Root.Entity.Name, in.Root.Signature)
}

// more counts the incidents and risks in addition to the gravest one.
func more(st *Status) string {
	var out []string
	if n := st.Incidents + st.Risks - 1; n > 0 {
		out = append(out, fmt.Sprintf("%d more", n))
	}
	if st.Alerts > 0 {
		out = append(out, survey.Plural(st.Alerts, "alert"))
	}
	return strings.Join(out, ", ")
}

func counts(st *Status) string {
	var out []string
	for _, x := range []struct {
		n    int
		what string
	}{{st.Incidents, "incident"}, {st.Risks, "risk"}, {st.Alerts, "alert"}} {
		if x.n > 0 {
			out = append(out, survey.Plural(x.n, x.what))
		}
	}
	return strings.Join(out, ", ")
}

// jobsDegraded writes which jobs are degraded.
func jobsDegraded(f *Facts, jobs []Job) string {
	switch {
	case len(jobs) == 0:
		return ""
	case len(jobs) > mostJobs:
		return fmt.Sprintf("%d jobs degraded", len(jobs))
	}
	var out []string
	for _, j := range jobs {
		text := j.Entity.Name + " " + j.State
		if !explained(f, j.Entity) {
			text += " (cause under investigation)"
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// explained reports whether an open incident lists a job.
func explained(f *Facts, job telemetry.Entity) bool {
	return slices.ContainsFunc(f.Incidents, func(in explain.Incident) bool {
		return slices.ContainsFunc(in.Impact.Jobs, func(j explain.JobImpact) bool { return j.Job == job })
	})
}
