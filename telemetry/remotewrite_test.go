package telemetry

import (
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/model/labels"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
)

// remoteWriter sends what frames carry as remote write 2.0 with snappy, building
// requests as Prometheus's queue manager does: the symbol table is reset and every
// series symbolised for each request; all buffers are kept. A variant that keeps
// its symbols from request to request, which no known sender does, is measured
// beside it.
type remoteWriter struct {
	keep    bool            // the symbols
	labels  []labels.Labels // by series
	columns []Column        // by series
	symbols writev2.SymbolsTable
	series  []writev2.TimeSeries
	proto   []byte
	snappy  []byte
}

func newRemoteWriter(s *Schema) *remoteWriter {
	w := &remoteWriter{symbols: writev2.NewSymbolTable()}
	for i := range s.Len() {
		w.labels = append(w.labels, seriesLabels(s.Source, s.Series(i)))
		w.columns = append(w.columns, s.Columns[i/len(s.Entities)])
	}
	w.series = make([]writev2.TimeSeries, s.Len())
	return w
}

// seriesLabels are what an exporter's series carry after a scrape.
func seriesLabels(src Source, s Series) labels.Labels {
	return labels.FromStrings("__name__", string(s.Metric), "instance", src.Target+":9100", "job", src.Collector, string(s.Entity.Kind), s.Entity.Name)
}

// encode returns the bytes of a frame, valid until the next call.
func (w *remoteWriter) encode(tb testing.TB, f *Frame) []byte {
	if !w.keep {
		w.symbols.Reset()
	}
	n := len(w.series)
	for i := range w.series {
		ts := &w.series[i]
		if !w.keep || len(ts.LabelsRefs) == 0 {
			ts.LabelsRefs = w.symbols.SymbolizeLabels(w.labels[i], ts.LabelsRefs)
		}
		ts.Samples = ts.Samples[:0]
		for k := range f.Instants {
			ts.Samples = append(ts.Samples, writev2.Sample{Value: w.columns[i].Float(f.Words[k*n+i]), Timestamp: int64(f.Instants[k].Source) / 1e6})
		}
	}
	req := writev2.Request{Symbols: w.symbols.Symbols(), Timeseries: w.series}
	b, err := req.OptimizedMarshal(w.proto)
	if err != nil {
		tb.Fatal(err)
	}
	w.proto = b
	w.snappy = snappy.Encode(w.snappy[:cap(w.snappy)], b)
	return w.snappy
}

// remoteReader takes such requests and finds each series' dense index by a hash
// of its labels. It makes no label set and does not check for collisions, which
// a real one must.
type remoteReader struct {
	index map[uint64]uint32
	plain []byte
	key   []byte
	dense []float64
}

// indexed is how many series the reader knows.
const indexed = 1 << 20

func newRemoteReader() *remoteReader {
	r := &remoteReader{index: make(map[uint64]uint32, indexed), dense: make([]float64, indexed+1<<16)}
	for i := range uint32(indexed) {
		r.index[uint64(i)*0x9e3779b97f4a7c15] = i
	}
	return r
}

// learn gives the series of a writer their places.
func (r *remoteReader) learn(w *remoteWriter) {
	for _, ls := range w.labels {
		r.key = r.key[:0]
		ls.Range(func(l labels.Label) { r.key = appendLabel(r.key, l.Name, l.Value) })
		r.index[xxhash.Sum64(r.key)] = uint32(indexed + len(r.index)%(1<<16))
	}
}

func appendLabel(key []byte, name, value string) []byte {
	return append(append(append(append(key, name...), 0xff), value...), 0xff)
}

// decode puts every sample's value at its series' dense index.
func (r *remoteReader) decode(tb testing.TB, b []byte) {
	plain, err := snappy.Decode(r.plain[:cap(r.plain)], b)
	if err != nil {
		tb.Fatal(err)
	}
	r.plain = plain
	var req writev2.Request
	if err := req.Unmarshal(plain); err != nil {
		tb.Fatal(err)
	}
	for i := range req.Timeseries {
		ts := &req.Timeseries[i]
		r.key = r.key[:0]
		for j := 0; j+1 < len(ts.LabelsRefs); j += 2 {
			r.key = appendLabel(r.key, req.Symbols[ts.LabelsRefs[j]], req.Symbols[ts.LabelsRefs[j+1]])
		}
		at, ok := r.index[xxhash.Sum64(r.key)]
		if !ok {
			tb.Fatal("remote write: unknown series")
		}
		for k := range ts.Samples {
			r.dense[at] = ts.Samples[k].Value
		}
	}
}
