package redfish

import (
	"slices"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/telemetry"
)

// page returns the page of a path, which it plans if there is none; nil where
// there is no room.
func (r *reader) page(path string, parent *page) *page {
	p := r.pages[path]
	if p == nil {
		if len(r.pages) >= maxPages {
			r.drop(collectors.OverLimit, 1)
			return nil
		}
		p = &page{path: path, due: r.clock(), period: r.cfg.Walk, timeout: r.cfg.Timeout, parents: map[*page]bool{}}
		parts, _ := split(path)
		for i := range r.view.rules.logs {
			if n := len(parts); n > 0 && strings.EqualFold(parts[n-1], "Entries") {
				_, ok := r.view.rules.logs[i].match(parts[:n-1])
				p.log = p.log || ok
			}
		}
		p.report = len(parts) == 3 && strings.EqualFold(parts[0], "TelemetryService")
		levels, whole := r.levels(parts)
		if p.whole = whole; whole && r.view.expand {
			p.expandTo(levels)
		}
		r.pages[path] = p
	}
	if parent != nil {
		p.parents[parent] = true
	}
	return p
}

// relink records the pages that a page links to now; a page without any link to it
// is no longer read.
func (r *reader) relink(p *page, links []*page) {
	old := p.links
	p.links = links
	for _, l := range old {
		if !slices.Contains(links, l) {
			delete(l.parents, p)
			if len(l.parents) == 0 && l != r.root {
				r.forget(l)
			}
		}
	}
}

// forget takes a page out of the plan: nothing is known of its series.
func (r *reader) forget(p *page) {
	if r.pages[p.path] != p {
		return
	}
	delete(r.pages, p.path)
	r.lose(p)
	p.readings = nil
	r.relate(p, nil)
	links := p.links
	p.links = nil
	for _, l := range links {
		delete(l.parents, p)
		if len(l.parents) == 0 && l != r.root {
			r.forget(l)
		}
	}
}

// lose states that a page could not be read: of its series nothing is known, by
// our time, whatever the device's own is of the readings that came before.
func (r *reader) lose(p *page) {
	r.stamp(time.Time{})
	for i := range p.readings {
		x := p.readings[i]
		if o := r.owners[x.series]; o == nil || o.src != p && x.reduce == "" {
			continue
		}
		x.gap = true
		r.offer(p, &x)
	}
}

// wait is how long an answer is waited for: as this page needs it, or as the last
// one that answered did, because a service that is slow is so with every page.
func (r *reader) wait(p *page) time.Duration { return max(p.timeout, r.timeout) }

// handle takes what came of asking for a page.
func (r *reader) handle(p *page, a answer) {
	now := a.received
	if now.IsZero() {
		now = r.clock()
	}
	switch {
	case a.reason == "":
		r.failing, r.trouble, r.resume = 0, nil, time.Time{}
		p.timeout, p.missing, p.bad = min(max(r.cfg.Timeout, 2*a.took), maxTimeout), 0, false
		r.timeout = p.timeout
		if a.same {
			r.again(p)
		} else {
			p.etag = a.etag
			r.open(p, a)
		}
	default:
		r.fail(p, a)
	}
	if !p.read {
		p.read, p.due = true, now.Add(-a.took) // it was not late: it was new
	}
	if p.more == "" {
		r.plan(p, now.Add(-a.took))
	}
	// One request is in flight: a page that takes its time leaves as much to the
	// others before it is asked for again.
	if rest := now.Add(a.took); a.took > r.cfg.Every && p != r.root && p.due.Before(rest) {
		p.due = rest
	}
}

// plan sets when a page is asked for next: at even times, and never sooner than
// three quarters of its period after the last time.
func (r *reader) plan(p *page, began time.Time) {
	next := p.due.Add(p.period)
	if next.Before(began.Add(p.period * 3 / 4)) {
		if missed := int(r.clock().Sub(p.due) / max(p.period, 1)); missed > 0 {
			r.drop(collectors.Skipped, min(missed, 1000)*len(p.readings))
		}
		next = began.Add(p.period)
	}
	p.due = next
}

