package rules

import (
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/quintet-dc/quintet/correlate/explain"
)

// TestAFolderSetsPriors: a folder that holds nothing but priors changes those of
// the signatures read before it, and so the digest.
func TestAFolderSetsPriors(t *testing.T) {
	own := fstest.MapFS{PriorsName: {Data: []byte("priors:\n  slow-receiver: -1.5\n")}}
	sigs, err := signaturesOf(Files(), own)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sigs {
		if s.Name == "slow-receiver" && s.Prior != -1.5 {
			t.Errorf("prior %g, want -1.5", s.Prior)
		}
	}
	usual, err := signaturesOf(Files())
	if err != nil {
		t.Fatal(err)
	}
	if Digest(sigs) == Digest(usual) {
		t.Error("another prior, the same digest")
	}
}

func TestPriorsThatAreWrong(t *testing.T) {
	for text, want := range map[string]string{
		"priors:\n  slow-receiver: -99\n":  "priors.yaml:2:18: priors: -99 of slow-receiver; want -12 to 12",
		"priors: 3\n":                      "priors.yaml:1:9: priors: want signatures and log-odds",
		"prior:\n  slow-receiver: 1\n":     `unknown key "prior"`,
		"priors:\n  sloth: 1\n":            `priors.yaml:2:3: warning: priors: no signature is named "sloth"`,
		"priors:\n  slow-receiver: high\n": "priors.yaml:2:18",
		"":                                 "empty file",
		"priors:\n  slow-receiver: 1\n---\nx: 1\n": "a second document",
	} {
		if got := Check(Files(), fstest.MapFS{PriorsName: {Data: []byte(text)}}).Error(); !strings.Contains(got, want) {
			t.Errorf("%q: %s; want %s", text, got, want)
		}
	}
}

// TestLearn: what happens more often than its prior says rises, what happens
// less falls, nothing goes farther than it may, and without cases nothing moves.
func TestLearn(t *testing.T) {
	sigs := []explain.Signature{
		{Name: "a", Prior: -3, Expect: explain.ExpectIncident}, {Name: "b", Prior: -3, Expect: explain.ExpectIncident},
		{Name: "c", Prior: -5, Expect: explain.ExpectIncident}, {Name: "leak", Prior: -3, Expect: explain.ExpectRisk},
	}
	got := map[string]Learned{}
	for _, l := range Learn(sigs, map[string]int{"a": 6, "b": 1}) {
		got[l.Name] = l
	}
	if len(got) != 3 || got["a"].Now <= -3 || got["b"].Now >= -3 || got["a"].Cases != 6 {
		t.Errorf("%+v", got)
	}
	// a's share by its prior is 1/(2+e^-2); its cases, six of seven, weigh seven
	// against the twenty that the prior counts as.
	share := 1 / (2 + math.Exp(-2))
	if want := -3 + math.Log((6+20*share)/27/share); math.Abs(got["a"].Now-want) > 1e-12 {
		t.Errorf("a: %v, want %v", got["a"].Now, want)
	}
	for _, l := range Learn(sigs, map[string]int{"c": 100000}) {
		if math.Abs(l.Now-l.Was) > farthest {
			t.Errorf("%s moved from %g to %g", l.Name, l.Was, l.Now)
		}
	}
	if got := Learn(sigs, nil); got != nil {
		t.Errorf("without cases: %+v", got)
	}
}
