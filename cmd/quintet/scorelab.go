package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/lab/cases"
	"github.com/quintet-dc/quintet/replay/score"
)

// labFlags say which cases of the simulated site are scored.
type labFlags struct {
	Lab       bool     `help:"Score runs of the simulated site instead of recordings: every fault class, its truth measured against the same seed without it."`
	GPUs      int      `name:"gpus" default:"256" placeholder:"N" help:"With --lab: how large the site is."`
	Seeds     int      `default:"1" placeholder:"N" help:"With --lab: how many seeds a class."`
	Tune      bool     `help:"With --lab: seeds 1 to 99, on which anything may be tuned, instead of those from 1001 on."`
	Classes   []string `placeholder:"NAME" help:"With --lab: only these classes; healthy is one of them."`
	Severity  []string `placeholder:"loud|quiet" help:"With --lab: only these severities, and what has none."`
	Apart     bool     `help:"With --lab: also the classes whose magnitudes and lags no signature is written against."`
	Doubles   bool     `help:"With --lab: also two faults at once."`
	Baselines bool     `help:"With --lab: have simple methods judge the same telemetry, for the report."`
	Cache     string   `placeholder:"DIR" help:"With --lab: where outcomes are kept, so that a run goes on where it was broken off. A folder of the user's cache if not given; - keeps none."`
	Report    string   `placeholder:"FILE" help:"With --lab: write the report there."`
}

// Validate says what is wrong with the flags.
func (f *labFlags) Validate() error {
	if !f.Lab {
		return nil
	}
	if f.GPUs < 16 || f.GPUs > 16384 {
		return fmt.Errorf("--gpus: %d: want 16 to 16384", f.GPUs)
	}
	if f.Seeds < 1 || f.Tune && f.Seeds > cases.LastTuningSeed {
		return fmt.Errorf("--seeds: %d: want 1 or more, with --tune at most %d", f.Seeds, cases.LastTuningSeed)
	}
	known := append(cases.Classes(), cases.Healthy)
	for _, c := range f.Classes {
		if !slices.Contains(known, c) {
			return fmt.Errorf("--classes: %q: want some of %s", c, strings.Join(known, " "))
		}
	}
	for _, s := range f.Severity {
		if s != string(cases.Loud) && s != string(cases.Quiet) {
			return fmt.Errorf("--severity: %q: want loud or quiet", s)
		}
	}
	return nil
}

func (f *labFlags) wanted(coarsen int) []cases.Case {
	w := cases.Wanted{GPUs: f.GPUs, Seeds: cases.Seeds(f.Seeds, f.Tune), Classes: f.Classes, Apart: f.Apart, Doubles: f.Doubles, Coarsen: coarsen}
	for _, s := range f.Severity {
		w.Severities = append(w.Severities, cases.Severity(s))
	}
	return w.Cases()
}

// cache is where outcomes are kept.
func (f *labFlags) cache() (cases.Cache, error) {
	switch f.Cache {
	case "-":
		return cases.Cache{}, nil
	case "":
		dir, err := os.UserCacheDir()
		if err != nil {
			return cases.Cache{}, fmt.Errorf("--cache: %w", err)
		}
		return cases.Cache{Dir: filepath.Join(dir, "quintet", "lab")}, nil
	}
	return cases.Cache{Dir: f.Cache}, nil
}

// runLab runs the cases and returns what became of them.
func (c *scoreCommand) runLab(sh *shell, coarsen int) ([]cases.Outcome, error) {
	config, err := engineConfig(1)
	if err != nil {
		return nil, err
	}
	o := cases.Options{Engine: config, Workers: c.Workers, Baselines: c.Baselines}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.Cache, err = c.cache(); err != nil {
		return nil, err
	}
	if o.Cache.Dir != "" {
		if o.Key, err = binary(); err != nil {
			return nil, err
		}
	}
	line := newProgress(sh.err, "running")
	defer line.done()
	o.Progress = func(done, total int, out *cases.Outcome) { line.at(float64(done)/float64(total), out.Case.Name()) }
	return cases.Run(sh.ctx, c.wanted(coarsen), o)
}

// binary names what runs: an outcome of another program is another outcome.
func binary() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("which program this is: %w", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("which program this is: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("which program this is: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// lab scores the simulated site.
func (c *scoreCommand) lab(sh *shell) ([]score.Report, error) {
	var reports []score.Report
	for _, k := range c.Coarsen {
		outcomes, err := c.runLab(sh, k)
		if err != nil {
			return nil, err
		}
		var all []score.Case
		for i := range outcomes {
			if o := &outcomes[i]; o.Dropped == "" {
				all = append(all, o.Score)
			} else {
				sh.warn("%s dropped: %s", o.Case.Name(), o.Dropped)
			}
		}
		if len(all) == 0 {
			return nil, errors.New("score: no case is left")
		}
		reports = append(reports, score.Judge(all, score.Settings{Coarsen: k}))
	}
	return reports, nil
}
