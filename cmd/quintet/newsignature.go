package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/rules/scaffold"
	"github.com/quintet-dc/quintet/telemetry"
)

// newCommand writes what one begins with.
type newCommand struct {
	Signature newSignature `cmd:"" help:"Write the folder of a new fault: its signature, the metric that shows it, and scenarios that come true (quintet test rules). No Go."`
}

// newSignature writes the folder of a signature.
type newSignature struct {
	Name   string  `arg:"" help:"Its name, such as host-swapping."`
	Dir    string  `arg:"" optional:"" default:"." help:"The folder in which its folder is written; name it under signatures in the configuration."`
	Metric string  `required:"" help:"The gauge of a node that shows it; declared in the folder if the program does not declare it."`
	Usual  float64 `default:"0" help:"Its value on a host that is well."`
	Faulty float64 `required:"" help:"Its value on a host that has the fault."`
	Unit   string  `default:"1" help:"Its unit."`
	Series string  `help:"The series that it is scraped as: writes a mapping file, too."`
	Domain string  `default:"computing" enum:"software,computing,network,power,cooling" help:"The domain of the fault."`
	Like   string  `default:"slow-rank" help:"The fault that it looks like."`
}

// Run writes the files; none that exists is written over.
func (c *newSignature) Run(sh *cli.Shell) error {
	config := scaffold.Config{Name: c.Name, Metric: telemetry.MetricName(c.Metric), Unit: c.Unit, Series: c.Series, Like: c.Like, Usual: c.Usual, Faulty: c.Faulty}
	var err error
	if config.Domain, err = telemetry.ParseDomain(c.Domain); err != nil {
		return fmt.Errorf("new signature: %w", err)
	}
	all, err := config.Files()
	if err != nil {
		return fmt.Errorf("new signature: %w", err)
	}
	folder := filepath.Join(c.Dir, c.Name)
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		return fmt.Errorf("new signature: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, all[name], 0o644); err != nil {
			return err
		}
		fmt.Fprintln(sh.Out, path)
	}
	fmt.Fprintf(sh.Out, "next: quintet check rules %[1]s; quintet test rules %[1]s; docs/extending.md\n", folder)
	return nil
}
