package gnmi

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/book"
	"github.com/quintet-dc/quintet/collectors/mapping"
	"github.com/quintet-dc/quintet/telemetry"
)

// sourceName is the collector in its sources; neighbourSource the source of LLDP
// data.
const (
	sourceName      = "gnmi"
	neighbourSource = "lldp"
)

// Times that a reader goes by.
const (
	saneWithin = telemetry.Duration(time.Minute)            // how far a device's clock may be off and still be believed
	splitAfter = telemetry.Duration(250 * time.Millisecond) // readings further apart are frames of their own
	onItsWay   = telemetry.Duration(time.Second)            // what a change may take from the device to here
	stillSo    = telemetry.Duration(2 * time.Second)        // a reported state that is older than that
	apart      = telemetry.Duration(time.Millisecond)       // frames whose order is all that is known of their times
	splitEvery = telemetry.Duration(20 * time.Millisecond)  // that often at most, whatever the device states
	stepBack   = telemetry.Duration(10 * time.Second)       // a clock that goes back further was set
	// maxSeries is how many a switch may have: 512 ports with 128 each.
	maxSeries = 1 << 16
)

// reader turns one device's messages into records. It is used by one goroutine
// at a time.
type reader struct {
	profile *Profile
	self    telemetry.Entity
	queues  bool
	names   string            // which word names a port
	domain  string            // taken off neighbours' names
	peer    func(string) bool // reports whether a system is a switch of the site
	target  string
	every   time.Duration // between samples of most series
	book    *book.Book
	slower  []slower
	sink    collectors.Emitter

	root      *node
	kept      int // bytes of the tree, of paths and of ports
	prefixes  map[string]*prefix
	last      *prefix
	folds     map[telemetry.Series]*folded
	taken     map[telemetry.Series]bool
	contained map[telemetry.Entity]bool
	ports     map[string]*port
	hoods     map[string]*neighbourhood

	at       telemetry.Instant // of the notification that is being read
	seq      uint64
	splitAt  telemetry.Time
	stale    bool // a port is called something else than in the tree
	group    *subscription
	open     bool // something was noted since the last frame
	batch    telemetry.Instant
	framed   telemetry.Time // as of when the batch before was emitted
	again    bool           // the current state is being restated
	dirty    []*folded
	onChange []*use
	nearby   []*neighbourhood // changed since the last frame
	pending  []*telemetry.Record

	readings int
	unknown  int
	dropped  map[collectors.Reason]int
	scratch  []byte
	found    [][]byte
	many     []scalar
}

// port is a port of the device.
type port struct {
	native string
	name   string // one part of the entity's
	entity telemetry.Entity
	words  map[string]string
	speed  uint64
	placed bool // something was emitted for it under this name
	near   []*neighbourhood
}

// newReader returns the reader of a device.
func newReader(p *Profile, t Target, c *Config, sink collectors.Emitter) *reader {
	r := &reader{profile: p, queues: c.Queues, names: p.names, domain: c.Domain, peer: func(string) bool { return false }, sink: sink,
		self:   telemetry.Entity{Kind: telemetry.Switch, Name: telemetry.NamePart(t.Name)},
		target: t.Name, every: c.Every, book: book.New(book.Config{Collector: sourceName, Target: t.Name, Cadence: c.Every, Limit: maxSeries}),
		ports: map[string]*port{}, hoods: map[string]*neighbourhood{}, contained: map[telemetry.Entity]bool{}, dropped: map[collectors.Reason]int{}}
	if c.Names != "" {
		r.names = c.Names
	}
	r.plant()
	return r
}

// plant starts the tree over: the names of ports have changed, or nothing is known
// yet.
func (r *reader) plant() {
	r.root = &node{states: []state{{at: r.profile.root}}}
	r.kept, r.last = 0, nil
	r.prefixes = map[string]*prefix{}
	r.folds, r.taken = map[telemetry.Series]*folded{}, map[telemetry.Series]bool{}
	r.dirty, r.onChange, r.nearby = nil, nil, nil
	for _, p := range r.ports {
		r.kept += portBytes + 4*len(p.native)
		p.placed, p.near = false, nil
	}
	clear(r.hoods)
}

