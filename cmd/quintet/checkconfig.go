package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/cmd/collect"
	"github.com/quintet-dc/quintet/collectors/receive"
	"github.com/quintet-dc/quintet/pipeline"
	"github.com/quintet-dc/quintet/pipeline/config"
	"github.com/quintet-dc/quintet/rules"
	"github.com/quintet-dc/quintet/rules/promlint"
	"github.com/quintet-dc/quintet/telemetry"
)

// checkConfig checks configuration files.
type checkConfig struct {
	Files []string `arg:"" help:"Configuration files."`
}

// Run checks every file.
func (c *checkConfig) Run(sh *cli.Shell) error {
	v := &verdict{sh: sh}
	for _, path := range c.Files {
		file, problems := config.Read(path)
		if file != nil {
			_, faults := collect.Specs(file)
			problems = append(problems, faults...)
		}
		for _, p := range problems {
			v.problem(p)
		}
		if file != nil {
			v.named(file)
			for _, err := range refusals(file) {
				v.fail(fmt.Errorf("%s: %w", path, err))
			}
		}
	}
	return v.end()
}

// refusals returns everything beyond its text for which serve would refuse a
// configuration.
func refusals(file *config.File) []error {
	out := pipeline.Check(file, pipeline.AllRoles(), nil)
	roots, err := signatureRoots(file.Signatures)
	if err == nil {
		_, err = signatures(roots)
	}
	if err != nil {
		out = append(out, err)
	}
	if _, err := collect.ProcessName(file); err != nil && !slices.ContainsFunc(out, func(e error) bool { return errors.Is(e, fs.ErrNotExist) && errors.Is(err, fs.ErrNotExist) }) {
		out = append(out, err)
	}
	return out
}

// named checks the files that a configuration names.
func (v *verdict) named(file *config.File) {
	var all knowledge
	for _, n := range file.Named {
		var err error
		switch n.Use {
		case config.ForRules:
			f := promlint.File{Name: n.Path}
			f.Text, err = os.ReadFile(n.Path)
			if err == nil {
				all.rules = append(all.rules, f)
			}
		case config.ForTopology:
			_, err = receive.ReadFile(n.Path, telemetry.Time(time.Now().UnixNano()))
		case config.ForSignatures:
			err = v.namedSignatures(file, n)
		}
		if err != nil { // topology is read once it is there
			v.problem(config.Problem{Path: file.Path, Line: n.Line, Column: n.Column, Text: err.Error(), Doubt: n.Use == config.ForTopology && errors.Is(err, fs.ErrNotExist)})
		}
	}
	v.prometheus(all)
}

// namedSignatures checks a folder of signatures that a configuration names.
func (v *verdict) namedSignatures(file *config.File, n config.Named) error {
	root, err := rules.Dir(n.Path)
	if err != nil {
		return fmt.Errorf("signatures: %w", err)
	}
	for _, p := range rules.Check(root) {
		v.problem(config.Problem{Path: file.Path, Line: n.Line, Column: n.Column, Text: fmt.Sprintf("signatures: %v", p), Doubt: p.Severity == rules.Warning})
	}
	return nil
}

// problem prints one problem of a file.
func (v *verdict) problem(p config.Problem) {
	if p.Doubt {
		v.doubts++
	} else {
		v.wrong++
	}
	fmt.Fprintln(v.sh.Out, p)
}
