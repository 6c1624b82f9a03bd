package gnmi

import (
	"strings"

	"github.com/quintet-dc/quintet/collectors/book"
	"github.com/quintet-dc/quintet/collectors/mapping"
	"github.com/quintet-dc/quintet/telemetry"
)

// folded is a series that several leaves make: a port's pause frames are those
// of its priorities.
type folded struct {
	cell   book.Cell
	how    mapping.Reduction
	column telemetry.Column
	parts  []part
	dirty  bool
	from   *subscription // whose parts they are; nil if that does not matter
	sealed bool          // it was stated
}

// part is one leaf's share.
type part struct {
	word, base uint64
	known      bool
}

// whole reports whether every part that the device has from the beginning was
// received.
func (f *folded) whole() bool { return f.from == nil || f.from.synced }

// join adds a part.
func (f *folded) join() int {
	f.parts = append(f.parts, part{})
	return len(f.parts) - 1
}

// put stores a part's word. A part that joins a counter's sum after the sum was
// stated starts at its present value: its past is not an increase of today.
func (f *folded) put(slot int, word uint64) {
	p := &f.parts[slot]
	if !p.known && f.sealed && f.how == mapping.Sum && f.column.Type != telemetry.Float && counts(f.column) {
		p.base = word
	}
	if word < p.base {
		p.base = 0 // it was reset
	}
	p.word, p.known = word, true
}

// counts reports whether a column is a counter.
func counts(c telemetry.Column) bool { return strings.HasSuffix(string(c.Metric), "_total") }

// leave forgets a part. A counter's share stays in the sum, where nothing falls.
func (f *folded) leave(slot int) {
	if !counts(f.column) {
		f.parts[slot].known = false
	}
}

// word is the combined value of the parts; false where there is none.
func (f *folded) word() (uint64, bool) {
	out := f.how.Of(f.column)
	for i := range f.parts {
		if p := &f.parts[i]; p.known {
			out.Add(p.word - p.base)
		}
	}
	return out.Word()
}
