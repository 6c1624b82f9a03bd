//go:build !service

package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/replay"
	"github.com/quintet-dc/quintet/replay/export"
	"github.com/quintet-dc/quintet/replay/trace"
	"github.com/quintet-dc/quintet/telemetry"
)

// exportCommand writes a recording as Parquet.
type exportCommand struct {
	Recording   string `arg:"" help:"A trace, or the folder of a bundle."`
	Output      string `short:"o" placeholder:"DIR" help:"The folder for samples.parquet, events.parquet and edges.parquet; made if it is not there. The recording's name and -parquet, in this folder, if not given."`
	Force       bool   `help:"Replace the files if they are there."`
	SkipDamaged bool   `help:"Go on behind damaged blocks of a trace."`
}

// The files of an export.
var exported = [...]string{"samples.parquet", "events.parquet", "edges.parquet"}

// Run writes the three files next to their places and moves them there when all
// are whole. What could be read of a recording that was cut off is written, and
// the cut is an error.
func (c *exportCommand) Run(sh *cli.Shell) error {
	rec, err := replay.Open(c.Recording, replay.OpenConfig{SkipDamaged: c.SkipDamaged})
	if err != nil {
		return err
	}
	defer rec.Close()
	sh.Doubts(rec.Warnings)
	dir, err := c.folder()
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	var counts export.Counts
	var cut *trace.CutError
	err = c.files(dir, func(f export.Files) (err error) {
		counts, cut, err = c.tables(sh, rec, f)
		return err
	})
	if err != nil {
		return fmt.Errorf("export: %s: %w", c.Recording, err)
	}
	if counts.Unread > 0 {
		sh.Warn("%d frames are left out: schema not found", counts.Unread)
	}
	fmt.Fprintf(sh.Out, "%s: %d samples, %d events, %d edges\n", dir, counts.Samples, counts.Events, counts.Edges)
	if cut != nil {
		return fmt.Errorf("export: %s: %w", c.Recording, cut)
	}
	return nil
}

// folder is where the files go, there and free for them.
func (c *exportCommand) folder() (string, error) {
	dir := c.Output
	if dir == "" {
		dir = strings.TrimSuffix(filepath.Base(c.Recording), ".qtrace") + "-parquet"
	}
	for _, name := range exported {
		if err := unclaimed(filepath.Join(dir, name), c.Force); err != nil {
			return "", err
		}
	}
	return dir, os.MkdirAll(dir, 0o755)
}

// files opens the three and has them filled.
func (c *exportCommand) files(dir string, fill func(export.Files) error) error {
	in := func(k int, fill func(*bufio.Writer) error) error {
		return writeWhole(filepath.Join(dir, exported[k]), fill)
	}
	return in(0, func(samples *bufio.Writer) error {
		return in(1, func(events *bufio.Writer) error {
			return in(2, func(edges *bufio.Writer) error {
				return fill(export.Files{Samples: samples, Events: events, Edges: edges})
			})
		})
	})
}

// tables writes every record, as far as the recording goes.
func (c *exportCommand) tables(sh *cli.Shell, rec *replay.Recording, f export.Files) (n export.Counts, cut *trace.CutError, err error) {
	x := export.New(f, "quintet", correlate.Version)
	line := newProgress(sh.Err, "exporting")
	defer line.done()
	first, last := rec.Span()
	err = rec.Each(func(_ uint64, r *telemetry.Record) error {
		if err := sh.Ctx.Err(); err != nil {
			return err
		}
		if r.Kind == telemetry.TickRecord {
			line.at(float64(r.Tick.At-first)/float64(max(last-first, 1)), r.Tick.At.Clock())
		}
		return x.Add(r)
	})
	if err != nil && !errors.As(err, &cut) {
		return n, nil, err
	}
	n, err = x.Close()
	return n, cut, err
}
