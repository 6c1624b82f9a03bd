package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/quintet-dc/quintet/rules"
	"github.com/quintet-dc/quintet/rules/prometheus"
	"github.com/quintet-dc/quintet/rules/promlint"
	"github.com/quintet-dc/quintet/rules/promunit"
)

// maxKnowledge bounds a file of rules or a dashboard that is looked into.
const maxKnowledge = 4 << 20

// knowledge is what is at or below a path, by what it is.
type knowledge struct {
	signatures bool            // there are signature.yaml
	rules      []promlint.File // of Prometheus
	dashboards []promlint.File // of Grafana
	tests      []string        // of Prometheus rules, in promtool's format
}

// look sorts what is at or below a path. A file that is none of these is a
// signature's.
func look(path string) (k knowledge, err error) {
	root, err := os.Stat(path)
	if err != nil {
		return k, err
	}
	err = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if d != nil && d.IsDir() && d.Name() == "node_modules" {
				return fs.SkipDir
			}
			return err
		}
		info, err := d.Info()
		if err != nil || info.Size() > maxKnowledge {
			return err
		}
		return k.take(name, !root.IsDir())
	})
	return k, err
}

// take sorts one file; one that was named itself is a signature's if nothing
// else.
func (k *knowledge) take(name string, named bool) error {
	ext := strings.ToLower(filepath.Ext(name))
	if filepath.Base(name) == rules.FileName || ext != ".yml" && ext != ".yaml" && ext != ".json" {
		k.signatures = k.signatures || named || filepath.Base(name) == rules.FileName || filepath.Base(name) == rules.PriorsName
		return nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	f := promlint.File{Name: filepath.ToSlash(name), Text: text}
	switch {
	case ext == ".json" && promlint.IsDashboard(text):
		k.dashboards = append(k.dashboards, f)
	case ext != ".json" && promlint.IsRules(text):
		k.rules = append(k.rules, f)
	case ext != ".json" && promunit.IsTest(text):
		k.tests = append(k.tests, name)
	default:
		k.signatures = k.signatures || named || filepath.Base(name) == rules.PriorsName
	}
	return nil
}

// nothing reports whether there is neither a rule nor a dashboard nor a test.
func (k *knowledge) nothing() bool {
	return len(k.rules) == 0 && len(k.dashboards) == 0 && len(k.tests) == 0
}

// ownPrometheus are the Prometheus rules that are part of the program.
func ownPrometheus() (out []promlint.File, err error) {
	for _, name := range prometheus.Names() {
		text, err := fs.ReadFile(prometheus.Files(), name)
		if err != nil {
			return nil, err
		}
		out = append(out, promlint.File{Name: "rules/prometheus/" + name, Text: text})
	}
	return out, nil
}

// prometheus prints all problems of Prometheus rules and dashboards. A dashboard
// may query what those rules record.
func (v *verdict) prometheus(k knowledge) {
	words := promlint.Standard()
	v.problems(promlint.Rules(words, k.rules...))
	words = words.With(k.rules...)
	for _, f := range k.dashboards {
		v.problems(promlint.Dashboard(words, f))
	}
}

// problems prints problems and counts them.
func (v *verdict) problems(ps rules.Problems) {
	for _, p := range ps {
		if p.Severity == rules.Warning {
			v.doubts++
		} else {
			v.wrong++
		}
		fmt.Fprintln(v.sh.Out, p)
	}
}

// prometheus runs tests of Prometheus rules.
func (t *tester) prometheus(paths []string) error {
	for _, path := range paths {
		r, err := promunit.Run(t.sh.Ctx, path)
		if t.sh.Ctx.Err() != nil {
			return t.sh.Ctx.Err()
		}
		t.promRan += max(r.Tests, 1)
		for _, w := range r.Wrong {
			fmt.Fprintln(t.sh.Out, w)
		}
		switch {
		case err != nil:
			fmt.Fprintf(t.sh.Out, "%v\nFAIL %s\n", err, path)
			t.promFailed++
		case len(r.Wrong) > 0:
			fmt.Fprintf(t.sh.Out, "FAIL %s\n", path)
			t.promFailed++
		case t.verbose:
			fmt.Fprintf(t.sh.Out, "ok   %s\n", path)
		}
	}
	return nil
}
