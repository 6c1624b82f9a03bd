package redfish

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/mapping"
	"github.com/quintet-dc/quintet/collectors/weigh"
	"github.com/quintet-dc/quintet/telemetry"
)

// series is where a reading belongs.
type series struct {
	entity telemetry.Entity
	metric telemetry.MetricName
}

// reading is the value of one property for one series.
type reading struct {
	series
	from   string // the property: path#/Place
	column telemetry.Column
	word   uint64
	gap    bool
	reduce mapping.Reduction
	pace   pace
	rule   *readingRule

	quantity *mapping.Quantity // how to read it again, out of a report
}

// trait is a piece of configuration.
type trait struct {
	entity telemetry.Entity
	page   string
	name   string
	text   string
}

// relation is an edge without its times.
type relation struct {
	kind     telemetry.Relation
	from, to telemetry.Entity
}

// sheet is the content of a page.
type sheet struct {
	readings  []reading
	traits    []trait
	relations []relation
	links     []string // further pages that are wanted
	inline    []string // pages that this one has in itself
	members   bool     // it lists pages
	next      string   // where a list goes on
	report    *report
	at        time.Time // when it was read, by the device
	dropped   map[collectors.Reason]int
}

func (s *sheet) drop(why collectors.Reason, n int) {
	if n > 0 {
		s.dropped[why] += n
	}
}

// Bounds of one page.
const (
	maxNested   = 4096 // pages inside a page
	maxReadings = 8192 // of a page
)

// view is what pages are read with: what the service is, and which of its
// resources the configuration names.
type view struct {
	rules   *library
	self    telemetry.Entity
	named   []named
	chassis map[string]string // types of chassis, by name
	also    []pattern         // pages that are wanted in addition to those of rules
	expand  bool              // the service answers $expand
}

// named is a resource whose entity the configuration states.
type named struct {
	path   string
	entity telemetry.Entity
}

// errNotObject means that a page is JSON, but not an object.
var errNotObject = errors.New("no JSON object")

// parse reads a page. Numbers keep their text.
func parse(b []byte) (map[string]any, error) {
	if err := weigh.JSON(b); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("cut off after %d bytes: %w", len(b), io.ErrUnexpectedEOF)
		}
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, fmt.Errorf("byte %d: %w", syntax.Offset, err)
		}
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("something after the end of the JSON object")
	}
	doc, ok := v.(map[string]any)
	if !ok {
		return nil, errNotObject
	}
	return doc, nil
}

// read returns the content of a document got from path.
func (v *view) read(path string, doc map[string]any) *sheet {
	s := &sheet{dropped: map[collectors.Reason]int{}}
	v.page(s, path, doc, 0)
	s.next, _ = doc["Members@odata.nextLink"].(string)
	s.at = parseTime(textAt(doc, "ReadingTime"))
	s.settle()
	slices.Sort(s.links)
	s.links = slices.Compact(s.links)
	return s
}

// page reads a document and the documents in it.
func (v *view) page(s *sheet, path string, doc map[string]any, depth int) {
	if own, ok := doc["@odata.id"].(string); ok {
		if _, ok := split(own); ok && depth > 0 || ok && sameShape(own, path) {
			path = strings.TrimRight(own, "/")
		}
	}
	parts, ok := split(path)
	if !ok {
		s.drop(collectors.Refused, 1)
		return
	}
	if len(parts) == 2 && strings.EqualFold(parts[0], "Chassis") {
		if kind := textAt(doc, "ChassisType"); kind != "" && len(v.chassis) < maxNested {
			v.chassis[strings.ToLower(parts[1])] = kind
		}
	}
	for i := range v.rules.rules {
		v.apply(s, &v.rules.rules[i], path, parts, doc)
	}
	if typeOf(doc) == "MetricReport" {
		s.report = readReport(doc)
	}
	v.follow(s, path, doc, depth)
}

// sameShape reports whether two paths have the same depth and the same end: a
// document may state its own path, of which a service has several (Systems/System_0
// and Systems/HGX_Baseboard_0), but not that of another page.
func sameShape(a, b string) bool {
	x, okA := split(a)
	y, okB := split(b)
	return okA && okB && len(x) == len(y) && (len(x) == 0 || strings.EqualFold(x[len(x)-1], y[len(y)-1]))
}

