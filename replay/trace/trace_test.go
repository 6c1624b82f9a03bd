package trace_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/quintet-dc/quintet/replay/trace"
	"github.com/quintet-dc/quintet/telemetry"
)

// entry is a record as a test compares it: its position and its bytes.
type entry struct {
	position uint64
	body     string
}

func describe(t testing.TB, position uint64, r *telemetry.Record) entry {
	t.Helper()
	b, err := telemetry.AppendRecord(nil, r)
	if err != nil {
		t.Fatal(err)
	}
	return entry{position, string(b)}
}

// log makes a small log: config, edges, a schema, then frames and ticks. Every
// `again` frames the schema is stated again, and an edge renewed.
func log(t testing.TB, frames, again int) []*telemetry.Record {
	t.Helper()
	nic := telemetry.Entity{Kind: telemetry.NIC, Name: "h0/nic0"}
	port := telemetry.Entity{Kind: telemetry.Port, Name: "leaf0/p1"}
	schema := &telemetry.Schema{Source: telemetry.Source{Collector: "test", Target: "h0"}, Cadence: 1e9,
		Entities: []telemetry.Entity{nic}, Columns: []telemetry.Column{{Metric: "port_tx_bytes_total", Type: telemetry.Uint}, {Metric: "port_queue_bytes", Type: telemetry.Uint}}}
	edge := func(received telemetry.Time) *telemetry.Record {
		return &telemetry.Record{Kind: telemetry.EdgeRecord, Edge: &telemetry.Edge{From: nic, To: port, Relation: telemetry.Connects, Source: "lldp", Received: received}}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	out := []*telemetry.Record{{Kind: telemetry.ConfigRecord, Config: telemetry.DefaultSiteConfig().Record()}, edge(1)}
	var enc telemetry.Encoder
	for i := range frames {
		if i%again == 0 {
			out = append(out, &telemetry.Record{Kind: telemetry.SchemaRecord, Schema: schema})
		}
		if i%again == again/2 {
			out = append(out, edge(telemetry.Time(i)*1e9))
		}
		at := telemetry.Time(i+1) * 1e9
		f := &telemetry.Frame{Fingerprint: schema.Fingerprint(), Incarnation: 1, Sequence: uint64(i + 1),
			Instants: []telemetry.Instant{{Source: at}}, Words: []uint64{rng.Uint64(), rng.Uint64N(100)}}
		b, err := enc.AppendFrame(nil, schema, f)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, &telemetry.Record{Kind: telemetry.FrameRecord, Frame: b},
			&telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: at}})
		if i%5 == 0 {
			out = append(out, &telemetry.Record{Kind: telemetry.EventRecord, Event: &telemetry.Event{Entity: nic, At: at, Name: "link_up", Text: fmt.Sprint(i)}})
		}
	}
	return out
}

