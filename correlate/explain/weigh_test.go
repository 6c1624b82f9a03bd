package explain_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

func signature(name string, prior float64, features ...explain.Feature) explain.Signature {
	return explain.Signature{Name: name, Domain: telemetry.Network, Expect: explain.ExpectIncident,
		Roots: []telemetry.Kind{telemetry.NIC, telemetry.Port}, Prior: prior, Features: features, Sentence: name + " at {root}."}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*(1+math.Abs(a)) }

func TestAFeatureIsReadBetweenNoneAndFull(t *testing.T) {
	rising := explain.Feature{Measure: "x", None: 0.2, Full: 0.6, For: 4, Against: -6}
	falling := explain.Feature{Measure: "x", None: 0.6, Full: 0.2, For: 4, Against: -6}
	for _, c := range []struct{ v, rising, falling float64 }{
		{-5, -6, 4}, {0.2, -6, 4}, {0.3, -3.5, 1.5}, {0.4, -1, -1}, {0.6, 4, -6}, {9, 4, -6},
	} {
		for feature, want := range map[*explain.Feature]float64{&rising: c.rising, &falling: c.falling} {
			s := signature("s", -3, *feature)
			if got, missing, ok := s.Weigh(telemetry.NIC, explain.Values{"x": c.v}); !ok || missing != 0 || !near(got, want-3) {
				t.Errorf("%v from %v to %v: got %v, %d, %v, want %v", c.v, feature.None, feature.Full, got, missing, ok, want-3)
			}
		}
	}
}

// TestAReadingProvesWhatItsSamplesDo: a latency that is one and a half times the mean is
// three standard errors from where it would not be there. Its evidence is at most twice
// the log-odds of that, whatever the weight, and all of the weight far beyond.
func TestAReadingProvesWhatItsSamplesDo(t *testing.T) {
	latency := explain.Reading{Metric: "storage_write_latency_seconds", Take: explain.TakeRatio}
	for _, weight := range []float64{0.5, 2, 6.8, 20} {
		s := explain.Compile([]explain.Signature{signature("s", 0, explain.Feature{Reading: &latency, None: 1.15, Full: 1.45, For: weight, Against: -1})})[0]
		key := s.Features[0].Key()
		weigh := func(ratio, err float64) float64 {
			score, _, _ := s.Weigh(telemetry.Storage, explain.Values{key: ratio, key.Err(): err})
			return score
		}
		const err = 0.35 / 3
		if got := weigh(1.5, err); got > min(weight, 9) || got < min(weight, 9)*0.6 {
			t.Errorf("weight %g, three standard errors: evidence %.2f, want nearly %.1f", weight, got, min(weight, 9))
		}
		if got := weigh(1.5, err/10); !near(got, weight) {
			t.Errorf("weight %g, thirty standard errors: evidence %.2f", weight, got)
		}
		if got, most := weigh(1.5, 2*err), 2*1.5*1.5/2; got > most {
			t.Errorf("weight %g, one and a half standard errors: evidence %.2f, want at most %.2f", weight, got, most)
		}
	}
}

func TestWhatIsNotSeenSaysNothing(t *testing.T) {
	s := signature("s", -3, explain.Feature{Measure: "x", Full: 1, For: 4, Against: -6}, explain.Feature{Measure: "y", Full: 1, For: 1, Against: -1})
	if got, missing, ok := s.Weigh(telemetry.NIC, explain.Values{"y": 1}); !ok || missing != 1 || got != -2 {
		t.Errorf("got %v, %d missing, %v", got, missing, ok)
	}
	if got, missing, ok := s.Weigh(telemetry.NIC, nil); !ok || missing != 2 || got != -3 {
		t.Errorf("got %v, %d missing, %v", got, missing, ok)
	}
}

func TestWhatCameTooLateSpeaksAgainstEverySignature(t *testing.T) {
	s := signature("s", -1)
	last := 0.0
	for _, late := range []float64{0, 0.5, 1, 7} {
		got := s.Prior + s.Offset(&explain.Candidate{Values: explain.Values{explain.TooLate: late}})
		if late > 0 && late <= 1 && got >= last || late == 7 && got != last || late == 0 && got != -1 {
			t.Errorf("%v of a step late: %v after %v", late, got, last)
		}
		last = got
	}
}

