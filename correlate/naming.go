package correlate

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// A root is published when the answers are stable, and changes only past one
// margin: an engineer who was sent to a switch is not sent elsewhere a second later
// by two answers that are as likely as each other.

const (
	// publishAt is how sure an answer must be for a root to be named, and
	// publishAtOnce how sure for one look to be enough.
	publishAt, publishAtOnce = 0.5, 0.97
	// publishAfter is how long a root that is not that sure must have been the likeliest.
	publishAfter = telemetry.Duration(5e9)
	// margin is how many times as likely as the named root another must be to take
	// its place.
	margin = 2.0
	// noneLeft is how sure a named root is at most that one that is sure replaces at once.
	noneLeft = 0.01
	// investigateFor is how long a stable answer is waited for: then the likeliest
	// place is published, if it is as likely as publishAtLast. To look at what is less
	// likely costs more than it finds.
	investigateFor = telemetry.Duration(30e9)
	publishAtLast  = 0.25
	// awaitFor is for how long what could contradict that nothing is broken is waited
	// for: slow sources are read once a minute or so.
	awaitFor = telemetry.Duration(180e9)
)

// naming is the root that a case names, and the one that may take its place.
type naming struct {
	root  place
	rival place
	lead  telemetry.Time // since when the rival has been the likeliest
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

// knows notes since when a place is reported as a risk: it need not lead anew because a
// job is degraded by now.
func (n *naming) knows(p place, since telemetry.Time) {
	if !n.named() && n.rival == (place{}) {
		n.rival, n.lead = p, since
	}
}

// choose orders the answers of a look at grid g so that the first is the root to
// publish, and reports false where the named root is no longer among them and none
// has taken its place. The likeliest is not named while something is awaited.
func (n *naming) choose(answers []explain.Answer, awaits bool, g telemetry.Time) ([]explain.Answer, bool) {
	if n.since == 0 {
		n.since = g
	}
	best := &answers[0]
	if placeOf(best) == n.root {
		n.rival = place{}
		return answers, true
	}
	if rival := placeOf(best); rival != n.rival {
		if rival.entity != n.rival.entity && rival.signature != n.rival.signature {
			n.lead = g // of several that are alike now one leads and now another
		}
		n.rival = rival
	}
	at := slices.IndexFunc(answers, func(a explain.Answer) bool { return placeOf(&a) == n.root })
	if !(awaits && g.Sub(n.since) < awaitFor) && n.admits(answers, g) {
		n.root, n.rival = placeOf(best), place{}
		return answers, true
	}
	if at > 0 {
		return slices.Concat(answers[at:at+1], answers[:at], answers[at+1:]), true
	}
	return answers, !n.named()
}

// admits reports whether the first of the answers is to be named. What it is
// counts, wherever it is: between a row and its air handler little may decide. So
// does where it is, whatever it is called.
func (n *naming) admits(answers []explain.Answer, g telemetry.Time) bool {
	best := &answers[0]
	here := nameable(answers, func(a *explain.Answer) bool { return a.Entity == best.Entity })
	likely, settled := max(here, kind(answers, best.Name())), g.Sub(n.lead) >= publishAfter
	switch {
	case !n.named() && g.Sub(n.since) >= investigateFor:
		expect := explain.ExpectIncident
		if best.Signature != nil {
			expect = best.Signature.Expect
		}
		return explain.Here(answers) >= atLast(expect)
	case best.Signature == nil:
		return false
	case !n.named():
		return best.Confidence >= publishAtOnce || likely >= publishAt && settled
	case n.root.signature == explain.Unknown:
		return settled
	case n.root.entity == best.Entity:
		return settled && likely >= publishAt && kind(answers, best.Name()) >= float64(margin*kind(answers, n.root.signature))
	}
	there := nameable(answers, func(a *explain.Answer) bool { return a.Entity == n.root.entity })
	sure := best.Confidence >= publishAtOnce && there <= noneLeft
	return (settled || sure) && likely >= publishAt && here >= float64(margin*there)
}

// atLast is how likely a signature must be to be named when there is no more
// waiting: that nothing is broken must be likelier than not.
func atLast(e explain.Expect) float64 {
	if e == explain.ExpectBenign {
		return publishAt
	}
	return publishAtLast
}

// kind is how sure answers are of a signature, wherever it is.
func kind(answers []explain.Answer, signature string) float64 {
	return nameable(answers, func(a *explain.Answer) bool { return a.Name() == signature })
}

// nameable is how sure the answers are that have a name and of which something is so.
func nameable(answers []explain.Answer, so func(*explain.Answer) bool) float64 {
	return sum(answers, func(a *explain.Answer) bool { return a.Signature != nil && so(a) })
}

// sum is how sure the answers are of which something is so.
func sum(answers []explain.Answer, so func(*explain.Answer) bool) (all float64) {
	for i := range answers {
		if a := &answers[i]; so(a) {
			all += a.Confidence
		}
	}
	return all
}

func (n *naming) snapshot(k *snapshot.Codec) {
	for _, p := range []*place{&n.root, &n.rival} {
		k.Entity(&p.entity)
		k.String(&p.signature)
	}
	k.Time(&n.lead)
	k.Time(&n.since)
}
