package telemetry

import (
	"encoding/binary"
	"reflect"
	"slices"
	"testing"
)

// resealed returns the frame's bytes with their checksum made right, as one
// would write them who means harm.
func resealed(b []byte) []byte {
	b = slices.Clone(b)
	if len(b) >= offVarying {
		b[0] = frameVersion
		binary.LittleEndian.PutUint32(b[offChecksum:], frameChecksum(b))
	}
	return b
}

// sound checks what holds of every frame a decoder lets through: it can be
// written again and is then the same.
func sound(t *testing.T, s *Schema, f *Frame) {
	t.Helper()
	if len(f.Words) != s.Len()*len(f.Instants) || f.States != nil && len(f.States) != len(f.Words) {
		t.Fatalf("%d words and %d states for %d instants of %d series", len(f.Words), len(f.States), len(f.Instants), s.Len())
	}
	var e Encoder
	b, err := e.AppendFrame(nil, s, f)
	if err != nil {
		t.Fatalf("a decoded frame cannot be encoded: %v", err)
	}
	var g Frame
	if err := new(Decoder).Decode(b, s, &g); err != nil {
		t.Fatalf("a decoded and encoded frame cannot be decoded: %v", err)
	}
	if f.States != nil && allPresent(f.States) {
		g.States = f.States
	}
	if !reflect.DeepEqual(f, &g) {
		t.Fatalf("frame changed:\n%+v\n%+v", f, &g)
	}
}
