package main

import (
	"fmt"
	"os"
	"time"

	"github.com/quintet-dc/quintet/collectors/receive"
	"github.com/quintet-dc/quintet/pipeline/config"
	"github.com/quintet-dc/quintet/rules/promlint"
	"github.com/quintet-dc/quintet/telemetry"
)

// checkConfig checks configuration files (design A9).
type checkConfig struct {
	Files []string `arg:"" help:"Configuration files."`
}

// Run checks every file.
func (c *checkConfig) Run(sh *shell) error {
	v := &verdict{sh: sh}
	for _, path := range c.Files {
		file, problems := config.Read(path)
		if file != nil {
			_, faults := collectorSpecs(file)
			problems = append(problems, faults...)
		}
		for _, p := range problems {
			v.problem(p)
		}
		if file != nil {
			v.named(file)
		}
	}
	return v.end()
}

// named says what is wrong with the files that a configuration names.
func (v *verdict) named(file *config.File) {
	for _, n := range file.Named {
		at := config.Problem{Path: file.Path, Line: n.Line, Column: n.Column}
		_, err := os.Stat(n.Path)
		switch {
		case err == nil && n.Use == config.ForRules:
			v.ruleFile(at, n.Path)
		case err == nil && n.Use == config.ForTopology:
			if _, err := receive.ReadFile(n.Path, telemetry.Time(time.Now().UnixNano())); err != nil {
				at.Text = err.Error()
				v.problem(at)
			}
		case err != nil:
			at.Text, at.Doubt = err.Error(), n.Use == config.ForTopology // which is read once it is there
			v.problem(at)
		}
	}
}

// ruleFile checks one file of Prometheus rules.
func (v *verdict) ruleFile(at config.Problem, path string) {
	text, err := os.ReadFile(path)
	if err != nil {
		at.Text = err.Error()
		v.problem(at)
		return
	}
	v.problems(promlint.Rules(promlint.Standard(), promlint.File{Name: path, Text: text}))
}

// problem prints one thing said against a file.
func (v *verdict) problem(p config.Problem) {
	if p.Doubt {
		v.doubts++
	} else {
		v.wrong++
	}
	fmt.Fprintln(v.sh.out, p)
}
