package explain

import (
	"math"
	"slices"

	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// Unknown is the signature of an answer that fits none.
const Unknown = "unknown"

// Candidate is an entity that could be the root, and what was measured of it.
type Candidate struct {
	Entity telemetry.Entity
	Peer   telemetry.Entity   // the other end of its link, if it is an end of one
	In     telemetry.Entity   // what directly contains it, if anything does
	Above  []telemetry.Entity // what directly contains, feeds or cools it
	Values Values
	// AlsoNamed is the signature that another degraded job's case names at this
	// entity; empty if none does.
	AlsoNamed string
	// Late is by how much of a usual step what speaks for a signature, by its name,
	// certainly began after the degradation.
	Late map[string]float64
}

// sharedRootOdds is the log-odds for an answer that explains another job's degradation,
// too: one fault is likelier than two at the same time.
const sharedRootOdds = 2.0

// Answer is one signature weighed for one candidate.
type Answer struct {
	Entity     telemetry.Entity
	Peer       telemetry.Entity
	In         telemetry.Entity   // what directly contains Entity
	Above      []telemetry.Entity // what directly contains, feeds or cools it
	Alike      []telemetry.Entity // at its place, not to be distinguished as the root; set by Write
	Signature  *Signature         // nil for unknown
	Values     Values
	Score      float64 // natural log-odds
	Confidence float64 // of all answers together, summing to 1
	Missing    int     // features that could not be seen
	Late       float64 // by how many usual steps its evidence began after what it would explain
	candidate  int     // of those it was weighed for
}

// Name returns the answer's signature name.
func (a *Answer) Name() string {
	if a.Signature == nil {
		return Unknown
	}
	return a.Signature.Name
}

// Strength returns where v is from None (0) to Full (1).
func (c *Feature) Strength(v float64) float64 {
	return rising(v, c.None, c.Full)
}

// rising is 0 up to none, 1 from full on, and straight between.
func rising(x, none, full float64) float64 {
	return min(max((x-none)/(full-none), 0), 1)
}

// effectFirst is the log-odds against an answer that began a usual step or more
// after the degradation it would explain.
const effectFirst = 6.0

// Offset is the log-odds of a signature for a candidate that no weight changes: an
// answer that began after what it would explain, and one that explains another
// job's degradation, too.
func (s *Signature) Offset(c *Candidate) float64 {
	offset := float64(-effectFirst * min(max(c.Values[TooLate], c.Late[s.Name]), 1))
	if c.AlsoNamed == s.Name {
		offset += sharedRootOdds
	}
	return offset
}

// Weigh returns the log-odds of a signature for a candidate of a kind, how many
// features could not be seen, and false when a required feature is absent, or is
// unseen where no feature is of the precursor.
func (s *Signature) Weigh(root telemetry.Kind, v Values) (score float64, missing int, ok bool) {
	score = s.Prior
	for i := range s.Features {
		c := &s.Features[i]
		if !c.AskedOf(root) {
			continue
		}
		x, seen := v.read(c)
		if !seen {
			if c.Required && !s.CertainAlone(v.certain) {
				return 0, 0, false
			}
			missing++
			continue
		}
		if c.Required && c.Strength(x) == 0 {
			return 0, 0, false
		}
		score += float64(c.Precision(x, v) * c.weight(x))
	}
	return score, missing, true
}

// Shown reports whether one of the features of which either is required is there. A candidate
// at which none is can be no answer, but shares the prior with those that can.
func (s *Signature) Shown(root telemetry.Kind, v Values) bool { return s.eitherOf(root, v.read) }

// eitherOf reports whether one of the features of which either is required is there, by
// what read returns of them; true where the signature has none.
func (s *Signature) eitherOf(root telemetry.Kind, read func(*Feature) (float64, bool)) bool {
	none := true
	for i := range s.Features {
		if c := &s.Features[i]; c.Either && c.AskedOf(root) {
			if x, seen := read(c); seen && c.Strength(x) > 0 {
				return true
			}
			none = false
		}
	}
	return none
}

// CertainAlone reports whether what read returns of the features shows the fault for certain,
// whether or not a job is degraded by it: an effect that cannot be seen is no evidence
// against it then.
func (s *Signature) CertainAlone(read func(*Feature) (float64, bool)) bool {
	return slices.ContainsFunc(s.PrecursorFeatures(), func(c *Feature) bool {
		x, ok := read(c)
		return ok && c.Strength(x) >= 1
	})
}

// read returns the value of a feature; false where it was not seen.
func (v Values) read(c *Feature) (float64, bool) {
	x, seen := v[c.Key()]
	return x, seen
}

// certain returns the value of a feature; false where it was not seen, or has an error.
func (v Values) certain(c *Feature) (float64, bool) {
	x, seen := v.read(c)
	return x, seen && c.Precision(x, v) >= 1
}

// Precision is how much of a feature's value is beyond the error that it was read
// with, from 0 to 1: a value that cannot be distinguished either from one that is
// fully there or from one that is not there is no evidence, like one that cannot be
// seen. A reading is no more evidence than twice the log-odds that its samples give for
// normal errors. Precision is 1 where no error is known.
func (c *Feature) Precision(x float64, v Values) float64 {
	err := v[c.errorKey]
	if err == 0 {
		return 1
	}
	low, high := min(c.None, c.Full), max(c.None, c.Full)
	errors := max(x-low, high-x) / err
	odds := float64(errors*errors) / 2
	if c.Reading != nil {
		odds /= max(1, math.Abs(c.weight(x))/2)
	}
	return 1 - stats.Exp(-odds)
}

// weight is the log-odds that a value of a feature is, read without error.
func (c *Feature) weight(x float64) float64 {
	st := c.Strength(x)
	return float64(st*c.For) + float64((1-st)*c.Against)
}

// Judgement is what the answers to one job's degradation were weighed from.
type Judgement struct {
	At         telemetry.Time
	Job        telemetry.Entity
	Candidates []Candidate
	Unknown    Unnamed
}

// Unnamed is an answer that fits no signature: the log-odds for it, and the places
// where it may be.
type Unnamed struct {
	Score float64
	At    []Suspect
}

// JudgeConfig is what a judgement knows besides its candidates.
type JudgeConfig struct {
	Unknown Unnamed
	Keep    int // at most so many answers are returned
	// Late returns by how much of a usual step the evidence for an answer began too late,
	// and whether that counts against it. May be nil.
	Late func(*Answer) (by float64, counts bool)
}

// Judge weighs every signature for every candidate and returns the answers, the
// most likely first; ties by entity, then name. The answer without a signature is
// one of them.
func Judge(sigs []Signature, cands []Candidate, c JudgeConfig) []Answer {
	answers := append([]Answer{{Score: c.Unknown.Score}}, weighed(sigs, cands)...)
	delay(answers, cands, c.Late)
	return ranked(answers, c.Unknown.At, c.Keep)
}

// weighed weighs every signature for every candidate. A signature's prior is that
// of the fault being anywhere: its candidates share it, so that one of many needs
// stronger evidence than one of few.
func weighed(sigs []Signature, cands []Candidate) []Answer {
	var answers []Answer
	among := map[*Signature]int{}
	for k, c := range cands {
		for i := range sigs {
			s := &sigs[i]
			if !slices.Contains(s.Roots, c.Entity.Kind) {
				continue
			}
			score, missing, ok := s.Weigh(c.Entity.Kind, c.Values)
			if ok {
				among[s]++
			}
			if ok && s.Shown(c.Entity.Kind, c.Values) {
				answers = append(answers, Answer{Entity: c.Entity, Peer: c.Peer, In: c.In, Above: c.Above, Signature: s, Values: c.Values, Score: score + s.Offset(&c), Missing: missing, candidate: k})
			}
		}
	}
	for i := range answers {
		answers[i].Score += Share(among[answers[i].Signature])
	}
	return answers
}

// Share is the log-odds that remain for each of n candidates of one signature.
func Share(n int) float64 { return -stats.Log(float64(n)) }
