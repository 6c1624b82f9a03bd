package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/correlate/attribute"
	"github.com/quintet-dc/quintet/telemetry"
)

// Writer turns answers into the words and fields of an incident.
type Writer struct {
	Catalogue *telemetry.Catalogue
	// Node returns the host that contains an entity, itself for a node.
	Node func(telemetry.Entity) telemetry.Entity
	// Has reports whether a series has data.
	Has func(telemetry.Series) bool
}

// maxAlternatives is how many other answers an incident lists.
const maxAlternatives = 4

// Write writes the answers into an incident: root, alternatives, contributors,
// chain, impact, title, blind spots, what is ruled out and what to do.
func (t *Writer) Write(in *Incident, e *Evidence, answers []Answer) {
	best := &answers[0]
	best.Alike = nil
	for _, a := range alikeTo(best, answers) {
		best.Alike = append(best.Alike, a.Entity)
	}
	t.impact(in, e)
	in.Onset = e.Degradation.Onset
	facts := append(t.path(e, best), jobFact(e))
	in.Claims = t.claims(e, best, facts, in.Claims)
	in.Chain = t.chain(e, best, facts, in.Chain)
	in.Root = Root{Entity: best.Entity, Alike: best.Alike, Signature: best.Name(), Domain: domainOf(e, best), Confidence: round(best.Confidence, 3), Onset: e.Degradation.Onset}
	if len(in.Chain) > 0 {
		in.Root.Onset = in.Chain[0].Onset
	}
	in.Alternatives = alternatives(answers, best)
	in.Contributors = contributors(e, best)
	in.BlindSpots = t.blindSpots(e, best, in.Chain)
	in.RuledOut = ruledOut(e, best)
	in.Actions = t.actions(e, best)
	in.Title = t.title(in, e, best)
	expect := ExpectIncident
	if best.Signature != nil {
		expect = best.Signature.Expect
	}
	in.Severity = severity(e, expect)
	in.Related = related(e, in)
}

// related lists the events at what an incident names: the root, its chain and the
// hosts of its job.
func related(e *Evidence, in *Incident) []Related {
	if e.Events == nil {
		return []Related{}
	}
	of := slices.Clone(in.Impact.Entities)
	for i := range in.Chain {
		of = append(of, in.Chain[i].Entity)
	}
	return e.Events(of)
}

func domainOf(e *Evidence, a *Answer) telemetry.Domain {
	suspect := e.suspected(a.Entity)
	switch {
	case a.Signature != nil:
		return a.Signature.Domain
	case suspect.Domain.String() != "":
		return suspect.Domain
	case e.Fabric != nil && a.Entity != e.Job:
		if _, link := e.Fabric.Now.Map.Index(a.Entity); link {
			return telemetry.Network
		}
	}
	return telemetry.Software
}

func alternatives(answers []Answer, best *Answer) []Alternative {
	out := []Alternative{}
	for i := range answers {
		a := &answers[i]
		if a.Entity == best.Entity && a.Name() == best.Name() || a.Confidence < 0.001 {
			continue
		}
		if len(out) < maxAlternatives {
			out = append(out, Alternative{a.Entity, a.Name(), round(a.Confidence, 3)})
		}
	}
	return out
}

// impact is what the degradation costs the job.
func (t *Writer) impact(in *Incident, e *Evidence) {
	l := e.Loss()
	j := JobImpact{Job: e.Job, State: e.Degradation.State.String(), Measure: e.Degradation.Metric(), Before: rounded(e.Degradation.Before),
		Expected: rounded(l.Expected), Now: rounded(l.Step), EqualWork: e.Degradation.EqualWork, MFUBefore: e.MFUBefore, MFUNow: e.MFUNow, GPUSecondsLost: round(l.GPUSeconds, 1), Share: 1}
	if s, ok := l.Slowdown(); ok {
		j.Slowdown = rounded(s)
	}
	in.Impact.Jobs = []JobImpact{j}
	in.Impact.Entities = slices.Clone(e.Nodes)
	if in.Impact.Entities == nil {
		in.Impact.Entities = []telemetry.Entity{}
	}
}

