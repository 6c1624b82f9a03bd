package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// Want is a line of the section want.
type Want struct {
	Line int
	// No states that nothing may fit what follows.
	No bool
	// What is incident, risk or finding.
	What string
	// Resolved wants the incident to have been resolved, not only opened.
	Resolved bool
	// Signatures are those any of which fits; none means any.
	Signatures []string
	// From is when it may open at the earliest; Within counts from it.
	From, Within telemetry.Duration
	HasWithin    bool
	tests        []test

	// Of a finding.
	Shape  string
	Series telemetry.Series
}

// test is one KEY=VALUE of a want.
type test struct {
	key   string
	text  string
	fits  func(*explain.Incident) bool
	found func(*explain.Incident) string
}

// Mismatch is something that was wanted and did not come, or came and was not
// wanted.
type Mismatch struct {
	File string
	Line int // of the want; 0 where none fits
	Text string
}

// String returns "file:line: text".
func (m Mismatch) String() string {
	if m.Line == 0 {
		return m.File + ": " + m.Text
	}
	return fmt.Sprintf("%s:%d: %s", m.File, m.Line, m.Text)
}

// Finding is a finding as far as a scenario can want it.
type Finding struct {
	Series telemetry.Series
	Shape  string
	At     telemetry.Time // when it was published
}

// want reads a line of the section want.
func (p *parser) want(line int, w []string) {
	x := Want{Line: line, From: p.s.Fault}
	if at, err := clock(w[0]); err == nil && len(w) > 1 {
		x.From, w = at, w[1:]
	}
	if x.No = w[0] == "no"; x.No {
		w = w[1:]
	}
	if len(w) > 0 {
		x.What, w = w[0], w[1:]
	}
	switch x.What {
	case "others":
		if len(w) != 1 || w[0] != "allowed" || x.No {
			p.fail(line, "want: others allowed")
		}
		p.s.OthersAllowed = true
		return
	case "finding":
		w = p.wantFinding(&x, w)
	case "incident", "risk":
		w = p.wantIncident(&x, w)
	default:
		p.fail(line, "want: %q: want [TIME] [no] incident, risk or finding, or others allowed", x.What)
		return
	}
	for _, o := range w {
		if old, value, _ := strings.Cut(o, "="); old == "hurts" { // of earlier releases
			p.s.Former = append(p.s.Former, Error{p.s.Name, line, "want: hurts is now degrades"})
			o = "degrades=" + value
		}
		if err := x.option(o); err != nil {
			p.fail(line, "want: %s: %v", o, err)
		}
	}
	p.s.Wants = append(p.s.Wants, x)
}

func (p *parser) wantFinding(x *Want, w []string) []string {
	if len(w) < 3 {
		p.fail(x.Line, "want: finding SHAPE ENTITY METRIC [within=T]")
		return nil
	}
	e, err := telemetry.ParseEntity(w[1])
	if err != nil {
		p.fail(x.Line, "want: %v", err)
	}
	x.Shape, x.Series = w[0], telemetry.Series{Entity: e, Metric: telemetry.MetricName(w[2])}
	known := false
	for s := telemetry.ShapeShift; s.String() != ""; s++ {
		known = known || s.String() == x.Shape
	}
	if !known {
		p.fail(x.Line, "want: unknown shape %q", x.Shape)
	}
	if _, ok := p.cat.Lookup(x.Series.Metric); !ok {
		p.fail(x.Line, "want: unknown metric %q", x.Series.Metric)
	}
	return w[3:]
}

// wantIncident reads "[opened|resolved] [SIGNATURE[|SIGNATURE]…|*]".
func (p *parser) wantIncident(x *Want, w []string) []string {
	if len(w) > 0 && (w[0] == "opened" || w[0] == "resolved") {
		x.Resolved = w[0] == "resolved"
		w = w[1:]
	} else if !x.No {
		p.fail(x.Line, "want: %s opened or %s resolved", x.What, x.What)
		return nil
	}
	if len(w) > 0 && !strings.Contains(w[0], "=") {
		if w[0] != "*" {
			x.Signatures = strings.Split(w[0], "|")
		}
		w = w[1:]
	}
	return w
}

