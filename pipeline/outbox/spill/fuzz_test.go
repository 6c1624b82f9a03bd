package spill

import (
	"bytes"
	"errors"
	"testing"

	"github.com/quintet-dc/quintet/pipeline/outbox/thin"
)

// FuzzWalk reads any bytes as a segment: the entries it returns are there, one
// after the other, and it returns where it stops.
func FuzzWalk(f *testing.F) {
	sound := []byte(segmentMagic)
	for _, text := range []string{"a", "bc", "a longer one"} {
		sound = appendEntry(sound, thin.Entry{Record: []byte(text), Thinned: text == "bc"})
	}
	f.Add(sound, uint16(0))
	f.Add(sound[:len(sound)-3], uint16(0))
	f.Add(sound, uint16(17))
	f.Add([]byte("qspill"), uint16(0))
	f.Fuzz(func(t *testing.T, b []byte, from uint16) {
		size := int64(len(b))
		start := int64(from)
		if start > size {
			start = size
		}
		last := max(start, headerBytes)
		end, err := walk(bytes.NewReader(b), start, size, func(e thin.Entry, at, next int64) bool {
			if at != last || next-at != int64(prefixBytes+len(e.Record)) || len(e.Record) == 0 {
				t.Fatalf("entry of %d bytes from %d to %d, the last ended at %d", len(e.Record), at, next, last)
			}
			if again := appendEntry(nil, e); !bytes.Equal(again, b[at:next]) {
				t.Fatalf("entry at %d is written otherwise", at)
			}
			last = next
			return true
		})
		if err != nil && !errors.Is(err, errDamaged) {
			t.Fatal(err)
		}
		if err == nil && end != size && start < size {
			t.Fatalf("ended at %d of %d without an error", end, size)
		}
	})
}
