package thin

import (
	"fmt"

	"github.com/quintet-dc/quintet/telemetry"
)

// How coarse thinning gets. A frame is merged with those of its source in the same
// interval of time; each level makes the interval four times as long.
const (
	firstWidth = telemetry.Duration(10e9)
	widthStep  = 4
	// TopLevel is the coarsest: one interval is more than a year.
	TopLevel = 12
)

// Limits of decoding at once: they bound the memory of thinning to about 5 MiB.
const (
	groupRows    = 512
	groupSamples = 1 << 18
	// parsedSchemas is how many schemas are kept ready to decode with.
	parsedSchemas = 512
)

// width is the interval of time that a level merges into one; level 0 merges nothing.
func width(level int) telemetry.Duration {
	w := firstWidth
	for ; level > 1; level-- {
		w *= widthStep
	}
	return w
}

// Tape is a sequence of entries that can be read again.
type Tape interface {
	// Len returns how many entries there are.
	Len() int
	// Entry returns entry i; it is valid until the next call.
	Entry(i int) (Entry, error)
}

// Pass is one thinning of a tape.
type Pass struct {
	// Level is how coarse: frames of a schema are merged within ten seconds at
	// level 1, four times as long with each more, up to TopLevel. At 0 nothing is
	// merged.
	Level int
	// Events is how many bytes of events may stay; the oldest go first.
	Events int
	// Shed, the last resort, keeps no more than Keep bytes; half of them if Keep is
	// zero.
	Shed bool
	Keep int
	// Largest is how many bytes a merged record may have.
	Largest int
	// Schemas finds the record of a schema that the tape does not state; nil if
	// it is not known. Frames without one are neither merged nor counted sample
	// by sample.
	Schemas func(telemetry.Fingerprint) []byte
	// Catalogue defines which metrics are counters and which are states.
	Catalogue *telemetry.Catalogue
}

// Removal counts what was removed. A frame that is replaced by another one is
// removed, too.
type Removal struct {
	Samples, Gaps, Frames, Events, Others uint64
}

// Add adds o to r.
func (r *Removal) Add(o Removal) {
	r.Samples += o.Samples
	r.Gaps += o.Gaps
	r.Frames += o.Frames
	r.Events += o.Events
	r.Others += o.Others
}

// Result is the removals of a pass.
type Result struct {
	Merged  Removal // others stand for it
	Dropped Removal // nothing does
}

// Add adds o to r.
func (r *Result) Add(o Result) {
	r.Merged.Add(o.Merged)
	r.Dropped.Add(o.Dropped)
}

// none is no slot.
const none = -1

// slot is the state that a pass keeps of an entry.
type slot struct {
	kind    telemetry.RecordKind
	size    int
	frame   telemetry.FrameHeader
	before  int32 // of a frame: the member of its group before it, or none
	grouped bool  // a later member of its group replaces it
	gone    bool
}

// thinner thins tapes.
type thinner struct {
	tape   Tape
	pass   Pass
	out    func(Entry) error
	slots  []slot
	stated map[telemetry.Fingerprint]int32 // the first slot that states it
	parsed map[telemetry.Fingerprint]*telemetry.Schema
	series map[telemetry.Fingerprint]int // zero where the schema is not known
	merger *merger
	result Result
	merged []byte
	chain  []int32
}

// Run writes a tape to out with fewer entries, in order: a merged frame takes the
// place of the last of those it replaces, and has its number. A schema that is
// stated twice is written once. Unknown entries are copied. The entry given to out
// is valid during the call. It fails only if tape or out fails.
func Run(tape Tape, p Pass, out func(Entry) error) (Result, error) {
	t := &thinner{
		tape: tape, pass: p, out: out, slots: make([]slot, tape.Len()), merger: newMerger(p.Catalogue),
		stated: map[telemetry.Fingerprint]int32{}, parsed: map[telemetry.Fingerprint]*telemetry.Schema{},
		series: map[telemetry.Fingerprint]int{},
	}
	if err := t.index(); err != nil {
		return t.result, err
	}
	if err := t.shed(); err != nil {
		return t.result, err
	}
	t.group()
	for i := range t.slots {
		if err := t.emit(int32(i)); err != nil {
			return t.result, err
		}
	}
	return t.result, nil
}

// index reads every entry once.
func (t *thinner) index() error {
	for i := range t.slots {
		e, err := t.tape.Entry(i)
		if err != nil {
			return fmt.Errorf("thin: entry %d: %w", i, err)
		}
		t.slots[i] = t.look(int32(i), e)
	}
	return nil
}

