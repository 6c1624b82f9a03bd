package config_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/pipeline/config"
)

// A configuration takes at most freeBytes and growth times its length to read,
// whatever is in it.
const (
	freeBytes = 1 << 20
	growth    = 2048
)

// allocated returns the bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestParseIsBounded: structures that are small as text and large as a tree.
func TestParseIsBounded(t *testing.T) {
	const n = 64 << 10
	for name, text := range map[string]string{
		"nested lists":    strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
		"empty lists":     "management: [" + strings.Repeat("[],", n/3) + "]",
		"unknown keys":    strings.Repeat("a:\n", n/3),
		"aliases":         "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n",
		"wrong receivers": "notify: {receivers: [" + strings.Repeat("{a},", n/4) + "]}",
		"wrong users":     "web: {users: [" + strings.Repeat("{},", n/3) + "]}",
		"wrong targets":   "egress: {allow: [" + strings.Repeat("' ',", n/4) + "]}",
		"merged keys":     "a: &a {x: 1}\nb: {<<: [" + strings.Repeat("*a,", n/3) + "]}",
	} {
		if got, most := allocated(func() { config.Parse("f", text) }), uint64(freeBytes+growth*len(text)); got > most {
			t.Errorf("%s: %d bytes allocated for %d, at most %d", name, got, len(text), most)
		}
	}
}

// FuzzParse: a file is used or refused with a place, and takes a bounded amount.
func FuzzParse(f *testing.F) {
	seeds, err := filepath.Glob("../../deploy/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range seeds {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	f.Add("web: {users: [{name: a, token_file: t, role: push, expires: 2027-01-31T00:00:00Z}], roles: {b: viewer}, proxy: {header: X, from: [10.0.0.1]}}")
	f.Add("notify: {receivers: [{name: a, webhook: {url: \"http://127.0.0.1:1/\", headers: {X: \"\\r\\n\"}}}], routes: [{matchers: ['severity=critical'], receivers: [a]}]}")
	f.Add("store: {retention: 15d, remote_write: [{url: \"http://a\"}]}\nsite: {grid: 1s}\negress: {allow: [10.0.0.0/8]}\n")
	f.Add("a: &a [*a]")
	f.Fuzz(func(t *testing.T, text string) {
		var file *config.File
		var problems []config.Problem
		if got, most := allocated(func() { file, problems = config.Parse("f", text) }), uint64(2*(freeBytes+growth*len(text))); got > most {
			t.Fatalf("%d bytes allocated for %d, at most %d", got, len(text), most)
		}
		if file == nil && len(problems) == 0 {
			t.Fatal("refused without a reason")
		}
		for _, p := range problems {
			if p.Text == "" || p.Path != "f" {
				t.Fatalf("a problem without a text: %+v", p)
			}
		}
	})
}
