package telemetry

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// testSchema has all three value types, and runs that do not end at an octet.
func testSchema(entities int) *Schema {
	s := &Schema{Source: Source{"test", "leaf1", "ports"}, Cadence: 1e9, Columns: []Column{
		{"port_rx_bytes_total", Uint, 0}, {"port_tx_bytes_total", Uint, 0}, {"port_pfc_rx_pause_seconds_total", Decimal, 6},
		{"port_pre_fec_ber", Float, 0}, {"gpu_power_watts", Float, 0}, {"port_up", Uint, 0},
	}}
	for i := range entities {
		s.Entities = append(s.Entities, Entity{Port, "leaf1/eth" + string(rune('a'+i%26)) + string(rune('a'+i/26))})
	}
	return s
}

// testFrame draws a frame with every kind of trouble that values can have.
func testFrame(rng *rand.Rand, s *Schema, instants int, holes bool) *Frame {
	f := &Frame{Fingerprint: s.Fingerprint(), Incarnation: rng.Uint64() >> rng.UintN(64), Sequence: rng.Uint64() >> rng.UintN(64), ByReceived: rng.UintN(2) == 0}
	t := Time(rng.Int64N(2e18)-1e17) / 1e6 * 1e6
	n := s.Len()
	for k := range instants {
		t += Time(1 + rng.Int64N(2e9))
		i := Instant{Source: t, Received: t + Time(rng.Int64N(1e9))}
		if f.ByReceived {
			i = Instant{Source: t - Time(rng.Int64N(1e9)), Received: t}
		}
		f.Instants = append(f.Instants, i)
		for j := range n {
			w := drawWord(rng)
			if k > 0 && rng.UintN(5) > 0 {
				w = f.Words[len(f.Words)-n]
			}
			state := Present
			if holes && (rng.UintN(20) == 0 || j == 3) {
				state, w = State(rng.UintN(2)), 0
			}
			f.Words, f.States = append(f.Words, w), append(f.States, state)
		}
	}
	if !slices.ContainsFunc(f.States, func(s State) bool { return s != Present }) {
		f.States = nil
	}
	return f
}

func drawWord(rng *rand.Rand) uint64 {
	switch rng.UintN(6) {
	case 0:
		return math.MaxUint64 - rng.Uint64N(3)
	case 1:
		return math.Float64bits(rng.Float64() * 700)
	case 2:
		return 0
	}
	return rng.Uint64() >> rng.UintN(64)
}

func TestFrameSurvivesUnchanged(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var e Encoder
	var d Decoder
	var got Frame
	for _, entities := range []int{1, 2, 3, 7, 8, 9, 21, 64, 65} {
		s := testSchema(entities)
		for _, instants := range []int{1, 2, 3, 10, 33} {
			for _, holes := range []bool{false, true} {
				want := testFrame(rng, s, instants, holes)
				b, err := e.AppendFrame(nil, s, want)
				if err != nil {
					t.Fatal(err)
				}
				if err := d.Decode(b, s, &got); err != nil {
					t.Fatalf("%d entities, %d instants: %v", entities, instants, err)
				}
				if !reflect.DeepEqual(&got, want) {
					t.Fatalf("%d entities, %d instants, holes %v: frame changed", entities, instants, holes)
				}
				h, err := EncodedFrame(b).Header()
				if err != nil {
					t.Fatal(err)
				}
				if w := (FrameHeader{want.Fingerprint, want.Incarnation, want.Sequence, want.ByReceived, instants, want.Time(0), want.Time(instants - 1)}); h != w {
					t.Fatalf("header %+v, want %+v", h, w)
				}
			}
		}
	}
}

// Sixty-four bits survive exactly, at their very edges and in both directions.
func TestFrameKeepsCountersExact(t *testing.T) {
	s := &Schema{Source: Source{"test", "a", ""}, Entities: []Entity{{NIC, "h0/nic0"}}, Columns: []Column{{"port_rx_bytes_total", Uint, 0}}}
	words := []uint64{0, 1, math.MaxUint64, 0, math.MaxUint64 - 1, 1<<53 + 1, 1 << 63, 1<<63 - 1, 1 << 56, 1<<56 - 1, 1 << 55, 127, 128}
	f := &Frame{Words: words}
	for k := range words {
		f.Instants = append(f.Instants, Instant{Source: Time(k)})
	}
	var e Encoder
	b, err := e.AppendFrame([]byte("kept"), s, f)
	if err != nil || string(b[:4]) != "kept" {
		t.Fatal(err, b[:4])
	}
	var got Frame
	if err := new(Decoder).Decode(b[4:], s, &got); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Words, words) {
		t.Fatalf("got %x, want %x", got.Words, words)
	}
}

