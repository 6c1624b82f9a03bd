package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/quintet-dc/quintet/collectors/receive"
	"github.com/quintet-dc/quintet/pipeline"
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
			for _, err := range pipeline.Check(file, pipeline.AllRoles(), nil) {
				v.fail(fmt.Errorf("%s: %w", path, err))
			}
		}
	}
	return v.end()
}

// named says what is wrong with the files that a configuration names.
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
		}
		if err != nil { // topology is read once it is there
			v.problem(config.Problem{Path: file.Path, Line: n.Line, Column: n.Column, Text: err.Error(), Doubt: n.Use == config.ForTopology && errors.Is(err, fs.ErrNotExist)})
		}
	}
	v.prometheus(all)
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