// option reads one KEY=VALUE of a want.
func (x *Want) option(o string) (err error) {
	k, v, ok := strings.Cut(o, "=")
	if !ok || v == "" {
		return fmt.Errorf("want KEY=VALUE")
	}
	if k == "within" {
		x.Within, err = clock(v)
		x.HasWithin = true
		return err
	}
	if x.What == "finding" {
		return fmt.Errorf("a finding has only within")
	}
	t := test{key: k, text: v}
	switch k {
	case "root", "degrades", "contributor", "through", "blind":
		err = t.entities(k, v)
	case "domain", "severity", "state":
		t.words(k, v)
	case "confidence", "slowdown", "lost":
		err = t.numbers(k, v)
	default:
		err = fmt.Errorf("unknown; want root, degrades, within, domain, severity, state, confidence, slowdown, lost, contributor, through or blind")
	}
	x.tests = append(x.tests, t)
	return err
}

// entities makes a test that an incident names one of the entities.
func (t *test) entities(key, v string) error {
	var want []telemetry.Entity
	for _, s := range strings.Split(v, "|") {
		e, err := telemetry.ParseEntity(s)
		if err != nil {
			return err
		}
		want = append(want, e)
	}
	t.fits = func(in *explain.Incident) bool {
		return slices.ContainsFunc(named(in, key), func(e telemetry.Entity) bool { return slices.Contains(want, e) })
	}
	t.found = func(in *explain.Incident) string {
		var s []string
		for _, e := range named(in, key) {
			s = append(s, e.String())
		}
		return strings.Join(s, "|")
	}
	return nil
}

// named lists the entities that an incident names in a role.
func named(in *explain.Incident, role string) (out []telemetry.Entity) {
	switch role {
	case "root":
		out = append(out, in.Root.Entity)
	case "degrades":
		for _, j := range in.Impact.Jobs {
			out = append(out, j.Job)
		}
	case "contributor":
		for _, c := range in.Contributors {
			out = append(out, c.Entity)
		}
	case "through":
		for _, l := range in.Chain {
			out = append(out, l.Entity)
		}
	case "blind":
		for _, b := range in.BlindSpots {
			out = append(out, b.Entity)
		}
	}
	return out
}

func (t *test) words(key, v string) {
	t.found = func(in *explain.Incident) string {
		switch key {
		case "domain":
			return in.Root.Domain.String()
		case "severity":
			return in.Severity
		}
		var s []string
		for _, j := range in.Impact.Jobs {
			s = append(s, j.State)
		}
		return strings.Join(s, "|")
	}
	t.fits = func(in *explain.Incident) bool {
		have := strings.Split(t.found(in), "|")
		return slices.ContainsFunc(strings.Split(v, "|"), func(w string) bool { return slices.Contains(have, w) })
	}
}

// numbers reads "1.4..1.8", or a least value.
func (t *test) numbers(key, v string) error {
	lo, hi, ranged := strings.Cut(v, "..")
	low, err := strconv.ParseFloat(lo, 64)
	high := low
	if ranged && err == nil {
		high, err = strconv.ParseFloat(hi, 64)
	}
	if err != nil || high < low {
		return fmt.Errorf("want a least value or a range 1.4..1.8")
	}
	t.found = func(in *explain.Incident) string { return fmt.Sprintf("%.4g", numberOf(in, key)) }
	t.fits = func(in *explain.Incident) bool {
		n := numberOf(in, key)
		return n >= low && (!ranged || n <= high)
	}
	return nil
}

