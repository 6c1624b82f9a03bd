package correlate

import (
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// look is the answers of one look: at each place a signature's confidence; what is
// left is unknown.
func look(pairs ...any) []explain.Answer {
	var out []explain.Answer
	left := 1.0
	for i := 0; i < len(pairs); i += 2 {
		name, c := pairs[i].(string), pairs[i+1].(float64)
		out = append(out, explain.Answer{Entity: telemetry.Entity{Kind: telemetry.Node, Name: name}, Signature: &explain.Signature{Name: "s-" + name}, Confidence: c})
		left -= c
	}
	unknown := explain.Answer{Entity: telemetry.Entity{Kind: telemetry.Job, Name: "j"}, Confidence: left}
	if len(out) > 0 && out[0].Confidence > left {
		return append(out, unknown)
	}
	return append([]explain.Answer{unknown}, out...)
}

func TestNamingChooses(t *testing.T) {
	for name, c := range map[string]struct {
		looks [][]explain.Answer
		named []string // after each look; "" is none, j unknown
	}{
		"sure at once":              {[][]explain.Answer{look("a", 0.98)}, []string{"a"}},
		"nearly sure at once":       {[][]explain.Answer{look("a", 0.95)}, []string{""}},
		"likely for five seconds":   {[][]explain.Answer{look("a", 0.6), look("a", 0.6)}, []string{"", "a"}},
		"two that alternate":        {[][]explain.Answer{look("a", 0.6), look("b", 0.6), look("a", 0.6)}, []string{"", "", ""}},
		"not twice as likely":       {[][]explain.Answer{look("a", 0.98), look("b", 0.55, "a", 0.4), look("b", 0.55, "a", 0.4)}, []string{"a", "a", "a"}},
		"twice as likely, once":     {[][]explain.Answer{look("a", 0.98), look("b", 0.9, "a", 0.05), look("a", 0.9)}, []string{"a", "a", "a"}},
		"twice as likely, twice":    {[][]explain.Answer{look("a", 0.98), look("b", 0.9, "a", 0.05), look("b", 0.9, "a", 0.05)}, []string{"a", "a", "b"}},
		"nothing left of it":        {[][]explain.Answer{look("a", 0.98), look("b", 0.99, "a", 0.005)}, []string{"a", "b"}},
		"unknown takes no place":    {[][]explain.Answer{look("a", 0.98), look(), look()}, []string{"a", "a", "a"}},
		"a name for what had none":  {[][]explain.Answer{look(), look("a", 0.55), look("a", 0.55)}, []string{"", "", "a"}},
		"not listed, and none sure": {[][]explain.Answer{look("a", 0.98), look("b", 0.45), look("b", 0.45)}, []string{"a", "a", "a"}},
	} {
		var n naming
		for i, answers := range c.looks {
			n.choose(answers, false, telemetry.Time(i)*telemetry.Time(publishAfter))
			if got := n.root.entity.Name; got != c.named[i] {
				t.Errorf("%s: after look %d %q, want %q", name, i+1, got, c.named[i])
			}
		}
	}
}

func TestWhatARiskNamedIsNamedAtTheFirstLook(t *testing.T) {
	for lead, want := range map[string]string{"a": "a", "b": ""} {
		var n naming
		n.knows(placeOf(&look("a", 0.6)[0]), 1)
		n.choose(look(lead, 0.6), false, 1+telemetry.Time(publishAfter))
		if got := n.root.entity.Name; got != want {
			t.Errorf("a risk at a for five seconds, then %s is the likeliest: %q, want %q", lead, got, want)
		}
	}
	var n naming
	n.choose(look("b", 0.98), false, 1)
	n.knows(placeOf(&look("a", 0.6)[0]), 1)
	if n.choose(look("a", 0.6, "b", 0.3), false, 1+telemetry.Time(publishAfter)); n.root.entity.Name != "b" {
		t.Errorf("a risk took the place of a root that was named: %+v", n.root)
	}
}

func TestNamingPublishesTheLikeliestAfterHalfAMinute(t *testing.T) {
	var n naming
	n.choose(look("a", 0.3), false, 0+1)
	if n.named() {
		t.Fatal("named at the first look")
	}
	if _, ok := n.choose(look("a", 0.3), false, 1+telemetry.Time(investigateFor)); !ok || n.root.signature != explain.Unknown {
		t.Errorf("after half a minute: %+v", n.root)
	}
	n.choose(look("a", 0.6), false, 2+telemetry.Time(investigateFor))
	n.choose(look("a", 0.6), false, 2+telemetry.Time(investigateFor+publishAfter))
	if n.root.entity.Name != "a" {
		t.Errorf("a name that came later: %+v", n.root)
	}
}

// TestNamingLeavesOutWhatIsUnlikely: a place that one look in four would find right
// is named at last, a less likely one is not.
func TestNamingLeavesOutWhatIsUnlikely(t *testing.T) {
	for confidence, want := range map[float64]bool{0.3: true, 0.2: false} {
		var n naming
		answers := look("a", confidence)[1:]
		n.choose(answers, false, 1)
		if n.choose(answers, false, 1+telemetry.Time(investigateFor)); n.named() != want {
			t.Errorf("at %v: named %v", confidence, n.named())
		}
	}
}

// TestNamingDoesNotGuessThatNothingIsBroken: a benign change must be likelier than not.
func TestNamingDoesNotGuessThatNothingIsBroken(t *testing.T) {
	for confidence, want := range map[float64]bool{0.4: false, 0.6: true} {
		change := []explain.Answer{{Entity: telemetry.Entity{Kind: telemetry.Job, Name: "j"}, Confidence: confidence,
			Signature: &explain.Signature{Name: "change", Expect: explain.ExpectBenign}}}
		var n naming
		n.choose(change, false, 1)
		if n.choose(change, false, 1+telemetry.Time(investigateFor)); n.named() != want {
			t.Errorf("at %v: named %v", confidence, n.named())
		}
	}
}

// TestAGuessIsNoBenignChange: a relapse whose first guess is a change of the work is
// one of the fault before it; a likely change of the work is not.
func TestAGuessIsNoBenignChange(t *testing.T) {
	e := &caseBook{sight: &sight{cfg: Config{Signatures: []explain.Signature{{Name: "change", Expect: explain.ExpectBenign}, {Name: "fault"}}}}}
	was := &explain.Incident{Root: explain.Root{Signature: "fault", Confidence: 0.4}}
	for confidence, want := range map[float64]bool{0.2: true, 0.6: false} {
		next := &explain.Incident{Root: explain.Root{Signature: "change", Confidence: confidence}}
		if got := e.samePlace(was, next); got != want {
			t.Errorf("at %v: %v", confidence, got)
		}
	}
}

// TestAnUnlikelyGuessIsNotNamedAtTheEnd: an incident that ends before its cause was
// named reports the likeliest place only if that is likely enough.
func TestAnUnlikelyGuessIsNotNamedAtTheEnd(t *testing.T) {
	node := telemetry.Entity{Kind: telemetry.Node, Name: "a"}
	for confidence, want := range map[float64]telemetry.Entity{0.2: node, 0.1: {}} {
		lead := &incidentCase{incident: explain.Incident{State: explain.StateResolved,
			Root:         explain.Root{Entity: node, Signature: "s", Confidence: confidence},
			Alternatives: []explain.Alternative{{Entity: node, Signature: "u", Confidence: 0.1}}}}
		in := (&caseBook{sight: &sight{}}).together(lead)
		if in.Root.Entity != want {
			t.Errorf("at %v, and at .1 by another name: %v", confidence, in.Root.Entity)
		}
		if want.IsZero() && in.Alternatives[0].Confidence != confidence {
			t.Errorf("a candidate at %v is stated at %v", confidence, in.Alternatives[0].Confidence)
		}
	}
}

// TestNamingAwaitsWhatCouldContradict: an answer is not named while something is awaited,
// however sure it is, but not for ever.
func TestNamingAwaitsWhatCouldContradict(t *testing.T) {
	var n naming
	for _, g := range []telemetry.Time{1, 1 + telemetry.Time(investigateFor)} {
		if n.choose(look("a", 0.98), true, g); n.named() {
			t.Errorf("named after %v s", float64(g)/1e9)
		}
	}
	if n.choose(look("a", 0.98), true, 1+telemetry.Time(awaitFor)); n.root.entity.Name != "a" {
		t.Errorf("after three minutes: %+v", n.root)
	}
}
