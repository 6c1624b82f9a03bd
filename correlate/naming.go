package correlate

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// A root is published when the answers have settled, and changes only past one
// margin: an engineer who was sent to a switch is not sent elsewhere a second later
// by two answers that are as likely as each other.

const (
	// publishAt is how sure an answer must be for a root to be named, and
	// publishAtOnce how sure for one look to be enough.
	publishAt, publishAtOnce = 0.5, 0.9
	// publishLooks in a row must agree on a root that is not that sure.
	publishLooks = 2
	// margin is how many times as likely as the named root another must be to take
	// its place.
	margin = 2.0
	// investigateFor is how long a cause is under investigation at most: then the
	// likeliest answer is published, with what is known of it.
	investigateFor = telemetry.Duration(30e9)
)

// naming is the root that a case names, and the one that may take its place.
type naming struct {
	root  place
	rival place
	looks int            // in a row at which the rival was the likeliest
	since telemetry.Time // the first look
}

// place is a root and its name; the zero value is none.
type place struct {
	entity    telemetry.Entity
	signature string
}

func placeOf(a *explain.Answer) place { return place{a.Entity, a.Name()} }

// named reports whether a root is named.
func (n *naming) named() bool { return n.root != place{} }

// choose orders the answers of a look at grid g so that the first is the root to
// publish, and reports false where the named root is no longer among them and none
// has taken its place.
func (n *naming) choose(answers []explain.Answer, g telemetry.Time) ([]explain.Answer, bool) {
	if n.since == 0 {
		n.since = g
	}
	best := &answers[0]
	if placeOf(best) == n.root {
		n.rival, n.looks = place{}, 0
		return answers, true
	}
	if placeOf(best) != n.rival {
		n.rival, n.looks = placeOf(best), 0
	}
	n.looks++
	at := slices.IndexFunc(answers, func(a explain.Answer) bool { return placeOf(&a) == n.root })
	if n.admits(answers, g) {
		n.root, n.rival, n.looks = placeOf(best), place{}, 0
		return answers, true
	}
	if at > 0 {
		return slices.Concat(answers[at:at+1], answers[:at], answers[at+1:]), true
	}
	return answers, !n.named()
}

// admits reports whether the first of the answers is to be named. What it is
// counts, wherever it is: between a row and its air handler little may decide.
func (n *naming) admits(answers []explain.Answer, g telemetry.Time) bool {
	best := &answers[0]
	likely := kind(answers, best.Name())
	switch {
	case !n.named() && g.Sub(n.since) >= investigateFor:
		return true
	case best.Signature == nil:
		return false
	case !n.named():
		return best.Confidence >= publishAtOnce || likely >= publishAt && n.looks >= publishLooks
	case n.root.signature == explain.Unknown:
		return n.looks >= publishLooks
	case n.root.signature == best.Name():
		held := 0.0
		for i := range answers {
			if placeOf(&answers[i]) == n.root {
				held = answers[i].Confidence
			}
		}
		return best.Confidence >= float64(margin*held) && n.looks >= publishLooks
	}
	return likely >= publishAt && likely >= float64(margin*kind(answers, n.root.signature)) && n.looks >= publishLooks
}

// kind is how sure answers are of a signature, wherever it is.
func kind(answers []explain.Answer, signature string) (sum float64) {
	for i := range answers {
		if answers[i].Name() == signature {
			sum += answers[i].Confidence
		}
	}
	return sum
}

func (n *naming) snapshot(k *snapshot.Codec) {
	for _, p := range []*place{&n.root, &n.rival} {
		k.Entity(&p.entity)
		k.String(&p.signature)
	}
	k.Int(&n.looks)
	k.Time(&n.since)
}
