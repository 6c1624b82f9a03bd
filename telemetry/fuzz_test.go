package telemetry

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"testing"
)

// Whatever parses as a schema is written as the very same bytes.
func FuzzSchema(f *testing.F) {
	for _, n := range []int{1, 9} {
		f.Add(testSchema(n).AppendBinary(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ParseSchema(b)
		if err != nil {
			return
		}
		if !bytes.Equal(s.AppendBinary(nil), b) {
			t.Fatal("schema is written otherwise")
		}
	})
}

// Whatever parses as a record is written as the very same bytes.
func FuzzRecord(f *testing.F) {
	for _, r := range testRecords(f) {
		b, err := AppendRecord(nil, &r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) { again(t, b) })
}

// Any bytes, their checksum made right so that the rest is reached too: an
// error, or a frame that survives being written again.
func FuzzFrame(f *testing.F) {
	s := testSchema(11)
	fp := uint64(s.Fingerprint())
	rng := rand.New(rand.NewPCG(1, 1))
	for _, instants := range []int{1, 2, 5} {
		for _, holes := range []bool{false, true} {
			b, err := new(Encoder).AppendFrame(nil, s, testFrame(rng, s, instants, holes))
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var d Decoder
		var g Frame
		_, _ = EncodedFrame(b).Header()
		if d.Decode(b, s, &g) == nil {
			sound(t, s, &g)
		}
		if len(b) >= offVarying {
			b = bytes.Clone(b)
			binary.LittleEndian.PutUint64(b[offFingerprint:], fp)
		}
		b = resealed(b)
		if d.Decode(b, s, &g) == nil {
			sound(t, s, &g)
		}
		if cap(g.Words) > 128*len(b)+1024 {
			t.Fatalf("%d bytes made the decoder allocate %d words", len(b), cap(g.Words))
		}
	})
}

// Any words at any instants survive.
func FuzzFrameWords(f *testing.F) {
	f.Add(uint64(1), uint8(3), []byte("eight by eight the words come in"))
	f.Fuzz(func(t *testing.T, seed uint64, instants uint8, words []byte) {
		s := testSchema(2)
		rng := rand.New(rand.NewPCG(seed, 0))
		want := testFrame(rng, s, 1+int(instants)%20, seed%2 == 0)
		for i := range want.Words {
			if len(words) < 8*(i+1) {
				break
			}
			if want.States == nil || want.States[i] == Present {
				want.Words[i] = binary.LittleEndian.Uint64(words[8*i:])
			}
		}
		b, err := new(Encoder).AppendFrame(nil, s, want)
		if err != nil {
			t.Fatal(err)
		}
		var got Frame
		if err := new(Decoder).Decode(b, s, &got); err != nil || !reflect.DeepEqual(&got, want) {
			t.Fatalf("frame changed: %v", err)
		}
	})
}
