package scenario_test

import (
	"os"
	"slices"
	"testing"

	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/rules"
	"github.com/quintet-dc/quintet/rules/scenario"
)

// TestTheSignaturesKeepTheirWord plays every scenario beside our signatures.
func TestTheSignaturesKeepTheirWord(t *testing.T) {
	files, err := scenario.Files(rules.Files())
	if err != nil {
		t.Fatal(err)
	}
	set, err := rules.Standard()
	if err != nil {
		t.Fatal(err)
	}
	proved := map[string][2]bool{}
	for _, f := range files {
		p := proved[f.Fault]
		p[0], p[1] = p[0] || f.Fires, p[1] || !f.Fires
		proved[f.Fault] = p
		t.Run(f.Path, func(t *testing.T) {
			for _, m := range f.Scenario.Check(play(t, f.Scenario, set)) {
				t.Error(m)
			}
		})
	}
	for _, s := range set.Signatures {
		if proved[s.Name] != [2]bool{true, true} {
			t.Errorf("%s: no scenario that fires, or none that stays silent", s.Name)
		}
	}
}

// TestWhatFitsNothingIsUnknown plays the scenarios whose answer must be that no
// signature fits: there is no folder of signatures they could stand in.
func TestWhatFitsNothingIsUnknown(t *testing.T) {
	files, err := scenario.Files(os.DirFS("testdata"))
	if err != nil {
		t.Fatal(err)
	}
	set, err := rules.Standard()
	if err != nil {
		t.Fatal(err)
	}
	fires := false
	for _, f := range files {
		fires = fires || f.Fires && f.Fault == explain.Unknown
		t.Run(f.Path, func(t *testing.T) {
			for _, m := range f.Scenario.Check(play(t, f.Scenario, set)) {
				t.Error(m)
			}
		})
	}
	if !fires {
		t.Error("no scenario testdata/unknown/fires-*.txtar")
	}
}

// play runs a scenario through an engine and returns what was published.
func play(t *testing.T, s *scenario.Scenario, set rules.Set) (out []explain.Incident) {
	t.Helper()
	e, err := correlate.New(correlate.Config{Signatures: set.Signatures, Rules: set.Digest})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range s.Records() {
		for _, in := range e.Step(r).Incidents {
			in.Impact.Jobs = slices.Clone(in.Impact.Jobs) // valid only until the next Step
			out = append(out, in)
		}
	}
	return out
}
