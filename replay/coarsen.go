package replay

import (
	"hash/fnv"
	"path/filepath"
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// missingTenths is how many of ten metrics a site lacks that is opened without some.
const missingTenths = 3

// missing returns which metrics the recording at a path lacks in a draw: three of ten, as hashes of
// its name, the draw and the metric have it, so that it lacks the same whenever it is opened. nil
// is none, for draw 0. How long a step took is always stated.
func missing(path string, draw int) func(telemetry.MetricName) bool {
	if draw == 0 {
		return nil
	}
	return func(m telemetry.MetricName) bool {
		h := fnv.New64a()
		for _, part := range []string{filepath.Base(path), string(rune('0' + draw)), string(m)} {
			h.Write([]byte(part + "/"))
		}
		return m != "job_step_seconds" && h.Sum64()>>32%10 < missingTenths
	}
}

// coarsener thins the samples of a trace, as if every source were read K times
// as rarely, and leaves out the columns of metrics that it lacks. Sources that report a job's steps are kept whole: a step is an
// event in time.
//
// Of each source it keeps the instants whose number is a multiple of K, counted
// by the sequence numbers of its frames. A frame that was lost on the way
// therefore stays lost, and the result does not depend on the order of frames.
type coarsener struct {
	k         uint64
	lacks     func(telemetry.MetricName) bool // nil: none
	catalogue *telemetry.Catalogue
	schemas   map[telemetry.Fingerprint]coarseSchema
	decoder   telemetry.Decoder
	encoder   telemetry.Encoder
	frame     telemetry.Frame
	bytes     []byte
}

// coarseSchema is a schema and what it becomes, by which of its columns are left. Sources that
// report steps keep all instants.
type coarseSchema struct {
	was, is *telemetry.Schema
	columns []int
	whole   bool
}

func newCoarsener(k int, lacks func(telemetry.MetricName) bool, catalogue *telemetry.Catalogue) *coarsener {
	if catalogue == nil {
		catalogue = telemetry.DefaultCatalogue()
	}
	return &coarsener{k: uint64(max(k, 1)), lacks: lacks, catalogue: catalogue, schemas: map[telemetry.Fingerprint]coarseSchema{}}
}

// record returns what becomes of a record, nil where nothing is left of it. What
// it returns is valid until the next call.
func (c *coarsener) record(r *telemetry.Record) (*telemetry.Record, error) {
	switch r.Kind {
	case telemetry.SchemaRecord:
		return c.schema(r), nil
	case telemetry.FrameRecord:
		return c.thin(r)
	}
	return r, nil
}

// schema gives a source its longer cadence.
func (c *coarsener) schema(r *telemetry.Record) *telemetry.Record {
	perStep := func(col telemetry.Column) bool {
		m, known := c.catalogue.Lookup(col.Metric)
		return known && m.PerStep
	}
	is, s := *r.Schema, coarseSchema{was: r.Schema, whole: slices.ContainsFunc(r.Schema.Columns, perStep)}
	is.Columns = nil
	for i, col := range r.Schema.Columns {
		if c.lacks == nil || !c.lacks(col.Metric) {
			is.Columns, s.columns = append(is.Columns, col), append(s.columns, i)
		}
	}
	if s.whole && len(s.columns) == len(r.Schema.Columns) {
		return r
	}
	if !s.whole {
		is.Cadence *= telemetry.Duration(c.k)
	}
	s.is = &is
	c.schemas[r.Schema.Fingerprint()] = s
	if len(is.Columns) == 0 {
		return nil
	}
	return &telemetry.Record{Kind: telemetry.SchemaRecord, Schema: &is}
}

// thin drops instants of a frame. A frame that cannot be read, or whose schema is
// not known, stays as it is: the engine counts it.
func (c *coarsener) thin(r *telemetry.Record) (*telemetry.Record, error) {
	h, err := r.Frame.Header()
	if err != nil {
		return r, nil
	}
	s, known := c.schemas[h.Fingerprint]
	if !known || c.decoder.Decode(r.Frame, s.was, &c.frame) != nil {
		return r, nil
	}
	if len(s.columns) == 0 || !s.whole && !c.keep(s.was.Len()) {
		return nil, nil
	}
	c.cut(&s)
	c.frame.Fingerprint = s.is.Fingerprint()
	if c.bytes, err = c.encoder.AppendFrame(c.bytes[:0], s.is, &c.frame); err != nil {
		return nil, err
	}
	return &telemetry.Record{Kind: telemetry.FrameRecord, Frame: c.bytes}, nil
}

// keep leaves every K-th instant in the frame, each of n words, and reports
// whether there is one.
func (c *coarsener) keep(n int) bool {
	f := &c.frame
	all := uint64(len(f.Instants))
	kept := 0
	first := uint64(0)
	for i := range f.Instants {
		number := f.Sequence*all + uint64(i)
		if number%c.k != 0 {
			continue
		}
		if kept == 0 {
			first = number
		}
		f.Instants[kept] = f.Instants[i]
		copy(f.Words[kept*n:(kept+1)*n], f.Words[i*n:(i+1)*n])
		if f.States != nil {
			copy(f.States[kept*n:(kept+1)*n], f.States[i*n:(i+1)*n])
		}
		kept++
	}
	f.Instants, f.Words = f.Instants[:kept], f.Words[:kept*n]
	if f.States != nil {
		f.States = f.States[:kept*n]
	}
	if all < c.k { // at most one instant is left of a frame, and of many frames none
		f.Sequence = first / c.k
	}
	return kept > 0
}

// cut leaves the columns in the frame that its schema still has.
func (c *coarsener) cut(s *coarseSchema) {
	if len(s.columns) == len(s.was.Columns) {
		return
	}
	f, n, all := &c.frame, len(s.was.Entities), s.was.Len()
	kept := 0
	for i := range f.Instants {
		for _, col := range s.columns {
			from := i*all + col*n
			copy(f.Words[kept:kept+n], f.Words[from:from+n])
			if f.States != nil {
				copy(f.States[kept:kept+n], f.States[from:from+n])
			}
			kept += n
		}
	}
	f.Words = f.Words[:kept]
	if f.States != nil {
		f.States = f.States[:kept]
	}
}