func (t *Writer) actions(e *Evidence, best *Answer) []Action {
	out := []Action{}
	if best.Signature == nil {
		return out
	}
	for _, a := range best.Signature.Actions {
		if ofJob := a.Target == "job" || strings.Contains(a.Text, "{job}"); ofJob && e.Job.IsZero() {
			continue // a risk that threatens none
		}
		target := best.Entity
		switch a.Target {
		case "node":
			target = t.Node(best.Entity)
		case "job":
			target = e.Job
		}
		out = append(out, Action{Kind: a.Kind, Target: target, Text: t.fill(a.Text, e, best)})
	}
	return out
}

// fill replaces {root}, {node}, {job} and {measure} in a text. {measure} alone
// is a number; {measure|percent} is a share.
func (t *Writer) fill(text string, e *Evidence, a *Answer) string {
	filled, _ := t.filled(text, e, a)
	return filled
}

// filled is fill, and whether all that the text names was seen.
func (t *Writer) filled(text string, e *Evidence, a *Answer) (string, bool) {
	seen := true
	sentence := fill(text, func(name string) string {
		word, ok := t.placeholder(name, e, a)
		seen = seen && ok
		return word
	})
	return sentence, seen
}

func (t *Writer) placeholder(name string, e *Evidence, a *Answer) (string, bool) {
	switch name {
	case "node":
		return t.Node(a.Entity).Name, true
	case "root":
		return placeText(a.Entity, a.Alike), true
	case "job":
		return e.Job.Name, true
	}
	measure, format, _ := strings.Cut(name, "|")
	v, ok := textValue(measure, e, a)
	switch {
	case !ok:
		return "an unknown part", false
	case format == "percent":
		return Percent(v), true
	}
	return number(v), true
}

// number formats a number for people: two digits, or all before the point.
func number(v float64) string {
	if size := max(v, -v); size >= 99.5 && size < 1e6 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2g", v)
}

func fill(text string, value func(string) string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "{")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			return b.String() + "{" + rest
		}
		b.WriteString(value(name))
		text = after
	}
}

// entityText formats an entity for a sentence: "nic h13/nic0".
func entityText(e telemetry.Entity) string { return string(e.Kind) + " " + e.Name }

// title is the first sentence: which job, how much, since when, why.
func (t *Writer) title(in *Incident, e *Evidence, best *Answer) string {
	if best.Signature == nil {
		return victim(in, e) + "the cause is not known, most likely at " + entityText(best.Entity) + "."
	}
	return victim(in, e) + t.cause(in, e, best)
}

// cause returns a title's second half. A sentence whose numbers were not all seen
// would state what was not measured: then cause states which signature fits, and
// what was seen first.
func (t *Writer) cause(in *Incident, e *Evidence, best *Answer) string {
	if sentence, seen := t.filled(best.Signature.Sentence, e, best); seen {
		return sentence
	}
	fits := fmt.Sprintf("%s at %s fits best, though not all that would show it is seen", best.Name(), placeText(best.Entity, best.Alike))
	if len(in.Chain) > 0 && in.Chain[0].Entity == best.Entity {
		return fits + "; " + in.Chain[0].Why + "."
	}
	return fits + "."
}

// toCause separates the two halves of a title: what happened to whom, and why. No
// name contains it, because none contains a space.
const toCause = ": "

// victim is a title's first half.
func victim(in *Incident, e *Evidence) string {
	gpus := "GPUs"
	if e.GPUs == 1 {
		gpus = "GPU"
	}
	return fmt.Sprintf("%s (%d %s) %s since %s ± %.0f s", e.Job.Name, e.GPUs, gpus, suffering(in, e), middle(in.Onset).Clock(), uncertainty(in.Onset)) + toCause
}

// Refresh writes the current cost of the degradation into an incident whose cause
// was explained from more evidence than e shows: impact, severity and the first
// half of the title. Root, chain and all that follows from them stay.
func (t *Writer) Refresh(in *Incident, e *Evidence, expect Expect) {
	t.impact(in, e)
	in.Title = WithCause(victim(in, e), in.Title)
	in.Severity = severity(e, expect)
}

// WithCause returns the first half of a title, who is affected, with the second
// half of another, the cause.
func WithCause(who, cause string) string {
	who, _, _ = strings.Cut(who, toCause)
	_, cause, _ = strings.Cut(cause, toCause)
	return who + toCause + cause
}

// Placed returns the incident as it is published: the confidence of its root is that
// of the place: of all faults that may be there, and of all entities there that cannot
// be distinguished from the root. In the engine it is that of the entity and the
// name, which Named gives back.
func (in Incident) Placed() Incident {
	in.Root.Confidence = round(min(in.Root.Confidence+in.elsewise(), 1), 3)
	return in
}

