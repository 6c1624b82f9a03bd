package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/replay/bundle"
)

// importCommand turns other data into a trace.
type importCommand struct {
	CSV        importCSVCommand        `cmd:"" name:"csv" help:"Turn a bundle, a folder of plain files, into a trace."`
	Prometheus importPrometheusCommand `cmd:"" help:"Turn what a Prometheus server holds of an interval into a trace."`
}

// importCSVCommand turns a labelled bundle (design A6) into a trace.
type importCSVCommand struct {
	Dir     string `arg:"" help:"Folder with samples.csv or samples.csv.gz, topology.json and, if there are, events.csv and bundle.json."`
	Output  string `short:"o" required:"" placeholder:"FILE" help:"The trace to write."`
	Coarsen int    `default:"1" placeholder:"K" help:"Keep every K-th sample of each series; steps are kept whole."`
	Force   bool   `help:"Replace FILE if it is there."`
}

// Validate returns an error if the flags are invalid.
func (c *importCSVCommand) Validate() error {
	if err := folder(c.Dir); err != nil {
		return fmt.Errorf("<dir>: %w", err)
	}
	if c.Coarsen < 1 {
		return fmt.Errorf("--coarsen: %d: want 1 or more", c.Coarsen)
	}
	return nil
}

// Run writes the trace beside its place and moves it there when it is whole.
func (c *importCSVCommand) Run(sh *cli.Shell) error {
	if err := unclaimed(c.Output, c.Force); err != nil {
		return fmt.Errorf("import: %w", err)
	}
	b, err := bundle.OpenWith(c.Dir, bundle.Config{Coarsen: c.Coarsen})
	if err != nil {
		return err
	}
	sh.Doubts(b.Warnings)
	if err := writeWhole(c.Output, func(w *bufio.Writer) error { return b.WriteTrace(w, program()) }); err != nil {
		return fmt.Errorf("import: %w", err)
	}
	_, err = fmt.Fprintf(sh.Out, "%s: %d samples, %d events, %d edges; no history before this time\n", c.Output, b.Samples(), len(b.Events), len(b.Edges))
	return err
}

// unclaimed refuses a place where a file is, unless it may be replaced.
func unclaimed(path string, force bool) error {
	if _, err := os.Stat(path); err == nil && !force {
		return fmt.Errorf("%s is there already: give --force to replace it", path)
	}
	return nil
}

// writeWhole writes a file so that it is there whole or not at all.
func writeWhole(path string, fill func(*bufio.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	err = fill(w)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// folder returns an error if a path is not a folder.
func folder(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s: not a folder", path)
	}
	return err
}
