//go:build !service

package main

import (
	"slices"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/replay"
	"github.com/quintet-dc/quintet/rules"
	"github.com/quintet-dc/quintet/rules/fitting"
	"github.com/quintet-dc/quintet/rules/scenario"
	"github.com/quintet-dc/quintet/telemetry"
)

// scenarioWeight is the weight of a scenario, relative to 1 for a recording: it was
// written to distinguish look-alikes.
const scenarioWeight = 2

// studyScenarios labels what is judged in the scenarios of our signatures by what
// they want: near misses of which recordings hold few.
func studyScenarios(sh *cli.Shell, c replay.RunConfig, sigs []explain.Signature) ([]fitted, error) {
	files, err := scenario.Files(rules.Files())
	if err != nil {
		return nil, err
	}
	out := make([]fitted, len(files))
	for i, f := range files {
		var js []explain.Judgement
		c.Judged = func(j explain.Judgement) { js = append(js, j) }
		if _, err := replay.RunRecords(sh.Ctx, f.Scenario.Records(), c); err != nil {
			return nil, err
		}
		out[i].path = f.Path
		for k := range js {
			x := fitting.NewExample(sigs, &js[k], wantedOf(f.Scenario.Wants, js[k].Job))
			x.Weight = scenarioWeight / float64(len(js))
			out[i].examples = append(out[i].examples, x)
		}
	}
	return out, nil
}

// wantedOf labels the answers of a job's degradation that fit what a scenario
// expects.
func wantedOf(wants []scenario.Want, job telemetry.Entity) fitting.Label {
	i := slices.IndexFunc(wants, func(w scenario.Want) bool {
		return !w.No && w.What == explain.KindIncident && w.Affects(job)
	})
	if i < 0 || slices.Equal(wants[i].Signatures, []string{explain.Unknown}) {
		return fitting.Label{Nothing: true}
	}
	w := &wants[i]
	return fitting.Label{
		Entity: func(e telemetry.Entity) bool {
			return slices.ContainsFunc(append(w.Signatures, ""), func(s string) bool { return w.Fits(e, s) })
		},
		Signature: func(s string) bool { return len(w.Signatures) == 0 || slices.Contains(w.Signatures, s) },
	}
}
