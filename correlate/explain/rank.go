package explain

import (
	"cmp"
	"slices"

	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// ranked sets the confidence of each answer, orders them, and keeps some. The
// likeliest place is first, or what it and others that cannot be distinguished from it
// have in common. at is where the answer without a signature may be; where there are no
// suspects it stays where it is.
func ranked(answers []Answer, at []Suspect, keep int) []Answer {
	slices.SortFunc(answers, func(a, b Answer) int {
		if d := cmp.Compare(b.Score, a.Score); d != 0 {
			return d
		}
		if d := a.Entity.Compare(b.Entity); d != 0 {
			return d
		}
		return cmp.Compare(a.Name(), b.Name())
	})
	share(answers)
	answers = sharedFirst(likeliestFirst(rollUp(joinLinks(spread(answers, at)))))
	return answers[:min(keep, len(answers))]
}

// spread divides the confidence of the answer without a signature among the places
// where it may be, by the evidence for each. What is left may be anywhere, and no
// answer has it: that nothing fits is no evidence against any place.
func spread(answers []Answer, at []Suspect) []Answer {
	i := slices.IndexFunc(answers, func(a Answer) bool { return a.Signature == nil })
	if i < 0 || len(at) == 0 {
		return answers
	}
	whole, all := answers[i], 0.0
	for _, s := range at {
		all += s.Weight
	}
	answers = slices.Delete(answers, i, i+1)
	for _, s := range at {
		part := float64(whole.Confidence*s.Weight) / max(1, all)
		answers = append(answers, Answer{Entity: s.Entity, Score: whole.Score, Confidence: part})
	}
	return answers
}

// likeliestFirst orders answers by how certain it is that the root is at their
// place, because a technician is sent there. The likeliest answer at an entity
// counts with the confidence of all answers there, the likeliest of those that cannot be
// distinguished with theirs, the other ones with their own.
func likeliestFirst(answers []Answer) []Answer {
	slices.SortStableFunc(answers, func(a, b Answer) int { return cmp.Compare(b.Confidence, a.Confidence) })
	places := map[telemetry.Entity]float64{}
	for _, a := range answers {
		places[a.Entity] += a.Confidence
	}
	type standing struct {
		Answer
		sure float64
	}
	order, counted := make([]standing, len(answers)), map[*Answer]bool{}
	for i, a := range answers {
		order[i] = standing{a, a.Confidence}
		if all, first := places[a.Entity]; first {
			order[i].sure = all
			delete(places, a.Entity)
		}
		if a.Confidence >= leastShared && !counted[&answers[i]] {
			all := a.Confidence
			for _, b := range alikeTo(&answers[i], answers) {
				all, counted[b] = all+b.Confidence, true
			}
			order[i].sure = max(order[i].sure, all)
		}
	}
	slices.SortStableFunc(order, func(a, b standing) int { return cmp.Compare(b.sure, a.sure) })
	for i := range order {
		answers[i] = order[i].Answer
	}
	return answers
}

// leastShared is how likely one of several that cannot be distinguished must be for them
// to count together.
const leastShared = 0.01

const (
	// Answers whose scores differ by at most alikeScores, in log-odds, cannot be
	// distinguished where there are leastAlike of them or more.
	alikeScores, leastAlike = 0.5, 3
)

// rollUp gives a job the confidence of answers of one signature that cannot be
// distinguished, where the job may have that fault itself: what all of its hosts
// show alike is the job's. Where they are alike because what would show it of one of them
// is not seen, it is as likely the job's as one of theirs.
func rollUp(answers []Answer) []Answer {
	for i := range answers {
		whole := &answers[i]
		if whole.Signature == nil || whole.Entity.Kind != telemetry.Job {
			continue
		}
		var parts []int
		for k := range answers {
			if a := &answers[k]; a.Signature == whole.Signature && a.Entity.Kind != telemetry.Job {
				parts = append(parts, k)
			}
		}
		if len(parts) < leastAlike || answers[parts[0]].Score-answers[parts[leastAlike-1]].Score > alikeScores {
			continue
		}
		theirs, given := 0.0, 1.0
		for _, k := range parts {
			theirs += answers[k].Confidence
		}
		if theirs == 0 {
			continue
		}
		if answers[parts[0]].distinctUnseen(whole.Entity.Kind) {
			given = evenly
		}
		all := whole.Confidence + theirs
		left := float64((1-given)*all) / theirs
		for _, k := range parts {
			answers[k].Confidence = float64(answers[k].Confidence * left)
		}
		whole.Confidence = float64(given * all)
	}
	return answers
}

// evenly is the part of what is a job's or one of its hosts' that is the job's.
const evenly = 0.5

// distinctUnseen reports whether something that is asked of a part, and not of the whole of a
// kind, was not seen and would distinguish it from other parts.
func (a *Answer) distinctUnseen(whole telemetry.Kind) bool {
	return slices.ContainsFunc(a.Signature.Features, func(f Feature) bool {
		if !f.AskedOf(a.Entity.Kind) || f.AskedOf(whole) || f.For-f.Against <= alikeScores {
			return false
		}
		_, seen := a.Values.read(&f)
		return !seen
	})
}

// share turns scores into confidences that sum to 1. An answer and similar answers
// at the same entity share the odds among themselves.
func share(answers []Answer) {
	top := answers[0].Score
	var total float64
	for i := range answers {
		answers[i].Confidence = stats.Exp(answers[i].Score - top)
		total += answers[i].Confidence
	}
	for i := range answers {
		answers[i].Confidence /= total
	}
}

// joinLinks gives the best of the answers that name the same fault at both ends
// of one link, or at several priorities of one port, the confidence of all, and
// drops the others: it is one link.
func joinLinks(answers []Answer) []Answer {
	var out []Answer
	for _, a := range answers {
		i := slices.IndexFunc(out, func(b Answer) bool {
			return a.Signature == b.Signature && (a.Entity == b.Entity || !a.Peer.IsZero() && a.Peer == b.Entity && a.Entity == b.Peer)
		})
		if i < 0 {
			out = append(out, a)
			continue
		}
		out[i].Confidence += a.Confidence
	}
	return out
}
