package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/quintet-dc/quintet/replay"
	"github.com/quintet-dc/quintet/replay/bundle"
	"github.com/quintet-dc/quintet/replay/score"
	"github.com/quintet-dc/quintet/replay/trace"
	"github.com/quintet-dc/quintet/rules"
)

// checkCommand says what is wrong with files.
type checkCommand struct {
	Config checkConfig `cmd:"" help:"Check configuration files."`
	Rules  checkRules  `cmd:"" help:"Check signatures: every folder below DIR, or one signature.yaml."`
	Trace  checkTrace  `cmd:"" help:"Read traces to their end."`
	Bundle checkBundle `cmd:"" help:"Read labelled bundles, with their truth."`
}

// verdict gathers what was said about several files.
type verdict struct {
	sh            *shell
	wrong, doubts int
}

func (v *verdict) fail(err error) {
	v.wrong++
	fmt.Fprintln(v.sh.out, err)
}

func (v *verdict) doubt(format string, args ...any) {
	v.doubts++
	fmt.Fprintf(v.sh.out, "warning: "+format+"\n", args...)
}

// end returns the exit code in the form of an error.
func (v *verdict) end() error {
	switch {
	case v.wrong > 0:
		return exit(exitWrong)
	case v.doubts > 0:
		return exit(exitDoubted)
	}
	return nil
}

// checkRules checks signature files.
type checkRules struct {
	Paths []string `arg:"" optional:"" help:"Folders of signatures, or files. Without any, rules/signatures of the working directory, else ours."`
}

// Run checks every root by itself.
func (c *checkRules) Run(sh *shell) error {
	v := &verdict{sh: sh}
	paths := orOwn(c.Paths)
	if len(paths) == 0 {
		v.rules(rules.Files())
	}
	for _, path := range paths {
		root, err := rules.Dir(path)
		if err != nil {
			v.fail(err)
			continue
		}
		v.rules(root)
	}
	return v.end()
}

// rules prints everything that can be said against the signatures of a folder.
func (v *verdict) rules(root fs.FS) {
	for _, p := range rules.Check(root) {
		if p.Severity == rules.Warning {
			v.doubts++
		} else {
			v.wrong++
		}
		fmt.Fprintln(v.sh.out, p)
	}
}

// checkTrace reads traces.
type checkTrace struct {
	Files []string `arg:"" help:"Traces."`
}

// Run reads every record of every file.
func (c *checkTrace) Run(sh *shell) error {
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
	err = rec.Trace.ReadAll(func(trace.Entry) error { records++; return v.sh.ctx.Err() })
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
	begins := "begins cold"
	if !in.Cold {
		begins = fmt.Sprintf("begins with a snapshot of %d bytes", in.Snapshot)
	}
	fmt.Fprintf(v.sh.out, "%s: %d records in %d blocks, %d bytes, %v to %v, %s\n", path, records, in.Blocks, in.Stored, in.First, in.Last, begins)
	return nil
}

// checkBundle reads bundles.
type checkBundle struct {
	Dirs []string `arg:"" name:"dir" help:"Folders of bundles."`
}

// Run reads every bundle whole, and its truth where it has one.
func (c *checkBundle) Run(sh *shell) error {
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
		fmt.Fprintf(sh.out, "%s: %d samples, %d events, %d edges, %v to %v\n", dir, b.Samples(), len(b.Events), len(b.Edges), first, last)
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
