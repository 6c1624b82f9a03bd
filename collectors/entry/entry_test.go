package entry

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// read reads a text with every kind of value.
func read(t *testing.T, text string) (map[string]any, error) {
	t.Helper()
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(text), &n); err != nil {
		t.Skip("no YAML")
	}
	out := map[string]any{}
	r := NewReader("kind")
	r.Entry(&n,
		Key{"text", func(v *yaml.Node) { out["text"] = r.Text(v, "text") }},
		Key{"name", func(v *yaml.Node) { out["name"] = r.Name(v, "name", 8) }},
		Key{"flag", func(v *yaml.Node) { out["flag"] = r.Flag(v, "flag") }},
		Key{"whole", func(v *yaml.Node) { out["whole"] = r.Whole(v, "whole", 1, 9) }},
		Key{"every", func(v *yaml.Node) { out["every"] = r.Duration(v, "every", Span{time.Second, time.Hour}) }},
		Key{"word", func(v *yaml.Node) { out["word"] = r.OneOf(v, "word", "a", "b") }},
		Key{"list", func(v *yaml.Node) {
			r.List(v, "list", func(x *yaml.Node) { out["list"] = r.Text(x, "list") })
		}},
	)
	return out, r.Err()
}

// TestEntry: every kind of value is read, and every mistake is reported with its
// line, column and key.
func TestEntry(t *testing.T) {
	got, err := read(t, "text: /sys\nname: 1234\nflag: true\nwhole: 7\nevery: 2s\nword: b\nlist: [x]\n")
	if err != nil || got["text"] != "/sys" || got["name"] != "1234" || got["flag"] != true || got["whole"] != 7 || got["every"] != 2*time.Second ||
		got["word"] != "b" || got["list"] != "x" {
		t.Fatal(got, err)
	}
	if got, err := read(t, ""); len(got) > 0 || err != nil {
		t.Error("an empty entry:", got, err)
	}
	for text, want := range map[string]string{
		"text: [1]":          "1:7: kind: text: want text, found a list",
		"\nname: 123456789":  `2:7: kind: name: want a name of at most 8 bytes, found "123456789"`,
		"flag: maybe":        `1:7: kind: flag: want true or false, found "maybe"`,
		"whole: 10":          "1:8: kind: whole: 10, want 1 to 9",
		"whole: many":        `1:8: kind: whole: want a whole number, found "many"`,
		"every: 1ms":         "1:8: kind: every: 1ms, want 1s to 1h0m0s",
		"every: soon":        `1:8: kind: every: want a time such as 1s, found "soon"`,
		"word: c":            `1:7: kind: word: want one of a, b, found "c"`,
		"list: x":            `1:7: kind: list: want a list, found "x"`,
		"other: 1":           `1:1: kind: unknown key "other"; want one of text, name, flag, whole, every, word, list`,
		"whole: 1\nwhole: 2": `2:1: kind: key "whole" twice`,
		"- a":                "1:1: kind: want keys and values, found a list",
	} {
		_, err := read(t, text)
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v\nwant %s", text, err, want)
		}
		var f *Fault
		if !errors.As(err, &f) || f.Line != 1+strings.Count(text[:max(0, strings.LastIndex(text, "\n")+1)], "\n") {
			t.Errorf("%q: place %+v", text, f)
		}
	}
}

// FuzzEntry: no text makes it panic, and what is wrong has a place.
func FuzzEntry(f *testing.F) {
	f.Add("text: /sys\nevery: 1s\nlist: [a, [b]]")
	f.Add("? [a]\n: b")
	f.Add("whole: &x 3\nname: *x")
	f.Fuzz(func(t *testing.T, text string) {
		_, err := read(t, text)
		for _, line := range strings.Split(errorText(err), "\n") {
			if line != "" && !strings.Contains(line, "kind: ") && !strings.Contains(text, "\n") {
				t.Errorf("%q", line)
			}
		}
	})
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestReadFile: a file is read whole, and one that is too long is refused by
// name.
func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(path, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := ReadFile(path, 5); err != nil || string(b) != "12345" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := ReadFile(path, 4); err == nil || err.Error() != path+": 5 bytes, at most 4" {
		t.Errorf("too long: %v", err)
	}
	if _, err := ReadFile(path+".none", 5); !os.IsNotExist(err) {
		t.Errorf("not there: %v", err)
	}
}