// What began later than the degradation loses, and is still what it is where that does not
// count; what cannot become the first answer is not looked at.
func TestWhatBeganLaterIsNotTheCause(t *testing.T) {
	sigs := []explain.Signature{signature("s", 0, explain.Feature{Measure: "x", Full: 1, For: 4, Against: -9})}
	strong, weak, none := entity("nic:a/n0"), entity("nic:b/n0"), entity("nic:c/n0")
	for _, counts := range []bool{true, false} {
		cands := []explain.Candidate{{Entity: strong, Values: explain.Values{"x": 1}}, {Entity: weak, Values: explain.Values{"x": 0.9}}, {Entity: none, Values: explain.Values{"x": 0}}}
		var asked []telemetry.Entity
		got := explain.Judge(sigs, cands, explain.JudgeConfig{Unknown: explain.Unnamed{}, Keep: 3, Late: func(a *explain.Answer) (float64, bool) {
			asked = append(asked, a.Entity)
			return map[telemetry.Entity]float64{strong: 2}[a.Entity], counts
		}})
		if want := map[bool]telemetry.Entity{true: weak, false: strong}[counts]; got[0].Entity != want {
			t.Errorf("it counts: %v: %v is first", counts, got[0].Entity)
		}
		i := slices.IndexFunc(got, func(a explain.Answer) bool { return a.Entity == strong })
		if got[i].Late != 2 || (cands[0].Late["s"] == 2) != counts || cands[1].Late != nil {
			t.Errorf("it counts: %v: %v steps late, noted %v, %v", counts, got[i].Late, cands[0].Late, cands[1].Late)
		}
		if !slices.Equal(asked, []telemetry.Entity{strong, weak}) {
			t.Errorf("asked of %v", asked)
		}
	}
}

func TestARequiredFeatureMustBeSeenAndThere(t *testing.T) {
	s := signature("s", -3, explain.Feature{Measure: "x", None: 0.1, Full: 1, For: 4, Against: -6, Required: true})
	for v, want := range map[float64]bool{0: false, 0.1: false, 0.11: true, 1: true} {
		if _, _, ok := s.Weigh(telemetry.NIC, explain.Values{"x": v}); ok != want {
			t.Errorf("at %v it is considered: %v", v, ok)
		}
	}
	if _, _, ok := s.Weigh(telemetry.NIC, explain.Values{}); ok {
		t.Error("it is considered unseen")
	}
}

// measureNames are those of invented signatures.
func measureNames() []explain.Measure { return []explain.Measure{"a", "b", "c", "d"} }

func invented(r *rand.Rand) []explain.Signature {
	var out []explain.Signature
	for k := range 1 + r.IntN(4) {
		var features []explain.Feature
		for _, m := range measureNames() {
			none := r.Float64()
			full := none + (r.Float64()+0.1)*float64(1-2*r.IntN(2))
			features = append(features, explain.Feature{Measure: m, None: none, Full: full, For: 4 * r.Float64(), Against: -4 * r.Float64(), Required: r.IntN(10) == 0})
		}
		s := signature(fmt.Sprintf("s%d", k), -3*r.Float64(), features...)
		out = append(out, s)
	}
	return out
}

func someValues(r *rand.Rand) explain.Values {
	v := explain.Values{}
	for _, m := range measureNames() {
		if r.IntN(5) > 0 {
			v[m] = r.Float64()
		}
	}
	return v
}

// someCandidates are ends of links, both ends of a few among them, and one that
// no signature knows.
func someCandidates(r *rand.Rand) []explain.Candidate {
	out := []explain.Candidate{{Entity: entity("job:other"), Values: someValues(r)}}
	for k := range 1 + r.IntN(4) {
		nic, port := entity(fmt.Sprintf("nic:h%d/n0", k)), entity(fmt.Sprintf("port:leaf0/h%d", k))
		out = append(out, explain.Candidate{Entity: nic, Peer: port, Values: someValues(r)})
		if r.IntN(2) == 0 {
			out = append(out, explain.Candidate{Entity: port, Peer: nic, Values: someValues(r)})
		}
	}
	return out
}

// sameAnswers compares by bytes, except for the signature's address.
func sameAnswers(a, b []explain.Answer) bool {
	return slices.EqualFunc(a, b, func(x, y explain.Answer) bool {
		return x.Entity == y.Entity && x.Name() == y.Name() && x.Score == y.Score && x.Confidence == y.Confidence && x.Missing == y.Missing
	})
}

