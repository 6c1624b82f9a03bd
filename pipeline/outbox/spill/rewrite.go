package spill

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"os"
	"slices"

	"github.com/quintet-dc/quintet/pipeline/outbox/thin"
	"github.com/quintet-dc/quintet/telemetry"
)

// thinEntries bounds what one thinning of the spill looks at: it remembers
// about a hundred bytes of each.
const thinEntries = 1 << 15

// ref is the location of an entry.
type ref struct {
	file   int
	at     int64
	size   int
	behind place // where the next one is
}

// region is the oldest part of the spill, opened to be thinned. It is a tape of
// those entries that were not handed out.
type region struct {
	segments []segment
	size     int64
	marks    []place                          // the ends of what was handed out
	schemas  map[telemetry.Fingerprint][]byte // schemas that are stored already
	files    []File
	out      []ref // handed out and not known to be stored: stay as they are
	rest     []ref
	buf      []byte
}

// Len implements thin.Tape.
func (r *region) Len() int { return len(r.rest) }

// Entry implements thin.Tape.
func (r *region) Entry(i int) (thin.Entry, error) { return r.load(r.rest[i]) }

func (r *region) load(at ref) (thin.Entry, error) {
	r.buf = slices.Grow(r.buf[:0], at.size)[:at.size]
	if _, err := r.files[at.file].ReadAt(r.buf, at.at); err != nil {
		return thin.Entry{}, err
	}
	e, _, err := parseEntry(r.buf, int64(at.size))
	return e, err
}

func (r *region) close() (err error) {
	for _, f := range r.files {
		err = errors.Join(err, f.Close())
	}
	return err
}

// region opens segments from the i-th on, at least share bytes of them if there
// are. What cannot be read is noted as damaged.
func (s *Spill) region(i int, share int64, marks []place) (*region, error) {
	r := &region{marks: marks, schemas: map[telemetry.Fingerprint][]byte{}}
	for ; i < len(s.segments); i++ {
		g := &s.segments[i]
		if r.size >= share || len(r.rest)+len(r.out) >= thinEntries {
			break
		}
		f, err := s.files.Open(s.path(g.number, segmentSuffix))
		if err != nil {
			return nil, errors.Join(err, r.close())
		}
		r.files = append(r.files, f)
		if err := s.list(r, f, g); err != nil {
			return nil, errors.Join(err, r.close())
		}
		r.segments = append(r.segments, *g)
		r.size += g.size
	}
	return r, nil
}

// list adds the entries of a segment that are not stored. Of those that are stored,
// later frames may need the schemas.
func (s *Spill) list(r *region, f File, g *segment) error {
	end, err := walk(f, 0, g.size, func(e thin.Entry, at, next int64) bool {
		x := ref{len(r.files) - 1, at, int(next - at), place{g.number, next}}
		switch {
		case !s.acked.before(x.behind):
			if thin.KindOf(e.Record) == telemetry.SchemaRecord {
				r.schemas[thin.SchemaPrint(e.Record)] = slices.Clone(e.Record)
			}
		case r.handedOut(x.behind):
			r.out = append(r.out, x)
		default:
			r.rest = append(r.rest, x)
		}
		return true
	})
	if errors.Is(err, errDamaged) {
		s.damaged += g.size - end
		g.size, err = end, nil
	}
	return err
}

// handedOut reports whether an entry precedes the last one handed out. Some such
// entries are of no batch: schemas that an earlier thinning put there.
func (r *region) handedOut(end place) bool {
	n := len(r.marks)
	return n > 0 && !r.marks[n-1].before(end)
}

// marked reports whether an entry is one of those that were handed out.
func (r *region) marked(end place) bool {
	_, ok := slices.BinarySearchFunc(r.marks, end, place.compare)
	return ok
}

// Thin makes the oldest part of the spill smaller: share bytes of it, by p. It
// returns what was removed; after an error, what was removed until then.
func (s *Spill) Thin(share int64, p thin.Pass) (thin.Result, error) {
	var total thin.Result
	if err := s.rotate(); err != nil {
		return total, fmt.Errorf("thin spill: %w", err)
	}
	marks := s.marks // they move with what is rewritten
	for i := 0; share > 0 && i < len(s.segments); {
		r, err := s.region(i, share, marks)
		if err != nil {
			return total, fmt.Errorf("thin spill: %w", err)
		}
		share -= r.size
		n, gone, err := s.thinRegion(i, r, p)
		if err != nil {
			return total, fmt.Errorf("thin spill: %w", err)
		}
		i += n
		total.Add(gone)
	}
	return total, nil
}