func TestFrameRefusals(t *testing.T) {
	s, other := testSchema(3), testSchema(4)
	good := func() *Frame { return testFrame(rand.New(rand.NewPCG(3, 4)), s, 2, true) }
	for name, spoil := range map[string]func(*Frame){
		"no instants":       func(f *Frame) { f.Instants = nil },
		"too few words":     func(f *Frame) { f.Words = f.Words[1:] },
		"too few states":    func(f *Frame) { f.States = f.States[1:] },
		"unknown state":     func(f *Frame) { f.States[0] = 7 },
		"time stands still": func(f *Frame) { f.Instants[1] = f.Instants[0] },
		"centuries": func(f *Frame) {
			f.Instants[0], f.Instants[1] = Instant{math.MinInt64, math.MinInt64}, Instant{math.MaxInt64, math.MaxInt64}
		},
		"another schema": func(f *Frame) { f.Fingerprint = other.Fingerprint() },
	} {
		f := good()
		spoil(f)
		var e Encoder
		if b, err := e.AppendFrame([]byte{1}, s, f); err == nil || len(b) != 1 {
			t.Errorf("%s: error %v and %d bytes", name, err, len(b))
		}
	}
	var e Encoder
	b, err := e.AppendFrame(nil, s, good())
	if err != nil {
		t.Fatal(err)
	}
	if err := new(Decoder).Decode(b, other, new(Frame)); !errors.Is(err, ErrFrameSchema) {
		t.Errorf("another schema's frame: %v", err)
	}
}

// A frame cut anywhere or with any bit flipped is an error, and so is one whose
// checksum was then made right, or it decodes to something that is a frame.
func TestFrameDamage(t *testing.T) {
	s := testSchema(5)
	rng := rand.New(rand.NewPCG(5, 6))
	for _, holes := range []bool{false, true} {
		var e Encoder
		b, err := e.AppendFrame(nil, s, testFrame(rng, s, 4, holes))
		if err != nil {
			t.Fatal(err)
		}
		var d Decoder
		var f Frame
		for n := range len(b) {
			if d.Decode(b[:n], s, &f) == nil {
				t.Fatalf("cut at %d of %d: no error", n, len(b))
			}
			if n >= offVarying && d.Decode(resealed(b[:n]), s, &f) == nil {
				t.Fatalf("cut at %d of %d, checksum made right: no error", n, len(b))
			}
		}
		for bit := range 8 * len(b) {
			bad := slices.Clone(b)
			bad[bit/8] ^= 1 << (bit % 8)
			if d.Decode(bad, s, &f) == nil {
				t.Fatalf("bit %d flipped: no error", bit)
			}
			if d.Decode(resealed(bad), s, &f) == nil {
				sound(t, s, &f)
			}
		}
		if d.Decode(resealed(append(slices.Clone(b), 0)), s, &f) == nil {
			t.Error("a byte too many: no error")
		}
	}
}

func TestFrameDoesNotAllocate(t *testing.T) {
	s := testSchema(64)
	for _, holes := range []bool{false, true} {
		f := testFrame(rand.New(rand.NewPCG(7, 8)), s, 10, holes)
		var e Encoder
		var d Decoder
		var g Frame
		var b []byte
		round := func() {
			b, _ = e.AppendFrame(b[:0], s, f)
			if err := d.Decode(b, s, &g); err != nil {
				t.Fatal(err)
			}
		}
		round()
		if n := testing.AllocsPerRun(20, round); n != 0 {
			t.Errorf("%v allocations a round, want none", n)
		}
	}
}

// A frame that claims far more than it holds, or more than any may hold.
func TestHostileFramesCostNothing(t *testing.T) {
	s := testSchema(700)
	b, err := new(Encoder).AppendFrame(nil, s, &Frame{Instants: make([]Instant, 1), Words: make([]uint64, s.Len())})
	if err != nil {
		t.Fatal(err)
	}
	head := b[:offVarying]
	for name, tail := range map[string]string{
		"instants beyond the limit":   "\x01\x01\x81\x20\x00",
		"a terabyte of instants":      "\x01\x01\x80\x80\x80\x80\x80\x20\x00",
		"more instants than bytes":    "\x01\x01\x80\x10\x00",
		"more samples than bytes":     "\x01\x01\x40\x00\x80\x01" + string(make([]byte, 200)),
		"samples beyond the limit":    "\x01\x01\x80\x10\x00\x80\x80\x01" + string(make([]byte, 1<<19)),
		"times beyond the last":       "\x01\x01\x02\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
		"incarnation without an end":  "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
		"sequence longer than needed": "\x01\x81\x00\x01\x00",
	} {
		bad := resealed(append(slices.Clone(head), tail...))
		var d Decoder
		var f Frame
		_ = d.Decode(b, s, &f) // what is learned and kept
		var err error
		if n := allocated(func() { err = d.Decode(bad, s, &f) }); n > 1<<18 {
			t.Errorf("%s: allocates %d bytes", name, n)
		}
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
