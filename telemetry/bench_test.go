package telemetry

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// What the frame promises beside remote write 2.0 (issue "the answer,
// offline", part 2): bytes a sample at most, and how many times less processor
// time at least.
type promise struct{ size, encode, decode float64 }

func promised(instants int) promise {
	if instants == 1 {
		return promise{3.5, 30, 30}
	}
	return promise{1.3, 15, 30}
}

// corpus is a data set as frames and in both encodings.
type corpus struct {
	frames  []*Frame
	schemas []*Schema
	writers []*remoteWriter
	encoded []EncodedFrame
	remote  [][]byte
	samples int
}

// distinct is about how many frames of a data set are rotated.
const distinct = 50

// newCorpus takes frames evenly from all that the recordings make.
func newCorpus(b *testing.B, rs []*recording, instants int) *corpus {
	var c corpus
	var e Encoder
	total := 0
	for _, r := range rs {
		total += len(r.rows) / instants
	}
	every, count := max(1, total/max(distinct, len(rs))), 0
	for _, r := range rs {
		w := newRemoteWriter(r.schema)
		for _, f := range r.frames(instants) {
			if count++; count%every != 0 {
				continue
			}
			enc, err := e.AppendFrame(nil, r.schema, f)
			if err != nil {
				b.Fatal(err)
			}
			c.frames, c.schemas, c.writers = append(c.frames, f), append(c.schemas, r.schema), append(c.writers, w)
			c.encoded = append(c.encoded, enc)
			c.remote = append(c.remote, append([]byte(nil), w.encode(b, f)...))
			c.samples += len(f.Words)
		}
	}
	return &c
}

// result is one line of the table.
type result struct {
	data           string
	instants       int
	size, rsize    float64 // bytes a sample
	enc, dec       float64 // ns a sample
	renc, rdec     float64
	kenc           float64 // remote write that keeps its symbols
	allocs, series float64 // allocations a frame, series a frame
}

// BenchmarkFrame encodes and decodes the same samples as frames and as remote
// write 2.0 with snappy, in turns, by processor time with garbage collection in
// it, and prints a table.
func BenchmarkFrame(b *testing.B) {
	sets := []struct {
		name string
		rs   []*recording
	}{
		{"switch 64x25", []*recording{switchRecording(500)}},
		{"host 8x60", []*recording{hostRecording(500)}},
		{"RoCE traces", roceRecordings(b)},
	}
	reader := newRemoteReader()
	var table []result
	for _, set := range sets {
		for _, instants := range []int{1, 10} {
			var r result
			ran := false
			b.Run(fmt.Sprintf("%s/instants=%d", set.name, instants), func(b *testing.B) {
				if len(set.rs) == 0 {
					b.Skip("no recorded RoCE runs beside or in the module")
				}
				r, ran = measure(b, newCorpus(b, set.rs, instants), reader), true
				r.data, r.instants = set.name, instants
			})
			if ran {
				table = append(table, r)
			}
		}
	}
	printTable(table)
}

func measure(b *testing.B, c *corpus, reader *remoteReader) result {
	var e Encoder
	var d Decoder
	var f Frame
	var buf []byte
	byFingerprint := map[Fingerprint]*Schema{}
	for i, s := range c.schemas {
		byFingerprint[c.frames[i].Fingerprint] = s
		reader.learn(c.writers[i])
	}
	encode := func() {
		for i, g := range c.frames {
			buf, _ = e.AppendFrame(buf[:0], c.schemas[i], g)
		}
	}
	decode := func() {
		for i, g := range c.encoded {
			if err := d.Decode(g, byFingerprint[c.frames[i].Fingerprint], &f); err != nil {
				b.Fatal(err)
			}
		}
	}
	remoteEncode := func(keep bool) func() {
		return func() {
			for i, g := range c.frames {
				c.writers[i].keep = keep
				c.writers[i].encode(b, g)
			}
		}
	}
	remoteDecode := func() {
		for _, g := range c.remote {
			reader.decode(b, g)
		}
	}
	var enc, dec, renc, kenc, rdec time.Duration
	const frameRuns = 20 // so that both sides take about as long
	allocs := testing.AllocsPerRun(1, func() { encode(); decode() }) / float64(len(c.frames))
	for b.Loop() {
		enc += timed(frameRuns, encode)
		dec += timed(frameRuns, decode)
		renc += timed(1, remoteEncode(false))
		kenc += timed(1, remoteEncode(true))
		rdec += timed(1, remoteDecode)
	}
	n := float64(b.N) * float64(c.samples)
	r := result{
		size: bytesOf(c.encoded) / float64(c.samples), rsize: bytesOf(c.remote) / float64(c.samples),
		enc: float64(enc) / n / frameRuns, dec: float64(dec) / n / frameRuns, renc: float64(renc) / n, kenc: float64(kenc) / n, rdec: float64(rdec) / n,
		allocs: allocs, series: float64(c.samples) / float64(len(c.frames)*len(c.frames[0].Instants)),
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(r.size, "B/sample")
	b.ReportMetric(r.enc, "enc-ns/sample")
	b.ReportMetric(r.dec, "dec-ns/sample")
	b.ReportMetric(r.renc/r.enc, "x-enc")
	b.ReportMetric(r.rdec/r.dec, "x-dec")
	return r
}

func bytesOf[B ~[]byte](bs []B) (n float64) {
	for _, b := range bs {
		n += float64(len(b))
	}
	return n
}

// timed returns the processor time that n runs of f take, garbage collection
// and all.
func timed(n int, f func()) time.Duration {
	before := processorTime()
	for range n {
		f()
	}
	return processorTime() - before
}

func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func printTable(rs []result) {
	const line = "%-14s %7s %8s | %-13s | %-28s | %-21s | %6s | %s\n"
	fmt.Printf("\n"+line, "data", "series", "instants", "bytes (rw2)", "encode ns (rw2, ratio; kept)", "decode ns (rw2, ratio)", "allocs", "missed")
	for _, r := range rs {
		fmt.Printf(line, r.data, fmt.Sprintf("%.0f", r.series), fmt.Sprint(r.instants), fmt.Sprintf("%.2f (%.2f)", r.size, r.rsize),
			fmt.Sprintf("%.2f (%.0f, %.1f; %.1f)", r.enc, r.renc, r.renc/r.enc, r.kenc/r.enc), fmt.Sprintf("%.2f (%.0f, %.1f)", r.dec, r.rdec, r.rdec/r.dec),
			fmt.Sprintf("%.0f", r.allocs), r.missed())
	}
	fmt.Printf("bytes and ns a sample. rw2: remote write 2.0 with snappy, encoded as Prometheus' queue manager does (kept: the ratio to one that keeps its symbols\n"+
		"from request to request), resolved by xxhash in a map of %d series. Processor time, collection included, %s\n", indexed, runtime.Version())
}

// missed names the promises that a line breaks.
func (r *result) missed() string {
	p, out := promised(r.instants), ""
	for _, c := range []struct {
		name string
		bad  bool
	}{{"size", r.size > p.size}, {"encode", r.renc/r.enc < p.encode}, {"decode", r.rdec/r.dec < p.decode}, {"allocations", r.allocs > 0}} {
		if c.bad {
			out += c.name + " "
		}
	}
	if out == "" {
		return "none"
	}
	return out
}
