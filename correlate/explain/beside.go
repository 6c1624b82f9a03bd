package explain

import (
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

const (
	// partly is what the best answer explains of a loss at most for a second
	// fault to be looked for.
	partly = 0.6
	// besideSure is how sure the second answer must be among what is left, and
	// besideDose what it explains at least.
	besideSure = 0.8
	besideDose = 0.2
)

// Explains returns what an answer explains of the job's loss, 1 being all of it,
// by those clues of its signature that say so; false where none was seen.
func (a *Answer) Explains() (float64, bool) {
	if a.Signature == nil {
		return 0, false
	}
	most, seen := 0.0, false
	for i := range a.Signature.Clues {
		c := &a.Signature.Clues[i]
		if !doses(c) {
			continue
		}
		if v, ok := a.Values[c.Key()]; ok {
			most, seen = max(most, v), true
		}
	}
	return most, seen
}

// doses reports whether a clue's value is a part of the job's loss.
func doses(c *Clue) bool {
	if c.Reading != nil {
		return c.Reading.Take == TakeDose
	}
	switch c.Measure {
	case Dose, SharedDose, GroupDose, ClockDose, ComputeExcess, LateStart, WanderExcess, WorkExcess, ComputeUniform, SaveExcess:
		return true
	}
	return false
}

// Beside finds a second fault at the same time: where the best answer explains
// clearly less than the job loses, the answer to what is left when that root and
// all that follows from it are taken away, if it is sure. chain is the best
// answer's.
func Beside(sigs []Signature, e *Evidence, best *Answer, chain []Link) (answers []Answer, ok bool) {
	explains, known := best.Explains()
	if !known || explains >= partly || e.Symptoms == nil {
		return nil, false
	}
	var left []Candidate
	for _, c := range Candidates(e) {
		if !e.follows(c.Entity, best, chain) {
			left = append(left, c)
		}
	}
	answers = Judge(sigs, left, e.Job, 4)
	second := &answers[0]
	if second.Signature == nil || second.Signature.Expect != ExpectIncident || second.Confidence < besideSure {
		return nil, false
	}
	dose, seen := second.Explains()
	return answers, seen && dose >= besideDose
}

// follows reports whether what is seen of an entity may be a consequence of an
// answer, or its cause.
func (e *Evidence) follows(x telemetry.Entity, a *Answer, chain []Link) bool {
	if x == a.Entity || x == a.Peer || slices.ContainsFunc(chain, func(l Link) bool { return l.Entity == x && x != e.Job }) {
		return true
	}
	if x == e.Job && a.Entity.Kind == telemetry.Storage {
		return true // that it waits for input or for its checkpoints is what a slow storage does
	}
	if x.Kind == telemetry.Job || a.Entity.Kind == telemetry.Job || x.Kind == telemetry.Storage || x.Kind == telemetry.SM {
		return false // everything stands under these
	}
	_, down := e.Symptoms.Relation(a.Entity, x)
	_, up := e.Symptoms.Relation(x, a.Entity)
	return down || up
}

// Part is the impact of a root that explains a part of the job's loss: what the
// step would take without it lies between, the rest being another root's.
func (j JobImpact) Part(share float64) JobImpact {
	j.Share = round(share, 3)
	if j.Now == nil || j.Expected == nil {
		return j
	}
	expected := *j.Now - float64(share*(*j.Now-*j.Expected))
	j.Expected = rounded(expected)
	if expected > 0 {
		j.Slowdown = rounded(*j.Now / expected)
	}
	return j
}
