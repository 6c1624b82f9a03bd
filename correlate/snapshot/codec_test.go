package snapshot

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

// sample is a part with a field of every sort.
type sample struct {
	A uint8
	B uint32
	C uint64
	D int64
	E int
	F float32
	G float64
	H bool
	I string
	J []byte
	K telemetry.Time
	L []float32
	M []uint64
	N []uint32
	O []item
	P []telemetry.Time
	Q []int32
	R []telemetry.State
	S []float64
	T int32
	U telemetry.Duration
}

type item struct{ Name string }

func (s *sample) Snapshot(c *Codec) {
	c.Tag("samp")
	c.U8(&s.A)
	c.U32(&s.B)
	c.U64(&s.C)
	c.I64(&s.D)
	c.Int(&s.E)
	c.F32(&s.F)
	c.F64(&s.G)
	c.Bool(&s.H)
	c.String(&s.I)
	c.Bytes(&s.J)
	c.Time(&s.K)
	c.F32s(&s.L)
	c.U64s(&s.M)
	c.U32s(&s.N)
	List(c, &s.O, 8, func(c *Codec, it *item) { c.String(&it.Name) })
	U64s(c, &s.P)
	U32s(c, &s.Q)
	U8s(c, &s.R)
	c.F64s(&s.S)
	c.I32(&s.T)
	c.Duration(&s.U)
}

func full() *sample {
	return &sample{
		A: 7, B: math.MaxUint32, C: math.MaxUint64, D: math.MinInt64, E: -3, F: float32(math.Inf(-1)), G: -0.1, H: true,
		I: "häll", J: []byte{0, 255}, K: 12345, L: []float32{1, -2}, M: []uint64{1 << 63}, N: []uint32{9},
		O: []item{{"a"}, {""}}, P: []telemetry.Time{-1, 2}, Q: []int32{-5, math.MaxInt32}, R: []telemetry.State{telemetry.Gap},
		S: []float64{math.MaxFloat64}, T: -9, U: -telemetry.Duration(5),
	}
}

func written(s *sample) []byte {
	w := NewWriter()
	s.Snapshot(w)
	return w.Data()
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	for _, in := range []*sample{full(), {}} {
		r := NewReader(written(in))
		var out sample
		out.Snapshot(r)
		if r.Err() != nil || r.Remaining() != 0 {
			t.Fatalf("err %v, %d bytes left", r.Err(), r.Remaining())
		}
		if !reflect.DeepEqual(*in, out) {
			t.Errorf("got  %+v\nwant %+v", out, *in)
		}
	}
}

func TestNaNsKeepTheirBits(t *testing.T) {
	in := sample{F: math.Float32frombits(0x7fc00001), G: math.Float64frombits(0x7ff8000000000123)}
	r := NewReader(written(&in))
	var out sample
	out.Snapshot(r)
	if math.Float32bits(out.F) != 0x7fc00001 || math.Float64bits(out.G) != 0x7ff8000000000123 {
		t.Errorf("got %x %x", math.Float32bits(out.F), math.Float64bits(out.G))
	}
}

func TestACutSnapshotIsAnError(t *testing.T) {
	b := written(full())
	for n := range len(b) {
		r := NewReader(b[:n])
		new(sample).Snapshot(r)
		if r.Err() == nil {
			t.Fatalf("%d of %d bytes: no error", n, len(b))
		}
	}
}

func TestAWrongTagIsNamed(t *testing.T) {
	b := written(full())
	b[0] = 'X'
	r := NewReader(b)
	new(sample).Snapshot(r)
	if r.Err() == nil || r.Err().Error() != `snapshot: byte 4: tag "samp": found "Xamp"` {
		t.Errorf("got %v", r.Err())
	}
}

func TestAHostileLengthAllocatesNothing(t *testing.T) {
	w := NewWriter()
	huge := uint64(1) << 62
	w.U64(&huge)
	for _, read := range []func(*Codec){
		func(c *Codec) { var s []uint64; c.U64s(&s) },
		func(c *Codec) { var s []float32; c.F32s(&s) },
		func(c *Codec) { var s string; c.String(&s) },
		func(c *Codec) { var s []item; List(c, &s, 8, func(*Codec, *item) {}) },
	} {
		r := NewReader(w.Data())
		read(r)
		if r.Err() == nil {
			t.Error("no error")
		}
	}
}

func TestTheFirstErrorStays(t *testing.T) {
	c := NewReader(nil)
	var x uint64
	c.U64(&x)
	c.Fail(errors.New("later"))
	if !errors.Is(c.Err(), ErrShort) {
		t.Errorf("got %v", c.Err())
	}
}

func FuzzReader(f *testing.F) {
	f.Add(written(full()))
	f.Add([]byte("samp"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := NewReader(b)
		var s sample
		s.Snapshot(r)
		if r.Err() != nil {
			return
		}
		if again := written(&s); !bytes.Equal(again, b[:len(b)-r.Remaining()]) {
			t.Errorf("read and written again differ")
		}
	})
}
