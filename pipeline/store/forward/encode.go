package forward

import (
	"github.com/prometheus/prometheus/prompb"
	write "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
	"github.com/prometheus/prometheus/util/compression"
)

// encoder makes the bodies of requests; it reuses its memory and serves one
// goroutine.
type encoder struct {
	version int

	one     []prompb.TimeSeries
	two     []write.TimeSeries
	symbols *write.SymbolsTable
	buffer  compression.EncodeBuffer
}

// encode returns a compressed message with the samples, valid until the next call.
func (e *encoder) encode(samples []sample) ([]byte, error) {
	plain, err := e.message(samples)
	if err != nil {
		return nil, err
	}
	if e.buffer == nil {
		e.buffer = compression.NewSyncEncodeBuffer()
	}
	return compression.Encode(compression.Snappy, plain, e.buffer)
}

// message returns the message of e's version.
func (e *encoder) message(samples []sample) ([]byte, error) {
	if e.version == 2 {
		return e.second(samples)
	}
	e.one = e.one[:0]
	for i, s := range samples {
		if i == cap(e.one) {
			e.one = append(e.one, prompb.TimeSeries{})
		}
		e.one = e.one[:i+1]
		x := &e.one[i]
		x.Labels = prompb.FromLabels(s.labels, x.Labels)
		x.Samples = append(x.Samples[:0], prompb.Sample{Timestamp: s.at, Value: s.value})
	}
	return (&prompb.WriteRequest{Timeseries: e.one}).Marshal()
}

// second returns a message of version 2, in which each text is once.
func (e *encoder) second(samples []sample) ([]byte, error) {
	if e.symbols == nil {
		t := write.NewSymbolTable()
		e.symbols = &t
	}
	e.symbols.Reset()
	e.two = e.two[:0]
	for i, s := range samples {
		if i == cap(e.two) {
			e.two = append(e.two, write.TimeSeries{})
		}
		e.two = e.two[:i+1]
		x := &e.two[i]
		x.LabelsRefs = e.symbols.SymbolizeLabels(s.labels, x.LabelsRefs)
		x.Samples = append(x.Samples[:0], write.Sample{StartTimestamp: s.start, Timestamp: s.at, Value: s.value})
	}
	return (&write.Request{Symbols: e.symbols.Symbols(), Timeseries: e.two}).Marshal()
}
