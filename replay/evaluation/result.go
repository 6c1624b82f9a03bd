package evaluation

import (
	"encoding/json"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"

	"github.com/quintet-dc/quintet/replay/score"
)

// Result is what an engine reached on several sets.
type Result struct {
	Engine string `json:"engine"`
	Rules  string `json:"rules"`
	Sets   []Row  `json:"sets"`
}

// Row is a set and its figures.
type Row struct {
	Set     string `json:"set"`
	Coarsen int    `json:"coarsen"`
	// Absent states why the set was not scored, such as recordings that are not on
	// this machine. All else is then empty.
	Absent      string             `json:"absent,omitempty"`
	Figures     Figures            `json:"figures"`
	Detail      score.Detail       `json:"detail"`
	Reliability []score.Bin        `json:"reliability"`
	Cases       []Case             `json:"cases"`
	Dropped     []string           `json:"dropped,omitempty"` // cases of the lab that physics does not allow, and why
	Faults      []score.Verdict    `json:"faults"`
	FalseAlarms []score.FalseAlarm `json:"false_alarms"`
	FalseRisks  []score.FalseAlarm `json:"false_risks"`
	Risks       *score.Group       `json:"risks"`
	Benign      *score.Group       `json:"benign"`
}

// Case is one case of a set.
type Case struct {
	Name    string        `json:"name"` // its path within the set
	Class   string        `json:"class"`
	Outcome score.Outcome `json:"outcome"`
	// Right reports whether every fault's root was named first; null without a fault.
	Right *bool `json:"right"`
}

// NewRow is the row of a set that was scored.
func NewRow(s Set, r *score.Report) Row {
	row := Row{Set: s.Name, Coarsen: s.Coarsen, Figures: figuresOf(r), Detail: r.Detail.Total.Detail, Reliability: r.Detail.Reliability,
		Cases: []Case{}, Faults: r.Detail.Faults, FalseAlarms: r.Detail.FalseAlarms, FalseRisks: r.Detail.FalseRisks, Risks: r.Detail.Risks, Benign: r.Detail.Benign}
	var dirs []string
	for i := range r.Cases {
		dirs = append(dirs, r.Cases[i].Dir)
	}
	short := names(dirs)
	right := rightCases(r.Detail.Faults)
	for i := range r.Cases {
		c := &r.Cases[i]
		row.Cases = append(row.Cases, Case{Name: short[c.Dir], Class: c.Class, Outcome: c.Outcome, Right: right[c.Dir]})
	}
	for i := range row.Faults {
		row.Faults[i].Dir = short[row.Faults[i].Dir]
	}
	for i := range row.FalseAlarms {
		row.FalseAlarms[i].Dir = short[row.FalseAlarms[i].Dir]
	}
	return row
}

// AbsentRow is the row of a set that cannot be scored here.
func AbsentRow(s Set, why string) Row { return Row{Set: s.Name, Coarsen: s.Coarsen, Absent: why} }

// rightCases reports for each case with a fault that should become an incident
// whether the root of every such fault was named first.
func rightCases(faults []score.Verdict) map[string]*bool {
	out := map[string]*bool{}
	for i := range faults {
		v := &faults[i]
		if v.Expect != score.ExpectIncident {
			continue
		}
		if out[v.Dir] == nil {
			right := true
			out[v.Dir] = &right
		}
		*out[v.Dir] = *out[v.Dir] && v.Rank == 1
	}
	return out
}

// names gives each path its name within the set: without the folder that all
// share and without the ending of a trace. Two results are compared by it,
// wherever the recordings were.
func names(paths []string) map[string]string {
	common := ""
	for i, p := range paths {
		dir := path.Dir(filepath.ToSlash(filepath.Clean(p)))
		if i == 0 {
			common = dir
		}
		for common != dir && !strings.HasPrefix(dir, strings.TrimSuffix(common, "/")+"/") && common != path.Dir(common) {
			common = path.Dir(common)
		}
	}
	out := map[string]string{}
	for _, p := range paths {
		name := filepath.ToSlash(filepath.Clean(p))
		if common != "." {
			name = strings.TrimPrefix(strings.TrimPrefix(name, common), "/")
		}
		out[p] = strings.TrimSuffix(name, ".qtrace")
	}
	return out
}

// WriteJSON writes all of the result as one JSON object.
func (r *Result) WriteJSON(w io.Writer) error { return writeJSON(w, r) }

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

// ReadResult reads what WriteJSON wrote.
func ReadResult(rd io.Reader) (Result, error) {
	var r Result
	if err := json.NewDecoder(rd).Decode(&r); err != nil {
		return Result{}, fmt.Errorf("read result: %w", err)
	}
	if len(r.Sets) == 0 {
		return Result{}, fmt.Errorf("read result: no sets: want the output of score --set … --json")
	}
	return r, nil
}

// row finds a set.
func (r *Result) row(set string) *Row {
	for i := range r.Sets {
		if r.Sets[i].Set == set {
			return &r.Sets[i]
		}
	}
	return nil
}
