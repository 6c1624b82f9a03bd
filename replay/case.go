package replay

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/replay/score"
)

// TruthFile is the name of a bundle's truth (design A6).
const TruthFile = "truth.json"

// Judged says how bundles are replayed to be judged.
type Judged struct {
	Engine  engine.Config
	Coarsen int // keep every K-th sample
	// Warn, if any, is told what is doubtful about a bundle. It may be called
	// from several goroutines.
	Warn func(dir, what string)
}

// Case replays one bundle and returns it with its truth, as score.Options
// wants it.
func (j Judged) Case(ctx context.Context, dir string) (score.Case, error) {
	rec, err := Open(dir, OpenConfig{Catalogue: j.Engine.Correlate.Catalogue, Coarsen: j.Coarsen})
	if err != nil {
		return score.Case{}, err
	}
	defer rec.Close()
	if rec.Bundle == nil {
		return score.Case{}, fmt.Errorf("%s: a trace has no truth to be judged by: want a bundle", dir)
	}
	truth, err := ReadTruth(dir)
	if err != nil {
		return score.Case{}, err
	}
	result, err := Run(ctx, rec, RunConfig{Engine: j.Engine})
	if err != nil {
		return score.Case{}, err
	}
	c := score.Case{Dir: dir, Class: rec.Bundle.Class, Truth: truth, Incidents: result.Incidents, Published: result.Published, Edges: rec.Bundle.Edges}
	c.Start, c.End = rec.Bundle.Span()
	for _, s := range rec.Bundle.Steps() {
		c.Steps = append(c.Steps, score.Step{Job: s.Job, End: s.End, Seconds: s.Seconds})
	}
	if j.Warn != nil {
		for _, w := range rec.Warnings {
			j.Warn(dir, w)
		}
	}
	return c, nil
}

// ReadTruth reads a bundle's truth, without which nothing can be judged.
func ReadTruth(dir string) (score.Truth, error) {
	b, err := os.ReadFile(filepath.Join(dir, TruthFile))
	if err != nil {
		return score.Truth{}, fmt.Errorf("read truth: %w", err)
	}
	t, err := score.ParseTruth(b)
	if err != nil {
		return score.Truth{}, fmt.Errorf("%s: %w", TruthFile, err)
	}
	return t, nil
}