// TestWeighBelievesWhatForetellsAFault: a required feature may be unseen where a feature of
// the precursor is there for certain, and not where that is weak, uncertain or unseen.
func TestWeighBelievesWhatForetellsAFault(t *testing.T) {
	effect := explain.Feature{Name: "effect", Measure: "e", Full: 1, Required: true, For: 1, Against: -1}
	known := explain.Feature{Name: "known", Measure: "k", Full: 1, For: 2, Against: -1}
	s := signature("s", -3, effect, known)
	s.Precursor = &explain.Precursor{Features: []string{"known"}}
	s = explain.Compile([]explain.Signature{s})[0]
	for name, c := range map[string]struct {
		values explain.Values
		want   bool
	}{
		"certain":              {explain.Values{"k": 1}, true},
		"weak":                 {explain.Values{"k": 0.5}, false},
		"uncertain":            {explain.Values{"k": 1, explain.Measure("k").Err(): 2}, false},
		"unseen":               {explain.Values{}, false},
		"the effect is absent": {explain.Values{"k": 1, "e": 0}, false},
	} {
		if _, _, ok := s.Weigh(telemetry.NIC, c.values); ok != c.want {
			t.Errorf("%s: %v, want %v", name, ok, c.want)
		}
	}
}

func TestJudgementsAreShares(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	for range 300 {
		sigs, cands := invented(r), someCandidates(r)
		answers := judge(sigs, cands, entity("nic:x/n0"), 1000)
		var sum float64
		unknown := 0
		for _, a := range answers {
			sum += a.Confidence
			if a.Name() == explain.Unknown {
				unknown++
			} else if a.Entity.Kind == telemetry.Job {
				t.Fatalf("%v is no root of %s", a.Entity, a.Name())
			}
		}
		if !near(sum, 1) || unknown != 1 {
			t.Fatalf("confidences sum to %v, unknown is there %d times", sum, unknown)
		}
		if short := judge(sigs, cands, entity("nic:x/n0"), 2); !sameAnswers(short, answers[:min(2, len(answers))]) {
			t.Fatalf("the first two are %+v, of all %+v", short, answers)
		}
	}
}

func TestTheOrderOfCandidatesDoesNotMatter(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 9))
	for range 300 {
		sigs, cands := invented(r), someCandidates(r)
		if r.IntN(2) == 0 { // ties
			for i := range cands {
				cands[i].Values = cands[0].Values
			}
		}
		want := judge(slices.Clone(sigs), cands, entity("nic:x/n0"), 1000)
		r.Shuffle(len(cands), func(i, j int) { cands[i], cands[j] = cands[j], cands[i] })
		r.Shuffle(len(sigs), func(i, j int) { sigs[i], sigs[j] = sigs[j], sigs[i] })
		got := judge(sigs, cands, entity("nic:x/n0"), 1000)
		if !sameAnswers(got, want) {
			t.Fatalf("got\n%+v\nwant\n%+v", got, want)
		}
	}
}

func confidence(answers []explain.Answer, e telemetry.Entity, name string) float64 {
	for i := range answers {
		if answers[i].Entity == e && answers[i].Name() == name {
			return answers[i].Confidence
		}
	}
	return 0
}

// TestConfidenceRisesWithEachFeature: more evidence for a root never makes it less
// likely.
func TestConfidenceRisesWithEachFeature(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	for range 300 {
		s := invented(r)[:1]
		cands := []explain.Candidate{{Entity: entity("nic:a/n0"), Values: someValues(r)}, {Entity: entity("nic:b/n0"), Values: someValues(r)}}
		before := confidence(judge(s, cands, telemetry.Entity{}, 1000), cands[0].Entity, "s0")
		c := s[0].Features[r.IntN(len(s[0].Features))]
		v, seen := cands[0].Values[c.Measure]
		if !seen {
			continue
		}
		cands[0].Values[c.Measure] = v + (c.Full-v)*r.Float64() // towards Full, or back from beyond it
		if (v-c.Full)*(c.Full-c.None) > 0 {
			cands[0].Values[c.Measure] = v
		}
		after := confidence(judge(s, cands, telemetry.Entity{}, 1000), cands[0].Entity, "s0")
		if after < before-1e-12 {
			t.Fatalf("%+v from %v to %v: confidence from %v to %v", c, v, cands[0].Values[c.Measure], before, after)
		}
	}
}

