package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"

	"github.com/quintet-dc/quintet/replay"
	"github.com/quintet-dc/quintet/replay/score"
)

// scoreCommand replays labelled recordings and judges the answers.
type scoreCommand struct {
	Dirs    []string `arg:"" optional:"" name:"dir" help:"Labelled bundles, or traces with their truth beside them: FILE.truth.json for FILE.qtrace; or folders of such traces."`
	JSON    bool     `name:"json" help:"Print one JSON object instead of the table."`
	Detail  bool     `help:"With --json: add what lies behind the figures, under the key detail."`
	Coarsen []int    `default:"1" placeholder:"K" help:"Keep every K-th sample of each series; steps are kept whole. Several, as 1,3,10,30, are compared in one table."`
	Workers int      `placeholder:"N" help:"How many bundles are replayed at once; the processors if not given. It changes no figure."`
	labFlags
}

// Validate says what is wrong with the flags.
func (c *scoreCommand) Validate() error {
	if c.Lab == (len(c.Dirs) > 0) {
		return errors.New("<dir>: some, or --lab, but not both")
	}
	if err := c.labFlags.Validate(); err != nil {
		return err
	}
	for _, dir := range c.Dirs {
		if _, err := os.Stat(dir); err != nil {
			return fmt.Errorf("<dir>: %w", err)
		}
	}
	for _, k := range c.Coarsen {
		if k < 1 {
			return fmt.Errorf("--coarsen: %d: want 1 or more", k)
		}
	}
	if c.Detail && !c.JSON {
		return errors.New("--detail: goes with --json")
	}
	if c.Worlds != "" && len(c.Coarsen) > 1 {
		return errors.New("--worlds: takes one value of --coarsen")
	}
	if c.JSON && c.Worlds == allWorlds {
		return errors.New("--json: prints one score, and --worlds all asks for several")
	}
	if c.JSON && len(c.Coarsen) > 1 {
		return errors.New("--json: prints one score, and --coarsen asks for several")
	}
	return nil
}

// Run prints the score.
func (c *scoreCommand) Run(sh *shell) error {
	switch {
	case c.Soak > 0:
		return c.soak(sh)
	case c.Lab && c.Worlds != "":
		return c.worlds(sh)
	}
	reports, err := c.reports(sh)
	if err != nil {
		return err
	}
	if err := c.print(sh, reports); err != nil {
		return err
	}
	if ac1 := reports[0].Total.AC1; c.Floor > 0 && (ac1 == nil || *ac1 < c.Floor) {
		sh.warn("the right root comes first in less than %g of the faults", c.Floor)
		return exit(exitWrong)
	}
	return nil
}

func (c *scoreCommand) print(sh *shell, reports []score.Report) error {
	switch {
	case c.JSON && c.Detail:
		return reports[0].WriteDetail(sh.out)
	case c.JSON:
		return reports[0].WriteJSON(sh.out)
	case len(reports) > 1:
		return score.Compare(sh.out, reports)
	}
	return reports[0].WriteTable(sh.out)
}

// reports are one score for each coarsening.
func (c *scoreCommand) reports(sh *shell) ([]score.Report, error) {
	if c.Lab {
		return c.lab(sh)
	}
	var reports []score.Report
	for _, k := range c.Coarsen {
		r, err := c.score(sh, k)
		if err != nil {
			return nil, err
		}
		reports = append(reports, r)
	}
	return reports, nil
}

func (c *scoreCommand) score(sh *shell, k int) (score.Report, error) {
	config, err := engineConfig(1)
	if err != nil {
		return score.Report{}, err
	}
	line := newProgress(sh.err, "replaying")
	defer line.done()
	var mu sync.Mutex
	warn := func(dir, what string) {
		mu.Lock()
		defer mu.Unlock()
		line.done()
		sh.warn("%s: %s", dir, what)
	}
	return score.Run(sh.ctx, labelled(c.Dirs), score.Options{
		Replay:  replay.Judged{Engine: config, Coarsen: k, Warn: warn}.Case,
		Workers: cmp.Or(c.Workers, runtime.GOMAXPROCS(0)),
		Progress: func(done, total int, dir string) {
			mu.Lock()
			defer mu.Unlock()
			line.at(float64(done)/float64(total), dir)
		},
		Settings: score.Settings{Coarsen: k},
	})
}