// fail records that a page could not be read. A service that does not answer at all
// is left alone for a while, longer from time to time.
func (r *reader) fail(p *page, a answer) {
	r.drop(a.reason, 1)
	if !p.bad {
		r.log.Warn("a page cannot be read", "target", r.c.Target(), "page", p.path, "why", string(a.reason), "err", a.err)
	}
	p.bad = true
	p.etag, p.more = "", ""
	p.linking, p.collected, p.relating, p.parts = nil, nil, nil, 0
	r.lose(p)
	if a.timeout {
		p.timeout, r.timeout = min(2*r.wait(p), maxTimeout), 0
	}
	if p.query != "" && !a.away && a.wait == 0 && a.reason != collectors.Malformed {
		p.query, p.noExpand, p.period = "", true, 0 // perhaps without its members
		if p.whole {
			p.period = r.cfg.Walk
		}
		return
	}
	// One page that takes too long is not the service; a second one is.
	whole := a.away && (!a.timeout || r.failing > 0) || p == r.root
	if a.away || whole {
		r.failing++
	}
	if whole {
		r.trouble = a.err
		first := max(r.cfg.Every/10, 10*time.Millisecond)
		r.resume = r.clock().Add(collectors.Jitter(min(first<<min(r.failing-1, 6), 6*r.cfg.Every)))
		r.touchSweep()
	}
	if a.wait > 0 {
		if until := r.clock().Add(a.wait); until.After(r.resume) {
			r.resume = until
		}
		if r.trouble == nil {
			r.trouble = a.err
		}
	}
	if p == r.root {
		p.due, p.period = r.clock(), r.cfg.Every
		return
	}
	if a.reason == collectors.Vanished || a.reason == collectors.Unsupported || a.reason == collectors.Denied {
		p.missing++
		p.period = max(p.period, r.cfg.Slow)
		if p.missing >= maxMissing {
			p.period = r.cfg.Walk
		}
	}
}

// touchSweep ends the sweep at once: the source is away.
func (r *reader) touchSweep() { r.began = r.clock().Add(-r.cfg.Every) }

// again emits once more the readings of a page that has not changed; but a report
// whose rows have times has no current values.
func (r *reader) again(p *page) {
	if p.report && !p.newest.IsZero() {
		return
	}
	r.stamp(p.at)
	for i := range p.readings {
		r.offer(p, &p.readings[i])
	}
}

// open reads a page.
func (r *reader) open(p *page, a answer) {
	if p == r.root {
		r.service(a.doc)
	}
	if r.twin(p, a.doc) {
		return
	}
	s := r.view.read(p.path, a.doc)
	for why, n := range s.dropped {
		r.drop(why, n)
	}
	if p.log {
		r.readLog(p, a.doc, s)
		return
	}
	if textAt(a.doc, "ServerSentEventUri") != "" && !r.cfg.NoEvents {
		r.stream = textAt(a.doc, "ServerSentEventUri")
	}
	if s.report != nil {
		r.readRows(p, s.report, a.date)
		return
	}
	if r.expand(p, s) {
		return
	}
	for _, path := range s.links {
		if l := r.page(path, p); l != nil && l != p {
			p.linking = append(p.linking, l)
		}
	}
	for _, path := range s.inline {
		if l := r.pages[path]; l != nil && l != p {
			r.forget(l) // it comes with this page
		}
	}
	p.period = s.pace().period(r.cfg)
	r.storeReadings(p, s)
	if p.goOn(s.next) {
		p.etag = "" // that of its first part
		return
	}
	r.retract(p, p.collected)
	r.relate(p, p.relating)
	r.relink(p, p.linking)
	p.readings = p.collected
	p.linking, p.collected, p.relating, p.parts = nil, nil, nil, 0
	if r.inReports(p) {
		p.period = max(p.period, r.cfg.Slow)
	}
}

