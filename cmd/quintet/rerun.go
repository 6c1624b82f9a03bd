package main

import (
	"context"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/pipeline/assist"
	"github.com/quintet-dc/quintet/replay"
	"github.com/quintet-dc/quintet/rules"
)

// rerun runs the engine over a trace, as quintet replay does, for an assistant
// that asks the service whether it would answer so again.
func rerun(set rules.Set) func(ctx context.Context, path string) (*assist.Replayed, error) {
	return func(ctx context.Context, path string) (*assist.Replayed, error) {
		rec, err := replay.Open(path, replay.OpenConfig{})
		if err != nil {
			return nil, err
		}
		defer rec.Close()
		c := engineOf(set, 1)
		got, err := replay.Run(ctx, rec, replay.RunConfig{Engine: c})
		if err != nil {
			return nil, err
		}
		refused := slices.ContainsFunc(got.Warnings, func(w string) bool { return strings.HasPrefix(w, "no history before this time") })
		return &assist.Replayed{Incidents: got.Incidents, From: got.First, To: got.Last, Warm: !rec.Trace.Info().Cold && !refused,
			Engine: correlate.Version, Rules: set.Digest, Warnings: append(rec.Warnings, got.Warnings...)}, nil
	}
}