// follow lists the pages that a document leads to, and reads those that are
// already in it.
func (v *view) follow(s *sheet, path string, doc map[string]any, depth int) {
	if members, ok := doc["Members"].([]any); ok {
		s.members = true
		for _, m := range members {
			v.reference(s, m, depth)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(doc)) {
		x := doc[name]
		if name == "Links" || name == "Oem" || name == "Actions" || strings.HasPrefix(name, "@") || name == "Members" {
			continue
		}
		// The resource of old lists the same things under other names.
		if newer := name + "Subsystem"; (name == "Power" || name == "Thermal") && link(doc[newer]) != "" {
			continue
		}
		v.reference(s, x, depth)
		// Some services link elsewhere although the resource is at the standard
		// path.
		if usual := path + "/" + name; link(x) != "" && !strings.EqualFold(clean(link(x)), usual) {
			v.reference(s, map[string]any{"@odata.id": usual}, depth)
		}
	}
	if memory, ok := at(doc, []string{"Links", "Memory"}); ok {
		list, _ := memory.([]any)
		for _, x := range list {
			v.reference(s, x, depth)
		}
	}
}

func (v *view) reference(s *sheet, x any, depth int) {
	target := link(x)
	if target == "" {
		return
	}
	parts, ok := split(clean(target))
	if ok && len(parts) == 0 {
		return
	}
	if !ok {
		if !strings.Contains(target, "#") {
			s.drop(collectors.Refused, 1)
		}
		return
	}
	doc := x.(map[string]any)
	if len(doc) > 2 && doc["@odata.type"] != nil && depth < 4 {
		if len(s.inline) >= maxNested || len(s.readings) > maxReadings {
			s.drop(collectors.OverLimit, 1)
			return
		}
		s.inline = append(s.inline, clean(target))
		v.page(s, clean(target), doc, depth+1)
		return
	}
	if v.wants(clean(target), parts) {
		s.links = append(s.links, clean(target))
	}
}

// clean is a path as it is kept: without a slash at its end.
func clean(path string) string { return strings.TrimRight(path, "/") }

// wants reports whether a page, or one below it, is mapped.
func (v *view) wants(path string, parts []string) bool {
	for i := range v.also {
		if v.also[i].leads(parts) {
			return true
		}
	}
	for i := range v.rules.rules {
		r := &v.rules.rules[i]
		if !r.path.leads(parts) || !r.fits(v.self.Kind) || r.Reach == byReport {
			continue
		}
		if r.Reach == byExpand && len(parts) >= len(r.path.Path)-1 && !v.expand {
			continue
		}
		if r.Named && len(parts) == len(r.path.Path) && !slices.ContainsFunc(v.named, func(n named) bool { return n.path == path }) {
			continue
		}
		return true
	}
	return false
}

func (r *rule) fits(k telemetry.Kind) bool { return len(r.Kinds) == 0 || slices.Contains(r.Kinds, k) }

// governs reports whether a rule is about a page, and what its path captures.
func (v *view) governs(r *rule, parts []string) ([]mapping.Binding, bool) {
	if !r.fits(v.self.Kind) {
		return nil, false
	}
	captures, ok := r.path.match(parts)
	if !ok {
		return nil, false
	}
	if len(r.Chassis) > 0 && len(parts) > 1 {
		if kind := v.chassis[strings.ToLower(parts[1])]; !slices.Contains(r.Chassis, kind) {
			return nil, false
		}
	}
	return captures, true
}

// entityOf is the entity of a page by a rule, unless the configuration names the
// page: then that, where it is of the same kind or the rule only names the service.
func (v *view) entityOf(r *rule, path string, sc *scope) (telemetry.Entity, bool) {
	e, ok := sc.fill(&r.Of)
	own := r.Of.Word == "self"
	longest, found := 0, false
	for _, n := range v.named {
		if len(n.path) > longest && (path == n.path || strings.HasPrefix(path, n.path+"/")) && (own || n.entity.Kind == e.Kind) {
			e, longest, found = n.entity, len(n.path), true
		}
	}
	if r.Named && !found {
		return e, false
	}
	return e, ok || found
}

func (v *view) apply(s *sheet, r *rule, path string, parts []string, doc map[string]any) {
	captures, ok := v.governs(r, parts)
	if !ok {
		return
	}
	if r.Each == nil {
		v.item(s, r, path, scope{self: v.self, captures: captures, doc: doc})
		return
	}
	found, _ := at(doc, r.Each)
	list, _ := found.([]any)
	for i, x := range list {
		if _, ok := x.(map[string]any); !ok {
			s.drop(collectors.Malformed, 1)
			continue
		}
		v.item(s, r, path+"#/"+strings.Join(r.Each, "/")+"/"+strconv.Itoa(i), scope{self: v.self, captures: captures, doc: x, index: strconv.Itoa(i)})
	}
}

// item reads a document, or an item of a list in one.
func (v *view) item(s *sheet, r *rule, from string, sc scope) {
	if _, ok := r.Where.Match(func(name string) string { return textAt(sc.doc, strings.Split(name, ".")...) }); !ok {
		return
	}
	page, _, listed := strings.Cut(from, "#")
	e, ok := v.entityOf(r, page, &sc)
	if !ok {
		if !r.Named {
			s.drop(collectors.Unknown, len(r.Readings))
		}
		return
	}
	sc.entity = e
	if !listed {
		from += "#"
	}
	if len(s.readings) > maxReadings {
		s.drop(collectors.OverLimit, len(r.Readings))
		return
	}
	idle := notThere(sc.doc)
	for i := range r.Readings {
		if out, ok := v.value(s, &r.Readings[i], &sc, idle); ok {
			out.from = from + "/" + strings.Join(r.Readings[i].Place, "/")
			out.pace = r.Pace
			s.readings = append(s.readings, out)
		}
	}
	for _, name := range r.Traits {
		if text := strings.TrimSpace(textAt(sc.doc, name)); text != "" {
			s.traits = append(s.traits, trait{e, page, name, clip(text, 100)})
		}
	}
	for i := range r.Edges {
		g := &r.Edges[i]
		a, okA := sc.fill(&g.From)
		b, okB := sc.fill(&g.To)
		if okA && okB && a != b {
			s.relations = append(s.relations, relation{telemetry.Relation(g.Relation), a, b})
		}
	}
}

// notThere reports whether a resource reports that it is absent or off: the numbers
// it still shows are not values.
func notThere(doc any) bool {
	switch textAt(doc, "Status", "State") {
	case "Absent", "Disabled", "UnavailableOffline", "Deferring", "Starting":
		return true
	}
	return false
}

// value reads one property. False where the page does not have it.
func (v *view) value(s *sheet, r *readingRule, sc *scope, idle bool) (reading, bool) {
	x, ok := at(sc.doc, r.Place)
	if !ok {
		return reading{}, false
	}
	out := reading{series: series{sc.entity, r.Metric}, column: r.quantity.Column, reduce: r.Reduce, rule: r, quantity: r.quantity}
	if r.Words != nil && x == nil {
		return reading{}, false // no value: another property may have one
	}
	var why collectors.Reason
	if r.UnitFrom != nil {
		var known, fits bool
		out.quantity, known, fits = r.quantity.MeasuredIn(textAt(sc.doc, r.UnitFrom...))
		switch {
		case !known:
			why = collectors.Unknown
		case !fits:
			return reading{}, false // another rule is for that unit
		}
	}
	switch {
	case why != "":
	case idle && r.Words == nil:
		why = collectors.Unsupported
	default:
		out.word, why = read(out.quantity, x)
	}
	if out.gap = why != ""; out.gap {
		s.drop(why, 1)
	}
	return out, true
}

// settle joins the values of several properties of one page for one series: where
// one is unknown, so is the page's; of those that do not combine the first counts.
func (s *sheet) settle() {
	type place struct {
		series
		page string
	}
	first := map[place]int{}
	kept := s.readings[:0]
	var values []mapping.Reduced // of each that is kept
	for _, r := range s.readings {
		page, _, _ := strings.Cut(r.from, "#")
		k, seen := first[place{r.series, page}]
		switch {
		case !seen:
			first[place{r.series, page}] = len(kept)
			kept, values = append(kept, r), append(values, r.reduce.Of(r.column))
			values[len(values)-1].Add(r.word)
		case r.reduce == mapping.First && kept[k].gap && !r.gap:
			kept[k] = r
		case r.reduce == mapping.First && r.gap:
		case r.reduce == mapping.First:
			s.drop(collectors.Duplicate, 1)
		case kept[k].gap:
		case r.gap:
			kept[k].gap, kept[k].word = true, 0
		default:
			values[k].Add(r.word)
			kept[k].word, _ = values[k].Word()
		}
	}
	s.readings = kept
}

// clip shortens a device's text.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
