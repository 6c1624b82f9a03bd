//go:build !service

package main

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/lab/cases"
	"github.com/quintet-dc/quintet/replay/evaluation"
)

// setFlags select which sets are scored in one run, and what is done with the
// result.
type setFlags struct {
	Set     []string `sep:"none" placeholder:"NAME=GLOB" help:"A set to score, one row of a table; may be repeated. NAME=GLOB are recordings, lab:standard, lab:world=FAMILY and lab:soak=HOURS cases of the simulated site. :coarsen=1,3,10 behind it gives a row for each factor; :missing=1,2 a row for each number, without three tenths of the metrics, other ones for each."`
	Floor   string   `placeholder:"FILE" type:"existingfile" help:"With --set: a YAML file of bounds by set and column. Exit 1 where a figure violates one."`
	Compare []string `placeholder:"OLD.json,NEW.json" help:"Compare case by case with an earlier output of --set --json, or two of them with each other."`
	Ablate  []string `placeholder:"PART" help:"With --set: score without each of these parts of the engine and print what it is worth: topology, peers, signatures, own, signature=NAME, each-signature."`
}

func (f *setFlags) given() bool { return len(f.Set) > 0 || len(f.Compare) > 0 }

// Validate returns an error if the flags are invalid.
func (f *setFlags) Validate() error {
	if _, err := evaluation.ParseSets(f.Set); err != nil {
		return fmt.Errorf("--set: %w", err)
	}
	switch {
	case len(f.Set) == 0 && f.Floor != "":
		return errors.New("--floor: requires --set")
	case len(f.Set) == 0 && len(f.Ablate) > 0:
		return errors.New("--ablate: requires --set")
	case len(f.Set) == 0 && len(f.Compare) == 1:
		return errors.New("--compare: requires --set, or two files")
	case len(f.Set) > 0 && len(f.Compare) > 1:
		return errors.New("--compare: with --set, want one file")
	case len(f.Compare) > 2:
		return fmt.Errorf("--compare: %d files: want at most two", len(f.Compare))
	case len(f.Ablate) > 0 && (f.Floor != "" || len(f.Compare) > 0):
		return errors.New("--ablate: not with --floor or --compare")
	}
	return nil
}

// runSets scores the sets, prints the result and checks it.
func (c *scoreCommand) runSets(sh *cli.Shell) error {
	if len(c.Set) == 0 {
		return compareFiles(sh, c.Compare[0], c.Compare[1])
	}
	if c.JSON && len(c.Compare) > 0 {
		return errors.New("--compare: not with --json")
	}
	floors, err := readFloors(c.Floor)
	if err != nil {
		return err
	}
	whole, failed := c.evaluate(sh, cases.Whole)
	if len(whole.Sets) == 0 || failed != nil && len(c.Ablate) > 0 {
		return failed
	}
	if len(c.Ablate) > 0 {
		return c.ablate(sh, whole)
	}
	if err := c.printSets(sh, &whole); err != nil {
		return err
	}
	if len(c.Compare) > 0 {
		old, err := readResult(c.Compare[0])
		if err != nil {
			return err
		}
		fmt.Fprintln(sh.Out)
		if err := evaluation.WriteComparison(sh.Out, evaluation.Compare(&old, &whole)); err != nil {
			return err
		}
	}
	violations := floors.Check(&whole)
	for _, v := range violations {
		sh.Warn("%s", v)
	}
	if failed == nil && len(violations) > 0 {
		return cli.Exit(cli.Wrong)
	}
	return failed
}

func (c *scoreCommand) printSets(sh *cli.Shell, r *evaluation.Result) error {
	if c.JSON {
		return r.WriteJSON(sh.Out)
	}
	if err := r.WriteTable(sh.Out); err != nil || !c.Detail {
		return err
	}
	return r.WriteDetail(sh.Out)
}

// evaluate scores every set, one after the other, so that the CPU time of each can
// be measured. A set with a recording that cannot be replayed is absent from the
// result and part of the error: a score of the others would be another set's.
func (c *scoreCommand) evaluate(sh *cli.Shell, a cases.Ablation) (evaluation.Result, error) {
	config, err := engineConfig(1)
	if err != nil {
		return evaluation.Result{}, err
	}
	r := evaluation.Result{Engine: correlate.Version, Rules: config.Correlate.Rules}
	sets, err := evaluation.ParseSets(c.Set)
	if err != nil {
		return r, err
	}
	var failed []error
	for _, s := range sets {
		row, err := c.row(sh, s, a)
		if err != nil && sh.Ctx.Err() != nil {
			return evaluation.Result{}, err // part of a result is none
		}
		if err != nil {
			failed, row = append(failed, fmt.Errorf("set %s: %w", s.Name, err)), evaluation.AbsentRow(s, err.Error())
		}
		r.Sets = append(r.Sets, row)
	}
	return r, errors.Join(failed...)
}

