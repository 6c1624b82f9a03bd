package export

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/quintet-dc/quintet/telemetry"
)

// What is kept in memory at most: a row group of samples, which is written when it is
// full, and bytes of frames whose schema has not come.
const (
	groupRows  = 1 << 19
	maxWaiting = 16 << 20
)

// Files is where the tables go.
type Files struct {
	Samples, Events, Edges io.Writer
}

// Counts states what became of a recording.
type Counts struct {
	Samples, Events, Edges int // rows
	Repeated               int // frames and events that had come before
	Unread                 int // frames whose schema never came
}

// Exporter writes the records of one recording. It is used by one goroutine.
type Exporter struct {
	samples *parquet.GenericWriter[sampleRow]
	events  *parquet.GenericWriter[eventRow]
	edges   *parquet.GenericWriter[edgeRow]
	counts  Counts

	repeats      repeats
	tables       map[telemetry.Fingerprint]*table
	waiting      map[telemetry.Fingerprint][]telemetry.EncodedFrame
	waitingBytes int // bytes waiting

	decoder telemetry.Decoder
	frame   telemetry.Frame
	rows    []sampleRow // of the frame at hand
	values  []float64   // what they point to
}

// New begins three tables. Writer names the program, and its version, in them.
func New(f Files, writer, version string) *Exporter {
	options := []parquet.WriterOption{parquet.Compression(&zstd.Codec{}), parquet.CreatedBy(writer, version, ""), parquet.MaxRowsPerRowGroup(groupRows)}
	return &Exporter{
		samples: parquet.NewGenericWriter[sampleRow](f.Samples, options...),
		events:  parquet.NewGenericWriter[eventRow](f.Events, options...),
		edges:   parquet.NewGenericWriter[edgeRow](f.Edges, options...),
		repeats: newRepeats(),
		tables:  map[telemetry.Fingerprint]*table{},
		waiting: map[telemetry.Fingerprint][]telemetry.EncodedFrame{},
	}
}

// Add writes one record. Ticks and configuration have no row.
func (x *Exporter) Add(r *telemetry.Record) error {
	switch r.Kind {
	case telemetry.SchemaRecord:
		return x.schema(r.Schema)
	case telemetry.FrameRecord:
		return x.addFrame(r.Frame)
	case telemetry.EventRecord:
		return x.event(r.Event)
	case telemetry.EdgeRecord:
		return x.edge(r.Edge)
	}
	return nil
}

// Close ends the tables and states what is in them.
func (x *Exporter) Close() (Counts, error) {
	for _, frames := range x.waiting {
		x.counts.Unread += len(frames)
	}
	clear(x.waiting)
	return x.counts, errors.Join(x.samples.Close(), x.events.Close(), x.edges.Close())
}

// schema keeps a schema and writes the frames that waited for it.
func (x *Exporter) schema(s *telemetry.Schema) error {
	print := s.Fingerprint()
	if x.tables[print] != nil {
		return nil
	}
	x.tables[print] = tableOf(s)
	waited := x.waiting[print]
	delete(x.waiting, print)
	for _, b := range waited {
		x.waitingBytes -= len(b)
		if err := x.addFrame(b); err != nil {
			return err
		}
	}
	return nil
}

func (x *Exporter) addFrame(b telemetry.EncodedFrame) error {
	h, err := b.Header()
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	t := x.tables[h.Fingerprint]
	switch {
	case t != nil:
		return x.write(t, &h, b)
	case x.waitingBytes+len(b) > maxWaiting:
		x.counts.Unread++
	default:
		x.waiting[h.Fingerprint] = append(x.waiting[h.Fingerprint], slices.Clone(b))
		x.waitingBytes += len(b)
	}
	return nil
}

// write turns a frame into rows, instant by instant.
func (x *Exporter) write(t *table, h *telemetry.FrameHeader, b telemetry.EncodedFrame) error {
	if x.repeats.frame(t.Source, h) {
		x.counts.Repeated++
		return nil
	}
	if err := x.decoder.Decode(b, t.Schema, &x.frame); err != nil {
		return fmt.Errorf("export: a frame of %s: %w", t.source, err)
	}
	x.arrange(t)
	n, err := x.samples.Write(x.rows)
	x.counts.Samples += n
	if err != nil {
		return fmt.Errorf("export: samples: %w", err)
	}
	return nil
}

// arrange makes the rows of the frame at hand.
func (x *Exporter) arrange(t *table) {
	f, n := &x.frame, t.Len()
	// Rows point into values, which may not move while they fill.
	x.rows, x.values = x.rows[:0], slices.Grow(x.values[:0], len(f.Words))
	for i, word := range f.Words {
		state := f.State(i)
		if state == telemetry.Absent {
			continue
		}
		at, c := &f.Instants[i/n], &t.Columns[i%n/len(t.Entities)]
		row := sampleRow{
			Time: int64(f.Time(i / n)), Stated: int64(at.Source), Received: int64(at.Received),
			Entity: t.entities[i%n%len(t.Entities)], Metric: string(c.Metric), Source: t.source,
		}
		if state == telemetry.Present {
			v := c.Float(word)
			x.values = append(x.values, v)
			row.Value = &x.values[len(x.values)-1]
			if c.Type == telemetry.Uint && !exact(v, word) {
				row.Exact = word
			}
		}
		x.rows = append(x.rows, row)
	}
}

// exact reports whether v is this whole number. 2^64 is no uint64: converting it
// would be the machine's own choice.
func exact(v float64, word uint64) bool { return v < 1<<64 && uint64(v) == word }

func (x *Exporter) event(e *telemetry.Event) error {
	if x.repeats.event(e) {
		x.counts.Repeated++
		return nil
	}
	x.counts.Events++
	if _, err := x.events.Write([]eventRow{eventOf(e)}); err != nil {
		return fmt.Errorf("export: events: %w", err)
	}
	return nil
}

func (x *Exporter) edge(e *telemetry.Edge) error {
	if x.repeats.edge(e) {
		return nil
	}
	x.counts.Edges++
	if _, err := x.edges.Write([]edgeRow{edgeOf(e)}); err != nil {
		return fmt.Errorf("export: edges: %w", err)
	}
	return nil
}