func (r *reader) drop(why collectors.Reason) {
	if why == collectors.Unknown {
		r.unknown++ // most of what a device sends is not mapped
		return
	}
	r.dropped[why]++
}

// drain returns what was read and dropped since it was last asked.
func (r *reader) drain() (readings int, dropped map[collectors.Reason]int) {
	readings, dropped = r.readings, r.dropped
	if r.unknown > 0 {
		dropped[collectors.Unknown] = r.unknown
	}
	r.readings, r.unknown, r.dropped = 0, 0, map[collectors.Reason]int{}
	return readings, dropped
}

// port returns a port by its own name, nil where there is no room for it.
func (r *reader) port(native string) *port {
	p := r.ports[native]
	if p == nil && r.keep(portBytes+4*len(native)) {
		p = &port{native: native, words: map[string]string{}}
		r.ports[native] = p
		r.christen(p)
	}
	return p
}

// christen gives a port the name that the site knows it by: the value of the
// configured name leaf, if it was reported, is one word and is not the name of
// another port.
func (r *reader) christen(p *port) {
	p.name = telemetry.NamePart(p.native)
	if w := p.words[r.names]; w != "" && usable(w) {
		for _, o := range r.ports {
			if o != p && o.name == telemetry.NamePart(w) {
				r.drop(collectors.Duplicate)
				w = p.native
				break
			}
		}
		p.name = telemetry.NamePart(w)
	}
	p.entity = telemetry.Entity{Kind: telemetry.Port, Name: r.self.Name + "/" + p.name}
}

// usable reports whether a text can be a port's name: one word, not long.
func usable(s string) bool {
	return len(s) <= 64 && s != "" && !strings.ContainsFunc(s, func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) || c == unicode.ReplacementChar })
}

// begin sets the instant of a notification; what was noted of another is framed
// first.
func (r *reader) begin(stated int64, received telemetry.Time) {
	r.seq++
	r.at = telemetry.Instant{Source: sane(stated, received), Received: received}
	if r.group != nil && r.group.onChange && received-r.at.Source > telemetry.Time(stillSo) {
		r.at.Source = received // when it became so; that it is so is reported now
	}
	if r.open {
		apart := r.at.Source - r.batch.Source
		if (apart > telemetry.Time(splitAfter) || apart < -telemetry.Time(splitAfter)) && received-r.splitAt > telemetry.Time(splitEvery) {
			r.splitAt = received
			r.flush()
		}
	}
}

// sane returns a device's time if it is plausible: in nanoseconds, or in a coarser
// unit that was mistaken for them.
func sane(stated int64, received telemetry.Time) telemetry.Time {
	for _, k := range [...]int64{1, 1e3, 1e6, 1e9} {
		if stated <= 0 || stated > (1<<63-1)/k {
			break
		}
		if off := telemetry.Time(stated*k) - received; off > -telemetry.Time(saneWithin) && off < telemetry.Time(saneWithin) {
			return telemetry.Time(stated * k)
		}
	}
	return received
}

// set records a leaf's value.
func (r *reader) set(l *leaf, v scalar) {
	l.seq = r.seq
	if behind := l.at - r.at.Source; behind > 0 && behind < telemetry.Time(stepBack) {
		r.drop(collectors.Stale)
		return
	}
	l.at = r.at.Source
	r.mark()
	for i := range l.uses {
		u := &l.uses[i]
		switch u.rule.role {
		case reading:
			word, why := u.rule.word(v)
			if why != "" {
				r.drop(why)
				r.gap(u)
				continue
			}
			r.store(u, word)
		case portName:
			r.rename(u, v)
		case neighbour:
			r.storeNeighbour(u, v)
		}
	}
}

