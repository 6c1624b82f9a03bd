package engine_test

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"testing"

	"github.com/quintet-dc/quintet/engine/enginetest"
	"github.com/quintet-dc/quintet/telemetry"
)

// maxLeap is how far a tick may move time in FuzzApply: the grids that it
// passes are closed one by one (I9), which takes its time.
const maxLeap = telemetry.Duration(60e9)

// FuzzApply feeds the engine records that were read from arbitrary bytes. It
// must neither panic nor hang, publish only revisions that can be written, and
// end in a state that can be taken up again.
func FuzzApply(f *testing.F) {
	rec, err := enginetest.Open(bundleDir("slownic-2"))
	if err != nil {
		f.Fatal(err)
	}
	seed := func(records []telemetry.Record) {
		var b []byte
		for i := range records {
			one, err := telemetry.AppendRecord(nil, &records[i])
			if err != nil {
				f.Fatal(err)
			}
			b = append(binary.AppendUvarint(b, uint64(len(one))), one...)
		}
		f.Add(b)
	}
	seed(few(f, rec.Log))
	seed(hostile())
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := enginetest.NewRunner(1)
		if err != nil {
			t.Fatal(err)
		}
		position, latest, ticked := uint64(0), telemetry.Time(0), false
		for len(b) > 0 {
			n, k := binary.Uvarint(b)
			if k <= 0 || n > uint64(len(b)-k) {
				break
			}
			record, err := telemetry.ParseRecord(b[k : k+int(n)])
			b = b[k+int(n):]
			if err != nil {
				continue
			}
			if record.Kind == telemetry.TickRecord {
				if ticked && record.Tick.At > latest.Add(maxLeap) {
					continue
				}
				ticked, latest = true, record.Tick.At
			}
			position++
			if _, err := r.Apply(position, &record); err != nil {
				t.Fatal(err)
			}
		}
		snapshot, err := r.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		again, err := enginetest.NewRunner(1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := again.Restore(snapshot); err != nil {
			t.Fatalf("its own snapshot: %v", err)
		}
		if second, err := again.Snapshot(); err != nil || !bytes.Equal(second, snapshot) {
			t.Errorf("a restored engine has another state (%v)", err)
		}
	})
}

// few are the records of the first seconds, of the two smallest sources: a seed
// that can be mutated quickly.
func few(f *testing.F, log []telemetry.Record) (out []telemetry.Record) {
	f.Helper()
	size := map[telemetry.Fingerprint]int{}
	for _, r := range log {
		if r.Kind == telemetry.SchemaRecord {
			size[r.Schema.Fingerprint()] = r.Schema.Len()
		}
	}
	small := slices.SortedFunc(maps.Keys(size), func(a, b telemetry.Fingerprint) int { return cmp.Or(cmp.Compare(size[a], size[b]), cmp.Compare(a, b)) })[:2]
	kept := func(r telemetry.Record) bool {
		switch r.Kind {
		case telemetry.SchemaRecord:
			return slices.Contains(small, r.Schema.Fingerprint())
		case telemetry.FrameRecord:
			h, err := r.Frame.Header()
			return err == nil && slices.Contains(small, h.Fingerprint)
		case telemetry.EdgeRecord:
			return r.Edge.Relation == telemetry.Runs
		}
		return true
	}
	for _, r := range log {
		if kept(r) {
			out = append(out, r)
		}
		if r.Kind == telemetry.TickRecord && r.Tick.At > telemetry.Time(20e9) {
			break
		}
	}
	return out
}

// hostile are records that are well formed and make no sense.
func hostile() []telemetry.Record {
	const far = telemetry.Time(1<<63 - 1)
	nic, port := telemetry.Entity{Kind: telemetry.NIC, Name: "h/n"}, telemetry.Entity{Kind: telemetry.Port, Name: "s/p"}
	tick := func(at telemetry.Time) telemetry.Record {
		return telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: at}}
	}
	edge := func(e telemetry.Edge) telemetry.Record {
		return telemetry.Record{Kind: telemetry.EdgeRecord, Edge: &e}
	}
	return []telemetry.Record{
		tick(-far), tick(0), tick(5e9),
		edge(telemetry.Edge{From: nic, To: port, Relation: telemetry.Contains, Source: "x", Start: far}),
		edge(telemetry.Edge{From: port, To: nic, Relation: telemetry.Contains, Source: "x", Received: -far}),
		{Kind: telemetry.EventRecord, Event: &telemetry.Event{Entity: nic, At: far, Name: telemetry.EventJobFailed, Source: telemetry.Source{Collector: "x"}}},
		{Kind: telemetry.EventRecord, Event: &telemetry.Event{Entity: nic, At: -far, Name: telemetry.EventJobEnded, Source: telemetry.Source{Collector: "x"}}},
		{Kind: telemetry.ConfigRecord, Config: &telemetry.Config{Key: telemetry.ConfigSite, Digest: sha256.Sum256([]byte("{")), Content: []byte("{")}},
		{Kind: telemetry.FrameRecord, Frame: telemetry.EncodedFrame("no frame")},
		tick(10e9), tick(9e9),
	}
}