// twin reports whether a page is another one that is read already, under a
// second path: HGX baseboards show every GPU under two systems. It is left to
// the other, and looked at again with the walk.
func (r *reader) twin(p *page, doc map[string]any) bool {
	own, _ := doc["@odata.id"].(string)
	own = clean(own)
	other := r.pages[own]
	if other == nil || other == p || !other.read || other.missing > 0 || other.period >= r.cfg.Walk || !sameShape(own, p.path) {
		return false
	}
	r.stamp(time.Time{}) // as where it is lost
	r.retract(p, nil)
	p.readings = nil
	r.relate(p, nil)
	r.relink(p, []*page{r.page(own, p)})
	p.period = r.cfg.Walk
	return true
}

// maxParts is how many parts of a list are read.
const maxParts = 16

// goOn has the next part of a list be what is asked for next.
func (p *page) goOn(next string) bool {
	path, _, _ := strings.Cut(next, "?")
	if _, ok := split(clean(path)); !ok || next == "" || p.parts >= maxParts {
		p.more = ""
		return false
	}
	p.more = next
	p.parts++
	return true
}

// service takes from the root what the service can do.
func (r *reader) service(doc map[string]any) {
	e, _ := at(doc, []string{"ProtocolFeaturesSupported", "ExpandQuery"})
	r.view.expand = textAt(e, "NoLinks") == "true" && textAt(e, "Levels") == "true"
	links, _ := at(doc, []string{"Links", "Sessions"})
	if s := link(links); s != "" {
		if _, ok := split(clean(s)); ok {
			r.c.client.sessions = s
		}
	}
}

// manyMembers is how many members of a list are worth one request for all.
const manyMembers = 3

// expand has a list requested together with its members, where the service supports
// that and the members contain readings.
func (r *reader) expand(p *page, s *sheet) bool {
	parts, _ := split(p.path)
	if p.query != "" && len(s.inline) == 0 && s.members {
		p.query, p.noExpand = "", true // it does not, whatever it claims
		if p.whole {
			s.links = nil
		}
		return false
	}
	if p.whole && p.noExpand {
		s.links = nil
	}
	if !r.view.expand || p.query != "" || p.noExpand || !s.members || len(s.inline) > 0 || len(parts) < 3 {
		return false
	}
	levels, _ := r.levels(parts)
	if levels == 0 || len(s.links) < manyMembers {
		return false
	}
	p.expandTo(levels)
	p.etag, p.period = "", 0 // at once
	return true
}

// levels is how deep a list is worth asking for with its members, 0 if it is not;
// must means that they are read in no other way.
func (r *reader) levels(parts []string) (levels int, must bool) {
	for i := range r.view.rules.rules {
		rule := &r.view.rules.rules[i]
		if deep := len(rule.path.Path) - len(parts); (deep == 1 && len(rule.Readings) > 0 || deep == 2 && rule.Reach == byExpand) && rule.path.leads(parts) && rule.fits(r.view.self.Kind) {
			levels = max(levels, deep)
			must = must || deep == 1 && rule.Reach == byExpand
		}
	}
	return levels, must
}

func (p *page) expandTo(levels int) {
	p.query = "?$expand=.($levels=1)"
	if levels > 1 {
		p.query = "?$expand=.($levels=2)"
	}
}

// storeReadings stores the readings of a page, or of a part of one.
func (r *reader) storeReadings(p *page, s *sheet) {
	p.at = s.at
	r.stamp(s.at)
	for i := range s.readings {
		x := &s.readings[i]
		if _, ok := r.known[x.from]; ok || len(r.known) < maxBindings {
			r.known[x.from] = *x
		}
		r.offer(p, x)
	}
	p.collected = append(p.collected, s.readings...)
	r.compare(s.traits)
	p.relating = append(append(p.relating, r.groups(s.traits)...), s.relations...)
}

// retract states that series that a page no longer contains are unknown.
func (r *reader) retract(p *page, now []reading) {
	if len(p.readings) == 0 {
		return
	}
	speaks := map[series]bool{}
	for i := range now {
		speaks[now[i].series] = true
	}
	gone := &page{path: p.path, period: p.period}
	for i := range p.readings {
		if x := p.readings[i]; !speaks[x.series] {
			if o := r.owners[x.series]; o != nil && (o.src == p || x.reduce != "") {
				delete(o.said, p)
				o.src, x.gap = gone, true
				r.offer(gone, &x)
				r.drop(collectors.Vanished, 1)
			}
		}
	}
}