// numberOf is the root's confidence, the worst slowdown of a job, or the
// GPU-seconds that all of them lost.
func numberOf(in *explain.Incident, key string) float64 {
	if key == "confidence" {
		return in.Root.Confidence
	}
	most, lost := 0.0, 0.0
	for _, j := range in.Impact.Jobs {
		if j.Slowdown != nil {
			most = max(most, *j.Slowdown)
		}
		lost += j.GPUSecondsLost
	}
	if key == "lost" {
		return lost
	}
	return most
}

// Check compares what was wanted with what came: every revision that was
// published, in order. Each incident is judged by its last revision and counts
// for one want at most; merged ones are left out.
func (s *Scenario) Check(published []explain.Incident) []Mismatch {
	came := last(published)
	pairs := s.match(came)
	var out []Mismatch
	for i := range s.Wants {
		w := &s.Wants[i]
		if w.What == "finding" {
			continue
		}
		if w.No {
			for _, in := range came {
				if w.why(s, in) == "" {
					out = append(out, Mismatch{s.Name, w.Line, "came all the same: " + s.describe(in)})
				}
			}
		} else if pairs[i] == nil {
			out = append(out, Mismatch{s.Name, w.Line, s.nearest(w, came)})
		}
	}
	for _, in := range came {
		if !s.OthersAllowed && in.Kind != explain.KindRisk && !slices.Contains(pairs, in) && !s.refused(out, in) {
			out = append(out, Mismatch{s.Name, 0, "nobody wanted: " + s.describe(in)})
		}
	}
	return out
}

// refused reports whether an incident is already said to be one too many.
func (s *Scenario) refused(out []Mismatch, in *explain.Incident) bool {
	return slices.ContainsFunc(out, func(m Mismatch) bool { return m.Text == "came all the same: "+s.describe(in) })
}