// write makes a trace of a log, at positions 10, 13, 16 …; it flushes a block
// every `flush` records.
func write(t testing.TB, h trace.Header, records []*telemetry.Record, flush int) ([]byte, []entry) {
	t.Helper()
	var file bytes.Buffer
	w, err := trace.NewWriter(&file, h)
	if err != nil {
		t.Fatal(err)
	}
	var want []entry
	for i, r := range records {
		position := uint64(10 + 3*i)
		if err := w.Append(position, r); err != nil {
			t.Fatal(err)
		}
		want = append(want, describe(t, position, r))
		if flush > 0 && i%flush == flush-1 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes(), want
}

func open(t testing.TB, b []byte) *trace.Reader {
	t.Helper()
	r, err := trace.Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// read reads to the end and returns what stopped it.
func read(t testing.TB, r *trace.Reader) ([]entry, error) {
	t.Helper()
	var out []entry
	for {
		position, rec, err := r.Next()
		if err != nil {
			return out, err
		}
		out = append(out, describe(t, position, rec))
	}
}

func TestRoundTrip(t *testing.T) {
	snapshot := bytes.Repeat([]byte("state of the engine "), 100_000) // more than one piece
	for _, h := range []trace.Header{{}, {Site: "s", Writer: "test 1", Engine: "v1", Rules: "abc", SnapshotAt: 9, Snapshot: snapshot}} {
		b, want := write(t, h, log(t, 300, 50), 37)
		r := open(t, b)
		got, err := read(t, r)
		if !errors.Is(err, io.EOF) || !slices.Equal(got, want) {
			t.Fatalf("read %d of %d records, then %v", len(got), len(want), err)
		}
		s, err := r.Snapshot()
		if err != nil || !bytes.Equal(s, h.Snapshot) {
			t.Errorf("snapshot of %d bytes: %v", len(s), err)
		}
		g := r.Header()
		g.Snapshot, g.Cold = h.Snapshot, false
		if fmt.Sprint(g) != fmt.Sprint(h) {
			t.Errorf("header %+v, want %+v", r.Header(), h)
		}
		in := r.Info()
		if in.Cold != (h.Snapshot == nil) || !in.Complete || !in.Indexed || in.Lost != 0 || in.Entries != uint64(len(want)) ||
			in.FirstRecord != 10 || in.LastRecord != want[len(want)-1].position || in.First != 1e9 || in.Last != 300e9 {
			t.Errorf("info %+v", in)
		}
	}
}

// A file without its end is found by scanning, and gives the same records.
func TestScanEqualsIndex(t *testing.T) {
	b, want := write(t, trace.Header{Snapshot: []byte("x")}, log(t, 200, 50), 20)
	in := open(t, b).Info()
	r := open(t, b[:len(b)-33]) // into the index
	got, err := read(t, r)
	var cut *trace.CutError
	if !errors.As(err, &cut) || !errors.Is(err, io.ErrUnexpectedEOF) || !slices.Equal(got, want) {
		t.Fatalf("read %d of %d records, then %v", len(got), len(want), err)
	}
	if now := r.Info(); now.Indexed || now.Complete || now.Blocks != in.Blocks || now.Lost != int64(len(b))-33-cut.Offset {
		t.Errorf("info %+v, indexed %+v", now, in)
	}
}

// Whatever is cut off, what is read is the beginning of what was written, up to
// the last whole block, and the reader states what is lost.
func TestCutAtEveryByte(t *testing.T) {
	b, want := write(t, trace.Header{Site: "s", SnapshotAt: 3, Snapshot: []byte("snapshot")}, log(t, 12, 5), 9)
	ends := blockEnds(t, b, want)
	for n := range len(b) {
		r, err := trace.Open(bytes.NewReader(b[:n]), int64(n))
		if err != nil {
			if !errors.Is(err, io.ErrUnexpectedEOF) || n > 100 {
				t.Fatalf("cut at %d: %v", n, err)
			}
			continue
		}
		got, err := read(t, r)
		var cut *trace.CutError
		if !errors.As(err, &cut) || cut.Offset+cut.Lost != int64(n) || r.Info().Lost != cut.Lost {
			t.Fatalf("cut at %d: %v", n, err)
		}
		whole := 0
		for k, end := range ends {
			if end <= int64(n) {
				whole = max(whole, k)
			}
		}
		if !slices.Equal(got, want[:whole]) {
			t.Fatalf("cut at %d: %d records, want %d", n, len(got), whole)
		}
	}
}

// blockEnds says for a number of records where the block ends that holds the
// last of them.
func blockEnds(t *testing.T, b []byte, want []entry) map[int]int64 {
	t.Helper()
	ends := map[int]int64{}
	for n := range len(b) {
		r, err := trace.Open(bytes.NewReader(b[:n]), int64(n))
		if err != nil {
			continue
		}
		if k := int(r.Info().Entries); ends[k] == 0 {
			ends[k] = int64(n)
		}
	}
	if len(ends) < 4 || ends[len(want)] == 0 {
		t.Fatalf("blocks end at %v", ends)
	}
	return ends
}

// No flipped bit goes unseen: reading fails, at the block that holds it.
func TestFlipEveryBit(t *testing.T) {
	b, want := write(t, trace.Header{Site: "s", SnapshotAt: 3, Snapshot: []byte("snapshot")}, log(t, 12, 5), 9)
	for i := range b {
		for bit := range 8 {
			bad := slices.Clone(b)
			bad[i] ^= 1 << bit
			r, err := trace.Open(bytes.NewReader(bad), int64(len(bad)))
			if err != nil {
				continue
			}
			got, err := read(t, r)
			_, serr := r.Snapshot()
			var block *trace.BlockError
			if !errors.As(err, &block) && !errors.As(serr, &block) {
				t.Fatalf("byte %d bit %d: %d records, then %v; snapshot %v", i, bit, len(got), err, serr)
			}
			if block.Block >= 0 && (block.Offset > int64(i) || len(got) > len(want) || !slices.Equal(got, want[:len(got)])) {
				t.Fatalf("byte %d bit %d: %v after %d records", i, bit, block, len(got))
			}
			r = open(t, bad)
			r.SkipDamaged(true)
			got, err = read(t, r)
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("byte %d bit %d: skipping: %v", i, bit, err)
			}
			if block.Block >= 0 && serr == nil && len(r.Info().Damaged) == 0 {
				t.Fatalf("byte %d bit %d: nothing was said to be skipped", i, bit)
			}
			for _, e := range got {
				if !slices.Contains(want, e) {
					t.Fatalf("byte %d bit %d: skipping gave a record that was never written", i, bit)
				}
			}
		}
	}
}

// Behind a damaged block everything is read, and only that block is missing.
func TestSkipDamaged(t *testing.T) {
	b, want := write(t, trace.Header{}, log(t, 100, 20), 30)
	n := int64(len(b))
	second := bytes.Index(b[200:], []byte("QBLK")) + 200
	third := bytes.Index(b[second+4:], []byte("QBLK")) + second + 4
	for _, at := range []int{second + 9, second + 80} { // its header, its payload
		bad := slices.Clone(b)
		bad[at] ^= 0x10
		r, err := trace.Open(bytes.NewReader(bad), n)
		if err != nil {
			t.Fatal(err)
		}
		r.SkipDamaged(true)
		got, _ := read(t, r)
		if !slices.Equal(got, slices.Concat(want[:30], want[60:])) {
			t.Errorf("damage at %d: %d records of %d", at, len(got), len(want))
		}
		d := r.Info().Damaged
		if len(d) == 0 || d[0].Block != 1 || d[0].Offset != int64(second) {
			t.Errorf("damage at %d is said to be %v; the block lies at %d to %d", at, d, second, third)
		}
	}
}

// A seek gives what stands, then everything from the instant on.
func TestSeekTime(t *testing.T) {
	records := log(t, 400, 30)
	b, want := write(t, trace.Header{}, records, 25)
	for _, at := range []telemetry.Time{0, 1e9, 57e9, 200e9 + 1, 400e9, 401e9} {
		r := open(t, b)
		if _, err := read(t, r); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		if err := r.SeekTime(at); err != nil {
			t.Fatal(err)
		}
		got, err := read(t, r)
		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		first := firstAt(records, at)
		tail := want[first:]
		if len(got) < len(tail) || !slices.Equal(got[len(got)-len(tail):], tail) {
			t.Fatalf("seek %v: %d records, want the last %d", at, len(got), len(tail))
		}
		kinds := map[byte]int{}
		for _, e := range got[:len(got)-len(tail)] {
			kinds[e.body[0]]++
		}
		timed := kinds[byte(telemetry.FrameRecord)] + kinds[byte(telemetry.TickRecord)] + kinds[byte(telemetry.EventRecord)]
		if timed != 0 || first > 3 && (kinds[byte(telemetry.SchemaRecord)] == 0 || kinds[byte(telemetry.ConfigRecord)] == 0 || kinds[byte(telemetry.EdgeRecord)] == 0) {
			t.Fatalf("seek %v: before it %v", at, kinds)
		}
	}
}

// firstAt returns the first record that speaks of the instant or later.
func firstAt(records []*telemetry.Record, at telemetry.Time) int {
	for i, r := range records {
		switch r.Kind {
		case telemetry.FrameRecord:
			if h, _ := r.Frame.Header(); h.Last >= at {
				return i
			}
		case telemetry.TickRecord:
			if r.Tick.At >= at {
				return i
			}
		case telemetry.EventRecord:
			if r.Event.At >= at {
				return i
			}
		}
	}
	return len(records)
}

func TestDigests(t *testing.T) {
	var file bytes.Buffer
	w, err := trace.NewWriter(&file, trace.Header{})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range log(t, 3, 5) {
		if err := errors.Join(w.Append(uint64(i+1), r), w.AppendDigest(uint64(i+1), []byte{byte(i)})); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	n := 0
	err = open(t, file.Bytes()).ReadAll(func(e trace.Entry) error {
		if (n%2 == 1) != (e.Record == nil) || e.Position != uint64(n/2+1) || e.Record == nil && e.Digest[0] != byte(n/2) {
			t.Errorf("entry %d: %+v", n, e)
		}
		n++
		return nil
	})
	if err != nil || n < 10 {
		t.Errorf("%d entries, then %v", n, err)
	}
}

func TestWriterRefuses(t *testing.T) {
	tick := &telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: 1}}
	w, err := trace.NewWriter(io.Discard, trace.Header{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Append(5, tick), w.Append(6, tick)); err != nil {
		t.Fatal(err)
	}
	if w.Append(6, tick) == nil || w.Append(7, tick) == nil {
		t.Error("a position that does not rise was taken, or the error forgotten")
	}
	w, _ = trace.NewWriter(io.Discard, trace.Header{})
	if w.Append(1, &telemetry.Record{Kind: 77}) == nil {
		t.Error("a record of no kind was taken")
	}
	w, _ = trace.NewWriter(io.Discard, trace.Header{})
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if w.Append(1, tick) == nil {
		t.Error("a closed writer took a record")
	}
	if _, err := trace.NewWriter(failing{}, trace.Header{}); !errors.Is(err, io.ErrShortWrite) {
		t.Error(err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// A growing file is read up to its last flush.
func TestReadWhileWritten(t *testing.T) {
	var file bytes.Buffer
	w, err := trace.NewWriter(&file, trace.Header{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		if err := w.Append(uint64(i+1), &telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: telemetry.Time(i)}}); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		got, err := read(t, open(t, file.Bytes()))
		var cut *trace.CutError
		if len(got) != i+1 || !errors.As(err, &cut) || cut.Lost != 0 {
			t.Fatalf("after %d: %d records, then %v", i+1, len(got), err)
		}
	}
}

// Space that was given but never written reads as a cut, not as damage.
func TestZerosAtTheEnd(t *testing.T) {
	b, want := write(t, trace.Header{}, log(t, 30, 10), 20)
	_, err := read(t, open(t, b[:len(b)-1]))
	var cut *trace.CutError
	if !errors.As(err, &cut) {
		t.Fatal(err)
	}
	b = append(b[:cut.Offset:cut.Offset], make([]byte, 200_000)...)
	got, err := read(t, open(t, b))
	if !errors.As(err, &cut) || cut.Lost != 200_000 || !slices.Equal(got, want) {
		t.Errorf("%d of %d records, then %v", len(got), len(want), err)
	}
}
