//go:build !service

package main

import (
	"fmt"
	"os"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/lab/crosscheck"
	"github.com/quintet-dc/quintet/lab/crosscheck/bundles"
)

// writeCrosscheck writes cases of the second simulator as bundles, each into a
// folder of its own. Seeds for which no site fits are left out with a warning.
func (c *labCommand) writeCrosscheck(sh *cli.Shell) error {
	kind := crosscheck.Kind(c.Cross)
	if kind != crosscheck.IB && kind != crosscheck.RoCE {
		return fmt.Errorf("--crosscheck: %q: not found: want %s or %s", c.Cross, crosscheck.IB, crosscheck.RoCE)
	}
	seeds, err := seedRange(c.Seeds)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.Out, 0o755); err != nil {
		return fmt.Errorf("-o %s: %w", c.Out, err)
	}
	line := newProgress(sh.Err, "writing")
	defer line.done()
	for i, seed := range seeds {
		if err := sh.Ctx.Err(); err != nil {
			return err
		}
		k, err := crosscheck.Generate(kind, seed)
		if err != nil {
			sh.Warn("%v", err)
			continue
		}
		if err := bundles.Write(c.Out, k); err != nil {
			return fmt.Errorf("-o: %w", err)
		}
		line.at(float64(i+1)/float64(len(seeds)), c.Cross)
	}
	return nil
}