func TestBothEndsOfALinkAreOneAnswer(t *testing.T) {
	s := []explain.Signature{signature("slow-link", math.Log(3), explain.Feature{Measure: "x", Full: 1, For: 2, Against: -2})}
	a, z, other := entity("port:leaf0/s0"), entity("port:spine0/l0"), entity("port:leaf0/s1")
	cands := []explain.Candidate{
		{Entity: a, Peer: z, Values: explain.Values{"x": 0.5}},
		{Entity: z, Peer: a, Values: explain.Values{"x": 0.6}},
		{Entity: other, Peer: entity("port:spine1/l0"), Values: explain.Values{"x": 0.7}},
	}
	got := judge(s, cands, telemetry.Entity{}, 10)
	if len(got) != 3 || got[0].Entity != z || got[1].Entity != other || confidence(got, a, "slow-link") != 0 {
		t.Fatalf("got %+v", got)
	}
	e := math.Exp
	all := e(0) + e(0.4) + e(0.8) + e(0) // the two ends, the other link, unknown
	if want := (e(0) + e(0.4)) / all; !near(got[0].Confidence, want) {
		t.Errorf("the link has %v, want %v", got[0].Confidence, want)
	}
}

// Two faults at the two ends of a link are two answers.
func TestTwoFaultsOfALinkAreTwoAnswers(t *testing.T) {
	x := explain.Feature{Measure: "x", Full: 1, For: 2, Required: true}
	y := explain.Feature{Measure: "y", Full: 1, For: 1, Required: true}
	s := []explain.Signature{signature("slow-receiver", 0, x), signature("incast", 0, y)}
	nic, port := entity("nic:h0/n0"), entity("port:leaf0/h0")
	got := judge(s, []explain.Candidate{
		{Entity: nic, Peer: port, Values: explain.Values{"x": 1}},
		{Entity: port, Peer: nic, Values: explain.Values{"y": 1}},
	}, telemetry.Entity{}, 10)
	if len(got) != 3 || confidence(got, nic, "slow-receiver") <= confidence(got, port, "incast") || confidence(got, port, "incast") == 0 {
		t.Errorf("got %+v", got)
	}
}

func TestUnknownHasEvenOdds(t *testing.T) {
	s := []explain.Signature{signature("s", 0, explain.Feature{Measure: "x", Full: 1, For: 2, Against: -2})}
	for x, want := range map[float64]string{0.4: explain.Unknown, 0.6: "s"} {
		got := judge(s, []explain.Candidate{{Entity: entity("nic:a/n0"), Values: explain.Values{"x": x}}}, entity("nic:b/n0"), 1)
		if got[0].Name() != want {
			t.Errorf("at %v: %+v", x, got)
		}
	}
	got := judge(nil, nil, entity("job:train"), 5)
	if len(got) != 1 || got[0].Confidence != 1 || got[0].Entity != entity("job:train") {
		t.Errorf("of nothing: %+v", got)
	}
}

// judge weighs with an answer without a signature at one entity, at even odds.
func judge(sigs []explain.Signature, cands []explain.Candidate, unknown telemetry.Entity, keep int) []explain.Answer {
	return explain.Judge(sigs, cands, explain.JudgeConfig{Unknown: explain.Unnamed{At: []explain.Suspect{{Entity: unknown, Weight: 1}}}, Keep: keep})
}

// TestWhatNothingShowsSharesThePrior: of ten NICs one shows either of two features. It alone can
// be the answer, and it is one of ten.
func TestWhatNothingShowsSharesThePrior(t *testing.T) {
	s := signature("s", 1, explain.Feature{Measure: "x", Full: 1, For: 2, Either: true}, explain.Feature{Measure: "y", Full: 1, For: 2, Either: true})
	var cands []explain.Candidate
	for i := range 10 {
		v := explain.Values{"x": 0}
		if i == 3 {
			v["y"] = 1
		}
		cands = append(cands, explain.Candidate{Entity: telemetry.Entity{Kind: telemetry.NIC, Name: fmt.Sprint(i)}, Values: v})
	}
	var named []explain.Answer
	for _, a := range explain.Judge([]explain.Signature{s}, cands, explain.JudgeConfig{Keep: 20}) {
		if a.Signature != nil {
			named = append(named, a)
		}
	}
	if len(named) != 1 || named[0].Entity.Name != "3" || !near(named[0].Score, 1+2-math.Log(10)) {
		t.Errorf("answers %+v, want NIC 3 with %.2f", named, 3-math.Log(10))
	}
}
