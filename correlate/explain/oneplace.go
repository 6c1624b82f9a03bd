package explain

import (
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/telemetry"
)

// A technician is sent to a place. Answers of one signature that cannot be distinguished
// and are at one place are published as one: an air handler and the row that it
// supplies, the fans of a host, the switches of a loop.

// alikeTo lists the answers at the place of an answer that cannot be distinguished from
// it.
func alikeTo(a *Answer, answers []Answer) []*Answer {
	if a.Signature == nil {
		return nil
	}
	group := []*Answer{a}
	for k := 0; k < len(group); k++ {
		for i := range answers {
			b := &answers[i]
			if b.Signature == a.Signature && a.scoresAs(b) && !slices.ContainsFunc(group, func(g *Answer) bool { return g.Entity == b.Entity }) && group[k].atOnePlace(b, answers) {
				group = append(group, b)
			}
		}
	}
	return group[1:]
}

// Here is how sure the answers are of the place of the first: of its entity, or of those that
// cannot be distinguished from it.
func Here(answers []Answer) float64 {
	best, there, alike := &answers[0], 0.0, answers[0].Confidence
	for i := range answers {
		if answers[i].Entity == best.Entity {
			there += answers[i].Confidence
		}
	}
	for _, b := range alikeTo(best, answers) {
		alike += b.Confidence
	}
	return max(there, alike)
}

// sharedFirst puts what several of the answers that cannot be distinguished from the
// likeliest have in common before it: the rack that contains two hosts or that two PDUs
// feed. One cause is likelier than the same in two places.
func sharedFirst(answers []Answer) []Answer {
	group := append(alikeTo(&answers[0], answers), &answers[0])
	for _, a := range group {
		over, under := 0, 0
		for _, b := range group {
			if slices.Contains(b.Above, a.Entity) {
				over++
			}
			if slices.Contains(a.Above, b.Entity) {
				under++
			}
		}
		if over > 1 && under == 0 || under > 1 && over == 0 {
			i := slices.IndexFunc(answers, func(b Answer) bool { return b.Entity == a.Entity && b.Signature == a.Signature })
			return slices.Concat(answers[i:i+1], answers[:i], answers[i+1:])
		}
	}
	return answers
}

// atOnePlace reports whether two answers are at one place: one contains, feeds or cools
// the other, the fault is one that its roots have together, or leastAlike of them are
// parts of one whole. A link is no part: it has two ends.
func (a *Answer) atOnePlace(b *Answer, answers []Answer) bool {
	if a.Signature.Together || slices.Contains(a.Above, b.Entity) || slices.Contains(b.Above, a.Entity) {
		return true
	}
	if a.In.IsZero() || a.In != b.In || !a.Peer.IsZero() {
		return false
	}
	parts := 0
	for i := range answers {
		if c := &answers[i]; c.Signature == a.Signature && c.In == a.In && a.scoresAs(c) {
			parts++
		}
	}
	return parts >= leastAlike
}

// scoresAs reports whether two answers cannot be distinguished.
func (a *Answer) scoresAs(b *Answer) bool {
	return a.Score-b.Score <= alikeScores && b.Score-a.Score <= alikeScores
}

// placeText names an answer's place in a sentence: "fan n1/fan1, fan2 or fan3", "crah
// c1 or row r1".
func placeText(e telemetry.Entity, alike []telemetry.Entity) string {
	names := []string{entityText(e)}
	for _, o := range alike {
		switch {
		case o.Kind != e.Kind:
			names = append(names, entityText(o))
		case e.Prefix() != "" && o.Prefix() == e.Prefix():
			names = append(names, strings.TrimPrefix(o.Name, e.Prefix()+"/"))
		default:
			names = append(names, o.Name)
		}
	}
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