// mark opens a frame at the notification's instant.
//
// A frame has one time, the latest of its readings. If two samples of a device
// arrived together, one port's reading may have been reported with the time of
// another's, slightly too late: later readings must not be reported with an earlier
// time.
func (r *reader) mark() {
	at := r.at
	if behind := r.framed - at.Source; behind > 0 && behind < telemetry.Time(stepBack) && !r.again {
		at.Source = r.framed + telemetry.Time(apart)
	}
	if !r.open {
		r.open, r.batch = true, at
		return
	}
	r.batch = telemetry.Instant{Source: max(r.batch.Source, at.Source), Received: max(r.batch.Received, at.Received)}
}

func (r *reader) store(u *use, word uint64) {
	u.at = r.at.Source
	if u.fold != nil {
		u.fold.put(u.slot, word)
		r.soil(u.fold)
	} else {
		r.book.Set(u.cell, word)
	}
	if r.group != nil && r.group.onChange && !u.onChange {
		u.onChange = true
		r.onChange = append(r.onChange, u)
	}
	if u.rule.event && u.known && u.word != word {
		r.turned(u, word)
	}
	if u.rule.Column.Metric == "port_speed_bits_per_second" && u.port != nil && u.port.speed != word {
		u.port.speed = word
		for _, n := range u.port.near {
			r.stir(n)
		}
	}
	u.word, u.known = word, true
}

// soil records that a folded series has to be stated.
func (r *reader) soil(f *folded) {
	f.from = r.group
	if !f.dirty {
		f.dirty = true
		r.dirty = append(r.dirty, f)
	}
}

// turned emits the event of a link that went down or came up.
func (r *reader) turned(u *use, word uint64) {
	e := &telemetry.Event{Entity: u.port.entity, At: r.at.Source, Received: r.at.Received, Name: telemetry.EventLinkUp, Text: "DOWN -> UP",
		Source: telemetry.Source{Collector: sourceName, Target: r.self.Name}}
	if word == 0 {
		e.Name, e.Text = telemetry.EventLinkDown, "UP -> DOWN"
	}
	r.pending = append(r.pending, &telemetry.Record{Kind: telemetry.EventRecord, Event: e})
}

// gap records that a series has no value now.
func (r *reader) gap(u *use) {
	if u.rule.role != reading {
		return
	}
	r.mark()
	u.known = false
	if u.fold != nil {
		u.fold.leave(u.slot)
		r.soil(u.fold)
		return
	}
	r.book.Gap(u.cell)
}

// rename takes a value that names a port. If series were reported under another
// name, the reader is stale: the device has to report everything again.
func (r *reader) rename(u *use, v scalar) {
	if v.form != text && v.form != nothing || len(v.b) > 256 || u.port.words[u.rule.field] == string(v.b) {
		return
	}
	u.port.words[u.rule.field] = string(v.b)
	was := u.port.name
	r.christen(u.port)
	if was != u.port.name && u.port.placed {
		r.stale = true
	}
}

// gone ends everything at or below a path that the device has deleted.
func (r *reader) gone(elems []mapping.Element) {
	for _, n := range r.find(elems) {
		n.below(func(_ *leaf, u *use) { r.end(u) })
	}
}

// end ends what a use fed: a value about a neighbour, or a series.
func (r *reader) end(u *use) {
	if u.near != nil {
		r.leave(u)
	}
	if u.known {
		r.gap(u)
	}
}

// replaced ends everything at or below a prefix that an atomic notification has
// not named.
func (r *reader) replaced(n *node) {
	n.below(func(l *leaf, u *use) {
		if l.seq != r.seq {
			r.end(u)
		}
	})
}

