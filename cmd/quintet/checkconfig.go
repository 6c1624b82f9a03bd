package main

import (
	"fmt"

	"github.com/quintet-dc/quintet/pipeline/config"
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
	}
	return v.end()
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
