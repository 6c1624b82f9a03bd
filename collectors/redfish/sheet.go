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
	from    string // the property: path#/Place
	column  telemetry.Column
	word    uint64
	gap     bool
	combine string
	pace    pace
	rule    *readingRule // how to read it again, out of a report
	unit    unit
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
	rules   *mapping
	self    telemetry.Entity
	named   []named
	chassis map[string]string // types of chassis, by name
	also    []pattern         // pages that are wanted beside those of rules
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
		if !r.path.leads(parts) || !r.fits(v.self.Kind) || r.reach == byReport {
			continue
		}
		if r.reach == byExpand && len(parts) >= len(r.path.parts)-1 && !v.expand {
			continue
		}
		if r.named && len(parts) == len(r.path.parts) && !slices.ContainsFunc(v.named, func(n named) bool { return n.path == path }) {
			continue
		}
		return true
	}
	return false
}

func (r *rule) fits(k telemetry.Kind) bool { return len(r.kinds) == 0 || slices.Contains(r.kinds, k) }

// governs reports whether a rule is about a page, and what its path captures.
func (v *view) governs(r *rule, parts []string) ([]string, bool) {
	if !r.fits(v.self.Kind) {
		return nil, false
	}
	captures, ok := r.path.match(parts)
	if !ok {
		return nil, false
	}
	if len(r.chassis) > 0 && len(parts) > 1 {
		if kind := v.chassis[strings.ToLower(parts[1])]; !slices.Contains(r.chassis, kind) {
			return nil, false
		}
	}
	return captures, true
}

// entityOf is the entity of a page by a rule, unless the configuration names the
// page: then that, where it is of the same kind or the rule only names the service.
func (v *view) entityOf(r *rule, path string, sc *scope) (telemetry.Entity, bool) {
	e, ok := r.entity.fill(sc)
	own := len(r.entity) == 1 && r.entity[0].name == "self"
	longest, found := 0, false
	for _, n := range v.named {
		if len(n.path) > longest && (path == n.path || strings.HasPrefix(path, n.path+"/")) && (own || n.entity.Kind == e.Kind) {
			e, longest, found = n.entity, len(n.path), true
		}
	}
	if r.named && !found {
		return e, false
	}
	return e, ok || found
}

func (v *view) apply(s *sheet, r *rule, path string, parts []string, doc map[string]any) {
	captures, ok := v.governs(r, parts)
	if !ok {
		return
	}
	if r.each == nil {
		v.item(s, r, path, scope{self: v.self, captures: captures, doc: doc})
		return
	}
	found, _ := at(doc, r.each)
	list, _ := found.([]any)
	for i, x := range list {
		if _, ok := x.(map[string]any); !ok {
			s.drop(collectors.Malformed, 1)
			continue
		}
		v.item(s, r, path+"#/"+strings.Join(r.each, "/")+"/"+strconv.Itoa(i), scope{self: v.self, captures: captures, doc: x, index: strconv.Itoa(i)})
	}
}

// item reads a document, or an item of a list in one.
func (v *view) item(s *sheet, r *rule, from string, sc scope) {
	for _, c := range r.when {
		text := ""
		if x, ok := at(sc.doc, c.place); ok {
			text, _ = word(x)
		}
		if !slices.Contains(c.words, text) {
			return
		}
	}
	page, _, listed := strings.Cut(from, "#")
	e, ok := v.entityOf(r, page, &sc)
	if !ok {
		if !r.named {
			s.drop(collectors.Unknown, len(r.readings))
		}
		return
	}
	sc.entity = e
	if !listed {
		from += "#"
	}
	if len(s.readings) > maxReadings {
		s.drop(collectors.OverLimit, len(r.readings))
		return
	}
	idle := notThere(sc.doc)
	for i := range r.readings {
		if out, ok := v.value(s, &r.readings[i], &sc, idle); ok {
			out.from = from + "/" + strings.Join(r.readings[i].place, "/")
			out.pace = r.pace
			s.readings = append(s.readings, out)
		}
	}
	for _, name := range r.traits {
		if text := strings.TrimSpace(textAt(sc.doc, name)); text != "" {
			s.traits = append(s.traits, trait{e, page, name, clip(text, 100)})
		}
	}
	for _, g := range r.edges {
		a, okA := g.from.fill(&sc)
		b, okB := g.to.fill(&sc)
		if okA && okB && a != b {
			s.relations = append(s.relations, relation{g.relation, a, b})
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
	x, ok := at(sc.doc, r.place)
	if !ok {
		return reading{}, false
	}
	out := reading{series: series{sc.entity, r.measure.column.Metric}, column: r.measure.column, combine: r.combine, rule: r, unit: r.unit}
	if r.words != nil {
		text, ok := word(x)
		switch {
		case x == nil:
			return reading{}, false // nothing said: another property may
		case !ok:
			out.gap = true
			s.drop(collectors.Malformed, 1)
			return out, true
		}
		var why collectors.Reason
		out.word, why = r.meaningOf(text)
		out.gap = why != ""
		if why != "" {
			s.drop(why, 1)
		}
		return out, true
	}
	if r.unitFrom != nil {
		u, known := unitNamed(textAt(sc.doc, r.unitFrom...))
		if known && u.dimension != r.measure.dimension {
			return reading{}, false // another rule is for that unit
		}
		if !known {
			out.gap = true
			s.drop(collectors.Unknown, 1)
			return out, true
		}
		out.unit = u
	}
	var why collectors.Reason
	switch {
	case idle:
		why = collectors.Unsupported
	default:
		out.word, why = r.number(x, out.unit, v.rules.sentinels)
	}
	if why != "" {
		out.gap = true
		s.drop(why, 1)
	}
	return out, true
}

// meaningOf returns the value of a state's word.
func (r *readingRule) meaningOf(text string) (uint64, collectors.Reason) {
	for _, m := range r.words {
		if strings.EqualFold(m.word, text) {
			if !m.known {
				return 0, collectors.Unsupported
			}
			return m.value, ""
		}
	}
	return 0, collectors.Unknown
}

// number reads a number, or returns the reason why there is none.
func (r *readingRule) number(x any, u unit, sentinels []string) (uint64, collectors.Reason) {
	if u.name == "ISO8601" {
		text, ok := x.(string)
		if !ok && x != nil {
			return 0, collectors.Malformed
		}
		if slices.Contains(blanks, strings.ToLower(strings.TrimSpace(text))) {
			return 0, collectors.Unsupported
		}
		return r.measure.convert(strings.TrimSpace(text), u)
	}
	text, why := numeral(x)
	if why != "" {
		return 0, why
	}
	if !r.exempt && slices.Contains(sentinels, strings.TrimSuffix(text, ".0")) {
		return 0, collectors.OutOfRange
	}
	return r.measure.convert(text, u)
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
	for _, r := range s.readings {
		page, _, _ := strings.Cut(r.from, "#")
		k, seen := first[place{r.series, page}]
		switch {
		case !seen:
			first[place{r.series, page}] = len(kept)
			kept = append(kept, r)
		case r.combine == "" && kept[k].gap && !r.gap:
			kept[k] = r
		case r.combine == "" && r.gap:
		case r.combine == "":
			s.drop(collectors.Duplicate, 1)
		case kept[k].gap:
		case r.gap:
			kept[k].gap, kept[k].word = true, 0
		case r.combine == "min":
			kept[k].word = min(kept[k].word, r.word)
		default:
			kept[k].word = max(kept[k].word, r.word)
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
