package trace

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// sealed makes a file of blocks whose checksums are right whatever they claim.
func sealed(t *testing.T, snapshot uint64, blocks ...[]byte) []byte {
	t.Helper()
	b, err := (&headerBody{snapshotLen: snapshot}).append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return append(b, bytes.Join(blocks, nil)...)
}

func block(h blockHeader, payload []byte) []byte {
	if h.stored == 0 {
		h.stored = uint32(len(payload))
	}
	h.payload = checksum(payload)
	return append(h.append(nil), payload...)
}

// A file may claim what it likes: a terabyte costs an error, not memory.
func TestHostileClaims(t *testing.T) {
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	bomb := enc.EncodeAll(make([]byte, 200<<20), nil)
	long := binary.AppendUvarint(binary.AppendUvarint(nil, 0), 1<<40)
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"snapshot":      {sealed(t, 1<<40), "claims a snapshot of 1099511627776 bytes"},
		"stored":        {sealed(t, 0, block(blockHeader{kind: recordsBlock, stored: 1 << 31, raw: 1}, []byte("x"))), "at most"},
		"raw":           {sealed(t, 0, block(blockHeader{kind: recordsBlock, codec: codecZstd, raw: 1 << 31}, []byte("x"))), "at most"},
		"bomb":          {sealed(t, 0, block(blockHeader{kind: recordsBlock, codec: codecZstd, raw: 100}, bomb)), "payload"},
		"entry":         {sealed(t, 0, block(blockHeader{kind: recordsBlock, raw: uint32(len(long)), entries: 1}, long)), "claims 549755813888 bytes"},
		"entries":       {sealed(t, 0, block(blockHeader{kind: recordsBlock, raw: 1, entries: 1 << 30}, []byte("x"))), "claims 1073741824 records"},
		"kind":          {sealed(t, 0, block(blockHeader{kind: 9, raw: 1}, []byte("x"))), "unknown kind"},
		"codec":         {sealed(t, 0, block(blockHeader{kind: recordsBlock, codec: 7, raw: 1}, []byte("x"))), "unknown codec"},
		"backwards":     {sealed(t, 0, block(blockHeader{kind: recordsBlock, raw: 1, first: 2, last: 1}, []byte("x"))), "backwards"},
		"out of order":  {sealed(t, 0, block(blockHeader{kind: recordsBlock, raw: 1, number: 5}, []byte("x"))), "missing or out of order"},
		"missing entry": {sealed(t, 0, block(blockHeader{kind: recordsBlock, raw: 2, entries: 2}, []byte{0, 2})), "entry"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := drain(c.file)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 2*MaxBlock {
			t.Errorf("%s: %d MiB allocated", name, used>>20)
		}
	}
}

func drain(b []byte) error {
	r, err := Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return err
	}
	return r.ReadAll(func(Entry) error { return nil })
}

// Context is stated again every contextEvery bytes, and a reader that begins
// behind needs only what follows.
func TestForgedIndex(t *testing.T) {
	first := block(blockHeader{kind: recordsBlock, raw: 1, entries: 1}, []byte{0})
	b := sealed(t, 0, first)
	index := appendIndex(nil, 1, first[:blockLen]) // points elsewhere
	at := len(b)
	b = append(b, block(blockHeader{kind: indexBlock, raw: uint32(len(index)), number: 1, entries: 1}, index)...)
	b = appendTrailer(b, trailer{index: uint64(at), blocks: 1})
	r, err := Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	if in := r.Info(); in.Indexed || in.Blocks != 2 {
		t.Errorf("the forged index was believed: %+v", in)
	}
}
