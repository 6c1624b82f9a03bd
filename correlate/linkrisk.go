package correlate

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// A risk of links that are down waits for what they are an effect of, and for the
// incident of the job that they degrade.

const (
	// coincides is how long after links went down a job may become degraded by them,
	// inStep how long before they went down its long step may have begun, and
	// explainedIn how long after that its incident may name them.
	coincides, inStep, explainedIn = telemetry.Duration(60e9), telemetry.Duration(10e9), telemetry.Duration(120e9)
	// together is within what time hosts or switches go down that go down for one
	// reason, and reasonIn how long it may take to be known: meters are polled.
	together, reasonIn = telemetry.Duration(30e9), telemetry.Duration(60e9)
)

// linkWaits reports whether links that are down open no risk, or not yet: where no job's
// paths lead over them, while the incident of a job that they may degrade is under
// investigation or may be opened again, and while the reason why several hosts or
// switches are down may still be reported.
func (e *risks) linkWaits(s *supported, known []*explain.Incident, g telemetry.Time) bool {
	if at := s.signal.reported; at != 0 && g.Sub(at) < explainedIn {
		return true
	}
	jobs := e.carries(s.Root)
	return len(jobs) == 0 || e.investigated(s, jobs, known, g) || g.Sub(s.Onset.Latest) < reasonIn && e.withOthers(s)
}

// investigated reports whether an incident of a job may yet name the links.
func (e *risks) investigated(s *supported, jobs []telemetry.Entity, known []*explain.Incident, g telemetry.Time) bool {
	return slices.ContainsFunc(known, func(in *explain.Incident) bool {
		unsure := ofKind(in) < sure || in.Root.Domain == s.Signature.Domain
		return unsure && e.follows(in.Onset, s.Onset, s.Signature.Name) && g.Sub(in.Onset.Latest) < explainedIn &&
			slices.ContainsFunc(in.Impact.Jobs, func(j explain.JobImpact) bool { return slices.Contains(jobs, j.Job) })
	})
}

// follows reports whether a degradation may be due to links with such a signature: they
// went down a little before it, or do so again and again.
func (e *risks) follows(onset, by telemetry.Interval, signature string) bool {
	again := slices.ContainsFunc(e.linkFeatures(signature), func(c *explain.Feature) bool { return c.Measure == explain.WentDown })
	return onset.Latest >= by.Earliest.Add(-inStep) && (again || onset.Earliest <= by.Latest.Add(coincides))
}

// withOthers reports whether other hosts or switches went down together with one.
func (e *risks) withOthers(s *supported) bool {
	return s.Root.Kind != telemetry.Port && slices.ContainsFunc(e.signals.signalled, func(o signal) bool {
		apart := o.onset.Latest.Sub(s.Onset.Latest)
		return o.kind == linkSignal && o.text == s.signal.text && o.series != s.signal.series && max(apart, -apart) < together
	})
}

// riskOver finds the open risk of links that may be the cause of an incident of a job
// whose root is not sure yet: the last one before it.
func (e *risks) riskOver(job telemetry.Entity, in *explain.Incident) (best *risk) {
	if ofKind(in) >= sure && in.Root.Signature != explain.Unknown {
		return nil
	}
	for _, r := range e.open {
		if e.ofLinks(r.incident.Root.Signature) && e.follows(in.Onset, r.incident.Onset, r.incident.Root.Signature) && slices.Contains(e.carries(r.incident.Root.Entity), job) &&
			(best == nil || r.incident.Onset.Latest > best.incident.Onset.Latest) {
			best = r
		}
	}
	return best
}

// cutOff returns the incident or risk of which the links that are down are an effect: its
// root is their switch or host and it is known to be gone, or it supplies one of these;
// nil where none is known.
func (e *risks) cutOff(s *supported, known []*explain.Incident) *explain.Incident {
	owners := []telemetry.Entity{s.Root}
	if s.Root.Kind == telemetry.Port {
		i, _ := e.fabricMap().Index(s.Root)
		owners = e.ownersOf(i)
	}
	for _, in := range known {
		if ofKind(in) >= sure && e.cutsOff(&in.Root, s, owners) {
			return in
		}
	}
	for _, r := range e.open {
		if e.cutsOff(&r.incident.Root, s, owners) {
			return &r.incident
		}
	}
	return nil
}

func (e *risks) cutsOff(root *explain.Root, s *supported, owners []telemetry.Entity) bool {
	if root.Entity == s.Root {
		return false // it is the trouble itself, under another name
	}
	for _, x := range owners {
		if x == root.Entity && e.ofLinks(root.Signature) || e.behind(x, []telemetry.Entity{root.Entity}) {
			return true
		}
	}
	return false
}

// takeLinks takes over which links are down by a risk that another engine has published:
// that of its root, or those to it.
func (e *risks) takeLinks(root *explain.Root, since telemetry.Interval, g telemetry.Time) {
	if !e.ofLinks(root.Signature) {
		return
	}
	ends := []telemetry.Entity{root.Entity}
	if root.Entity.Kind != telemetry.Port {
		ends = nil
		for _, x := range e.graph.Contents(root.Entity) {
			if peer, _, ok := e.graph.Peer(x); ok {
				ends = append(ends, peer)
			}
		}
	}
	e.signals.goneBefore(ends, since, g)
}

// ofLinks reports whether a signature's precursor is what links show that are down, and
// linkFeatures returns the features of that.
func (e *risks) ofLinks(signature string) bool { return len(e.linkFeatures(signature)) > 0 }

func (e *risks) linkFeatures(signature string) (features []*explain.Feature) {
	s := e.signature(signature)
	if s == nil {
		return nil
	}
	for _, c := range s.PrecursorFeatures() {
		if c.OfLinks() {
			features = append(features, c)
		}
	}
	return features
}
