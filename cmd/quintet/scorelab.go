//go:build !service

package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/lab/accuracy"
	"github.com/quintet-dc/quintet/lab/cases"
	"github.com/quintet-dc/quintet/replay/evaluation"
	"github.com/quintet-dc/quintet/replay/score"
)

// labFlags select which cases of the simulated site are scored.
type labFlags struct {
	Lab       bool     `help:"Score runs of the simulated site instead of recordings: every fault class, its truth measured against the same seed without it."`
	GPUs      int      `name:"gpus" default:"256" placeholder:"N" help:"With --lab and lab sets: how large the site is."`
	Seeds     int      `default:"1" placeholder:"N" help:"With --lab and lab sets: how many seeds a class."`
	FewSeeds  int      `placeholder:"N" help:"With --apart and --doubles: how many seeds of those; as many as of a class if not given."`
	Tune      bool     `help:"With --lab and lab sets: seeds 1 to 99, on which anything may be tuned, instead of those from 1001 on."`
	Classes   []string `placeholder:"NAME" help:"With --lab and lab sets: only these classes; healthy is one of them, and NAME+NAME two at once."`
	Severity  []string `placeholder:"loud|quiet" help:"With --lab and lab sets: only these severities, and what has none."`
	Apart     bool     `help:"With --lab: also the classes whose magnitudes and lags no signature is written against."`
	Doubles   bool     `help:"With --lab: also two faults at once."`
	Baselines bool     `help:"With --lab: have simple methods judge the same telemetry, for the report."`
	Soak      int      `placeholder:"DAYS" help:"With --lab: instead of cases, so many days of healthy noise in which benign look-alikes come and go; prints the false incidents, and the bound that follows."`
	Cache     string   `placeholder:"DIR" help:"With --lab and lab sets: where outcomes are kept, so that a run goes on where it was broken off. A folder of the user's cache if not given; - keeps none."`
	Report    string   `placeholder:"FILE" help:"With --lab: write the report there, with comparisons: coarser sampling, parts of the engine taken away, larger sites."`
	Beside    int      `default:"1" placeholder:"N" help:"With --report: seeds per class for the comparisons; 0 leaves them out."`
	Larger    []string `placeholder:"GPUS:CASES" help:"With --report: larger sites, and how many cases on each, as 1024:100,8192:20."`
}