// Named undoes Placed.
func (in Incident) Named() Incident {
	in.Root.Confidence = round(max(in.Root.Confidence-in.elsewise(), 0), 3)
	return in
}

// elsewise is the confidence of the alternatives at the place of the root: other names
// there, and the same at what cannot be distinguished from it.
func (in *Incident) elsewise() (sum float64) {
	for i := range in.Alternatives {
		if a := &in.Alternatives[i]; a.Entity == in.Root.Entity || in.Root.includes(a) {
			sum += a.Confidence
		}
	}
	return sum
}

// Elsewhere lists the alternatives that are not what the root's place includes.
func (in *Incident) Elsewhere() (out []Alternative) {
	for i := range in.Alternatives {
		if a := &in.Alternatives[i]; !in.Root.includes(a) {
			out = append(out, *a)
		}
	}
	return out
}

// includes reports whether an alternative is the root's fault at what cannot be
// distinguished from it.
func (r *Root) includes(a *Alternative) bool {
	return a.Signature == r.Signature && slices.Contains(r.Alike, a.Entity)
}

// maxCandidates is how many candidates the title of an incident under investigation
// names.
const maxCandidates = 2

// Answers lists the root and its alternatives.
func (in *Incident) Answers() []Alternative {
	return append([]Alternative{{in.Root.Entity, in.Root.Signature, in.Root.Confidence}}, in.Alternatives...)
}

// Investigating returns the incident as it is published while its cause is not
// stable, or where it never was: without a root, and with the candidates among the
// alternatives.
func (in Incident) Investigating() Incident {
	in.Alternatives = in.Answers()
	in.Root, in.Contributors, in.Actions = Root{}, []Contributor{}, []Action{}
	in.Chain = in.Chain[max(0, len(in.Chain)-1):]
	in.Claims = in.Claims[:min(len(in.Claims), 1)]
	var likely []string
	for _, a := range in.Alternatives {
		if a.Signature != Unknown && len(likely) < maxCandidates {
			likely = append(likely, fmt.Sprintf("%s at %s (%s)", a.Signature, entityText(a.Entity), Percent(a.Confidence)))
		}
	}
	cause := "the cause is under investigation"
	if in.State == StateResolved {
		cause = "the cause was not found"
	}
	if len(likely) > 0 {
		cause += ", most likely " + strings.Join(likely, " or ")
	}
	in.Title = WithCause(in.Title, toCause+cause+".")
	return in
}

func severity(e *Evidence, expect Expect) string {
	if expect == ExpectBenign {
		return SeverityInfo
	}
	return attribute.SeverityOf(e.Degradation.State, e.Loss()).String()
}

func suffering(in *Incident, e *Evidence) string {
	j := in.Impact.Jobs[0]
	switch {
	case j.State == "stalled":
		return "has stalled"
	case j.State == "failed", j.State == "restarted":
		return "has " + j.State
	case j.Slowdown == nil:
		return "is slower"
	case *j.Slowdown-1 < leastPercent && j.GPUSecondsLost == 0:
		return "is not slower" // what was thought to be late was not
	case *j.Slowdown-1 < leastPercent:
		return "is less than 1 % slower"
	}
	if j.EqualWork {
		return fmt.Sprintf("is %s slower at equal work", Percent(*j.Slowdown-1))
	}
	return fmt.Sprintf("is %s slower", Percent(*j.Slowdown-1))
}

func middle(i telemetry.Interval) telemetry.Time { return i.Earliest + (i.Latest-i.Earliest)/2 }

func uncertainty(i telemetry.Interval) float64 {
	return max(1, float64(i.Latest-i.Earliest)/2e9)
}

// round keeps d decimals, so that refreshed fields do not flicker in digits that
// carry no information.
func round(x float64, d int) float64 {
	p := 1.0
	for range d {
		p = float64(p * 10)
	}
	if x < 0 {
		return -round(-x, d)
	}
	if scaled := float64(x * p); scaled < 1<<53 {
		return float64(int64(scaled+0.5)) / p
	}
	return x
}

func rounded(x float64) *float64 {
	if x == 0 {
		return nil // not known: no step takes no time
	}
	r := round(x, 6)
	return &r
}
