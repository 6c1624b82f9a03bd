package redfish

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/telemetry"
)

// history is how old, by the service's own clock, a report may be that is still
// taken for now.
const history = 5 * time.Minute

// readRows takes a metric report's rows, at what the service takes for now.
func (r *reader) readRows(p *page, rep *report, date time.Time) {
	for why, n := range rep.dropped {
		r.drop(why, n)
	}
	var newest time.Time
	for i := range rep.rows {
		if at := rep.rows[i].at; at.After(newest) {
			newest = at
		}
	}
	if !date.IsZero() && !newest.IsZero() && date.Sub(newest) > history {
		r.drop(collectors.Stale, len(rep.rows))
		p.period = r.cfg.Slow
		return
	}
	pc := still
	fresh := newest.IsZero() || newest.After(p.newest)
	if fresh {
		p.newest = newest
		r.stamp(newest)
	}
	before := p.readings
	p.readings = nil
	for i := range rep.rows {
		b := r.resolve(p, rep.rows[i].property)
		if b == nil || !b.known {
			r.drop(collectors.Unknown, 1)
			continue
		}
		pc = max(pc, b.pace)
		x, why := b.take(&rep.rows[i])
		r.drop(why, min(1, len(why)))
		p.readings = append(p.readings, x)
	}
	p.period = pc.period(r.cfg)
	if !fresh {
		p.readings = before // a periodic report that was read already
		return
	}
	for i := range p.readings {
		r.offer(p, &p.readings[i])
	}
}

// resolve is where a row goes. It is worked out once; what depends on the
// resource itself, once that was read.
func (r *reader) resolve(p *page, property string) *binding {
	if b := r.binds[property]; b != nil && b.ask == "" {
		return b
	}
	if len(r.binds) >= maxBindings {
		r.drop(collectors.OverLimit, 1)
		return nil
	}
	key, _, _ := keyOf(property)
	b := &binding{}
	if x, ok := r.known[key]; ok {
		b.known, b.reading = true, x
	} else {
		*b = r.view.bind(property)
	}
	if !b.known && b.ask != "" {
		if asked := r.page(b.ask, p); asked == nil || asked.read {
			b.ask = "" // that did not contain it either
		}
	}
	r.binds[property] = b
	return b
}

// How many logs are read, and how many entries of each are remembered.
const (
	maxLogs    = 8
	maxEntries = 16384
)

// readLog reports the new entries of a log. Entries that were in it when it was
// first read are history, and are not reported.
func (r *reader) readLog(p *page, doc map[string]any, s *sheet) {
	p.period = r.cfg.Slow
	m := r.c.logs[p.path]
	if m == nil && len(r.c.logs) >= maxLogs {
		r.drop(collectors.OverLimit, 1)
		return
	}
	if m == nil {
		m = &logMemory{seen: map[string]bool{}}
		r.c.logs[p.path] = m
	}
	if len(m.seen) > maxEntries {
		clear(m.seen) // a log that is never emptied: begin anew
		m.read = false
	}
	for _, h := range readHappenings(doc) {
		id := h.id + " " + h.at.UTC().Format(time.RFC3339)
		if !m.seen[id] && m.read {
			r.happened(&h)
		}
		m.seen[id] = true
	}
	if !p.goOn(s.next) {
		m.read, p.parts = true, 0
	}
}

// oldest is the maximum age at which an event keeps the device's time: a log is
// read once a minute, and a slow service's later.
const oldest = time.Hour

// maxStorm is the maximum number of events reported in a sweep.
const maxStorm = 256

// happened reports an event, if a rule gives it a name.
func (r *reader) happened(h *happening) {
	if r.storm++; r.storm > maxStorm {
		r.drop(collectors.OverLimit, 1)
		return
	}
	name, text, ok := r.view.rules.name(h)
	if !ok {
		r.drop(collectors.Skipped, 1)
		return
	}
	e := &telemetry.Event{Entity: r.view.about(h.origin), Name: name, Text: text}
	if e.Entity == r.view.self {
		e.Entity = r.named(h.text)
	}
	now := r.clock()
	if age := now.Sub(h.at); !h.at.IsZero() && age < oldest && age > -time.Minute {
		e.At = telemetry.Time(h.at.UnixNano())
	}
	r.event(e)
}

// named is the GPU that a text names, as do messages of NVIDIA that name no
// resource of origin; else the service's own entity.
func (r *reader) named(text string) telemetry.Entity {
	for _, field := range strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(" ,;:()[]'\"", c) }) {
		if n, ok := strings.CutPrefix(field, "GPU_"); ok && n != "" && r.view.self.Kind == telemetry.Node {
			e := telemetry.Entity{Kind: telemetry.GPU, Name: r.view.self.Name + "/" + collectors.Part(n)}
			for s := range r.owners {
				if s.entity == e {
					return e
				}
			}
		}
	}
	return r.view.self
}

// listen opens the event stream once the service has reported its address.
func (r *reader) listen(ctx context.Context) {
	path, _, _ := strings.Cut(r.stream, "?")
	if _, ok := split(clean(path)); !ok || r.stream == "" {
		return
	}
	target := r.stream
	r.stream = ""
	if r.streaming {
		return
	}
	r.streaming = true
	r.streams.Add(1)
	go func() {
		defer r.streams.Done()
		r.c.client.listen(ctx, target, r.log, r.messages)
	}()
}

// receive handles a message of the event stream: events, or a metric report.
func (r *reader) receive(m message) {
	if m.long {
		r.drop(collectors.OverLimit, 1)
		return
	}
	doc, err := parse(m.data)
	if err != nil {
		r.drop(collectors.Malformed, 1)
		return
	}
	if _, ok := doc["MetricValues"]; ok {
		if p := r.streamed(doc); p != nil {
			r.readRows(p, readReport(doc), time.Time{})
		}
		return
	}
	for _, h := range readHappenings(doc) {
		r.happened(&h)
	}
}

// maxStreamed is the maximum number of distinct pushed reports.
const maxStreamed = 64

// streamed is the page that a report on the event stream repeats, or a substitute
// for one that is nowhere else and is never asked for.
func (r *reader) streamed(doc map[string]any) *page {
	id, _ := doc["@odata.id"].(string)
	if p := r.pages[clean(id)]; p != nil && p.report {
		return p
	}
	id = clip(cmp.Or(id, textAt(doc, "Id")), maxPath)
	p := r.pushed[id]
	if p == nil {
		if len(r.pushed) >= maxStreamed {
			r.drop(collectors.OverLimit, 1)
			return nil
		}
		p = &page{path: id, report: true, parents: map[*page]bool{}}
		r.pushed[id] = p
	}
	return p
}
