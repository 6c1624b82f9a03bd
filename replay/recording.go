package replay

import (
	"fmt"
	"os"

	"github.com/quintet-dc/quintet/replay/bundle"
	"github.com/quintet-dc/quintet/replay/trace"
	"github.com/quintet-dc/quintet/telemetry"
)

// OpenConfig describes how a recording is opened. The zero OpenConfig is the
// default.
type OpenConfig struct {
	Catalogue   *telemetry.Catalogue // nil: telemetry.DefaultCatalogue
	Coarsen     int                  // keep every K-th sample but of a job's steps; 0 and 1 keep all
	Missing     int                  // another three tenths of the metrics are left out for each number; 0 keeps all
	SkipDamaged bool                 // of a trace: go on behind a damaged block
}

// Recording is an open trace or bundle. It is not safe for concurrent use.
type Recording struct {
	Path string
	// Warnings state what is doubtful about it, without reason to refuse it.
	Warnings []string
	// Bundle is set where the recording is a bundle.
	Bundle *bundle.Bundle
	// Trace is set where the recording is a trace.
	Trace *trace.Reader

	file   *os.File
	coarse *coarsener // nil: every sample is kept
}

// Open opens a folder as a bundle and a file as a trace.
func Open(path string, c OpenConfig) (*Recording, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open recording: %w", err)
	}
	if info.IsDir() {
		b, err := bundle.OpenWith(path, bundle.Config{Catalogue: c.Catalogue, Coarsen: c.Coarsen, Lacks: missing(path, c.Missing)})
		if err != nil {
			return nil, err
		}
		return &Recording{Path: path, Bundle: b, Warnings: b.Warnings}, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open recording: %w", err)
	}
	t, err := trace.Open(f, info.Size())
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("open recording: %s: %w", path, err)
	}
	t.SkipDamaged(c.SkipDamaged)
	rec := &Recording{Path: path, Trace: t, file: f}
	if c.Coarsen > 1 || c.Missing != 0 {
		rec.coarse = newCoarsener(c.Coarsen, missing(path, c.Missing), c.Catalogue)
	}
	return rec, nil
}

// Close closes the recording's file.
func (r *Recording) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// Each gives the records in order until fn returns an error or the recording
// ends. A trace that was cut off gives all it has and then a *trace.CutError.
func (r *Recording) Each(fn func(position uint64, record *telemetry.Record) error) error {
	if r.Bundle != nil {
		position := uint64(0)
		return r.Bundle.Records(func(record *telemetry.Record) error {
			position++
			return fn(position, record)
		})
	}
	return r.Trace.ReadAll(func(e trace.Entry) error {
		if e.Record == nil {
			return nil
		}
		if r.coarse == nil {
			return fn(e.Position, e.Record)
		}
		thinned, err := r.coarse.record(e.Record)
		if err != nil || thinned == nil {
			return err
		}
		return fn(e.Position, thinned)
	})
}

// Snapshot returns the engine's state that the recording begins with, nil where it
// has none. A bundle has none, nor does a trace that is thinned: the state is
// that of an engine that saw every sample.
func (r *Recording) Snapshot() ([]byte, error) {
	if r.Trace == nil || r.coarse != nil {
		return nil, nil
	}
	return r.Trace.Snapshot()
}

// Site names the site the recording is of, "" where it is not stated.
func (r *Recording) Site() string {
	if r.Bundle != nil {
		return r.Bundle.Site.Site
	}
	return r.Trace.Header().Site
}

// Span returns the first and the last instant that the recording refers to.
func (r *Recording) Span() (first, last telemetry.Time) {
	if r.Bundle != nil {
		return r.Bundle.Span()
	}
	in := r.Trace.Info()
	return in.First, in.Last
}
