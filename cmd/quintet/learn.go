//go:build !service

package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/replay/score"
	"github.com/quintet-dc/quintet/rules"
)

// learnCommand moves the priors of signatures towards a site's own experience, or
// fits all their weights to labelled recordings.
type learnCommand struct {
	Dirs         []string `arg:"" name:"dir" help:"Folders of pinned incidents, or single truth files. Incidents without a verdict are no experience. With --weights: recordings with a truth, or globs of them; :coarsen=1,3 behind one takes them at each factor, :missing=1,2 without three tenths of the metrics."`
	Output       string   `short:"o" placeholder:"FILE" help:"Where to write the priors: priors.yaml in a folder of the configuration's signatures. Without it they are only shown."`
	Force        bool     `help:"Replace FILE if it is there."`
	Workers      int      `placeholder:"N" default:"2" help:"With --weights: how many recordings are replayed at once."`
	weightsFlags `embed:""`
}

// Run counts the labelled cases and shows what they make of each prior.
func (c *learnCommand) Run(sh *cli.Shell) error {
	if c.Weights != "" {
		return c.weights(sh)
	}
	cases, n, err := c.cases()
	if err != nil {
		return fmt.Errorf("learn: %w", err)
	}
	if n == 0 {
		return errors.New("learn: no labelled case: give verdicts to incidents first")
	}
	set, err := rules.Standard()
	if err != nil {
		return err
	}
	learned := rules.Learn(set.Signatures, cases)
	fmt.Fprintf(sh.Out, "%s\n%-24s %6s %8s %8s\n", plural(n, "labelled case"), "signature", "cases", "prior", "learned")
	for _, l := range learned {
		fmt.Fprintf(sh.Out, "%-24s %6d %8.2f %8.2f\n", l.Name, l.Cases, l.Was, l.Now)
	}
	if c.Output == "" {
		return nil
	}
	if err := unclaimed(c.Output, c.Force); err != nil {
		return fmt.Errorf("learn: %w", err)
	}
	return writeWhole(c.Output, func(w *bufio.Writer) error { return writePriors(w, learned, n) })
}

// cases counts, by signature, the faults of the truth files.
func (c *learnCommand) cases() (bySignature map[string]int, n int, err error) {
	bySignature = map[string]int{}
	for _, dir := range c.Dirs {
		files := []string{dir}
		if !strings.HasSuffix(dir, ".json") {
			if files, err = filepath.Glob(filepath.Join(dir, "*"+truthEnding)); err != nil {
				return nil, 0, err
			}
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				return nil, 0, err
			}
			t, err := score.ParseTruth(b)
			if err != nil {
				return nil, 0, fmt.Errorf("%s: %w", f, err)
			}
			for _, fault := range t.Faults {
				bySignature[fault.Signature]++
				n++
			}
		}
	}
	return bySignature, n, nil
}

func writePriors(w *bufio.Writer, learned []rules.Learned, n int) error {
	fmt.Fprintf(w, "# Log-odds of signatures before any evidence, learned from %s (quintet learn).\npriors:\n", plural(n, "labelled case"))
	for _, l := range learned {
		if _, err := fmt.Fprintf(w, "  %s: %.3f # %s, was %g\n", l.Name, l.Now, plural(l.Cases, "case"), l.Was); err != nil {
			return err
		}
	}
	return nil
}
