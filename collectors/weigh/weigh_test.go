package weigh_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/collectors/weigh"
)

// list is a message that holds others, which hold themselves.
func list() *weigh.Message {
	item := &weigh.Message{Bytes: 100, Packed: map[int]int{3: 8}}
	item.Fields = map[int]*weigh.Message{2: item}
	return &weigh.Message{Bytes: 24, Fields: map[int]*weigh.Message{1: item}}
}

func nested(depth int) []byte {
	var b []byte
	for range depth {
		if len(b) > 100 {
			break
		}
		b = append([]byte{2<<3 | 2, byte(len(b))}, b...)
	}
	return append([]byte{1<<3 | 2, byte(len(b))}, b...)
}

func TestProto(t *testing.T) {
	for _, c := range []struct {
		name string
		b    []byte
		want string
	}{
		{"nothing", nil, ""},
		{"a few empty items", bytes.Repeat([]byte{0x0a, 0}, 100), ""},
		{"a megabyte of empty items", bytes.Repeat([]byte{0x0a, 0}, 1<<19), weigh.ErrHeavy.Error()},
		{"a megabyte of text", append([]byte{0x12, 0x80, 0x80, 0x40}, make([]byte, 1<<20)...), ""},
		{"nested", nested(20), ""},
		{"cut off", []byte{0x0a, 5, 1}, "not protobuf"},
		{"a group", []byte{0x0b}, "not protobuf"},
		{"a length beyond all", []byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, "not protobuf"},
	} {
		err := weigh.Proto(c.b, list())
		if (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	deep := []byte{}
	for range 100 {
		deep = append(append([]byte{2<<3 | 2}, uvarint(len(deep))...), deep...)
	}
	if err := weigh.Proto(append(append([]byte{0x0a}, uvarint(len(deep))...), deep...), list()); !errors.Is(err, weigh.ErrDeep) {
		t.Errorf("nested 100 deep: %v", err)
	}
}

func uvarint(n int) []byte {
	var b []byte
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

func TestJSON(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       error
	}{
		{"an object", `{"a":[1,2,{"b":"}}}}"}]}`, nil},
		{"a string of braces", `"` + strings.Repeat(`{[\"`, 1<<18) + `"`, nil},
		{"a megabyte of objects", `[` + strings.Repeat(`{},`, 1<<19) + `{}]`, weigh.ErrHeavy},
		{"numbers", `[` + strings.Repeat(`1,`, 1<<18) + `1]`, nil},
		{"nested", strings.Repeat(`[`, 65) + strings.Repeat(`]`, 65), weigh.ErrDeep},
		{"nested and not closed", strings.Repeat(`{"a":`, 1<<16), weigh.ErrDeep},
	} {
		if err := weigh.JSON([]byte(c.text)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

// allocated returns the bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// FuzzJSON: what passes takes at most four times what is stated, whatever it holds:
// growing lists and maps are copied, and what was copied is counted here.
func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"a":[1,2,{"b":"c"}]}`))
	f.Add([]byte(`[{},{},{"a":{}},"\u0000",1e9]`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if weigh.JSON(b) != nil {
			return
		}
		n := allocated(func() {
			var x any
			_ = json.Unmarshal(b, &x)
		})
		if most := uint64(4 * (weigh.Free + weigh.Growth*len(b))); n > most {
			t.Errorf("%d bytes took %d, at most %d", len(b), n, most)
		}
	})
}

// FuzzProto: no bytes make it panic.
func FuzzProto(f *testing.F) {
	f.Add(nested(10))
	f.Fuzz(func(_ *testing.T, b []byte) { _ = weigh.Proto(b, list()) })
}