// row scores one set.
func (c *scoreCommand) row(sh *cli.Shell, s evaluation.Set, a cases.Ablation) (evaluation.Row, error) {
	title := s.Name
	if a != cases.Whole {
		title += " " + string(a)
	}
	if s.Lab.Kind != "" {
		return c.labRow(sh, s, a, title)
	}
	paths, err := recordings(s.Pattern)
	if err != nil {
		return evaluation.Row{}, err
	}
	if len(paths) == 0 {
		return evaluation.AbsentRow(s, "no recordings match "+s.Pattern), nil
	}
	began, measured := processorSeconds()
	report, err := c.score(sh, replayed{title: title, paths: paths, thinning: s.Thinning, ablation: a, warn: a == cases.Whole && s.Thinning == evaluation.Thinning{Coarsen: 1}})
	if err != nil {
		return evaluation.Row{}, err
	}
	row := evaluation.NewRow(s, &report)
	if ended, ok := processorSeconds(); ok && measured {
		spent := ended - began
		row.Figures.CPU = &spent
	}
	return row, nil
}

// labRow scores cases of the lab. They have no processor time: making a case
// takes longer than answering it, and its outcome may be in the cache.
func (c *scoreCommand) labRow(sh *cli.Shell, s evaluation.Set, a cases.Ablation, title string) (evaluation.Row, error) {
	cs, err := c.labSet(s.Lab, s.Coarsen)
	if err != nil {
		return evaluation.Row{}, err
	}
	o, err := c.labOptions()
	if err != nil {
		return evaluation.Row{}, err
	}
	o.Ablation = a
	outcomes, err := c.runLab(sh, o, title, cs)
	if err != nil {
		return evaluation.Row{}, err
	}
	report, err := judge(outcomes, s.Coarsen)
	if err != nil {
		return evaluation.Row{}, err
	}
	row := evaluation.NewRow(s, &report)
	for i := range outcomes {
		if out := &outcomes[i]; out.Dropped != "" {
			row.Dropped = append(row.Dropped, out.Case.Name()+": "+out.Dropped)
		}
	}
	return row, nil
}

// ablate scores the sets without each part, and prints what it is worth.
func (c *scoreCommand) ablate(sh *cli.Shell, whole evaluation.Result) error {
	config, err := engineConfig(1)
	if err != nil {
		return err
	}
	var signatures []string
	for i := range config.Correlate.Signatures {
		signatures = append(signatures, config.Correlate.Signatures[i].Name)
	}
	slices.Sort(signatures)
	out := evaluation.Ablation{Whole: whole}
	for _, part := range c.Ablate {
		ablations, err := cases.ParseAblations(part, signatures)
		if err != nil {
			return fmt.Errorf("--ablate: %w", err)
		}
		for _, a := range ablations {
			r, err := c.evaluate(sh, a)
			if err != nil {
				return err
			}
			out.Parts = append(out.Parts, evaluation.Ablated{Part: a.Part(), Result: r})
		}
	}
	if c.JSON {
		return out.WriteJSON(sh.Out)
	}
	if err := out.Whole.WriteTable(sh.Out); err != nil {
		return err
	}
	fmt.Fprintln(sh.Out)
	return out.WriteTable(sh.Out)
}

func readFloors(file string) (evaluation.Floors, error) {
	if file == "" {
		return nil, nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--floor: %w", err)
	}
	f, err := evaluation.ParseFloors(b)
	if err != nil {
		return nil, fmt.Errorf("--floor: %s: %w", file, err)
	}
	return f, nil
}

func readResult(file string) (evaluation.Result, error) {
	f, err := os.Open(file)
	if err != nil {
		return evaluation.Result{}, fmt.Errorf("--compare: %w", err)
	}
	defer f.Close()
	r, err := evaluation.ReadResult(f)
	if err != nil {
		return r, fmt.Errorf("--compare: %s: %w", file, err)
	}
	return r, nil
}

func compareFiles(sh *cli.Shell, old, now string) error {
	a, err := readResult(old)
	if err != nil {
		return err
	}
	b, err := readResult(now)
	if err != nil {
		return err
	}
	return evaluation.WriteComparison(sh.Out, evaluation.Compare(&a, &b))
}
