package fitting

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

func signatures() []explain.Signature {
	sig := func(name string, m explain.Measure) explain.Signature {
		return explain.Signature{Name: name, Expect: explain.ExpectIncident, Roots: []telemetry.Kind{telemetry.NIC},
			Features: []explain.Feature{{Name: "c", Measure: m, None: 0, Full: 1, For: 0, Against: 0}}}
	}
	return []explain.Signature{sig("a", "x"), sig("b", "y")}
}

func nic(name string) telemetry.Entity { return telemetry.Entity{Kind: telemetry.NIC, Name: name} }

// drawn makes judgements in which a is right with a probability that follows from x
// with weights 3 and −2 and a prior of 1.
func drawn(sigs []explain.Signature, n int) []Example {
	r := rand.New(rand.NewPCG(1, 2))
	var out []Example
	for range n {
		x := r.Float64()
		j := explain.Judgement{Candidates: []explain.Candidate{{Entity: nic("n0"), Values: explain.Values{"x": x}}}}
		odds := math.Exp(1 + 3*x - 2*(1-x))
		isA := r.Float64() < odds/(odds+1+1) // beside unknown and b, both at even odds
		isB := !isA && r.Float64() < 0.5
		out = append(out, NewExample(sigs, &j, Label{
			Nothing:   !isA && !isB,
			Entity:    func(telemetry.Entity) bool { return true },
			Signature: func(s string) bool { return s == "a" && isA || s == "b" && isB },
		}))
	}
	return out
}

func TestFitFindsTheWeightsThatMadeTheData(t *testing.T) {
	sigs := signatures()
	before, after := Fit(sigs, drawn(sigs, 20000), Options{Rounds: 600})
	if after >= before {
		t.Errorf("loss %v before, %v after", before, after)
	}
	a := &sigs[0]
	full, none := a.Prior+a.Features[0].For, a.Prior+a.Features[0].Against
	if math.Abs(full-4) > 0.15 || math.Abs(none+1) > 0.15 {
		t.Errorf("log-odds %v with the feature and %v without, want 4 and -1", full, none)
	}
	if b := sigs[1].Prior; math.Abs(b) > 0.1 {
		t.Errorf("prior of b is %v, want 0", b)
	}
}

// TestDescendAgreesWithDifferences: the gradient is that of the loss.
func TestDescendAgreesWithDifferences(t *testing.T) {
	sigs := signatures()
	l, size := layOut(sigs)
	w := []float64{0.3, 1.2, -0.7, -0.4, 0.6, 0.1}
	for _, x := range drawn(sigs, 20) {
		gradient := make([]float64, size)
		x.descend(l, w, gradient)
		for k := range w {
			const h = 1e-6
			up, down := append([]float64(nil), w...), append([]float64(nil), w...)
			up[k] += h
			down[k] -= h
			unused := make([]float64, size)
			if want := (x.descend(l, up, unused) - x.descend(l, down, unused)) / (2 * h); math.Abs(gradient[k]-want) > 1e-5 {
				t.Fatalf("weight %d: %v, want %v", k, gradient[k], want)
			}
		}
	}
}

func TestFitHoldsWeightsByTheRidge(t *testing.T) {
	sigs := signatures()
	Fit(sigs, drawn(sigs, 100), Options{Ridge: 1e6, Rounds: 200})
	for _, s := range sigs {
		if math.Abs(s.Prior) > 0.01 || math.Abs(s.Features[0].For) > 0.01 {
			t.Errorf("%s: %+v", s.Name, s)
		}
	}
}

func TestFitLeavesOtherSignaturesAsTheyAre(t *testing.T) {
	sigs := signatures()
	sigs[1].Prior = 0.25
	before, after := Fit(sigs, drawn(sigs, 2000), Options{Rounds: 200, Only: []string{"a"}})
	if after >= before || sigs[0].Prior == 0 {
		t.Errorf("a was not fitted: loss %v before, %v after, %+v", before, after, sigs[0])
	}
	if b := sigs[1]; b.Prior != 0.25 || b.Features[0].For != 0 || b.Features[0].Against != 0 {
		t.Errorf("b was fitted: %+v", b)
	}
}

func TestFitKeepsForAndAgainstOnTheirSides(t *testing.T) {
	sigs := signatures()
	xs := drawn(sigs, 500)
	for i := range xs { // the feature now speaks against what it is evidence for
		for k := range xs[i].rows {
			r := &xs[i].rows[k]
			r.there, r.absent = r.absent, r.there
		}
	}
	Fit(sigs, xs, Options{Rounds: 300})
	if c := sigs[0].Features[0]; c.For < 0 || c.Against > 0 {
		t.Errorf("for %v, against %v", c.For, c.Against)
	}
}

// A truth that accepts the row of an air handler means the handler, if it was weighed.
func TestNewExamplePrefersTheRootThatIsMeant(t *testing.T) {
	sigs := signatures()
	all := func(telemetry.Entity) bool { return true }
	of := func(names ...string) (right []bool) {
		var j explain.Judgement
		for _, n := range names {
			j.Candidates = append(j.Candidates, explain.Candidate{Entity: nic(n), Values: explain.Values{"x": 1}})
		}
		x := NewExample(sigs, &j, Label{Entity: all, Signature: func(s string) bool { return s == "a" }, First: func(e telemetry.Entity) bool { return e == nic("n1") }})
		for _, r := range x.rows {
			right = append(right, r.right)
		}
		return right
	}
	if got, want := of("n0", "n1"), []bool{false, false, false, true, false}; !slices.Equal(got, want) {
		t.Errorf("both weighed: right are %v, want %v", got, want)
	}
	if got, want := of("n0", "n2"), []bool{false, true, false, true, false}; !slices.Equal(got, want) {
		t.Errorf("the one that is meant not weighed: right are %v, want %v", got, want)
	}
}

func TestNewExampleFallsBackToThePlaceAndToUnknown(t *testing.T) {
	sigs := signatures()
	j := explain.Judgement{Candidates: []explain.Candidate{{Entity: nic("n0"), Values: explain.Values{"x": 1}}}}
	here := func(e telemetry.Entity) bool { return e == nic("n0") }
	for name, c := range map[string]struct {
		label  Label
		rights int
		named  bool
	}{
		"root and name":          {Label{Entity: here, Signature: func(s string) bool { return s == "b" }}, 1, true},
		"the root alone":         {Label{Entity: here, Signature: func(string) bool { return false }}, 2, true},
		"the root is not listed": {Label{Entity: func(telemetry.Entity) bool { return false }}, 1, false},
		"no fault":               {Label{Nothing: true}, 1, false},
	} {
		x := NewExample(sigs, &j, c.label)
		n := 0
		for _, r := range x.rows {
			if r.right {
				n++
			}
		}
		if n != c.rights || x.rows[0].right == c.named {
			t.Errorf("%s: %d right, unknown %v", name, n, x.rows[0].right)
		}
	}
}
