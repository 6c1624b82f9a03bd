package correlate

import (
	"cmp"
	"slices"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// A risk is trouble that degrades no job yet: a leak, a lost feed, a link that
// wears out. It opens when a signal that a risk's signature heeds has lasted and
// the signature fits, stays open as long as the signal lasts, and is reported once,
// at the entity furthest upstream. When it degrades a job, the job's incident
// continues under the risk's name.

// risk is one, open or resolved a short while ago.
type risk struct {
	incident  explain.Incident // as of the last judgement
	published explain.Incident
	seen      telemetry.Time // the grid of its last signal
	// restored is set where it was published by another engine and no signal of it
	// has been seen yet, with the time since when.
	restored bool
	since    telemetry.Time
	resolved telemetry.Time
}

// risks are the open ones, by root and signature, and those that are over but may
// come back.
type risks struct {
	*sight
	signals *signals
	memory  *memory
	out     *Output

	open    []*risk
	past    []*risk
	refused uint64 // beyond the bound
	// What follows is drawn, and no state.
	paths *traffic
	steps map[telemetry.Series]*parts // as of this grid, by container and metric
}

const (
	// maxRisks bounds those open at a time.
	maxRisks = 256
	// riskCalm after its last signal a risk is over.
	riskCalm = telemetry.Duration(60e9)
	// riskSure is how sure a signature must be, against unknown at even odds.
	riskSure = 0.5
)

// supported is a trouble for which a signal is evidence in this grid.
type supported struct {
	explain.Trouble
	signal     *signal
	confidence float64
}

func (s *supported) compare(o *supported) int {
	return cmp.Or(s.Root.Compare(o.Root), cmp.Compare(s.Signature.Name, o.Signature.Name))
}

// judgeRisks opens, refreshes and resolves risks at the end of grid g, after the
// open incidents that readers know of, and those that were resolved lately.
func (e *risks) judgeRisks(known, lately []*explain.Incident, g telemetry.Time) {
	e.signals.signalStates(g)
	if len(e.signals.signalled) == 0 && len(e.open) == 0 {
		e.forgetRisks(g)
		return
	}
	clear(e.steps)
	for _, s := range e.upstream(e.troubles()) {
		s.signal.explained = s.signal.explained || e.aftermath(&s, lately)
		if e.openRisk(s.Root, s.Signature.Name) != nil || !e.leftOver(&s, lately) {
			e.updateRisk(&s, known, g)
		}
	}
	for _, r := range slices.Clone(e.open) {
		switch {
		case r.restored && g.Sub(r.since) >= Horizon:
			e.endRisk(r, withoutData, nil, g)
		case !r.restored && g.Sub(r.seen) >= riskCalm:
			e.endRisk(r, "recovered", nil, g)
		}
	}
	e.forgetRisks(g)
}

func (e *risks) forgetRisks(g telemetry.Time) {
	e.past = slices.DeleteFunc(e.past, func(r *risk) bool { return g.Sub(r.resolved) > reopenWithin })
}

// troubles scores the signatures of risks for the entities of the signals, by root
// and signature. What is open already needs no second proof.
func (e *risks) troubles() []supported {
	var out []supported
	var accompanied map[telemetry.Entity]bool // looked for when the first is in question
	believed := func(s *supported) bool {
		if !s.signal.gauge() || s.signal.again {
			return true
		}
		if accompanied == nil {
			accompanied = e.accompanied()
		}
		return accompanied[s.signal.series.Entity] || e.corroborated(s)
	}
	for i := range e.signals.signalled {
		s := &e.signals.signalled[i]
		if !s.certain(e.cfg.Grid) {
			continue
		}
		for j := range e.cfg.Signatures {
			if best := e.supports(s, &e.cfg.Signatures[j]); best.confidence > 0 && s.lasted(best.Signature) && believed(&best) {
				out = append(out, best)
			}
		}
	}
	out = surest(out)
	slices.SortStableFunc(out, func(a, b supported) int { return a.compare(&b) })
	return slices.CompactFunc(out, func(a, b supported) bool { return a.compare(&b) == 0 })
}

// supports returns the trouble that a signal shows by a signature, where it is the
// surest of several roots; one without confidence where it shows none.
func (e *risks) supports(s *signal, sig *explain.Signature) (best supported) {
	roots, feature := e.together(s, sig)
	if feature == nil {
		feature = s.precursorFeature(sig)
		if feature == nil && (s.kind == linkSignal || sig.Expect != explain.ExpectRisk || !heeds(sig, s)) {
			return best
		}
		roots = e.rootsOf(sig, s.series.Entity)
	}
	for _, root := range roots {
		confidence, values, ok := e.weigh(s, sig, feature, root)
		if e.openRisk(root, sig.Name) != nil && (feature == nil || e.remains(s, feature, root)) {
			confidence, ok = max(confidence, riskSure), true
		}
		if ok && confidence >= riskSure && confidence > best.confidence {
			best = supported{signal: s, confidence: confidence, Trouble: explain.Trouble{Root: root, Signature: sig, Seen: s.series, Shape: s.shownShape(),
				Onset: s.onset, Before: s.before, Now: s.now, Values: values}}
		}
	}
	return best
}

// shownShape is a signal's shape as it is shown to users.
func (s *signal) shownShape() telemetry.Shape {
	if s.kind == findingSignal {
		return s.shape
	}
	return telemetry.ShapeLevel
}

// rootsOf lists which entities a signature may name for what is seen at x: x
// itself, else what it is contained in, holds or is cabled to.
func (e *sight) rootsOf(sig *explain.Signature, x telemetry.Entity) []telemetry.Entity {
	if slices.Contains(sig.Roots, x.Kind) {
		return []telemetry.Entity{x}
	}
	var out []telemetry.Entity
	for _, n := range e.graph.Neighbours(x) {
		if n.Relation == telemetry.Contains && slices.Contains(sig.Roots, n.Entity.Kind) && len(out) < maxRoots {
			out = append(out, n.Entity)
		}
	}
	return out
}

const maxRoots = 16

// riskReader reads a signature's features for a root outside any case: the signal's
// value where the feature reads the same series, else the current values of the
// root's own series.
func (e *risks) riskReader(root telemetry.Entity, s *signal) func(*explain.Feature) (float64, bool) {
	return func(c *explain.Feature) (float64, bool) {
		r := c.Reading
		switch {
		case s.kind == linkSignal && s.shows(c):
			return s.now, true
		case r == nil:
			return 0, false
		case c.OfParts():
			return e.partsOf(root, s.series).share(r), r.Metric == s.series.Metric && s.kind == stepSignal
		}
		if v, ok := s.read(r); ok && (r.Of == explain.OfRoot && root == s.series.Entity || r.Of != explain.OfRoot && root != s.series.Entity) {
			return v, true
		}
		if r.Of != explain.OfRoot || r.Take != explain.TakeNow {
			return 0, false
		}
		_, v, ok := e.nowOf(root, r.Metric)
		return v, ok
	}
}

// read is the value of the signal itself for a feature's reading.
func (s *signal) read(r *explain.Reading) (float64, bool) {
	if s.kind == eventSignal {
		return 1, r.Event == string(s.series.Metric)
	}
	if r.Event != "" || r.Metric != s.series.Metric {
		return 0, false
	}
	if r.Take == explain.TakePeers {
		return s.apart, s.kind == apartSignal
	}
	return taken(r.Take, s.before, s.now)
}

func (e *risks) openRisk(root telemetry.Entity, signature string) *risk {
	for _, r := range e.open {
		if r.incident.Root.Entity == root && r.incident.Root.Signature == signature {
			return r
		}
	}
	return nil
}

// updateRisk opens the risk of a trouble, or continues it.
func (e *risks) updateRisk(s *supported, known []*explain.Incident, g telemetry.Time) {
	r := e.openRisk(s.Root, s.Signature.Name)
	in := e.explained(s, known)
	s.signal.explained = s.signal.explained || in != nil
	if r != nil && r.waits() > 0 {
		s.Awaited = e.awaited(s, g)
	}
	switch {
	case r != nil && in != nil:
		id := in.ID
		e.endRisk(r, "merged", &id, g)
		return
	case r != nil:
		r.seen, r.incident.Updated = g, g
		if !r.restored && r.published.Revision > 0 && r.waits() == len(s.Awaited) && (len(r.incident.Claims) > 1 || !e.soon(s, r.incident.Impact.Entities, g)) {
			return // it was published, and nothing of it changes but its length
		}
		r.restored = false
	case s.signal.explained:
		return
	case e.reported(s, known, g):
		s.signal.reported = g
		return
	case s.signal.kind == linkSignal && e.linkWaits(s, known, g):
		return
	case e.oneWaits(s, g):
		return
	case len(e.open) >= maxRisks:
		e.refused++
		return
	default:
		r = e.newRisk(s, g)
	}
	e.threatened(&s.Trouble)
	if s.Left == nil {
		e.soon(s, s.Entities, g)
	}
	s.Missing = e.memory.missing(s.Onset.Earliest.Add(-baselineGrids*e.cfg.Grid), g)
	e.writer().WriteRisk(&r.incident, &s.Trouble, s.confidence)
	e.publishRisk(r, g)
}

// reported reports whether one of the incidents already includes the trouble, or the risk
// of it was merged into one.
func (e *risks) reported(s *supported, known []*explain.Incident, g telemetry.Time) bool {
	for _, r := range e.past {
		if into := r.published.MergedInto; into != nil && r.is(s) && slices.ContainsFunc(known, func(in *explain.Incident) bool { return in.ID == *into }) {
			r.resolved = g // it is remembered for as long as the incident is open
			return true
		}
	}
	root := explain.Root{Entity: s.Root, Signature: s.Signature.Name, Domain: s.Signature.Domain}
	return slices.ContainsFunc(known, func(in *explain.Incident) bool { return e.sameTrouble(in, &root) })
}

// sameTrouble reports whether an incident is sure that it began where a risk is: at
// its root, at what is contained in it, holds it or is cabled to it, or, where it
// names a fault of the same domain, behind it. One that is sure of nothing has the
// risk's fault there as a candidate that could be published.
func (e *risks) sameTrouble(in *explain.Incident, risk *explain.Root) bool {
	at, root := in.Root.Entity, risk.Entity
	switch {
	case ofKind(in) < sure:
		return e.candidate(in, risk) >= publishAtLast
	case at == root:
		return true
	case in.Root.Signature == risk.Signature || in.Root.Domain == risk.Domain:
		return e.along(at, root)
	}
	return e.near(at, root)
}

// candidate is the confidence of an incident in a risk's fault where the risk is.
func (e *risks) candidate(in *explain.Incident, risk *explain.Root) (all float64) {
	there := func(x telemetry.Entity, signature string) bool {
		return signature == risk.Signature && (x == risk.Entity || e.along(x, risk.Entity))
	}
	if there(in.Root.Entity, in.Root.Signature) {
		all = in.Root.Confidence
	}
	for _, a := range in.Alternatives {
		if there(a.Entity, a.Signature) {
			all += a.Confidence
		}
	}
	return all
}

// along reports whether one of two entities is behind the other, or near it.
func (e *risks) along(a, b telemetry.Entity) bool {
	return e.behind(a, []telemetry.Entity{b}) || e.behind(b, []telemetry.Entity{a}) || e.near(a, b)
}

// leftOver reports whether a trouble is that of an incident that was resolved lately, and has
// not been sampled since: whether it goes on is not known yet.
func (e *risks) leftOver(s *supported, lately []*explain.Incident) bool {
	root := explain.Root{Entity: s.Root, Signature: s.Signature.Name, Domain: s.Signature.Domain}
	slot, ok := e.window.Slot(s.Seen)
	if !ok {
		return false
	}
	sampled, _ := e.window.Last(slot)
	return slices.ContainsFunc(lately, func(in *explain.Incident) bool {
		return in.Resolved != nil && s.signal.since <= *in.Resolved && sampled <= *in.Resolved && e.sameTrouble(in, &root)
	})
}

// oneSpot reports whether two entities are equal, near each other, or one contains the
// other, however far up.
func (e *sight) oneSpot(a, b telemetry.Entity) bool {
	return a == b || e.within(a, b) || e.within(b, a) || e.near(a, b)
}

// near reports whether two entities are the ends of a cable, or one is contained in
// the other and they are not a whole machine and its part.
func (e *sight) near(a, b telemetry.Entity) bool {
	if peer, _, ok := e.graph.Peer(a); ok && peer == b {
		return true
	}
	if a.Kind == telemetry.Node || b.Kind == telemetry.Node || a.Kind == telemetry.Switch || b.Kind == telemetry.Switch {
		return false
	}
	inA, okA := e.graph.Container(b)
	inB, okB := e.graph.Container(a)
	return okA && inA == a || okB && inB == b
}

// newRisk opens a risk; the same one that was resolved a short while ago comes back
// under its name, upstream of where it was too. What degraded a job and does so no
// more is a risk of its own: the incident stays resolved.
func (e *risks) newRisk(s *supported, g telemetry.Time) *risk {
	r := &risk{seen: g}
	r.incident = explain.Incident{ID: incidentID(e.cfg.Site, string(s.Seen.Metric), s.Root, g), State: explain.StateOpen, Kind: explain.KindRisk, Calibration: calibration,
		Opened: g, Site: e.cfg.Site, Engine: Version, Rules: e.cfg.Rules}
	if i := e.downstreamRisk(s); i >= 0 {
		old := e.open[i]
		r.goOn(&old.incident, &old.published)
		e.open = slices.Delete(e.open, i, i+1)
	} else if i := slices.IndexFunc(e.past, func(o *risk) bool { return o.is(s) && o.published.MergedInto == nil }); i >= 0 {
		old := e.past[i]
		r.goOn(&old.incident, &old.published)
		r.incident.Reopens++
		e.past = slices.Delete(e.past, i, i+1)
	}
	for i := e.downstreamRisk(s); i >= 0; i = e.downstreamRisk(s) {
		id := r.incident.ID
		e.endRisk(e.open[i], "merged", &id, g)
	}
	e.open = append(e.open, r)
	return r
}

func (r *risk) is(s *supported) bool {
	return r.incident.Root.Entity == s.Root && r.incident.Root.Signature == s.Signature.Name
}

func (r *risk) goOn(was, published *explain.Incident) {
	r.published = *published
	r.incident.ID, r.incident.Opened, r.incident.Reopens, r.incident.SplitFrom = was.ID, was.Opened, was.Reopens, was.SplitFrom
}

// downstreamRisk finds the open risk that is downstream of the trouble, which was seen
// first, but the trouble began here: one of the same signature, or of a link of what is
// down as a whole, or of the same link under another name.
func (e *risks) downstreamRisk(s *supported) int {
	return slices.IndexFunc(e.open, func(o *risk) bool {
		if s.signal.kind == linkSignal && e.ofLinks(o.incident.Root.Signature) {
			return o.incident.Root.Entity == s.Root || slices.ContainsFunc(e.linkEnds(o.incident.Root.Entity), func(i int) bool { return slices.Contains(e.ownersOf(i), s.Root) })
		}
		return o.incident.Root.Signature == s.Signature.Name && e.behind(o.incident.Root.Entity, []telemetry.Entity{s.Root})
	})
}

func (e *risks) publishRisk(r *risk, g telemetry.Time) {
	r.incident.Updated = g
	if r.published.Revision != 0 && !explain.Differs(&r.published, &r.incident) {
		return
	}
	r.incident.Revision = r.published.Revision + 1
	r.published = r.incident
	e.out.Incidents = append(e.out.Incidents, r.incident)
}

// endRisk resolves a risk, as merged into an incident where one is given.
func (e *risks) endRisk(r *risk, how string, into *string, g telemetry.Time) {
	at := g
	r.incident.State, r.incident.Resolution, r.incident.Resolved, r.incident.MergedInto = explain.StateResolved, &how, &at, into
	r.resolved = g
	e.publishRisk(r, g)
	r.incident.State, r.incident.Resolution, r.incident.Resolved, r.incident.MergedInto = explain.StateOpen, nil, nil, nil
	e.dropRisk(r)
	e.past = append(e.past, r)
}

func (e *risks) dropRisk(r *risk) {
	e.open = slices.DeleteFunc(e.open, func(o *risk) bool { return o == r })
}

// name gives a case that is judged for the first time its place: under the name of
// the risk that now degrades its job, unless it is a relapse, else where incidents
// belong.
func (e *caseBook) name(c *incidentCase, next explain.Incident, g telemetry.Time) explain.Incident {
	r := e.risks.riskBehind(&next)
	if r == nil {
		r = e.risks.riskOver(c.job, &next)
	}
	if r == nil || e.earlier(c, &next, g) >= 0 {
		return e.place(c, next, g)
	}
	c.published = e.risks.continueIn(r, &next)
	return next
}

// continueIn lets an incident go on under the name of a risk, and returns what was
// published of it.
func (e *risks) continueIn(r *risk, in *explain.Incident) (published explain.Incident) {
	in.ID, in.Opened, in.Reopens = r.incident.ID, r.incident.Opened, r.incident.Reopens
	e.dropRisk(r)
	return r.published
}

// reportedAs is the id of the incident that reports what a case finds next: its own, or
// that of the primary case.
func (e *caseBook) reportedAs(c *incidentCase, next *explain.Incident) string {
	if c.under.IsZero() {
		return next.ID
	}
	return e.primary(c).incident.ID
}

// mergeRisk ends the risk that an incident turns out to report, as merged into the one
// with that id.
func (e *caseBook) mergeRisk(in *explain.Incident, id string, g telemetry.Time) {
	if r := e.risks.riskBehind(in); r != nil {
		e.risks.endRisk(r, "merged", &id, g)
	}
}

// riskBehind finds the open risk at the root of an incident.
func (e *risks) riskBehind(in *explain.Incident) *risk {
	for _, r := range e.open {
		if e.sameTrouble(in, &r.incident.Root) {
			return r
		}
	}
	return nil
}

// takeRisk continues a risk that another engine has published.
func (e *risks) takeRisk(h *explain.Incident, g telemetry.Time) {
	if r := e.openRisk(h.Root.Entity, h.Root.Signature); r != nil {
		r.goOn(h, h)
		e.publishRisk(r, g)
		return
	}
	if h.Root.Entity.Validate() != nil || len(e.open) >= maxRisks {
		e.out.Incidents = append(e.out.Incidents, concluded(*h, e.cfg.Rules, g))
		return
	}
	r := &risk{incident: *h, published: *h, restored: true, since: g, seen: g}
	r.incident.Engine, r.incident.Rules = Version, e.cfg.Rules
	e.open = append(e.open, r)
	e.takeLinks(&h.Root, h.Onset, g)
}

// recallRisk records a published risk that is over.
func (e *risks) recallRisk(h *explain.Incident, g telemetry.Time) {
	if h.Resolved == nil || g.Sub(*h.Resolved) > reopenWithin || h.MergedInto != nil {
		return
	}
	r := &risk{incident: *h, published: *h, resolved: *h.Resolved}
	r.incident.State, r.incident.Resolution, r.incident.Resolved = explain.StateOpen, nil, nil
	e.past = append(e.past, r)
}

// disownRisks forgets the names under which the risks were published.
func (e *risks) disownRisks() {
	e.open = slices.DeleteFunc(e.open, func(r *risk) bool { return r.restored })
	for _, r := range e.open {
		r.published = explain.Incident{}
	}
}

func (x *risks) snapshot(c *snapshot.Codec) {
	snapshot.List(c, &x.open, 64, codeRisk)
	snapshot.List(c, &x.past, 64, codeRisk)
	c.U64(&x.refused)
}

func codeRisk(c *snapshot.Codec, x **risk) {
	if *x == nil {
		*x = &risk{}
	}
	r := *x
	r.incident.Snapshot(c)
	r.published.Snapshot(c)
	c.Time(&r.seen)
	c.Bool(&r.restored)
	c.Time(&r.since)
	c.Time(&r.resolved)
}
