package replay

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/replay/score"
	"github.com/quintet-dc/quintet/replay/trace"
	"github.com/quintet-dc/quintet/telemetry"
)

// description is what a judge needs of a recording in addition to the answer: its
// topology, its jobs' steps and how long it is.
type description struct {
	class      string
	edges      []telemetry.Edge
	steps      []score.Step
	start, end telemetry.Time
}

// describe reads a recording for its judge. A bundle knows all of it; a trace
// is read once through.
func describe(rec *Recording) (description, error) {
	if b := rec.Bundle; b != nil {
		d := description{class: b.Class, edges: b.Edges}
		d.start, d.end = b.Span()
		for _, s := range b.Steps() {
			d.steps = append(d.steps, score.Step{Job: s.Job, End: s.End, Seconds: s.Seconds})
		}
		return d, nil
	}
	again, err := Open(rec.Path, OpenConfig{})
	if err != nil {
		return description{}, err
	}
	defer again.Close()
	var l listener
	var cut *trace.CutError
	if err := again.Each(l.record); err != nil && !errors.As(err, &cut) {
		return description{}, fmt.Errorf("describe %s: %w", rec.Path, err)
	}
	l.start, l.end = again.Span()
	slices.SortStableFunc(l.steps, func(a, b score.Step) int { return int(a.End - b.End) })
	return l.description, nil
}

const stepSeconds = "job_step_seconds"

// listener picks edges and steps out of a log.
type listener struct {
	description
	reports telemetry.SampleReader // only of schemas that hold steps
}

func (l *listener) record(_ uint64, r *telemetry.Record) error {
	switch r.Kind {
	case telemetry.EdgeRecord:
		l.edges = append(l.edges, *r.Edge)
	case telemetry.SchemaRecord:
		if slices.ContainsFunc(r.Schema.Columns, func(c telemetry.Column) bool { return c.Metric == stepSeconds }) {
			l.reports.Learn(r.Schema)
		}
	case telemetry.FrameRecord:
		return l.handle(r.Frame)
	}
	return nil
}

// handle takes the steps of a frame, if it has any.
func (l *listener) handle(b telemetry.EncodedFrame) error {
	samples, err := l.reports.Read(b)
	if errors.Is(err, telemetry.ErrUnstated) {
		return nil
	}
	if err != nil {
		return err
	}
	for x := range samples {
		if x.Series.Metric == stepSeconds && x.State == telemetry.Present {
			l.steps = append(l.steps, score.Step{Job: x.Series.Entity, End: x.At, Seconds: x.Float()})
		}
	}
	return nil
}

// truthFile is where the truth about a recording is: inside a bundle, and
// next to a trace under its name with .truth.json for its ending.
func truthFile(rec *Recording) string {
	if rec.Bundle != nil {
		return filepath.Join(rec.Path, TruthFile)
	}
	return strings.TrimSuffix(rec.Path, filepath.Ext(rec.Path)) + "." + TruthFile
}
