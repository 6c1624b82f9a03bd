package engine

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/explain"
)

// keep returns a copy of in that shares nothing which the engine may write
// again after its next step.
func keep(in explain.Incident) explain.Incident {
	in.Resolved, in.Resolution, in.Verdict = copied(in.Resolved), copied(in.Resolution), copied(in.Verdict)
	in.MergedInto, in.SplitFrom = copied(in.MergedInto), copied(in.SplitFrom)
	in.Alternatives, in.Contributors = slices.Clone(in.Alternatives), slices.Clone(in.Contributors)
	in.Chain, in.RuledOut = slices.Clone(in.Chain), slices.Clone(in.RuledOut)
	in.BlindSpots, in.Actions = slices.Clone(in.BlindSpots), slices.Clone(in.Actions)
	in.Impact.Entities = slices.Clone(in.Impact.Entities)
	in.Impact.Jobs = slices.Clone(in.Impact.Jobs)
	for i := range in.Impact.Jobs {
		j := &in.Impact.Jobs[i]
		j.Before, j.Now, j.Expected, j.Slowdown = copied(j.Before), copied(j.Now), copied(j.Expected), copied(j.Slowdown)
		j.MFUBefore, j.MFUNow = copied(j.MFUBefore), copied(j.MFUNow)
	}
	return in
}

func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