// pace is how often a page is asked for: as often as the quickest of its readings
// needs.
func (s *sheet) pace() pace {
	p := still
	if s.members || len(s.traits) > 0 {
		p = slow
	}
	for i := range s.readings {
		p = max(p, s.readings[i].pace)
	}
	return p
}

// inReports reports whether metric reports contain all that a page contains.
func (r *reader) inReports(p *page) bool {
	for i := range p.readings {
		if o := r.owners[p.readings[i].series]; o == nil || o.src == p || !o.src.report {
			return false
		}
	}
	return len(p.readings) > 0
}

// compare reports configuration that has changed.
func (r *reader) compare(traits []trait) {
	for _, t := range traits {
		key := traitOf{t.entity, t.page, t.name}
		old, seen := r.c.kept[key]
		if !seen && len(r.c.kept) >= maxTraits {
			r.drop(collectors.OverLimit, 1)
			continue
		}
		r.c.kept[key] = t.text
		if seen && old != t.text {
			r.event(&telemetry.Event{Entity: t.entity, Name: telemetry.EventConfigChanged, Text: strings.TrimPrefix(t.page, root+"/") + " " + t.name + " " + old + " -> " + t.text})
		}
	}
}

// groups states configuration as membership, where that is enabled, so that equal
// items can be found.
func (r *reader) groups(traits []trait) (out []relation) {
	if !r.cfg.Groups {
		return nil
	}
	for _, t := range traits {
		key := ""
		switch t.name {
		case "FirmwareVersion":
			key = "firmware/"
		case "BiosVersion":
			key = "bios/"
		case "Model":
			key = "model/"
		case "PartNumber":
			key = "part/"
		}
		g := telemetry.Entity{Kind: telemetry.Group, Name: key + collectors.Part(t.text)}
		if key != "" && g.Validate() == nil {
			out = append(out, relation{telemetry.Member, t.entity, g})
		}
	}
	return out
}

// relate states the edges of a page, and the end of those that it no longer
// contains.
func (r *reader) relate(p *page, now []relation) {
	at := telemetry.Time(r.clock().UnixNano())
	old := p.edges
	p.edges = nil
	for _, e := range now {
		if slices.Contains(p.edges, e) {
			continue
		}
		p.edges = append(p.edges, e)
		state := r.edges[e]
		if state == nil {
			state = &edgeState{from: map[*page]bool{}}
			if r.walked {
				state.start = at // it was not there before
			}
			r.edges[e] = state
			r.emitEdge(e, state.start, 0)
		}
		state.from[p] = true
	}
	for _, e := range old {
		state := r.edges[e]
		if slices.Contains(p.edges, e) || state == nil {
			continue
		}
		if delete(state.from, p); len(state.from) == 0 {
			delete(r.edges, e)
			r.emitEdge(e, state.start, at)
		}
	}
}

func (r *reader) emitEdge(e relation, start, end telemetry.Time) {
	r.sink.Emit(&telemetry.Record{Kind: telemetry.EdgeRecord, Edge: &telemetry.Edge{From: e.from, To: e.to, Relation: e.kind,
		Start: start, End: end, Received: telemetry.Time(r.clock().UnixNano()), Source: sourceName}})
	r.read++
}

// event emits an event, of now if it has no time.
func (r *reader) event(e *telemetry.Event) {
	e.Received = telemetry.Time(r.clock().UnixNano())
	if e.At == 0 {
		e.At = e.Received
	}
	e.Source = telemetry.Source{Collector: sourceName, Target: r.c.Target()}
	r.sink.Emit(&telemetry.Record{Kind: telemetry.EventRecord, Event: e})
	r.read++
	r.log.Info("event", "entity", e.Entity.String(), "name", string(e.Name), "text", e.Text)
}