// thinRegion thins the region that begins with segment i and returns how many
// segments take its place.
func (s *Spill) thinRegion(i int, r *region, p thin.Pass) (int, thin.Result, error) {
	w := &rewriter{spill: s, first: s.segments[i].number, limit: math.MaxUint64, known: r.schemas}
	if n := i + len(r.segments); n < len(s.segments) {
		w.limit = s.segments[n].number
	}
	gone, err := w.run(r, p)
	err = errors.Join(err, r.close())
	if err == nil {
		err = w.install(i, r)
	}
	if err != nil {
		return 0, thin.Result{}, errors.Join(err, w.abort())
	}
	return len(w.done), gone, nil
}

// rewriter writes the segments that take a region's place.
type rewriter struct {
	spill *Spill
	first uint64 // number of the first
	limit uint64 // number of the first segment that stays
	done  []segment
	w     *segmentWriter
	known map[telemetry.Fingerprint][]byte // schemas that came by
	marks []place
}

func (w *rewriter) run(r *region, p thin.Pass) (thin.Result, error) {
	for _, x := range r.out {
		e, err := r.load(x)
		if err == nil {
			err = w.put(e)
		}
		if err != nil {
			return thin.Result{}, err
		}
		if r.marked(x.behind) {
			w.marks = append(w.marks, place{w.number(), w.w.size})
		}
	}
	p.Schemas = w.find
	gone, err := thin.Run(r, p, w.put)
	if err == nil {
		err = w.end()
	}
	return gone, err
}

func (w *rewriter) number() uint64 { return w.first + uint64(len(w.done)) }

func (w *rewriter) find(fp telemetry.Fingerprint) []byte {
	if b, ok := w.known[fp]; ok {
		return b
	}
	return w.spill.schemas(fp)
}

func (w *rewriter) put(e thin.Entry) error {
	if thin.KindOf(e.Record) == telemetry.SchemaRecord {
		w.known[thin.SchemaPrint(e.Record)] = slices.Clone(e.Record)
	}
	if w.w != nil && w.w.full(w.spill.segmentBytes) && w.number()+1 < w.limit {
		if err := w.end(); err != nil {
			return err
		}
	}
	if w.w == nil {
		var err error
		if w.w, err = createSegment(w.spill.files, w.spill.path(w.number(), partSuffix)); err != nil {
			return err
		}
	}
	return w.w.append(one(e), w.find, nil)
}

func one(e thin.Entry) iter.Seq[thin.Entry] { return func(yield func(thin.Entry) bool) { yield(e) } }

func (w *rewriter) end() error {
	if w.w == nil {
		return nil
	}
	g := segment{number: w.number(), size: w.w.size}
	err := w.w.close()
	w.w = nil
	w.done = append(w.done, g)
	return err
}

// install puts the new segments in the place of the old ones. A kill in between
// leaves some things twice, which the log recognises.
func (w *rewriter) install(i int, r *region) error {
	s := w.spill
	for _, g := range w.done {
		if err := s.files.Rename(s.path(g.number, partSuffix), s.path(g.number, segmentSuffix)); err != nil {
			return errors.Join(err, s.lookAgain())
		}
	}
	s.loose = true
	if err := s.syncNames(); err != nil {
		return errors.Join(err, s.lookAgain())
	}
	s.segments = slices.Replace(s.segments, i, i+len(r.segments), w.done...)
	if i == 0 {
		s.acked = place{number: w.first}
		s.Rewind()
	}
	if n := len(w.marks); n > 0 {
		s.read, s.marks = w.marks[n-1], append(s.marks, w.marks...)
	}
	for _, g := range r.segments {
		if g.number < w.first+uint64(len(w.done)) {
			continue // replaced
		}
		s.loose = true
		if err := s.files.Remove(s.path(g.number, segmentSuffix)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return s.syncNames()
}

// abort removes the written files.
func (w *rewriter) abort() (err error) {
	if w.w != nil {
		err = w.w.file.Close()
		w.done = append(w.done, segment{number: w.number()})
		w.w = nil
	}
	for _, g := range w.done {
		if e := w.spill.files.Remove(w.spill.path(g.number, partSuffix)); e != nil && !errors.Is(e, os.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// lookAgain reads the directory again. Entries that were handed out will be handed
// out once more.
func (s *Spill) lookAgain() error {
	s.segments, s.acked = nil, place{}
	s.Rewind()
	return s.find()
}
