package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/correlate/detect"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/replay"
	"github.com/quintet-dc/quintet/rules"
	"github.com/quintet-dc/quintet/rules/scenario"
	"github.com/quintet-dc/quintet/telemetry"
)

// testCommand runs scenarios.
type testCommand struct {
	Rules testRules `cmd:"" help:"Run the scenarios of signatures (fires-*.txtar, silent-*.txtar), and the promtool tests of Prometheus rules."`
}

// testRules runs the scenarios below folders.
type testRules struct {
	Paths   []string `arg:"" optional:"" help:"Folders of signatures with their scenarios, or single scenarios; signatures there are added to the built-in ones, or replace them. Folders of Prometheus rules with their tests, or single tests. Without any, rules/signatures of the working directory, else the built-in ones."`
	Verbose bool     `short:"v" help:"Name the scenarios that pass, too."`
}

// Run runs every scenario and prints what differs from what is expected.
func (c *testRules) Run(sh *cli.Shell) error {
	t := &tester{sh: sh, verbose: c.Verbose}
	paths := orOwn(c.Paths)
	if len(paths) == 0 {
		if err := t.folder(rules.Files(), ownSignatures, "."); err != nil {
			return err
		}
	}
	for _, p := range paths {
		if err := t.path(p); err != nil {
			return err
		}
	}
	if t.ran+t.promRan == 0 {
		return errors.New("test rules: no scenario (*.txtar) and no test of Prometheus rules found")
	}
	if t.ran > 0 {
		fmt.Fprintf(sh.Out, "%s, %d failed\n", plural(t.ran, "scenario"), t.failed)
	}
	if t.promRan > 0 {
		fmt.Fprintf(sh.Out, "%s of Prometheus rules, %s failed\n", plural(t.promRan, "test"), plural(t.promFailed, "file"))
	}
	if t.failed+t.promFailed > 0 {
		return cli.Exit(cli.Wrong)
	}
	return nil
}

// ownSignatures is where our signatures lie in our source.
const ownSignatures = "rules/signatures"

// orOwn returns the paths, or the signatures of the working directory where
// none is given: who works on them means those, not the ones this program was
// built with. None where there are none.
func orOwn(paths []string) []string {
	if len(paths) > 0 {
		return paths
	}
	if info, err := os.Stat(ownSignatures); err == nil && info.IsDir() {
		return []string{ownSignatures}
	}
	return nil
}

// tester runs scenarios and counts.
type tester struct {
	sh          *cli.Shell
	verbose     bool
	ran, failed int
	// of Prometheus rules: tests that ran, files of them that failed
	promRan, promFailed int
}

// path runs the scenario that a path names, or all those below it.
func (t *tester) path(p string) error {
	info, err := os.Stat(p)
	if err != nil {
		return fmt.Errorf("test rules: %w", err)
	}
	k, err := look(p)
	if err != nil {
		return fmt.Errorf("test rules: %w", err)
	}
	if err := t.prometheus(k.tests); err != nil || !k.signatures && !k.nothing() {
		return err
	}
	root, err := rules.Dir(p)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return t.folder(root, filepath.ToSlash(p), ".")
	}
	return t.folder(root, filepath.ToSlash(filepath.Dir(p)), filepath.Base(p))
}

// folder runs the scenarios at or below a name in a folder.
func (t *tester) folder(root fs.FS, called, at string) error {
	set, err := rules.Load(rules.Files(), root)
	if err != nil {
		return err
	}
	return fs.WalkDir(root, at, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".txtar") {
			return err
		}
		b, err := fs.ReadFile(root, name)
		if err != nil {
			return fmt.Errorf("test rules: %w", err)
		}
		return t.scenario(path.Join(called, name), b, set)
	})
}

// scenario runs one scenario and prints how it went.
func (t *tester) scenario(name string, b []byte, set rules.Set) error {
	t.ran++
	s, err := scenario.ParseWith(set.Catalogue, name, b)
	if err != nil {
		t.failed++
		_, err = fmt.Fprintf(t.sh.Out, "%v\nFAIL %s\n", err, name)
		return err
	}
	for _, f := range s.Former {
		fmt.Fprintf(t.sh.Out, "%s:%d: warning: %s\n", f.File, f.Line, f.Text)
	}
	wrong, err := t.play(s, set)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, m := range wrong {
		fmt.Fprintln(t.sh.Out, m)
	}
	switch {
	case len(wrong) > 0:
		t.failed++
		fmt.Fprintf(t.sh.Out, "FAIL %s\n", name)
	case t.verbose:
		fmt.Fprintf(t.sh.Out, "ok   %s\n", name)
	}
	return nil
}

// play feeds a scenario to an engine and compares.
func (t *tester) play(s *scenario.Scenario, set rules.Set) ([]scenario.Mismatch, error) {
	config := engineOf(set, 1)
	var published []explain.Incident
	var found []scenario.Finding
	run := replay.RunConfig{Engine: config, Publish: func(in explain.Incident) { published = append(published, in) }}
	if s.WantsFindings() {
		run.Findings = func(at telemetry.Time, fs []detect.Finding) {
			for i := range fs {
				found = append(found, scenario.Finding{Series: fs[i].Series, Shape: fs[i].Shape.String(), At: at})
			}
		}
	}
	if _, err := replay.RunRecords(t.sh.Ctx, s.Records(), run); err != nil {
		return nil, err
	}
	return append(s.Check(published), s.CheckFindings(found)...), nil
}
