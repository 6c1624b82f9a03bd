//go:build !service

package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/lab/cases"
	"github.com/quintet-dc/quintet/replay"
	"github.com/quintet-dc/quintet/replay/evaluation"
	"github.com/quintet-dc/quintet/replay/score"
)

// scoreCommand replays labelled recordings and judges the answers.
type scoreCommand struct {
	Dirs    []string `arg:"" optional:"" name:"dir" help:"Labelled bundles, or traces with their truth in FILE.truth.json for FILE.qtrace; or folders of such traces."`
	JSON    bool     `name:"json" help:"Print one JSON object instead of the table."`
	Detail  bool     `help:"With --json: add the details of the figures, under the key detail. With --set: print each set's reliability diagram and the cases that were not answered right."`
	Coarsen int      `default:"1" placeholder:"K" help:"Keep every K-th sample of each series; steps are kept whole. With --set, write :coarsen=K,K behind a set."`
	Workers int      `placeholder:"N" help:"How many bundles are replayed at once; the processors if not given. It changes no figure."`
	setFlags
	labFlags
}

// Validate returns an error if the flags are invalid.
func (c *scoreCommand) Validate() error {
	if err := c.setFlags.Validate(); err != nil {
		return err
	}
	modes := 0
	for _, given := range []bool{len(c.Dirs) > 0, c.Lab, c.setFlags.given()} {
		if given {
			modes++
		}
	}
	if modes != 1 {
		return errors.New("<dir>: want recordings, --lab, or --set and --compare, and only one of these")
	}
	if err := c.labFlags.Validate(); err != nil {
		return err
	}
	for _, dir := range c.Dirs {
		if _, err := os.Stat(dir); err != nil {
			return fmt.Errorf("<dir>: %w", err)
		}
	}
	if c.Coarsen < 1 {
		return fmt.Errorf("--coarsen: %d: want 1 or more", c.Coarsen)
	}
	if c.Detail && !c.JSON && !c.setFlags.given() {
		return errors.New("--detail: requires --json or --set")
	}
	return nil
}

// Run prints the score.
func (c *scoreCommand) Run(sh *cli.Shell) error {
	switch {
	case c.setFlags.given():
		return c.runSets(sh)
	case c.Soak > 0:
		return c.soak(sh)
	}
	r, err := c.report(sh)
	if err != nil {
		return err
	}
	switch {
	case c.JSON && c.Detail:
		return r.WriteDetail(sh.Out)
	case c.JSON:
		return r.WriteJSON(sh.Out)
	}
	return r.WriteTable(sh.Out)
}

// report is the score of the recordings or of the lab.
func (c *scoreCommand) report(sh *cli.Shell) (score.Report, error) {
	if c.Lab {
		return c.lab(sh)
	}
	return c.score(sh, replayed{title: "replaying", paths: labelled(c.Dirs), thinning: evaluation.Thinning{Coarsen: c.Coarsen}, warn: true})
}

// replayed are recordings to be scored together.
type replayed struct {
	title    string
	paths    []string
	thinning evaluation.Thinning
	ablation cases.Ablation
	warn     bool // print what is doubtful about the recordings
}

// score replays recordings and judges the answers.
func (c *scoreCommand) score(sh *cli.Shell, rs replayed) (score.Report, error) {
	config, err := engineConfig(1)
	if err != nil {
		return score.Report{}, err
	}
	line := newProgress(sh.Err, rs.title)
	defer line.done()
	var mu sync.Mutex
	judged := replay.Judged{Engine: config, Coarsen: rs.thinning.Coarsen, Missing: rs.thinning.Missing, Hide: rs.ablation.Hides, Reduce: func(e engine.Config, t score.Truth) engine.Config {
		var faults []string
		for i := range t.Faults {
			faults = append(faults, t.Faults[i].Signature)
		}
		return rs.ablation.Engine(e, faults...)
	}}
	if rs.warn {
		judged.Warn = func(dir, what string) {
			mu.Lock()
			defer mu.Unlock()
			line.done()
			sh.Warn("%s: %s", dir, what)
		}
	}
	return score.Run(sh.Ctx, rs.paths, score.Options{
		Replay:  judged.Case,
		Workers: cmp.Or(c.Workers, runtime.GOMAXPROCS(0)),
		Progress: func(done, total int, dir string) {
			mu.Lock()
			defer mu.Unlock()
			line.at(float64(done)/float64(total), dir)
		},
		Settings: score.Settings{Coarsen: rs.thinning.Coarsen},
	})
}
