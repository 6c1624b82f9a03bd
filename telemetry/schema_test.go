package telemetry

import (
	"bytes"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

func TestSchemaSurvivesItsBytes(t *testing.T) {
	for _, n := range []int{1, 5, 700} {
		s := testSchema(n)
		s.Class, s.Cadence = Slow, 30e9
		b := s.AppendBinary([]byte("kept"))
		got, err := ParseSchema(b[4:])
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, s) || got.Fingerprint() != s.Fingerprint() {
			t.Fatalf("%d entities: schema changed", n)
		}
	}
}

// The fingerprint is part of what is stored: it may never change for a given
// schema.
func TestFingerprintIsFixed(t *testing.T) {
	const want = "5a0ec07044a42b07"
	if got := testSchema(3).Fingerprint().String(); got != want {
		t.Errorf("fingerprint %s, want %s", got, want)
	}
}

func TestEveryPartOfASchemaIsInItsFingerprint(t *testing.T) {
	seen := map[Fingerprint]string{testSchema(3).Fingerprint(): "unchanged"}
	for name, change := range map[string]func(*Schema){
		"collector": func(s *Schema) { s.Source.Collector = "other" },
		"target":    func(s *Schema) { s.Source.Target = "other" },
		"part":      func(s *Schema) { s.Source.Part = "other" },
		"class":     func(s *Schema) { s.Class = Batch },
		"cadence":   func(s *Schema) { s.Cadence++ },
		"kind":      func(s *Schema) { s.Entities[1].Kind = Queue },
		"name":      func(s *Schema) { s.Entities[1].Name += "x" },
		"fewer":     func(s *Schema) { s.Entities = s.Entities[:2] },
		"order":     func(s *Schema) { s.Entities[0], s.Entities[1] = s.Entities[1], s.Entities[0] },
		"metric":    func(s *Schema) { s.Columns[2].Metric += "x" },
		"type":      func(s *Schema) { s.Columns[3].Type = Uint },
		"exponent":  func(s *Schema) { s.Columns[2].Exp = 9 },
	} {
		s := testSchema(3)
		change(s)
		fp := s.Fingerprint()
		if other, twice := seen[fp]; twice {
			t.Errorf("%s has the fingerprint of %s", name, other)
		}
		seen[fp] = name
	}
}

func TestSchemaRefusals(t *testing.T) {
	for want, spoil := range map[string]func(*Schema){
		"no collector":          func(s *Schema) { s.Source.Collector = "" },
		"'|' in a part":         func(s *Schema) { s.Source.Target = "a|b" },
		"lateness class":        func(s *Schema) { s.Class = LatenessClasses },
		"negative cadence":      func(s *Schema) { s.Cadence = -1 },
		"make no series":        func(s *Schema) { s.Columns = nil },
		"at most 8192 series":   func(s *Schema) { s.Entities = testSchema(1400).Entities },
		"unknown kind":          func(s *Schema) { s.Entities[0].Kind = "toaster" },
		"entity port:":          func(s *Schema) { s.Entities[1] = s.Entities[0] },
		"metric port_up: state": func(s *Schema) { s.Columns[0].Metric = "port_up" },
		"no name":               func(s *Schema) { s.Columns[0].Metric = "" },
		"unknown value type":    func(s *Schema) { s.Columns[0].Type = 9 },
		"not decimal":           func(s *Schema) { s.Columns[0].Exp = 1 },
		"exponent 19":           func(s *Schema) { s.Columns[2].Exp = 19 },
		"control character":     func(s *Schema) { s.Columns[0].Metric = "a\nb" },
		"at most 1024":          func(s *Schema) { s.Columns[0].Metric = MetricName(strings.Repeat("a", 1025)) },
	} {
		s := testSchema(3)
		spoil(s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
		if _, err := ParseSchema(s.AppendBinary(nil)); err == nil {
			t.Errorf("%s: parsed", want)
		}
	}
}

// A schema cut anywhere is an error; one with a flipped bit is an error or
// another schema with bytes and a fingerprint of its own.
func TestSchemaDamage(t *testing.T) {
	b := testSchema(4).AppendBinary(nil)
	for n := range b {
		if _, err := ParseSchema(b[:n]); err == nil {
			t.Errorf("cut at %d of %d: no error", n, len(b))
		}
	}
	for bit := range 8 * len(b) {
		bad := bytes.Clone(b)
		bad[bit/8] ^= 1 << (bit % 8)
		if s, err := ParseSchema(bad); err == nil && !bytes.Equal(s.AppendBinary(nil), bad) {
			t.Errorf("bit %d flipped: read as something else", bit)
		}
	}
}

func TestHostileSchemasCostNothing(t *testing.T) {
	head := testSchema(1).AppendBinary(nil)[:len("\x01\x04test\x05leaf1\x05ports")+1+5]
	for name, tail := range map[string]string{
		"a terabyte of entities": "\x80\x80\x80\x80\x80\x20",
		"2^64 entities":          "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
		"eight thousand of none": "\x80\x40",
		"number without an end":  strings.Repeat("\xff", 40),
		"shares what is not":     "\x01\x90\x4e\x01a\x00\x00\x00\x00",
	} {
		b := append(bytes.Clone(head), tail...)
		var err error
		if n := allocated(func() { _, err = ParseSchema(b) }); n > 1<<20 {
			t.Errorf("%s: allocates %d bytes", name, n)
		}
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// allocated returns how many bytes one call allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestColumnValues(t *testing.T) {
	uints, micros, floats := Column{"a", Uint, 0}, Column{"a", Decimal, 6}, Column{"a", Float, 0}
	for _, c := range []struct {
		col  Column
		word uint64
		want float64
	}{
		{uints, 1 << 53, 1 << 53}, {uints, math.MaxUint64, 1 << 64}, {micros, 250417, 0.250417},
		{micros, math.MaxUint64, -0.000001}, {micros, 123456789012, 123456.789012}, {floats, math.Float64bits(-7.25), -7.25},
		{Column{"a", Decimal, 18}, 1, 1e-18}, {Column{"a", Decimal, 0}, 7, 7},
	} {
		if got := c.col.Float(c.word); got != c.want {
			t.Errorf("%v: word %d is %v, want %v", c.col, c.word, got, c.want)
		}
	}
	for _, c := range []struct {
		col  Column
		v    float64
		want uint64
	}{
		{uints, -1, 0}, {uints, math.NaN(), 0}, {uints, math.Inf(1), math.MaxUint64}, {uints, 2.5, 2}, {uints, 1e19, 1e19},
		{micros, 0.250417, 250417}, {micros, -0.5, math.MaxUint64 - 499999}, {micros, math.NaN(), 0},
		{micros, math.Inf(1), math.MaxInt64}, {micros, math.Inf(-1), 1 << 63}, {floats, 0.1, math.Float64bits(0.1)},
	} {
		if got := c.col.Word(c.v); got != c.want {
			t.Errorf("%v: %v is word %d, want %d", c.col, c.v, got, c.want)
		}
	}
}

// What a decimal word says survives the way through a float, to fifteen digits.
func FuzzDecimalWord(f *testing.F) {
	f.Add(int64(250417), uint8(6))
	f.Add(int64(-1), uint8(18))
	f.Fuzz(func(t *testing.T, v int64, exp uint8) {
		c := Column{"a", Decimal, exp % (MaxExp + 1)}
		v %= 1e15
		if got := int64(c.Word(c.Float(uint64(v)))); got != v {
			t.Errorf("%d with exponent %d comes back as %d", v, c.Exp, got)
		}
	})
}
