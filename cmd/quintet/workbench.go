//go:build !service

package main

import (
	"fmt"
	"os"

	"github.com/quintet-dc/quintet/correlate"
)

// workbench is what is no part of a service: the simulated site, and what judges,
// fits and exports recordings. The program quintet-lab has it, and a quintet
// built with the tag service runs quintet-lab for it (workbench_service.go).
type workbench struct {
	Demo   demoCommand   `cmd:"" help:"Everything in one process, with a simulated site."`
	Lab    labCommand    `cmd:"" help:"A run of the simulated site, with or without a fault, into a trace."`
	Score  scoreCommand  `cmd:"" help:"Replay labelled bundles and print how often the answer was right."`
	Learn  learnCommand  `cmd:"" help:"Move the priors of signatures towards what incidents with a verdict were."`
	Export exportCommand `cmd:"" help:"Write a recording as Parquet, for other programs."`
}

// prelude refuses to work for a quintet of another version: its user would take a
// score of this engine for one of that.
func prelude() error {
	caller, ok := os.LookupEnv(labVersion)
	if !ok {
		return nil
	}
	if caller != correlate.Version {
		return fmt.Errorf("quintet-lab: version %s, but quintet is %s: install both of one release", correlate.Version, caller)
	}
	return os.Unsetenv(labVersion)
}
