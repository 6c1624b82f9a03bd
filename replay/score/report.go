package score

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/quintet-dc/quintet/correlate/explain"
)

// Report is a whole score: total, classes and cases with the names of docs/scoring.md,
// and what else the tables print.
type Report struct {
	Total   Metrics            `json:"total"`
	Classes map[string]Metrics `json:"classes"`
	Cases   []CaseResult       `json:"cases"`
	Detail  Breakdown          `json:"detail"`
}

// CaseResult is one run: the truth, what was reported, and how it ended. Incidents
// holds the last revision of each, judged or not.
type CaseResult struct {
	Dir       string             `json:"dir"`
	Class     string             `json:"class"`
	Faults    []Fault            `json:"faults"`
	Incidents []explain.Incident `json:"incidents"`
	Outcome   Outcome            `json:"outcome"`
}

// Breakdown is the score seen from other sides. Maps are keyed by the group's
// name.
type Breakdown struct {
	Coarsen int              `json:"coarsen"` // every how many-th sample was kept
	Total   Group            `json:"total"`
	Classes map[string]Group `json:"classes"`
	Halves  map[Half]Group   `json:"halves"`
	Fabrics []FabricGroup    `json:"fabrics"`
	// Risks and Benign are the tables of their own; null where the
	// truths have none and none were published.
	Risks       *Group       `json:"risks"`
	Benign      *Group       `json:"benign"`
	Reliability []Bin        `json:"reliability"`
	Faults      []Verdict    `json:"faults"` // of all three tables, in the order of the cases
	FalseAlarms []FalseAlarm `json:"false_alarms"`
	FalseRisks  []FalseAlarm `json:"false_risks"`
}

// FabricGroup is one fabric left out: its own figures, and those of all the
// others without it.
type FabricGroup struct {
	Fabric  string `json:"fabric"`
	LeftOut Group  `json:"left_out"`
	Others  Group  `json:"others"`
}

// Settings are the parameters of a score besides its cases.
type Settings struct {
	Coarsen int                // reported, not applied; 0 means 1
	Half    func(c *Case) Half // nil: HalfOf
}

// Judge scores the cases. Their order changes nothing: they are judged in that
// of their directories.
func Judge(cases []Case, set Settings) Report {
	half := set.Half
	if half == nil {
		half = HalfOf
	}
	all := make([]*judged, len(cases))
	for i := range cases {
		all[i] = judge(&cases[i], half(&cases[i]))
	}
	slices.SortStableFunc(all, func(a, b *judged) int { return cmp.Compare(a.c.Dir, b.c.Dir) })
	r := Report{Classes: map[string]Metrics{}, Cases: []CaseResult{}}
	for _, j := range all {
		r.Cases = append(r.Cases, CaseResult{Dir: j.c.Dir, Class: j.c.class(), Faults: orEmpty(j.c.Truth.Faults),
			Incidents: j.incidents, Outcome: j.outcome})
	}
	r.Detail = breakdown(all, max(1, set.Coarsen))
	r.Total = r.Detail.Total.Metrics
	for name, g := range r.Detail.Classes {
		r.Classes[name] = g.Metrics
	}
	return r
}

func breakdown(all []*judged, coarsen int) Breakdown {
	every := func(*judged) bool { return true }
	total := pool(all, every, mainSheet)
	b := Breakdown{Coarsen: coarsen, Total: total.measure(), Classes: map[string]Group{}, Halves: map[Half]Group{},
		Fabrics: fabrics(all), Reliability: reliability(total.forecasts), FalseAlarms: orEmpty(total.falses)}
	for _, name := range names(all, func(j *judged) string { return j.c.class() }) {
		b.Classes[name] = pool(all, func(j *judged) bool { return j.c.class() == name }, mainSheet).measure()
	}
	for _, h := range []Half{HalfA, HalfB} {
		b.Halves[h] = pool(all, func(j *judged) bool { return j.half == h }, mainSheet).measure()
	}
	risks := pool(all, every, func(j *judged) *sheet { return &j.risks })
	benign := pool(all, every, func(j *judged) *sheet { return &j.benign })
	b.Risks, b.Benign = risks.ifAny(), benign.ifAny()
	b.FalseRisks = orEmpty(risks.falses)
	b.Faults = slices.Concat([]Verdict{}, total.verdicts, risks.verdicts, benign.verdicts)
	slices.SortStableFunc(b.Faults, func(x, y Verdict) int { return cmp.Compare(x.Dir, y.Dir) })
	return b
}

// fabrics leaves out one fabric after the other.
func fabrics(all []*judged) []FabricGroup {
	out := []FabricGroup{}
	for _, name := range names(all, func(j *judged) string { return j.c.fabric() }) {
		is := func(j *judged) bool { return j.c.fabric() == name }
		isNot := func(j *judged) bool { return !is(j) }
		out = append(out, FabricGroup{name, pool(all, is, mainSheet).measure(), pool(all, isNot, mainSheet).measure()})
	}
	return out
}

func mainSheet(j *judged) *sheet { return &j.main }

func pool(all []*judged, in func(*judged) bool, of func(*judged) *sheet) *sheet {
	s := &sheet{}
	for _, j := range all {
		if in(j) {
			s.add(of(j))
		}
	}
	return s
}

// ifAny measures a table of its own, or returns nil where there is nothing to
// say.
func (s *sheet) ifAny() *Group {
	if len(s.verdicts) == 0 && len(s.falses) == 0 {
		return nil
	}
	g := s.measure()
	return &g
}

func names(all []*judged, of func(*judged) string) []string {
	var out []string
	for _, j := range all {
		out = append(out, of(j))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// WriteJSON writes the report as one JSON object with the keys of docs/scoring.md and
// no others.
func (r *Report) WriteJSON(w io.Writer) error {
	return encode(w, struct {
		Total   Metrics            `json:"total"`
		Classes map[string]Metrics `json:"classes"`
		Cases   []CaseResult       `json:"cases"`
	}{r.Total, r.Classes, r.Cases})
}

// WriteDetail writes the same with what underlies the figures next to it, under
// the key "detail".
func (r *Report) WriteDetail(w io.Writer) error { return encode(w, r) }

func encode(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("write score: %w", err)
	}
	return nil
}
