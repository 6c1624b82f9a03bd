package replay

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/replay/score"
	"github.com/quintet-dc/quintet/telemetry"
)

// TruthFile is the name of a bundle's truth (docs/format-bundle.md).
const TruthFile = "truth.json"

// Judged describes how bundles are replayed to be judged.
type Judged struct {
	Engine  engine.Config
	Coarsen int // keep every K-th sample
	Missing int // leave out three tenths of the metrics, other ones for each number; 0 keeps all
	// Warn, if set, is called with each doubtful detail of a bundle, possibly from
	// several goroutines.
	Warn func(dir, what string)
	// Reduce, if any, takes knowledge away from the engine, given the truth of the
	// recording. It is for ablations and may be called from several goroutines.
	Reduce func(e engine.Config, t score.Truth) engine.Config
	// Hide, if any, states which records the engine does not get.
	Hide func(r *telemetry.Record) bool
}

// Case replays one bundle or trace and returns it with its truth, as
// score.Options wants it.
func (j Judged) Case(ctx context.Context, path string) (score.Case, error) {
	rec, err := Open(path, OpenConfig{Catalogue: j.Engine.Correlate.Catalogue, Coarsen: j.Coarsen, Missing: j.Missing})
	if err != nil {
		return score.Case{}, err
	}
	defer rec.Close()
	truth, err := ReadTruth(rec)
	if err != nil {
		return score.Case{}, err
	}
	d, err := describe(rec)
	if err != nil {
		return score.Case{}, err
	}
	c := RunConfig{Engine: j.Engine, Hide: j.Hide}
	if j.Reduce != nil {
		c.Engine = j.Reduce(j.Engine, truth)
	}
	result, err := Run(ctx, rec, c)
	if err != nil {
		return score.Case{}, err
	}
	if j.Warn != nil {
		for _, w := range append(rec.Warnings, result.Warnings...) {
			j.Warn(path, w)
		}
	}
	return score.Case{Dir: path, Class: d.class, Truth: truth, Incidents: result.Incidents, Published: result.Published, Affected: result.Affected,
		Edges: d.edges, Steps: d.steps, Start: d.start, End: d.end}, nil
}

// ReadTruth reads the truth about a recording, without which nothing can be
// judged.
func ReadTruth(rec *Recording) (score.Truth, error) {
	file := truthFile(rec)
	b, err := os.ReadFile(file)
	if err != nil {
		return score.Truth{}, fmt.Errorf("read truth: %w", err)
	}
	t, err := score.ParseTruth(b)
	if err != nil {
		return score.Truth{}, fmt.Errorf("%s: %w", filepath.Base(file), err)
	}
	return t, nil
}
