package rules

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"github.com/quintet-dc/quintet/settings"
	"github.com/quintet-dc/quintet/telemetry"
)

// MetricsName is the name of a file in a signature's folder that declares metrics which
// the program does not.
const MetricsName = "metrics.yaml"

// declarations are the form of that file.
type declarations struct {
	Metrics []declaration `yaml:"metrics" max:"100"`
}

// declaration is a metric. Its recent past is kept grid by grid, for features.
type declaration struct {
	Name   telemetry.MetricName `yaml:"name" max:"128"`
	Domain telemetry.Domain     `yaml:"domain"`
	Kinds  []telemetry.Kind     `yaml:"kinds"`
	Unit   string               `yaml:"unit" max:"40"`
	Type   string               `yaml:"type" default:"gauge" oneof:"gauge counter state"`
	Rise   string               `yaml:"rise" default:"neutral" oneof:"neutral worse better"`
	Help   string               `yaml:"help" max:"400"`
}

// metric returns the declaration as the catalogue has it.
func (d declaration) metric() telemetry.Metric {
	m := telemetry.Metric{Name: d.Name, Domain: d.Domain, Kinds: d.Kinds, Unit: d.Unit, Help: d.Help, Evidence: true,
		Type: telemetry.Gauge, Rise: telemetry.Rise(slices.Index([]string{"neutral", "worse", "better"}, d.Rise)), Origin: MetricsName}
	switch d.Type {
	case "counter":
		m.Type, m.Width = telemetry.Counter, 64
	case "state":
		m.Type = telemetry.StateOf
	}
	return m
}

// Validate reports what is missing or invalid.
func (d declaration) Validate() error {
	m := d.metric()
	if d.Help == "" {
		return errors.New("help: required")
	}
	return m.Validate()
}

// metrics are those that files declare, by name, and the catalogue with them.
type metrics struct {
	more      []telemetry.Metric
	catalogue *telemetry.Catalogue
}

// readMetrics reads what files under the roots declare. A metric that two folders
// declare is theirs alike; where they differ, that is an error. The catalogue is that
// of the program where something is wrong.
func readMetrics(roots []fs.FS) (metrics, Problems) {
	var found []telemetry.Metric
	var problems Problems
	for _, root := range roots {
		err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || d.Name() != MetricsName {
				return nil // what cannot be read is reported where signatures are
			}
			ms, ps := readDeclarations(root, name)
			found, problems = append(found, ms...), append(problems, ps...)
			return nil
		})
		if err != nil {
			problems = append(problems, Problem{File: called(root, "."), Severity: Error, Text: err.Error()})
		}
	}
	if len(found) == 0 {
		return metrics{nil, standard()}, problems
	}
	slices.SortStableFunc(found, func(a, b telemetry.Metric) int { return cmp.Compare(a.Name, b.Name) })
	found = slices.CompactFunc(found, alike)
	catalogue, err := telemetry.NewCatalogue(slices.Concat(standard().Metrics(), found))
	if err != nil {
		return metrics{nil, standard()}, append(problems, Problem{File: MetricsName, Severity: Error, Text: err.Error()})
	}
	return metrics{found, catalogue}, problems
}

func alike(a, b telemetry.Metric) bool {
	return a.Name == b.Name && a.Domain == b.Domain && a.Type == b.Type && a.Unit == b.Unit && slices.Equal(a.Kinds, b.Kinds)
}

func readDeclarations(root fs.FS, name string) (found []telemetry.Metric, problems Problems) {
	fail := func(line, column int, text string) {
		problems = append(problems, Problem{File: called(root, name), Line: line, Column: column, Severity: Error, Text: text})
	}
	b, err := fs.ReadFile(root, name)
	if err == nil && len(b) > maxFile {
		err = fmt.Errorf("%d bytes; at most %d", len(b), maxFile)
	}
	if err != nil {
		fail(0, 0, err.Error())
		return nil, problems
	}
	n, err := settings.Document(string(b))
	if err != nil {
		fail(0, 0, err.Error())
		return nil, problems
	}
	var all declarations
	for _, p := range settings.Problems(n, settings.Decode("", n, &all)) {
		fail(p.Line, p.Column, p.Text)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	own := standard()
	for i, d := range all.Metrics {
		if _, known := own.Lookup(d.Name); known {
			at := settings.Find(n, fmt.Sprintf("metrics.%d.name", i))
			fail(at.Line, at.Column, fmt.Sprintf("metrics: %s is declared by the program", d.Name))
			continue
		}
		found = append(found, d.metric())
	}
	return found, problems
}

// standard is the catalogue of this program, made once.
var standard = sync.OnceValue(telemetry.DefaultCatalogue)
