package promunit

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"
)

// file is a document of tests.
type file struct {
	RuleFiles      []string `yaml:"rule_files"`
	Interval       duration `yaml:"evaluation_interval"`
	GroupEvalOrder []string `yaml:"group_eval_order"`
	FuzzyCompare   bool     `yaml:"fuzzy_compare"`
	Tests          []test   `yaml:"tests"`
}

// test is one set of input and what is to come of it.
type test struct {
	Name           string            `yaml:"name"`
	Interval       duration          `yaml:"interval"`
	Input          []input           `yaml:"input_series"`
	Alerts         []alertCase       `yaml:"alert_rule_test"`
	Exprs          []exprCase        `yaml:"promql_expr_test"`
	ExternalLabels map[string]string `yaml:"external_labels"`
	ExternalURL    string            `yaml:"external_url"`
	Start          moment            `yaml:"start_timestamp"`
}

// input is a series in the notation of Prometheus' own tests.
type input struct {
	Series string `yaml:"series"`
	Values string `yaml:"values"`
}

// alertCase is which alerts of a name are to fire at a time.
type alertCase struct {
	At     duration `yaml:"eval_time"`
	Name   string   `yaml:"alertname"`
	Alerts []struct {
		Labels      map[string]string `yaml:"exp_labels"`
		Annotations map[string]string `yaml:"exp_annotations"`
	} `yaml:"exp_alerts"`
}

// exprCase is what an expression is to be at a time.
type exprCase struct {
	Expr    string   `yaml:"expr"`
	At      duration `yaml:"eval_time"`
	Samples []struct {
		Labels    string  `yaml:"labels"`
		Value     float64 `yaml:"value"`
		Histogram string  `yaml:"histogram"`
	} `yaml:"exp_samples"`
}

// duration is written as Prometheus does: 1h30m.
type duration time.Duration

// UnmarshalYAML reads a duration.
func (d *duration) UnmarshalYAML(n *yaml.Node) error {
	v, err := model.ParseDuration(n.Value)
	*d = duration(v)
	if err != nil {
		return fmt.Errorf("line %d: %w", n.Line, err)
	}
	return nil
}

// moment is RFC 3339 or seconds since 1970.
type moment struct{ time.Time }

// UnmarshalYAML reads a moment.
func (m *moment) UnmarshalYAML(n *yaml.Node) error {
	if s, err := strconv.ParseFloat(n.Value, 64); err == nil {
		m.Time = time.UnixMilli(int64(s * 1000)).UTC()
		return nil
	}
	t, err := time.Parse(time.RFC3339Nano, n.Value)
	m.Time = t.UTC()
	if err != nil {
		return fmt.Errorf("line %d: %w", n.Line, err)
	}
	return nil
}

// IsTest reports whether a document is one of tests: a mapping with rule_files and
// tests at its top.
func IsTest(text []byte) bool {
	var top map[string]yaml.Node
	if yaml.Unmarshal(text, &top) != nil {
		return false
	}
	_, rules := top["rule_files"]
	_, tests := top["tests"]
	return rules && tests
}

// read reads a document; its files of rules become paths that can be opened.
func read(path string) (*file, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var f file
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if f.Interval == 0 {
		f.Interval = duration(time.Minute)
	}
	patterns := f.RuleFiles
	f.RuleFiles = nil
	for _, p := range patterns {
		if !filepath.IsAbs(p) {
			p = filepath.Join(filepath.Dir(path), p)
		}
		found, err := filepath.Glob(p)
		if err != nil || len(found) == 0 {
			return nil, errors.Join(fmt.Errorf("%s: rule_files: nothing is at %s", path, p), err)
		}
		f.RuleFiles = append(f.RuleFiles, found...)
	}
	return &f, f.validate(path)
}

func (f *file) validate(path string) error {
	for i := range f.Tests {
		t := &f.Tests[i]
		if t.Interval == 0 {
			t.Interval = f.Interval
		}
		for _, a := range t.Alerts {
			if a.Name == "" {
				return fmt.Errorf("%s: %s: alert_rule_test without alertname", path, t.called(i))
			}
		}
		for _, x := range t.Exprs {
			for _, s := range x.Samples {
				if s.Histogram != "" {
					return fmt.Errorf("%s: %s: %s: a histogram is not compared here", path, t.called(i), x.Expr)
				}
			}
		}
	}
	return nil
}

func (t *test) called(i int) string {
	if t.Name != "" {
		return t.Name
	}
	return fmt.Sprintf("tests[%d]", i)
}

// last is the latest time that something is asked of.
func (t *test) last() time.Duration {
	out := duration(0)
	for _, a := range t.Alerts {
		out = max(out, a.At)
	}
	for _, x := range t.Exprs {
		out = max(out, x.At)
	}
	return time.Duration(out)
}
