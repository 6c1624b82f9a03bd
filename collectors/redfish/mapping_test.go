package redfish

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/collectors/mapping"
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
		for _, x := range r.Readings {
			d, ok := catalogue.Lookup(x.Metric)
			if !ok {
				t.Errorf("%s: %s is not declared", r.path.Path[0].Text, x.Metric)
				continue
			}
			if (d.Type == telemetry.StateOf) != (x.Words != nil) {
				t.Errorf("%s has words: %v", x.Metric, x.Words != nil)
			}
			if kind := r.Of.Kind; kind != "" && !slices.Contains(d.Kinds, kind) {
				t.Errorf("%s is not declared for a %s", x.Metric, kind)
			}
			for _, k := range r.Kinds {
				if r.Of.Kind == "" && !r.Named && !slices.Contains(d.Kinds, k) {
					t.Errorf("%s is not declared for a %s", x.Metric, k)
				}
			}
		}
	}
}

func TestMappingFaultsCarryTheirLine(t *testing.T) {
	for text, want := range map[string]string{
		"version: 2": "1:10: version: 2, want 1 to 1",
		"rules:\n  - from: Chassis//x\n    readings: [{from: A, metric: a_total}]":            `2:11: rules: from: "": an element without a name`,
		"rules:\n  - from: Chassis/{a\n    traits: [A]":                                       `2:11: rules: from: "{a": want a variable`,
		"rules:\n  - from: Chassis/*\n":                                                       "2:5: rules: a rule without readings, traits or edges",
		"rules:\n  - traits: [A]":                                                             "2:5: rules: from: required",
		"rules:\n  - from: Chassis/*\n    readings: [{from: A, metric: a_watts}]":             "3:16: rules: readings: a_watts: neither unit nor unit_from",
		"rules:\n  - from: Chassis/*\n    readings: [{from: A, metric: a_watts, unit: Cel}]":  `3:49: rules: readings: unit: "Cel" is no unit of a_watts`,
		"rules:\n  - from: Chassis/*\n    of: 'gremlin:x'\n    traits: [A]":                   `3:9: rules: of: "gremlin:x": want kind:name`,
		"rules:\n  - from: Chassis/*\n    of: 'gpu:{x'\n    traits: [A]":                      "3:9: rules: of: ",
		"rules:\n  - from: Chassis/*\n    for: [gremlin]\n    traits: [A]":                    `3:10: rules: for: unknown kind "gremlin"`,
		"events:\n  - {text: '(', event: a}":                                                  "2:12: events: text: error parsing regexp",
		"events:\n  - {text: a}":                                                              "2:5: events: event: required",
		"blank: [x]":                                                                          "1:9: blank: want a number",
		"rules:\n  - from: Chassis/*\n    edges: [{relation: loves, from: self, to: entity}]": "relation \"loves\"",
		"rules:\n  - from: Chassis/*\n    readings: [{from: A, metric: a_up, words: {x: y}}]": `words: x: want a number, found "y"`,
		"what: 1": "1:1: unknown key",
		"rules:\n  - from: &a Chassis/*\n    traits: [A]\n  - from: *a\n    traits: [A]": "an alias, which is not supported",
	} {
		if _, err := mapping.Decode([]byte(text), new(Document)); err == nil || !strings.Contains(err.Error(), want) {
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