// lost marks everything as unknown: the session is over. The next one reports
// everything again.
func (r *reader) lost(now telemetry.Time) {
	r.flush()
	r.at = telemetry.Instant{Source: now, Received: now}
	r.root.below(func(l *leaf, u *use) {
		l.at = 0
		if u.known && u.rule.role == reading {
			u.known = false
			r.mark()
			if u.fold == nil {
				r.book.Gap(u.cell)
				return
			}
			u.fold.leave(u.slot)
			r.soil(u.fold)
		}
	})
	for _, u := range r.onChange {
		u.onChange = false
	}
	r.onChange = nil
	for _, f := range r.dirty {
		f.dirty = false
		r.book.Gap(f.cell)
	}
	r.dirty = r.dirty[:0]
	r.flush()
	if r.stale {
		r.stale = false
		for _, key := range slices.Sorted(maps.Keys(r.hoods)) {
			clear(r.hoods[key].words)
			r.stir(r.hoods[key])
		}
		r.flush()
		r.plant()
	}
}

// restate emits again the values that are reported only on change: without data
// they would count as unknown. They are stated as of a moment ago: a change since
// then may be in transit, and must not be older than what is stated here.
func (r *reader) restate(now telemetry.Time) {
	if len(r.onChange) == 0 {
		return
	}
	r.flush()
	r.again = true
	defer func() { r.again = false }()
	r.at = telemetry.Instant{Source: now - telemetry.Time(onItsWay), Received: now}
	r.group = nil
	r.onChange = slices.DeleteFunc(r.onChange, func(u *use) bool {
		if !u.known {
			u.onChange = false
			return true
		}
		if u.at > r.at.Source {
			return false // it has just been emitted
		}
		r.mark()
		if u.fold != nil {
			r.soil(u.fold)
		} else {
			r.book.Set(u.cell, u.word)
		}
		return false
	})
	r.flush()
}

// flush emits what was noted: edges and events first, then frames.
func (r *reader) flush() {
	later := r.dirty[:0]
	for _, f := range r.dirty {
		if !f.whole() {
			later = append(later, f)
			continue
		}
		f.dirty = false
		if word, ok := f.word(); ok {
			f.sealed = true
			r.book.Set(f.cell, word)
		} else {
			r.book.Gap(f.cell)
		}
	}
	r.dirty = later
	for _, n := range r.nearby {
		r.state(n)
	}
	r.nearby = r.nearby[:0]
	for _, rec := range r.pending {
		r.sink.Emit(rec)
		r.readings++
	}
	r.pending = nil
	r.emit()
	if r.open && !r.again {
		r.framed = r.batch.Source
	}
	r.open = false
}

// leafList is values of one leaf.
type leafList struct {
	r *reader
	n *node
}

func (m *leafList) add(v scalar) {
	if len(m.r.many) < 1024 {
		m.r.many = append(m.r.many, v)
	}
}

// set folds the values into one, as the rule defines; without a fold in the rule, a
// list is malformed.
func (m *leafList) set() {
	values := m.r.many
	m.r.many = m.r.many[:0]
	if i := slices.IndexFunc(m.n.leaf.uses, func(u use) bool { return u.rule.role == reading && u.rule.Reduce == mapping.First }); i >= 0 {
		m.r.drop(collectors.Malformed)
		return
	}
	if len(m.n.leaf.uses) == 0 {
		return
	}
	f := folded{how: m.n.leaf.uses[0].rule.Reduce, column: telemetry.Column{Type: telemetry.Float}}
	for _, v := range values {
		x, why := m.n.leaf.uses[0].rule.number(v)
		if why != "" {
			m.r.drop(collectors.Malformed)
			continue
		}
		slot := f.join()
		f.put(slot, f.column.Word(x.Float))
	}
	if word, ok := f.word(); ok {
		m.r.set(m.n.leaf, scalar{form: real, f: f.column.Float(word)})
	}
}

// speedAttr is a port's speed as an edge has it.
func (p *port) speedAttr() []telemetry.Attr {
	if p.speed == 0 {
		return nil
	}
	return []telemetry.Attr{{Key: telemetry.AttrSpeed, Value: strconv.FormatUint(p.speed, 10)}}
}
