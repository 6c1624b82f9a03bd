package redfish

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

// TestTheStandardMappingFitsTheCatalogue: a metric that is declared is declared
// for the kind of entity that a rule gives it, and is a state where the rule
// has words.
func TestTheStandardMappingFitsTheCatalogue(t *testing.T) {
	m, err := loadMapping(nil)
	if err != nil {
		t.Fatal(err)
	}
	catalogue := telemetry.DefaultCatalogue()
	for _, r := range m.rules {
		for _, x := range r.readings {
			name := x.measure.column.Metric
			d, ok := catalogue.Lookup(name)
			if !ok {
				t.Errorf("line %d: %s is not declared", r.line, name)
				continue
			}
			if (d.Type == telemetry.StateOf) != (x.words != nil) {
				t.Errorf("line %d: %s has words: %v", r.line, name, x.words != nil)
			}
			kind, _, _ := strings.Cut(r.entity[0].text, ":")
			if kind != "" && !slices.Contains(d.Kinds, telemetry.Kind(kind)) {
				t.Errorf("line %d: %s is not declared for a %s", r.line, name, kind)
			}
			for _, k := range r.kinds {
				if kind == "" && !r.named && !slices.Contains(d.Kinds, k) {
					t.Errorf("line %d: %s is not declared for a %s", r.line, name, k)
				}
			}
		}
	}
}

func TestMappingFaultsCarryTheirLine(t *testing.T) {
	for text, want := range map[string]string{
		"version: 2": "1:10: mapping: version: 2, want 1 to 1",
		"rules: []":  "version: missing",
		"version: 1\nrules:\n  - path: Chassis//x\n    readings: [{property: A, metric: a_total}]":            `3:11: mapping: path: "Chassis//x" is no pattern`,
		"version: 1\nrules:\n  - path: Chassis/{a\n    traits: [A]":                                           `3:11: mapping: path: "Chassis/{a" is no pattern`,
		"version: 1\nrules:\n  - path: Chassis/*\n":                                                           "3:5: mapping: a rule without readings, traits or edges",
		"version: 1\nrules:\n  - traits: [A]":                                                                 "3:5: mapping: path: missing",
		"version: 1\nrules:\n  - path: Chassis/*\n    readings: [{property: A, metric: a_watts}]":             "4:16: mapping: a_watts: neither unit nor unit_from",
		"version: 1\nrules:\n  - path: Chassis/*\n    readings: [{property: A, metric: a_watts, unit: Cel}]":  `4:53: mapping: unit: "Cel" is no unit of a_watts`,
		"version: 1\nrules:\n  - path: Chassis/*\n    entity: 'gremlin:x'\n    traits: [A]":                   `4:13: mapping: entity: "gremlin:x": want kind:name`,
		"version: 1\nrules:\n  - path: Chassis/*\n    entity: 'gpu:{x'\n    traits: [A]":                      "4:13: mapping: entity",
		"version: 1\nrules:\n  - path: Chassis/*\n    for: [gremlin]\n    traits: [A]":                        `4:10: mapping: for: unknown kind "gremlin"`,
		"version: 1\nevents:\n  - {text: '(', event: a}":                                                      "3:12: mapping: text: error parsing regexp",
		"version: 1\nevents:\n  - {text: a}":                                                                  "3:5: mapping: event: missing",
		"version: 1\nsentinels: [x]":                                                                          "2:13: mapping: sentinels",
		"version: 1\nrules:\n  - path: Chassis/*\n    edges: [{relation: loves, from: self, to: entity}]":     "relation \"loves\"",
		"version: 1\nrules:\n  - path: Chassis/*\n    readings: [{property: A, metric: a_up, words: {x: y}}]": "words: x: want a whole number",
		"version: 1\nwhat: 1": "2:1: mapping: unknown key",
		"version: 1\nrules:\n  - path: &a Chassis/*\n    traits: [A]\n  - path: *a\n    traits: [A]": "an alias, which is not allowed",
	} {
		var m mapping
		if err := m.add([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q\n got %v\nwant %s", text, err, want)
		}
	}
}

// TestAMappingOfOnesOwnGoesFirst: a user's file takes precedence for a property
// that it names, and the rest is kept.
func TestAMappingOfOnesOwnGoesFirst(t *testing.T) {
	file := filepath.Join(t.TempDir(), "own.yaml")
	text := "version: 1\nrules:\n  - path: Chassis/*/Sensors/Inflow{n}\n    entity: 'loop:{target}/{n}'\n    readings: [{property: Reading, unit_from: ReadingUnits, metric: coolant_flow_liters_per_minute}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := loadMapping([]string{file})
	if err != nil {
		t.Fatal(err)
	}
	got := says(t, m, "cdu:c1", map[string]string{"/redfish/v1/Chassis/1/Sensors/Inflow7": `{"Reading": 0.5, "ReadingUnits": "L/s"}`})
	want(t, got, "loop:c1/7 coolant_flow_liters_per_minute 30")
	if _, err := loadMapping([]string{file + ".none"}); err == nil || !strings.Contains(err.Error(), "own.yaml.none") {
		t.Errorf("a mapping that is not there: %v", err)
	}
}
