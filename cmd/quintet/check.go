package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/replay"
	"github.com/quintet-dc/quintet/replay/bundle"
	"github.com/quintet-dc/quintet/replay/score"
	"github.com/quintet-dc/quintet/replay/trace"
	"github.com/quintet-dc/quintet/rules"
)

// checkCommand checks files and reports their errors.
type checkCommand struct {
	Config checkConfig `cmd:"" help:"Check configuration files."`
	Rules  checkRules  `cmd:"" help:"Check signatures, Prometheus rules and Grafana dashboards: files, or all of them below DIR."`
	Trace  checkTrace  `cmd:"" help:"Read traces to their end."`
	Bundle checkBundle `cmd:"" help:"Read labelled bundles, with their truth."`
	Data   checkData   `cmd:"" help:"Read the data of a stopped site, and list what is damaged: log, snapshots, incidents, evidence."`
}

// verdict collects the problems of several files.
type verdict struct {
	sh            *cli.Shell
	wrong, doubts int
}

func (v *verdict) fail(err error) {
	v.wrong++
	fmt.Fprintln(v.sh.Out, err)
}

func (v *verdict) doubt(format string, args ...any) {
	v.doubts++
	fmt.Fprintf(v.sh.Out, "warning: "+format+"\n", args...)
}

// end returns the exit code in the form of an error.
func (v *verdict) end() error {
	switch {
	case v.wrong > 0:
		return cli.Exit(cli.Wrong)
	case v.doubts > 0:
		return cli.Exit(cli.Doubted)
	}
	return nil
}

// checkRules checks signatures, Prometheus rules and dashboards.
type checkRules struct {
	Paths []string `arg:"" optional:"" help:"Folders or files: signatures, Prometheus rules (.yml), Grafana dashboards (.json). Default: rules/signatures of the working directory, else the built-in signatures and rules."`
}

// Run checks every root by itself.
func (c *checkRules) Run(sh *cli.Shell) error {
	v := &verdict{sh: sh}
	paths := orOwn(c.Paths)
	if len(paths) == 0 {
		own, err := ownPrometheus()
		if err != nil {
			return err
		}
		v.problems(rules.Check(rules.Files()))
		v.prometheus(knowledge{rules: own})
	}
	var all knowledge
	for _, path := range paths {
		k, err := look(path)
		if err != nil {
			v.fail(err)
			continue
		}
		if k.signatures || k.nothing() {
			v.signatures(path)
		}
		all.rules, all.dashboards = append(all.rules, k.rules...), append(all.dashboards, k.dashboards...)
	}
	v.prometheus(all)
	return v.end()
}

// signatures prints all problems of the signatures of a folder, or of the one that
// contains a file.
func (v *verdict) signatures(path string) {
	root, err := rules.Dir(path)
	if err != nil {
		v.fail(err)
		return
	}
	v.problems(rules.Check(root))
}

// checkTrace reads traces.
type checkTrace struct {
	Files []string `arg:"" help:"Traces."`
}

// Run reads every record of every file.
func (c *checkTrace) Run(sh *cli.Shell) error {
	v := &verdict{sh: sh}
	for _, path := range c.Files {
		if err := v.trace(path); err != nil {
			v.fail(fmt.Errorf("%s: %w", path, err))
		}
	}
	return v.end()
}

func (v *verdict) trace(path string) error {
	rec, err := replay.Open(path, replay.OpenConfig{SkipDamaged: true})
	if err != nil {
		return err
	}
	defer rec.Close()
	if rec.Trace == nil {
		return errors.New("a folder, not a trace: want check bundle")
	}
	if _, err := rec.Snapshot(); err != nil {
		return err
	}
	records := uint64(0)
	err = rec.Trace.ReadAll(func(trace.Entry) error { records++; return v.sh.Ctx.Err() })
	in := rec.Trace.Info()
	for _, d := range in.Damaged {
		v.fail(fmt.Errorf("%s: %w", path, d))
	}
	var cut *trace.CutError
	switch {
	case errors.As(err, &cut):
		v.doubt("%s: %v", path, cut)
	case err != nil:
		return err
	}
	begins := "no history before this time"
	if !in.Cold {
		begins = fmt.Sprintf("begins with a snapshot of %d bytes", in.Snapshot)
	}
	fmt.Fprintf(v.sh.Out, "%s: %d records in %d blocks, %d bytes, %v to %v, %s\n", path, records, in.Blocks, in.Stored, in.First, in.Last, begins)
	return nil
}

// checkBundle reads bundles.
type checkBundle struct {
	Dirs []string `arg:"" name:"dir" help:"Folders of bundles."`
}

// Run reads every bundle whole, and its truth where it has one.
func (c *checkBundle) Run(sh *cli.Shell) error {
	v := &verdict{sh: sh}
	for _, dir := range c.Dirs {
		b, err := bundle.Open(dir)
		if err != nil {
			v.fail(err)
			continue
		}
		for _, w := range b.Warnings {
			v.doubt("%s: %s", dir, w)
		}
		truth, err := replay.ReadTruth(&replay.Recording{Path: dir, Bundle: b})
		switch {
		case errors.Is(err, os.ErrNotExist):
			v.doubt("%s: no %s: it can be replayed but not judged", dir, replay.TruthFile)
		case err != nil:
			v.fail(fmt.Errorf("%s: %w", dir, err))
		default:
			v.truth(dir, truth, b)
		}
		first, last := b.Span()
		fmt.Fprintf(sh.Out, "%s: %d samples, %d events, %d edges, %v to %v\n", dir, b.Samples(), len(b.Events), len(b.Edges), first, last)
	}
	return v.end()
}

// truth doubts labels that do not fit their recording.
func (v *verdict) truth(dir string, t score.Truth, b *bundle.Bundle) {
	_, last := b.Span()
	for i := range t.Faults {
		if f := &t.Faults[i]; f.Onset > last {
			v.doubt("%s: %s: faults[%d].onset_ns: behind the last record", dir, replay.TruthFile, i)
		}
	}
}
