//go:build !service

package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/replay"
	"github.com/quintet-dc/quintet/replay/evaluation"
	"github.com/quintet-dc/quintet/replay/score"
	"github.com/quintet-dc/quintet/rules"
	"github.com/quintet-dc/quintet/rules/fitting"
	"github.com/quintet-dc/quintet/telemetry"
)

// weightsFlags configure how the weights of signatures are fitted.
type weightsFlags struct {
	Weights string   `placeholder:"FILE" help:"Fit the weights of signatures to labelled recordings, whose folders or globs are given, and write them there: weights.yaml in a folder of signatures."`
	Ridge   float64  `default:"0.02" placeholder:"X" help:"With --weights: how strongly they are held to those of now."`
	Rounds  int      `default:"400" placeholder:"N" help:"With --weights: rounds of gradient descent."`
	Only    []string `sep:"," placeholder:"NAME,…" help:"With --weights: fit these signatures; the others keep their weights."`
	From    string   `placeholder:"TEXT" help:"With --weights: which sets and seeds the recordings are, for the file's header."`
	Leave   string   `placeholder:"TEXT" help:"With --weights: leave out recordings whose path holds this, and report them apart."`
}

const (
	// judgementsEach are taken of a recording's degraded and of its healthy time, at
	// most, spread evenly.
	judgementsEach = 10
	// healthyWeight is what a recording's judgements without a fault count, all
	// together, beside 1 for those with one.
	healthyWeight = 0.5
	// usualSet is the number of recordings of a set whose judgements count as they are.
	usualSet = 100
)

// fitted is a recording's labelled judgements.
type fitted struct {
	path     string
	examples []fitting.Example
}

// weigh multiplies what each judgement counts.
func (f *fitted) weigh(by float64) {
	for i := range f.examples {
		f.examples[i].Weight *= by
	}
}

// weights fits and writes the weights of signatures.
func (c *learnCommand) weights(sh *cli.Shell) error {
	set, err := rules.Standard()
	if err != nil {
		return err
	}
	sigs := explain.Compile(set.Signatures)
	for _, name := range c.Only {
		if !slices.ContainsFunc(sigs, func(s explain.Signature) bool { return s.Name == name }) {
			return fmt.Errorf("learn: --only: there is no signature %q", name)
		}
	}
	config, err := engineConfig(1)
	if err != nil {
		return err
	}
	config.Correlate.Signatures = set.Signatures
	all, err := c.studySets(sh, config, sigs)
	if err != nil {
		return fmt.Errorf("learn: %w", err)
	}
	wanted, err := studyScenarios(sh, replay.RunConfig{Engine: config}, sigs)
	if err != nil {
		return fmt.Errorf("learn: %w", err)
	}
	all = append(all, wanted...)
	var train, left []fitting.Example
	for _, f := range all {
		if c.Leave != "" && strings.Contains(f.path, c.Leave) {
			left = append(left, f.examples...)
		} else {
			train = append(train, f.examples...)
		}
	}
	if len(train) == 0 {
		return errors.New("learn: no labelled judgement: no recording with a truth degrades a job")
	}
	o := fitting.Options{Ridge: c.Ridge, Rounds: c.Rounds, Only: c.Only}
	unfitted, rightBefore := fitting.Loss(sigs, left)
	before, after := fitting.Fit(sigs, train, o)
	fmt.Fprintf(sh.Out, "%s of %s: %.3f nats, fitted %.3f\n", plural(len(train), "judgement"), plural(len(all), "recording"), before, after)
	if len(left) > 0 {
		fitted, right := fitting.Loss(sigs, left)
		fmt.Fprintf(sh.Out, "%s left out: %.3f nats and %.1f %% right, fitted %.3f and %.1f %%\n", plural(len(left), "judgement"), unfitted, 100*rightBefore, fitted, 100*right)
	}
	if err := unclaimed(c.Weights, c.Force); err != nil {
		return fmt.Errorf("learn: %w", err)
	}
	header := fmt.Sprintf("quintet learn --weights, engine %s, from %s in %s and scenarios: %s.", correlate.Version,
		plural(len(train), "judgement"), plural(len(all), "recording"), cmp.Or(c.From, "not stated"))
	return writeWhole(c.Weights, func(w *bufio.Writer) error { return rules.WriteWeights(w, header, sigs) })
}

