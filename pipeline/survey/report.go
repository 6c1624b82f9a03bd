package survey

import (
	"slices"
	"strconv"
	"strings"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// State is how a requirement is met.
type State string

// The states of a requirement.
const (
	Met          State = "met"
	Partly       State = "partly"
	Stale        State = "stale"        // it was reported, and is not any more
	Missing      State = "missing"      // no evidence of it was reported
	Absent       State = "absent"       // the site has no such device
	Unobservable State = "unobservable" // telemetry cannot show it
)

// staleAfter is the age from which the latest data of a requirement counts as
// stale.
const staleAfter = 15 * 60 * telemetry.Duration(1e9)

// Report is what a site shows and hides.
type Report struct {
	At    *telemetry.Time `json:"at"`    // the newest tick
	Since *telemetry.Time `json:"since"` // from when on it was listened to
	Lost  uint64          `json:"lost"`  // names that were too many to remember

	Domains      []Domain      `json:"domains"`
	Requirements []Requirement `json:"requirements"`
	Faults       []Fault       `json:"faults"`
	Metrics      []Metric      `json:"metrics"`
	Events       []Event       `json:"events"`
	Relations    []Relation    `json:"relations"`
}

// Domain is the telemetry received of one domain.
type Domain struct {
	Domain  telemetry.Domain `json:"domain"`
	Metrics int              `json:"metrics"` // names that the catalogue puts there
	Series  int              `json:"series"`
	Latest  *telemetry.Time  `json:"latest"`
}

// Requirement is one thing that is asked of a site's telemetry.
type Requirement struct {
	ID     string          `json:"id"`
	Area   string          `json:"area"`
	What   string          `json:"what"`
	State  State           `json:"state"`
	Latest *telemetry.Time `json:"latest"` // when its evidence was received last
	By     []string        `json:"by"`     // its evidence
	Do     string          `json:"do"`     // what would meet it; empty where it is met
}

// age sets when data was last received, and the state stale if that is long ago.
func (r *Requirement) age(at, latest telemetry.Time) {
	if latest == 0 {
		return
	}
	r.Latest = &latest
	if at.Sub(latest) > staleAfter {
		r.State = Stale
	}
}

// Make judges the received telemetry by the requirements and by what signatures
// need.
func Make(f Facts, catalogue *telemetry.Catalogue, signatures []explain.Signature) Report {
	r := Report{Lost: f.Lost, Metrics: f.Metrics, Events: f.Events, Relations: f.Relations, Requirements: []Requirement{}, Faults: []Fault{}}
	if f.At != 0 {
		r.At = &f.At
	}
	if f.Since != 0 {
		r.Since = &f.Since
	}
	r.Domains = domains(&f, catalogue)
	for _, w := range wants() {
		r.Requirements = append(r.Requirements, w.of(&f))
	}
	for i := range signatures {
		r.Faults = append(r.Faults, fault(&f, &signatures[i]))
	}
	return r
}

func domains(f *Facts, catalogue *telemetry.Catalogue) []Domain {
	var out []Domain
	for _, d := range telemetry.Domains() {
		x := Domain{Domain: d}
		names := map[telemetry.MetricName]bool{}
		for _, m := range f.Metrics {
			if c, ok := catalogue.Lookup(m.Name); !ok || c.Domain != d {
				continue
			}
			names[m.Name] = true
			x.Series += m.Entities
			if x.Latest == nil || *x.Latest < m.Latest {
				latest := m.Latest
				x.Latest = &latest
			}
		}
		x.Metrics = len(names)
		out = append(out, x)
	}
	return out
}

// of judges a requirement.
func (w wanted) of(f *Facts) Requirement {
	r := Requirement{ID: w.id, Area: w.area, What: w.what, State: Missing, By: []string{}}
	switch {
	case len(w.needs) > 0 && !slices.ContainsFunc(w.needs, func(k telemetry.Kind) bool { return f.Kinds[k] > 0 }):
		r.State = Absent
	case w.judge != nil:
		w.judge(f, &r)
	default:
		w.look(f, &r)
	}
	if r.By == nil {
		r.By = []string{}
	}
	if r.State != Met && r.State != Absent {
		r.Do = w.do
	}
	return r
}

// most bounds how many pieces of evidence of a requirement are named.
const most = 4

// look searches for evidence of a requirement.
func (w wanted) look(f *Facts, r *Requirement) {
	var latest telemetry.Time
	add := func(text string, at telemetry.Time) {
		r.State, latest = Met, max(latest, at)
		if len(r.By) < most && !slices.Contains(r.By, text) {
			r.By = append(r.By, text)
		}
	}
	for _, s := range w.shows {
		if s.metric != "" {
			s.metrics(f, add)
		}
		for _, e := range f.Events {
			if s.metric == "" && s.relation == "" && s.is(e.Collector, e.Kind) && strings.HasPrefix(string(e.Name), s.event) {
				add(e.Collector+": "+string(e.Name)+" of "+string(e.Kind), e.Latest)
			}
		}
		for _, l := range f.Relations {
			if s.relation != "" && l.Relation == s.relation && s.is(l.Source, l.From) && (s.to == "" || s.to == l.To) {
				add(l.Source+": "+string(l.From)+" "+string(l.Relation)+" "+string(l.To), max(l.Latest, f.Since))
			}
		}
	}
	if r.State == Met {
		relations := len(w.shows) > 0 && w.shows[0].relation != ""
		r.age(f.At, latest)
		if relations { // an edge is valid until its end is reported
			r.State = Met
		}
	}
}

// metrics adds the metrics that are a sign, a line for each collector and kind.
func (s sign) metrics(f *Facts, add func(string, telemetry.Time)) {
	type group struct {
		collector string
		kind      telemetry.Kind
	}
	found := map[group][]Metric{}
	var order []group
	for _, m := range f.Metrics {
		if !s.is(m.Collector, m.Kind) || s.metric != "*" && !strings.HasPrefix(string(m.Name), s.metric) {
			continue
		}
		g := group{m.Collector, m.Kind}
		if found[g] == nil {
			order = append(order, g)
		}
		found[g] = append(found[g], m)
	}
	for _, g := range order {
		entities, latest := 0, telemetry.Time(0)
		for _, m := range found[g] {
			entities, latest = max(entities, m.Entities), max(latest, m.Latest)
		}
		add(g.collector+": "+Plural(len(found[g]), "metric")+" of "+Plural(entities, string(g.kind)), latest)
	}
}

func (s sign) is(collector string, kind telemetry.Kind) bool {
	return (s.collector == "" || s.collector == collector) && (len(s.kinds) == 0 || slices.Contains(s.kinds, kind))
}

// Plural returns a number and its noun, in the plural unless it is one.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "ch") {
		noun += "e"
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