// Validate returns an error if the flags are invalid.
func (f *labFlags) Validate() error {
	if f.GPUs < 16 || f.GPUs > 16384 {
		return fmt.Errorf("--gpus: %d: want 16 to 16384", f.GPUs)
	}
	if f.Soak < 0 || f.Soak > 365 {
		return fmt.Errorf("--soak: %d: want days, at most 365", f.Soak)
	}
	if f.Seeds < 1 || f.Tune && f.Seeds > cases.LastTuningSeed {
		return fmt.Errorf("--seeds: %d: want 1 or more, with --tune at most %d", f.Seeds, cases.LastTuningSeed)
	}
	known := slices.Concat(cases.Classes(), []string{cases.Healthy}, cases.Pairs())
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

func (f *labFlags) wanted(coarsen, seeds int) []cases.Case {
	w := cases.Wanted{GPUs: f.GPUs, Seeds: cases.Seeds(seeds, f.Tune), Classes: f.Classes, Apart: f.Apart, Doubles: f.Doubles, Coarsen: coarsen}
	if f.FewSeeds > 0 {
		w.FewSeeds = cases.Seeds(min(f.FewSeeds, seeds), f.Tune)
	}
	for _, s := range f.Severity {
		w.Severities = append(w.Severities, cases.Severity(s))
	}
	return w.Cases()
}

// worldsPerSeed is how many worlds of a family stand for one seed of each class:
// so many hold faults of all domains, healthy runs and benign changes.
const worldsPerSeed = 25

// labSet returns the cases of a set of the lab, by its name. It is the one place
// where such names are known.
func (f *labFlags) labSet(name evaluation.LabName, coarsen int) ([]cases.Case, error) {
	switch name.Kind {
	case "standard":
		if name.Value == "" {
			return f.wanted(coarsen, f.Seeds), nil
		}
	case "soak":
		hours, err := strconv.Atoi(name.Value)
		if err != nil || hours < 1 || hours > 24*365 {
			return nil, fmt.Errorf("lab:soak=%s: want hours, at most %d", name.Value, 24*365)
		}
		cs := cases.SoakCases(hours, f.GPUs, f.Tune)
		for i := range cs {
			cs[i].Coarsen = coarsen
		}
		return cs, nil
	case "world":
		family, err := cases.ParseFamily(name.Value)
		if err != nil {
			return nil, fmt.Errorf("lab:world=%s: %w", name.Value, err)
		}
		worlds := worldsPerSeed * f.Seeds
		if f.Tune {
			worlds = min(worlds, cases.LastTuningSeed)
		}
		cs := cases.FamilyCases(family, f.GPUs, cases.Seeds(worlds, f.Tune))
		for i := range cs {
			cs[i].Coarsen = coarsen
		}
		return cs, nil
	}
	return nil, fmt.Errorf("lab set %q: not found: want standard, world=FAMILY or soak=HOURS", name.Kind)
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

// labOptions returns how cases are run.
func (c *scoreCommand) labOptions() (cases.Options, error) {
	config, err := engineConfig(1)
	if err != nil {
		return cases.Options{}, err
	}
	o := cases.Options{Engine: config, Workers: c.Workers}
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	if o.Cache, err = c.cache(); err != nil {
		return o, err
	}
	if o.Cache.Dir != "" {
		o.Key, err = binary()
	}
	return o, err
}

// runLab runs cases, with progress.
func (c *scoreCommand) runLab(sh *cli.Shell, o cases.Options, title string, cs []cases.Case) ([]cases.Outcome, error) {
	line := newProgress(sh.Err, title)
	defer line.done()
	o.Progress = func(done, total int, out *cases.Outcome) { line.at(float64(done)/float64(total), out.Case.Name()) }
	return cases.Run(sh.Ctx, cs, o)
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
func (c *scoreCommand) lab(sh *cli.Shell) (score.Report, error) {
	o, err := c.labOptions()
	if err != nil {
		return score.Report{}, err
	}
	o.Baselines = c.Baselines
	outcomes, err := c.runLab(sh, o, "running", c.wanted(c.Coarsen, c.Seeds))
	if err != nil {
		return score.Report{}, err
	}
	for i := range outcomes {
		if out := &outcomes[i]; out.Dropped != "" {
			sh.Warn("%s dropped: %s", out.Case.Name(), out.Dropped)
		}
	}
	r, err := judge(outcomes, c.Coarsen)
	if err == nil && c.Report != "" {
		err = c.document(sh, o, outcomes)
	}
	return r, err
}

// soak prints what healthy noise brought.
func (c *scoreCommand) soak(sh *cli.Shell) error {
	o, err := c.labOptions()
	if err != nil {
		return err
	}
	outcomes, err := c.runLab(sh, o, "soaking", cases.SoakCases(24*c.Soak, c.GPUs, c.Tune))
	if err != nil {
		return err
	}
	return accuracy.WriteSoak(sh.Out, c.GPUs, outcomes)
}

// judge scores the cases that physics allows.
func judge(outcomes []cases.Outcome, coarsen int) (score.Report, error) {
	var all []score.Case
	for i := range outcomes {
		if o := &outcomes[i]; o.Dropped == "" {
			all = append(all, o.Score)
		}
	}
	if len(all) == 0 {
		return score.Report{}, errors.New("score: no case is left")
	}
	return score.Judge(all, score.Settings{Coarsen: coarsen}), nil
}

// document runs what is reported besides the outcomes, and writes the report to its
// file.
func (c *scoreCommand) document(sh *cli.Shell, o cases.Options, main []cases.Outcome) error {
	r := accuracy.Report{Engine: correlate.Version, Rules: o.Engine.Correlate.Rules, Tuning: c.Tune, GPUs: c.GPUs, Main: main}
	o.Baselines = false
	if concurrent := min(c.Beside, c.Seeds); concurrent > 0 {
		if err := c.besides(sh, o, concurrent, &r); err != nil {
			return err
		}
	}
	for _, l := range c.Larger {
		gpus, n, err := larger(l)
		if err != nil {
			return err
		}
		out, err := c.runLab(sh, o, l, c.many(gpus, n))
		if err != nil {
			return err
		}
		r.Larger = append(r.Larger, accuracy.Run{Title: fmt.Sprintf("%d GPUs", gpus), Outcomes: out})
	}
	return c.write(r)
}

// besides runs coarser sampling and the ablations, on so many seeds a class.
func (c *scoreCommand) besides(sh *cli.Shell, o cases.Options, seeds int, r *accuracy.Report) error {
	for _, k := range []int{3, 10, 30} {
		title := fmt.Sprintf("one sample in %d", k)
		out, err := c.runLab(sh, o, title, faulty(c.wanted(k, seeds)))
		if err != nil {
			return err
		}
		r.Coarse = append(r.Coarse, accuracy.Run{Title: title, Outcomes: out})
	}
	for _, a := range append([]cases.Ablation{cases.Whole}, cases.Ablations()...) {
		o.Ablation = a
		title := cmp.Or(string(a), "whole")
		out, err := c.runLab(sh, o, title, faulty(c.wanted(1, seeds)))
		if err != nil {
			return err
		}
		r.Ablate = append(r.Ablate, accuracy.Run{Title: title, Outcomes: out})
	}
	return nil
}

func (c *scoreCommand) write(r accuracy.Report) error {
	f, err := os.Create(c.Report)
	if err != nil {
		return err
	}
	return errors.Join(accuracy.Write(f, r), f.Close())
}

// faulty leaves out the runs in which nothing is wrong.
func faulty(cs []cases.Case) []cases.Case {
	return slices.DeleteFunc(cs, func(c cases.Case) bool { return c.Class == cases.Healthy })
}

// larger reads GPUS:CASES.
func larger(text string) (gpus, n int, err error) {
	if _, err := fmt.Sscanf(text, "%d:%d", &gpus, &n); err != nil || gpus < 16 || n < 1 {
		return 0, 0, fmt.Errorf("--larger: %q: want GPUS:CASES, as 1024:100", text)
	}
	return gpus, n, nil
}

// many are n cases spread over the classes, each with a seed of its own as far
// as there are some.
func (c *scoreCommand) many(gpus, n int) []cases.Case {
	w := cases.Wanted{GPUs: gpus, Seeds: cases.Seeds(1, c.Tune), Classes: c.Classes}
	each := faulty(w.Cases())
	seeds := cases.Seeds((n+9)/10, c.Tune)
	out := make([]cases.Case, 0, n)
	for i := range n {
		k := each[i*7919%len(each)]
		k.Seed = seeds[i%len(seeds)]
		out = append(out, k)
	}
	return out
}
