package correlate

import (
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// A risk is reported at the entity furthest upstream that shows it: of what feeds, cools or
// contains another.

// upstream drops every trouble whose root is behind that of another of the same
// signature, or of an open risk: where a feed is lost, its distribution units are no
// troubles of their own.
func (e *risks) upstream(all []supported) []supported {
	roots := map[string][]telemetry.Entity{}
	for i := range all {
		name := all[i].Signature.Name
		roots[name] = append(roots[name], all[i].Root)
	}
	for _, r := range e.open {
		if among := roots[r.incident.Root.Signature]; len(among) > 0 {
			roots[r.incident.Root.Signature] = union(among, []telemetry.Entity{r.incident.Root.Entity})
		}
	}
	return slices.DeleteFunc(all, func(s supported) bool {
		among := roots[s.Signature.Name]
		return len(among) > 1 && e.behind(s.Root, among)
	})
}

// awaited lists what is upstream of a trouble, where it may have begun as well, and has
// not reported since, or has and is not certain yet: a UPS is read some seconds after
// the distribution units that it feeds, and until then either may be the root. What is
// overdue is not awaited, and nothing for longer than aloneAfter.
func (e *risks) awaited(s *supported, g telemetry.Time) (out []telemetry.Entity) {
	if g.Sub(s.signal.since) >= aloneAfter {
		return nil
	}
	e.climb(s.Root, func(up telemetry.Entity) bool {
		same := *s.signal
		same.series.Entity = up
		slot, ok := e.window.Slot(same.series)
		if !ok || !slices.Contains(s.Signature.Roots, up.Kind) {
			return true
		}
		last, known := e.window.Last(slot)
		at, begun := e.signals.signals(&same)
		if begun && !e.signals.signalled[at].certain(e.cfg.Grid) ||
			known && last <= s.Onset.Latest && g < last.Add(e.window.Cadence(slot)+e.freshFor(slot)) {
			out = append(out, up)
		}
		return true
	})
	return out
}

// waits is how many entities upstream may be a risk's root and were awaited when it was
// written: they are its alternatives.
func (r *risk) waits() int { return len(r.incident.Alternatives) }

// oneWaits finds out what a trouble awaits, and reports whether an open risk of the same
// signature may have begun at one of these, too: one risk is enough until they report.
func (e *risks) oneWaits(s *supported, g telemetry.Time) bool {
	s.Awaited = e.awaited(s, g)
	return slices.ContainsFunc(e.open, func(r *risk) bool {
		return r.waits() > 0 && r.incident.Root.Signature == s.Signature.Name &&
			slices.ContainsFunc(s.Awaited, func(up telemetry.Entity) bool { return e.behind(r.incident.Root.Entity, []telemetry.Entity{up}) })
	})
}

// maxUpstream bounds how many entities are looked at on the way up.
const maxUpstream = 128

// behind reports whether one of the roots, which are in identity order, feeds,
// cools or contains x; or is the other end of its cable and first in order.
func (e *sight) behind(x telemetry.Entity, roots []telemetry.Entity) bool {
	if peer, _, ok := e.graph.Peer(x); ok && peer.Compare(x) < 0 && in(roots, peer) {
		return true
	}
	found := false
	e.climb(x, func(up telemetry.Entity) bool { found = in(roots, up); return !found })
	return found
}

func in(sorted []telemetry.Entity, x telemetry.Entity) bool {
	_, ok := slices.BinarySearchFunc(sorted, x, telemetry.Entity.Compare)
	return ok
}

// climb visits what feeds, cools or contains x, at any depth, nearest first,
// until visit returns false.
func (e *sight) climb(x telemetry.Entity, visit func(telemetry.Entity) bool) {
	seen := []telemetry.Entity{x}
	for at := 0; at < len(seen) && len(seen) < maxUpstream; at++ {
		for _, n := range e.graph.Neighbours(seen[at]) {
			if n.Out || !supplies(n.Relation) || slices.Contains(seen, n.Entity) {
				continue
			}
			if !visit(n.Entity) {
				return
			}
			seen = append(seen, n.Entity)
		}
	}
}

func supplies(r telemetry.Relation) bool {
	return r == telemetry.Feeds || r == telemetry.Cools || r == telemetry.Contains
}