// last returns the last revision of each incident that was not merged, by
// opening and id.
func last(published []explain.Incident) (out []*explain.Incident) {
	for i := range published {
		in := &published[i]
		k := slices.IndexFunc(out, func(o *explain.Incident) bool { return o.ID == in.ID })
		if k < 0 {
			out = append(out, in)
		} else if in.Revision >= out[k].Revision {
			out[k] = in
		}
	}
	out = slices.DeleteFunc(out, func(in *explain.Incident) bool { return in.Resolution != nil && *in.Resolution == "merged" })
	slices.SortFunc(out, func(a, b *explain.Incident) int {
		return cmp.Or(cmp.Compare(a.Opened, b.Opened), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// match gives wants their incidents, as many as possible (augmenting paths:
// wants are few).
func (s *Scenario) match(came []*explain.Incident) []*explain.Incident {
	pairs := make([]*explain.Incident, len(s.Wants))
	var give func(w int, tried []bool) bool
	give = func(w int, tried []bool) bool {
		for i, in := range came {
			if tried[i] || s.Wants[w].why(s, in) != "" {
				continue
			}
			tried[i] = true
			holder := s.holder(pairs, in, s.Wants[w].Resolved)
			if holder < 0 || give(holder, tried) {
				pairs[w] = in
				return true
			}
		}
		return false
	}
	for w := range s.Wants {
		if x := &s.Wants[w]; !x.No && x.What != "finding" {
			give(w, make([]bool, len(came)))
		}
	}
	return pairs
}

// holder returns the want that has an incident, -1 if none. That it opened and
// that it was resolved are two wants of one incident.
func (s *Scenario) holder(pairs []*explain.Incident, in *explain.Incident, resolved bool) int {
	for w, p := range pairs {
		if p == in && s.Wants[w].Resolved == resolved {
			return w
		}
	}
	return -1
}

// why states what of an incident does not fit a want, "" if all does.
func (w *Want) why(s *Scenario, in *explain.Incident) string {
	var out []string
	kind := explain.KindIncident
	if w.What == "risk" {
		kind = explain.KindRisk
	}
	if in.Kind != kind {
		out = append(out, "it is of kind "+in.Kind)
	}
	if said := cmp.Or(in.Root.Signature, explain.Unknown); len(w.Signatures) > 0 && !slices.Contains(w.Signatures, said) {
		out = append(out, "signature "+said+" for "+strings.Join(w.Signatures, "|"))
	}
	for _, t := range w.tests {
		if !t.fits(in) {
			out = append(out, fmt.Sprintf("%s=%s for %s", t.key, t.found(in), t.text))
		}
	}
	at := in.Opened
	if w.Resolved {
		if in.Resolved == nil {
			return strings.Join(append(out, "it is not resolved"), ", ")
		}
		at = *in.Resolved
	}
	if after := at.Sub(s.Start); !w.No && after < w.From {
		out = append(out, fmt.Sprintf("at %v, before %v", after, w.From))
	} else if w.HasWithin && after > w.From+w.Within {
		out = append(out, fmt.Sprintf("at %v, later than %v", after, w.From+w.Within))
	}
	return strings.Join(out, ", ")
}

// nearest states that a want was not met, and what came closest.
func (s *Scenario) nearest(w *Want, came []*explain.Incident) string {
	best, least := "nothing came", -1
	for _, in := range came {
		why := w.why(s, in)
		if why == "" {
			why = "another line has it"
		}
		if n := strings.Count(why, ", "); least < 0 || n < least {
			best, least = s.describe(in)+": "+why, n
		}
	}
	return "did not come; nearest: " + best
}

// describe puts an incident into one line.
func (s *Scenario) describe(in *explain.Incident) string {
	var jobs []string
	for _, e := range named(in, "degrades") {
		jobs = append(jobs, e.String())
	}
	return fmt.Sprintf("%v %s %s root=%s degrades=%s confidence=%.2f", in.Opened.Sub(s.Start), in.Kind, in.Root.Signature,
		in.Root.Entity, strings.Join(jobs, "|"), in.Root.Confidence)
}

// WantsFindings reports whether CheckFindings has anything to compare.
func (s *Scenario) WantsFindings() bool {
	return slices.ContainsFunc(s.Wants, func(w Want) bool { return w.What == "finding" })
}

// CheckFindings compares expected findings with those that occurred. Findings that
// no line expects are not a mismatch.
func (s *Scenario) CheckFindings(came []Finding) (out []Mismatch) {
	for i := range s.Wants {
		w := &s.Wants[i]
		if w.What != "finding" {
			continue
		}
		k := slices.IndexFunc(came, func(f Finding) bool {
			after := f.At.Sub(s.Start)
			return f.Shape == w.Shape && f.Series == w.Series && (w.No || after >= w.From) && (!w.HasWithin || after <= w.From+w.Within)
		})
		switch {
		case w.No && k >= 0:
			out = append(out, Mismatch{s.Name, w.Line, fmt.Sprintf("came all the same: %s of %s at %v", w.Shape, w.Series, came[k].At.Sub(s.Start))})
		case !w.No && k < 0:
			out = append(out, Mismatch{s.Name, w.Line, fmt.Sprintf("did not come: %s of %s", w.Shape, w.Series)})
		}
	}
	return out
}

// Fits reports whether an answer is one that the line wants: its signature and its
// root. What else the line wants of an incident is not asked.
func (w *Want) Fits(root telemetry.Entity, signature string) bool {
	if len(w.Signatures) > 0 && !slices.Contains(w.Signatures, signature) {
		return false
	}
	in := explain.Incident{Root: explain.Root{Entity: root, Signature: signature}}
	return !slices.ContainsFunc(w.tests, func(t test) bool { return t.key == "root" && !t.fits(&in) })
}

// Affects reports whether the line wants an incident of a job.
func (w *Want) Affects(job telemetry.Entity) bool {
	in := explain.Incident{Impact: explain.Impact{Jobs: []explain.JobImpact{{Job: job}}}}
	return !slices.ContainsFunc(w.tests, func(t test) bool { return t.key == "degrades" && !t.fits(&in) })
}
