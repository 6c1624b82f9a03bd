package store

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/quintet-dc/quintet/collectors/collectorstest"
)

// TestReadPlace: a place is read as it was written; a damaged one is an error, and
// the log is read from its beginning.
func TestReadPlace(t *testing.T) {
	dir := t.TempDir()
	if p, err := readPlace(dir); err != nil || p.Position != 0 {
		t.Errorf("no file: %+v, %v", p, err)
	}
	if err := (place{Position: 1 << 60}).write(dir); err != nil {
		t.Fatal(err)
	}
	if p, err := readPlace(dir); err != nil || p.Position != 1<<60 {
		t.Errorf("%+v, %v", p, err)
	}
	for _, text := range []string{"", "{", `{"position":-1}`, `{"position":1.5}`, `{"position":1}{"position":2}`, `{"place":1}`, "\x00\x00\x00\x00", `{"position":18446744073709551616}`} {
		if err := os.WriteFile(placePath(dir), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if p, err := readPlace(dir); err == nil || p.Position != 0 {
			t.Errorf("%q: %+v, %v", text, p, err)
		}
	}
	if err := os.WriteFile(placePath(dir), bytes.Repeat([]byte(" "), 64<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	before := collectorstest.Allocated()
	_, err := readPlace(dir)
	if n := collectorstest.Allocated() - before; err == nil || n > 1<<20 {
		t.Errorf("a file of 64 MiB: %v, %d bytes allocated", err, n)
	}
}

// FuzzParsePlace: an accepted place is written again as the same place.
func FuzzParsePlace(f *testing.F) {
	for _, s := range []string{`{"position":17}`, `{"position":0}` + "\n", `{"Position":1}`, `{"position":1,"position":2}`, `null`, "{"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		defer collectorstest.Bounded(t, len(b))()
		p, err := parsePlace(b)
		if err != nil {
			return
		}
		again, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if q, err := parsePlace(again); err != nil || q != p {
			t.Fatalf("%s is %+v, %v", again, q, err)
		}
	})
}