func (t *thinner) look(i int32, e Entry) slot {
	s := slot{kind: KindOf(e.Record), size: len(e.Record), before: none}
	switch s.kind {
	case telemetry.SchemaRecord:
		fp := SchemaPrint(e.Record)
		_, repeated := t.stated[fp]
		if s.gone = repeated; !repeated { // what was stated stays stated
			t.stated[fp] = i
		}
	case telemetry.FrameRecord:
		h, err := telemetry.EncodedFrame(e.Record[1:]).Header()
		if err != nil {
			return slot{size: len(e.Record), before: none} // of no kind: copied
		}
		s.frame = h
	}
	return s
}

// groupKey decides which frames can be merged.
type groupKey struct {
	fingerprint telemetry.Fingerprint
	incarnation uint64
	byReceived  bool
}

// openGroup is a group that may get more members.
type openGroup struct {
	last   int32
	bucket int64
	rows   int
}

// group chains frames of one interval of time.
func (t *thinner) group() {
	if t.pass.Level == 0 {
		return
	}
	w := int64(width(t.pass.Level))
	open := map[groupKey]openGroup{}
	for i := range t.slots {
		s := &t.slots[i]
		if s.kind != telemetry.FrameRecord || s.gone {
			continue
		}
		key := groupKey{s.frame.Fingerprint, s.frame.Incarnation, s.frame.ByReceived}
		series := t.seriesOf(s.frame.Fingerprint)
		if series == 0 {
			continue
		}
		g, ok := open[key]
		bucket := floorDiv(int64(s.frame.Last), w)
		rows := g.rows + s.frame.Instants
		if ok && g.bucket == bucket && rows <= groupRows && rows*series <= groupSamples {
			s.before = g.last
			t.slots[g.last].grouped = true
		} else {
			rows = s.frame.Instants
		}
		open[key] = openGroup{last: int32(i), bucket: bucket, rows: rows}
	}
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func (t *thinner) seriesOf(fp telemetry.Fingerprint) int {
	n, ok := t.series[fp]
	if !ok {
		if s := t.schema(fp); s != nil {
			n = s.Len()
		}
		t.series[fp] = n
	}
	return n
}

// schema returns a schema by its fingerprint, nil if it is unknown.
func (t *thinner) schema(fp telemetry.Fingerprint) *telemetry.Schema {
	if s, ok := t.parsed[fp]; ok {
		return s
	}
	if len(t.parsed) >= parsedSchemas {
		clear(t.parsed)
		t.merger = newMerger(t.merger.catalogue)
	}
	var record []byte
	if at, ok := t.stated[fp]; ok {
		if e, err := t.tape.Entry(int(at)); err == nil {
			record = e.Record
		}
	} else if t.pass.Schemas != nil {
		record = t.pass.Schemas(fp)
	}
	var s *telemetry.Schema
	if len(record) > 0 {
		if r, err := telemetry.ParseRecord(record); err == nil && r.Kind == telemetry.SchemaRecord {
			s = r.Schema
		}
	}
	t.parsed[fp] = s
	return s
}

// emit writes slot i, or what replaces it.
func (t *thinner) emit(i int32) error {
	s := &t.slots[i]
	switch {
	case s.gone, s.grouped:
		return nil
	case s.before != none, s.kind == telemetry.FrameRecord && s.frame.Instants > 1 && t.pass.Level > 0:
		return t.emitGroup(i)
	}
	return t.copy(i)
}

func (t *thinner) copy(i int32) error {
	e, err := t.tape.Entry(int(i))
	if err != nil {
		return fmt.Errorf("thin: entry %d: %w", i, err)
	}
	return t.out(e)
}

// emitGroup writes one frame for the group that ends with slot i, or its
// members as they are where that is no gain.
func (t *thinner) emitGroup(i int32) error {
	t.chain = t.chain[:0]
	size := 0
	for at := i; at != none; at = t.slots[at].before {
		t.chain = append(t.chain, at)
		size += t.slots[at].size
	}
	gone, err := t.merge()
	if err != nil || len(t.merged) >= size || len(t.merged) > t.pass.Largest {
		for j := len(t.chain) - 1; j >= 0; j-- {
			if err := t.copy(t.chain[j]); err != nil {
				return err
			}
		}
		return nil
	}
	gone.Frames = uint64(len(t.chain) - 1)
	t.result.Merged.Add(gone)
	return t.out(Entry{Record: t.merged, Thinned: true})
}

// merge makes one frame of the chain in t.merged.
func (t *thinner) merge() (Removal, error) {
	s := t.schema(t.slots[t.chain[0]].frame.Fingerprint)
	if s == nil {
		return Removal{}, errNoSchema
	}
	t.merger.begin(s)
	for j := len(t.chain) - 1; j >= 0; j-- {
		e, err := t.tape.Entry(int(t.chain[j]))
		if err == nil {
			err = t.merger.add(s, e.Record[1:])
		}
		if err != nil {
			return Removal{}, err
		}
	}
	t.merged = append(t.merged[:0], byte(telemetry.FrameRecord))
	var gone Removal
	var err error
	t.merged, gone, err = t.merger.encode(t.merged, s)
	return gone, err
}
