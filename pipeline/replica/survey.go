package replica

import (
	"cmp"
	"context"
	"slices"

	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/engine/grants"
	"github.com/quintet-dc/quintet/pipeline/survey"
	"github.com/quintet-dc/quintet/telemetry"
)

// maxGroups bounds how many names of planes, rails and groups a survey looks at.
const maxGroups = 1000

// SurveyQuestion asks what the site shows and hides. Receivers is how many
// receivers are notified of incidents, if the asking side knows; else it is
// negative.
type SurveyQuestion struct {
	Receivers int `json:"receivers"`
}

// survey answers AskSurvey.
func (a *answers) survey(ctx context.Context, req []byte) (any, error) {
	q := SurveyQuestion{Receivers: -1}
	if err := decode(req, &q); err != nil {
		return nil, err
	}
	var f survey.Facts
	var processes []grants.ProcessState
	err := a.do(ctx, func(o *owner) {
		processes = o.runner.Processes()
		f = o.census.Facts(o.runner.Tick())
		f.Kinds, f.Groups = kindsAndGroups(o)
		for _, s := range o.runner.Sources() {
			if !s.Stale {
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
	r.Requirements = append(r.Requirements, access(processes)...)
	return r, nil
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