// studySets replays every set. Sites differ more than the recordings of one site do:
// a set of four times as many recordings counts twice as much.
func (c *learnCommand) studySets(sh *cli.Shell, config engine.Config, sigs []explain.Signature) ([]fitted, error) {
	var all []fitted
	for _, set := range c.Dirs {
		pattern, thinned, err := evaluation.CutThinning(set)
		if err != nil {
			return nil, err
		}
		paths, err := recordings(pattern)
		if err != nil {
			return nil, err
		}
		for _, t := range thinned {
			one, err := c.study(sh, config, sigs, paths, t)
			if err != nil {
				return nil, err
			}
			for i := range one {
				one[i].weigh(math.Sqrt(usualSet / float64(len(paths)*len(thinned))))
			}
			all = append(all, one...)
		}
	}
	return all, nil
}

// study replays recordings, thinned, and labels what was judged in them.
func (c *learnCommand) study(sh *cli.Shell, config engine.Config, sigs []explain.Signature, paths []string, t evaluation.Thinning) ([]fitted, error) {
	out := make([]fitted, len(paths))
	errs := make([]error, len(paths))
	line := newProgress(sh.Err, "learn")
	defer line.done()
	var wait sync.WaitGroup
	turns := make(chan struct{}, max(1, c.Workers))
	for i, path := range paths {
		turns <- struct{}{}
		line.at(float64(i)/float64(len(paths)), path)
		wait.Add(1)
		go func() {
			defer func() { <-turns; wait.Done() }()
			out[i], errs[i] = studyOne(sh, replay.RunConfig{Engine: config}, sigs, path, t)
		}()
	}
	wait.Wait()
	return out, errors.Join(errs...)
}

// studyOne replays one recording.
func studyOne(sh *cli.Shell, c replay.RunConfig, sigs []explain.Signature, path string, t evaluation.Thinning) (fitted, error) {
	out := fitted{path: path}
	rec, err := replay.Open(path, replay.OpenConfig{Coarsen: t.Coarsen, Missing: t.Missing})
	if err != nil {
		return out, err
	}
	defer rec.Close()
	truth, err := replay.ReadTruth(rec)
	if err != nil {
		return out, fmt.Errorf("%s: %w", path, err)
	}
	var degraded, healthy []explain.Judgement
	c.Judged = func(j explain.Judgement) {
		switch {
		case len(truth.JudgedJobs) > 0 && !slices.Contains(truth.JudgedJobs, j.Job):
		case labelOf(&truth, &j).Nothing:
			healthy = append(healthy, j)
		default:
			degraded = append(degraded, j)
		}
	}
	if _, err := replay.Run(sh.Ctx, rec, c); err != nil {
		return out, err
	}
	out.take(sigs, &truth, degraded, 1)
	out.take(sigs, &truth, healthy, healthyWeight)
	return out, nil
}

// take labels some of the judgements, which count so much together.
func (f *fitted) take(sigs []explain.Signature, truth *score.Truth, js []explain.Judgement, weight float64) {
	n := min(judgementsEach, len(js))
	for k := range n {
		j := &js[k*len(js)/n]
		x := fitting.NewExample(sigs, j, labelOf(truth, j))
		x.Weight = weight / float64(n)
		f.examples = append(f.examples, x)
	}
}

// afterFault is for how long after its end a fault is still the cause of what its
// jobs lose.
const afterFault = telemetry.Duration(60e9)

// labelOf labels the answers to a judgement that are right.
func labelOf(t *score.Truth, j *explain.Judgement) fitting.Label {
	for i := range t.Faults {
		f := &t.Faults[i]
		over := f.End != 0 && j.At > f.End.Add(afterFault)
		if f.Expect == score.ExpectRisk || j.At < f.Onset || over || !slices.Contains(f.Jobs, j.Job) {
			continue
		}
		return fitting.Label{
			Entity:    func(e telemetry.Entity) bool { return e == f.Entity || slices.Contains(f.Accept, e) },
			Signature: func(s string) bool { return s == f.Signature || slices.Contains(f.AcceptSignatures, s) },
			First:     func(e telemetry.Entity) bool { return e == f.Entity },
		}
	}
	return fitting.Label{Nothing: true}
}
