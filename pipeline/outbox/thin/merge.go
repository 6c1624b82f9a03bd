package thin

import (
	"fmt"
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// merger makes one frame of several of one schema, one incarnation and one
// authoritative clock. It keeps scratch between calls.
type merger struct {
	catalogue *telemetry.Catalogue
	decoder   telemetry.Decoder
	encoder   telemetry.Encoder
	roles     map[*telemetry.Schema][]role // by column

	frame  telemetry.Frame // decoded, one after the other
	rows   rows
	marker marker
	marks  []int32 // of every series, one behind the other
	ends   []int   // where those of a series end
	wanted []bool
	places []int
}

func newMerger(catalogue *telemetry.Catalogue) *merger {
	return &merger{catalogue: catalogue, roles: map[*telemetry.Schema][]role{}}
}

// begin starts a group of frames of schema s.
func (m *merger) begin(s *telemetry.Schema) { m.rows.reset(s.Len()) }

// add takes a frame of the group.
func (m *merger) add(s *telemetry.Schema, b telemetry.EncodedFrame) error {
	if err := m.decoder.Decode(b, s, &m.frame); err != nil {
		return err
	}
	f, n := &m.frame, s.Len()
	m.rows.byReceived = f.ByReceived
	for k, at := range f.Instants {
		states := []telemetry.State(nil)
		if f.States != nil {
			states = f.States[k*n : (k+1)*n]
		}
		m.rows.add(at, f.Words[k*n:(k+1)*n], states)
	}
	return nil
}

// add files one instant by its time. Samples of one time are merged as the
// engine would: present before gap before absent, the larger of two words.
func (r *rows) add(at telemetry.Instant, words []uint64, states []telemetry.State) {
	k := len(r.at)
	for k > 0 && r.time(r.at[k-1]) > r.time(at) {
		k--
	}
	if k == 0 || r.time(r.at[k-1]) < r.time(at) {
		r.insert(k, at)
	} else {
		k--
	}
	for i, w := range words {
		s, at := telemetry.Present, k*r.series+i
		if states != nil {
			s = states[i]
		}
		switch {
		case s > r.states[at]:
			r.words[at], r.states[at] = w, s
		case s == telemetry.Present:
			r.words[at] = max(r.words[at], w)
		}
	}
}

// time is the authoritative time of an instant.
func (r *rows) time(at telemetry.Instant) telemetry.Time {
	if r.byReceived {
		return at.Received
	}
	return at.Source
}

func (r *rows) insert(k int, at telemetry.Instant) {
	n := r.series
	r.at = slices.Insert(r.at, k, at)
	old := len(r.words)
	r.words = slices.Grow(r.words, n)[:old+n]
	r.states = slices.Grow(r.states, n)[:old+n]
	copy(r.words[(k+1)*n:], r.words[k*n:old])
	copy(r.states[(k+1)*n:], r.states[k*n:old])
	clear(r.words[k*n : (k+1)*n])
	clear(r.states[k*n : (k+1)*n])
}

// encode appends the frame that replaces the group: its number is that of the last
// frame. It returns what did not survive.
func (m *merger) encode(dst []byte, s *telemetry.Schema) ([]byte, Removal, error) {
	chosen := m.mark(s)
	if len(chosen) == 0 { // nothing but what is absent: one instant states it
		chosen = []int{len(m.rows.at) - 1}
	}
	out := telemetry.Frame{Incarnation: m.frame.Incarnation, Sequence: m.frame.Sequence, ByReceived: m.frame.ByReceived}
	n := s.Len()
	out.Words, out.States = make([]uint64, len(chosen)*n), make([]telemetry.State, len(chosen)*n)
	for _, k := range chosen {
		out.Instants = append(out.Instants, m.rows.at[k])
	}
	var gone Removal
	for i, from := 0, 0; i < n; i++ {
		gone.Add(m.keep(&out, chosen, i, m.marks[from:m.ends[i]]))
		from = m.ends[i]
	}
	dst, err := m.encoder.AppendFrame(dst, s, &out)
	if err != nil {
		return dst, Removal{}, fmt.Errorf("merge frames of %s: %w", s.Source, err)
	}
	return dst, gone, nil
}

// mark finds what must survive of every series and returns the rows to keep.
func (m *merger) mark(s *telemetry.Schema) []int {
	roles := m.rolesOf(s)
	m.marks, m.ends = m.marks[:0], m.ends[:0]
	m.wanted = slices.Grow(m.wanted[:0], len(m.rows.at))[:len(m.rows.at)]
	clear(m.wanted)
	e := len(s.Entities)
	for i := range s.Len() {
		for _, k := range m.marker.series(&m.rows, i, roles[i/e], s.Columns[i/e].Type) {
			m.marks = append(m.marks, int32(k))
			m.wanted[k] = true
		}
		m.ends = append(m.ends, len(m.marks))
	}
	return choose(m.wanted)
}

func (m *merger) rolesOf(s *telemetry.Schema) []role {
	if r, ok := m.roles[s]; ok {
		return r
	}
	r := make([]role, len(s.Columns))
	for i, c := range s.Columns {
		r[i] = roleOf(m.catalogue, c.Metric)
	}
	m.roles[s] = r
	return r
}

// keep writes the marks of series i and counts what has none.
func (m *merger) keep(out *telemetry.Frame, chosen []int, i int, marks []int32) (gone Removal) {
	n := m.rows.series
	m.marker.marks = m.marker.marks[:0]
	for _, k := range marks {
		m.marker.marks = append(m.marker.marks, int(k))
	}
	for k := range m.rows.at {
		gone.count(m.rows.states[k*n+i])
	}
	m.places = arrange(m.marker.marks, chosen, m.places)
	for j, k := range m.marker.marks {
		to, from := m.places[j]*n+i, k*n+i
		out.Words[to], out.States[to] = m.rows.words[from], m.rows.states[from]
		gone.uncount(m.rows.states[from])
	}
	return gone
}

func (r *Removal) count(s telemetry.State) {
	switch s {
	case telemetry.Present:
		r.Samples++
	case telemetry.Gap:
		r.Gaps++
	}
}

func (r *Removal) uncount(s telemetry.State) {
	switch s {
	case telemetry.Present:
		r.Samples--
	case telemetry.Gap:
		r.Gaps--
	}
}
