package replica

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/engine/grants"
	"github.com/quintet-dc/quintet/pipeline/survey"
	"github.com/quintet-dc/quintet/telemetry"
)

// maxGroups bounds how many names of planes, rails and groups a survey looks at.
const maxGroups = 1000

// SurveyQuestion asks what the site shows and hides. Receivers is how many are
// told of incidents, where the asker knows; else it is negative.
type SurveyQuestion struct {
	Receivers int `json:"receivers"`
}

// survey answers AskSurvey.
func (a *answers) survey(ctx context.Context, req []byte) (any, error) {
	q := SurveyQuestion{Receivers: -1}
	if len(req) > 0 {
		if err := json.Unmarshal(req, &q); err != nil {
			return nil, fmt.Errorf("question: %w", err)
		}
	}
	var f survey.Facts
	var processes []grants.Standing
	err := a.do(ctx, func(o *owner) {
		processes = o.runner.Standings()
		f = o.census.Facts(o.runner.Tick())
		f.Kinds, f.Groups = kindsAndGroups(o)
		for _, s := range o.runner.Sources() {
			if !s.Silent {
				f.Delay = max(f.Delay, s.Offset)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	f.Receivers = q.Receivers
	c := a.cfg.Engine.Correlate
	r := survey.Make(f, cmp.Or(c.Catalogue, telemetry.DefaultCatalogue()), c.Signatures)
	if row, ok := granted(processes); ok {
		r.Requirements = append(r.Requirements, row)
	}
	return r, nil
}

// maxNamed bounds the processes that one row of the survey names.
const maxNamed = 20

// granted returns the row of the survey that says whether processes state only what
// they may; false where nothing is granted.
func granted(processes []grants.Standing) (row survey.Requirement, ok bool) {
	row = survey.Requirement{ID: "grants", Area: "access", What: "Processes state only what they were enrolled for", State: survey.Met, By: []string{}}
	limited, free := 0, 0
	var refused []string
	for _, p := range processes {
		switch {
		case p.Grant != nil:
			limited++
		default:
			free++
		}
		var of []string
		for _, why := range slices.Sorted(maps.Keys(p.Refused)) {
			of = append(of, fmt.Sprintf("%d of %s", p.Refused[why], why))
		}
		if len(of) > 0 {
			refused = append(refused, cmp.Or(p.Process, "the site")+": "+strings.Join(of, ", "))
		}
	}
	if limited == 0 {
		return row, false
	}
	row.By = append(row.By, fmt.Sprintf("%d processes with a grant, %d without", limited, free))
	if len(refused) > 0 {
		row.State = survey.Partly
		more := ""
		if n := len(refused) - maxNamed; n > 0 {
			refused, more = refused[:maxNamed], fmt.Sprintf("; and %d more processes", n)
		}
		row.Do = "records refused: " + strings.Join(refused, "; ") + more + ". Enrol a process again with what it lacks, or find out who uses its credentials."
	}
	return row, true
}

func kindsAndGroups(o *owner) (map[telemetry.Kind]int, []string) {
	kinds, groups := map[telemetry.Kind]int{}, []string{}
	for _, k := range o.runner.Topology(correlate.TopologyQuery{Limit: 1}).Kinds {
		kinds[k.Kind] = k.Count
	}
	for _, kind := range []telemetry.Kind{telemetry.Group, telemetry.Plane, telemetry.Rail} {
		for _, x := range o.runner.Topology(correlate.TopologyQuery{Kind: kind, Limit: maxGroups}).Listed {
			groups = append(groups, x.Entity.Name)
		}
	}
	slices.Sort(groups)
	return kinds, groups
}
