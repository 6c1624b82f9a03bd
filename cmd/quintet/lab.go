//go:build !service

package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/lab/cases"
	"github.com/quintet-dc/quintet/telemetry"
)

// labCommand plays the simulated site.
type labCommand struct {
	Trace    string `placeholder:"FILE" help:"Write a run to this trace, and its truth to FILE.truth.json for FILE.qtrace. Without it, the site's devices answer on loopback."`
	Site     string `enum:"small,rack,pod,reference," default:"" help:"How large the site is: small (16 GPUs), rack (64), pod (256), reference (16384)."`
	GPUs     int    `name:"gpus" placeholder:"N" help:"How large the site is, in GPUs; 64 if neither is given."`
	Fault    string `default:"healthy" placeholder:"NAME[@ENTITY]" help:"The fault, and where it is struck; the seed decides where if not given. NAME+NAME is two at once. help lists all faults."`
	Severity string `default:"loud" enum:"loud,quiet" help:"Severity, loud or quiet, where the fault has both."`
	Apart    bool   `help:"Magnitudes and lags as no signature is written against."`
	Seed     uint64 `default:"1" placeholder:"N" help:"Equal seeds make equal runs."`
	Lean     bool   `help:"Every series that such devices state (25 a switch port, 40 a GPU, 60 a NIC), not only those that something moves."`
	World    string `placeholder:"FAMILY" help:"With --trace: the family of worlds that the site is drawn from, with the seed; the standard site if not given."`
	Worlds   string `placeholder:"all|FAMILY" help:"Write recordings of a family of worlds, or of all, into the folder of -o: one for each of --seeds."`
	Seeds    string `default:"1-25" placeholder:"A-B" help:"With --worlds: which seeds. 1 to 99 are for tuning, from 1001 on for reports."`
	Out      string `short:"o" placeholder:"DIR" help:"With --worlds: the folder; with --worlds all, one in it for each family."`
	Cross    string `name:"crosscheck" placeholder:"ib|roce" help:"Write bundles of the second simulator into the folder of -o: one for each of --seeds."`
	Minutes  int    `placeholder:"N" help:"How long the run is; as long as the fault needs if not given."`

	Scheduler   string        `default:"slurm" enum:"slurm,kubernetes" help:"On loopback: who runs the training jobs, slurm or kubernetes; what serves runs on Kubernetes in any case."`
	WriteConfig string        `placeholder:"FILE" help:"On loopback: write the configuration with which quintet serve reads the site."`
	Listen      string        `default:"127.0.0.1:8420" placeholder:"ADDRESS" help:"On loopback: where Quintet's page and API are to be; trainers report there."`
	Schedule    string        `placeholder:"FILE" help:"On loopback: which faults come when, a line each: 3m gpu-slow@gpu:n0000/1 2m."`
	After       time.Duration `default:"2m" help:"On loopback: when --fault comes."`
	Lasts       time.Duration `default:"5m" help:"On loopback: how long --fault lasts."`
	Drill       bool          `help:"On loopback: report the injected faults, and whether they were found, only after a line on standard input, which ends the drill. Without --fault and --schedule something of any domain is struck, up to a minute after --after."`
	Dir         string        `placeholder:"DIR" help:"On loopback: where hosts' trees and certificates are kept; a temporary folder if not given."`
}

// gpus is how large the site is.
func (c *labCommand) gpus() int {
	if n, ok := siteSizes()[c.Site]; ok {
		return n
	}
	return cmp.Or(c.GPUs, 64)
}

// Validate returns an error if the flags are invalid.
func (c *labCommand) Validate() error {
	switch {
	case c.GPUs != 0 && c.Site != "":
		return errors.New("--site and --gpus: mutually exclusive")
	case c.gpus() < 16 || c.gpus() > 16384:
		return fmt.Errorf("--gpus: %d: want 16 to 16384", c.GPUs)
	case c.Cross != "" && c.Out == "":
		return errors.New("--crosscheck: requires -o")
	case c.Cross == "" && (c.Worlds != "") != (c.Out != ""):
		return errors.New("--worlds and -o: both are required")
	case c.Cross != "" && (c.Trace != "" || c.World != "" || c.Worlds != ""):
		return errors.New("--crosscheck: not with --trace, --world or --worlds")
	case c.Worlds != "" && (c.Trace != "" || c.World != ""):
		return errors.New("--worlds: not with --trace or --world")
	case c.World != "" && c.Trace == "":
		return errors.New("--world: requires --trace")
	case c.Minutes < 0 || c.Minutes > 7*24*60:
		return fmt.Errorf("--minutes: %d: want 0 to a week", c.Minutes)
	}
	return nil
}

// Run writes the trace, or serves the site's device protocols until it is stopped.
func (c *labCommand) Run(sh *cli.Shell) error {
	if c.Fault == "help" {
		return listFaults(sh.Out)
	}
	if c.Worlds != "" {
		return c.recordWorlds(sh)
	}
	if c.Cross != "" {
		return c.writeCrosscheck(sh)
	}
	if c.Trace == "" {
		return c.wire(sh)
	}
	return c.record(sh)
}

func (c *labCommand) record(sh *cli.Shell) (err error) {
	name, where, _ := strings.Cut(c.Fault, "@")
	name, second, _ := strings.Cut(name, "+")
	k := cases.Case{Class: name, Second: second, Apart: c.Apart, GPUs: c.gpus(), Seed: c.Seed, Minutes: c.Minutes}
	if k.World, err = cases.ParseFamily(c.World); err != nil {
		return fmt.Errorf("--world: %w", err)
	}
	for _, s := range cases.Severities(name) {
		if string(s) == c.Severity {
			k.Severity = s
		}
	}
	o := cases.Recorded{Minutes: c.Minutes, Lean: c.Lean, Writer: "quintet lab"}
	if where != "" {
		if o.Entity, err = telemetry.ParseEntity(where); err != nil {
			return fmt.Errorf("--fault: %w", err)
		}
	}
	line := newProgress(sh.Err, "writing")
	defer line.done()
	o.Progress = func(part float64) { line.at(part, "") }
	truth := strings.TrimSuffix(c.Trace, filepath.Ext(c.Trace)) + ".truth.json"
	return writeFiles(c.Trace, truth, func(a, b *os.File) error {
		o.Trace, o.Truth = a, b
		return cases.WriteTrace(sh.Ctx, k, o)
	})
}

// writeFiles has two files written, or leaves neither.
func writeFiles(one, other string, write func(a, b *os.File) error) error {
	a, err := os.Create(one)
	if err != nil {
		return err
	}
	b, err := os.Create(other)
	if err != nil {
		return errors.Join(err, a.Close(), os.Remove(one))
	}
	err = errors.Join(write(a, b), a.Close(), b.Close())
	if err != nil {
		return errors.Join(err, os.Remove(one), os.Remove(other))
	}
	return nil
}
