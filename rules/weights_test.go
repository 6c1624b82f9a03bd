package rules

import (
	"bytes"
	"strings"
	"testing"
	"testing/fstest"
)

// TestWriteWeightsIsReadBack: what is written of a set is what the set has after it
// is read.
func TestWriteWeightsIsReadBack(t *testing.T) {
	sigs, err := signaturesOf(site(good))
	if err != nil {
		t.Fatal(err)
	}
	sigs[0].Prior, sigs[0].Features[0].For, sigs[0].Features[0].Against = -1.25, 4.5, -2.75
	var b bytes.Buffer
	if err := WriteWeights(&b, "made by a test", sigs); err != nil {
		t.Fatal(err)
	}
	both := site(good)
	both[WeightsName] = &fstest.MapFile{Data: b.Bytes()}
	again, err := signaturesOf(both)
	if err != nil {
		t.Fatal(err)
	}
	if s := again[0]; s.Prior != -1.25 || s.Features[0].For != 4.5 || s.Features[0].Against != -2.75 {
		t.Errorf("read back: prior %v, feature %+v", s.Prior, s.Features[0])
	}
}

func TestWeightsThatAreWrongAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"weights: [1]\n": "weights.yaml:1:10: weights: want names and values, found a list",
		"weights:\n  slow-receiver:\n    prior: 1\n    features: {idle: [1]}\n": "weights.yaml:4:22: idle: want [for, against], found 1 numbers",
		"weights:\n  nobody:\n    prior: 1\n    features: {}\n":                 `weights.yaml:2:3: warning: weights: no signature is named "nobody"`,
		"weights:\n  slow-receiver:\n    prior: 1\n    features: {x: [1, 0]}\n": `weights.yaml:4:16: warning: weights: slow-receiver has no feature named "x"`,
	} {
		root := site(good)
		root[WeightsName] = &fstest.MapFile{Data: []byte(text)}
		if got := Check(root).Error(); !strings.Contains(got, want) {
			t.Errorf("%q:\ngot  %s\nwant %s", text, got, want)
		}
	}
}

// TestEverySignatureOfOursIsWeighed: no signature relies on a weight that is not in
// the file.
func TestEverySignatureOfOursIsWeighed(t *testing.T) {
	sigs, err := signaturesOf(Files())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sigs {
		for _, c := range s.Features {
			if c.For < c.Against {
				t.Errorf("%s: feature %s: for %v is below against %v", s.Name, c.Name, c.For, c.Against)
			}
		}
	}
	if _, known, problems := readWeights(Files()); !known || len(problems) > 0 {
		t.Errorf("our own weights: found %v, %v", known, problems)
	}
}

// TestPriorsHoldForASignatureThatStatesNone: what a site learned is not replaced by
// our weights, where it changes one of our signatures and states no prior.
func TestPriorsHoldForASignatureThatStatesNone(t *testing.T) {
	root := site(strings.Replace(good, "prior: -3.5\n", "", 1))
	root[PriorsName] = &fstest.MapFile{Data: []byte("priors:\n  slow-receiver: -1.75\n")}
	sigs, err := signaturesOf(root)
	if err != nil {
		t.Fatal(err)
	}
	if sigs[0].Prior != -1.75 {
		t.Errorf("prior %v, want the site's -1.75", sigs[0].Prior)
	}
}
