package trace_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/quintet-dc/quintet/replay/trace"
)

// Whatever the bytes, a reader ends, with one of the errors it promises, and
// gives no more records than the file has bytes.
func FuzzReader(f *testing.F) {
	whole, _ := write(f, trace.Header{Site: "s", SnapshotAt: 3, Snapshot: []byte("snapshot")}, log(f, 12, 5), 9)
	f.Add(whole)
	f.Add(whole[:len(whole)-10])
	f.Add(whole[:len(whole)/2])
	empty, _ := write(f, trace.Header{}, nil, 0)
	f.Add(empty)
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := trace.Open(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		for _, skip := range []bool{false, true} {
			r.SkipDamaged(skip)
			if err := r.SeekTime(0); err != nil {
				continue
			}
			n := 0
			err := r.ReadAll(func(trace.Entry) error { n++; return nil })
			var block *trace.BlockError
			if err != nil && !errors.As(err, &block) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("%v", err)
			}
			if skip && errors.As(err, &block) {
				t.Fatalf("not skipped: %v", err)
			}
			if n > 1<<24 {
				t.Fatalf("%d entries in %d bytes", n, len(b))
			}
		}
		_, _ = r.Snapshot()
		r.Info()
	})
}
