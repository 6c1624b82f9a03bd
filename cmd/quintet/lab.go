package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/quintet-dc/quintet/lab/cases"
	"github.com/quintet-dc/quintet/telemetry"
)

// labCommand plays the simulated site.
type labCommand struct {
	Trace    string `required:"" placeholder:"FILE" help:"Write a run into this trace, and the truth about it beside it: FILE.truth.json for FILE.qtrace."`
	GPUs     int    `name:"gpus" default:"64" placeholder:"N" help:"How large the site is."`
	Fault    string `default:"healthy" placeholder:"NAME[@ENTITY]" help:"What goes wrong, and where; the seed says where if it is not given."`
	Severity string `default:"loud" enum:"loud,quiet" help:"How much it hurts, loud or quiet, where it has both."`
	Apart    bool   `help:"Magnitudes and lags as no signature is written against."`
	Seed     uint64 `default:"1" placeholder:"N" help:"Equal seeds make equal runs."`
	Lean     bool   `help:"Every series that such devices state (25 a switch port, 40 a GPU, 60 a NIC), not only those that something moves."`
	Minutes  int    `placeholder:"N" help:"How long the run is; as long as the fault needs if not given."`
}

// Validate says what is wrong with the flags.
func (c *labCommand) Validate() error {
	switch {
	case c.GPUs < 16 || c.GPUs > 16384:
		return fmt.Errorf("--gpus: %d: want 16 to 16384", c.GPUs)
	case c.Minutes < 0 || c.Minutes > 7*24*60:
		return fmt.Errorf("--minutes: %d: want 0 to a week", c.Minutes)
	}
	return nil
}

// Run writes the trace.
func (c *labCommand) Run(sh *shell) (err error) {
	name, where, _ := strings.Cut(c.Fault, "@")
	k := cases.Case{Class: name, Apart: c.Apart, GPUs: c.GPUs, Seed: c.Seed, Minutes: c.Minutes}
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
	line := newProgress(sh.err, "writing")
	defer line.done()
	o.Progress = func(part float64) { line.at(part, "") }
	truth := strings.TrimSuffix(c.Trace, filepath.Ext(c.Trace)) + ".truth.json"
	return writeFiles(c.Trace, truth, func(a, b *os.File) error {
		o.Trace, o.Truth = a, b
		return cases.WriteTrace(sh.ctx, k, o)
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
