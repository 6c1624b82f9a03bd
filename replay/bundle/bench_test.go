package bundle_test

import (
	"bytes"
	"testing"

	"github.com/quintet-dc/quintet/replay/bundle"
	"github.com/quintet-dc/quintet/replay/trace"
)

// One recorded run of 202,803 samples, from CSV to bundle and to a trace.
func BenchmarkImport(b *testing.B) {
	samples := 0
	for b.Loop() {
		in, err := bundle.Open("../../testdata/roce/slownic-2")
		if err != nil {
			b.Fatal(err)
		}
		samples = in.Samples()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*samples), "ns/sample")
}

func BenchmarkWriteTrace(b *testing.B) {
	in, err := bundle.Open("../../testdata/roce/slownic-2")
	if err != nil {
		b.Fatal(err)
	}
	var file bytes.Buffer
	for b.Loop() {
		file.Reset()
		if err := in.WriteTrace(&file, "bench"); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(file.Len())/float64(in.Samples()), "bytes/sample")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*in.Samples()), "ns/sample")
}

func BenchmarkReadTrace(b *testing.B) {
	in, err := bundle.Open("../../testdata/roce/slownic-2")
	if err != nil {
		b.Fatal(err)
	}
	var file bytes.Buffer
	if err := in.WriteTrace(&file, "bench"); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		r, err := trace.Open(bytes.NewReader(file.Bytes()), int64(file.Len()))
		if err != nil {
			b.Fatal(err)
		}
		if err := r.ReadAll(func(trace.Entry) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*in.Samples()), "ns/sample")
}
