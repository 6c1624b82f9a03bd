package rules

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// reader turns a YAML tree into values and collects everything that is wrong
// with it, each with its place. It walks the tree itself, because a decoder
// into structs stops at the first error and names neither column nor key.
type reader struct {
	file     string
	problems Problems
}

// at is a place in a file.
type at struct{ line, column int }

func place(n *yaml.Node) at { return at{n.Line, n.Column} }

func (r *reader) fail(p at, format string, args ...any) {
	r.problems = append(r.problems, Problem{r.file, p.line, p.column, Error, fmt.Sprintf(format, args...)})
}

func (r *reader) warn(p at, format string, args ...any) {
	r.problems = append(r.problems, Problem{r.file, p.line, p.column, Warning, fmt.Sprintf(format, args...)})
}

// document parses exactly one YAML document.
func (r *reader) document(b []byte) *yaml.Node {
	dec := yaml.NewDecoder(strings.NewReader(string(b)))
	var doc, second yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		r.fail(at{1, 1}, "empty file")
		return nil
	case err != nil:
		r.syntax(err)
		return nil
	}
	switch err := dec.Decode(&second); {
	case err == nil:
		r.fail(place(&second), "a second document; want one signature in a file")
		return nil
	case !errors.Is(err, io.EOF):
		r.syntax(err)
		return nil
	}
	return doc.Content[0]
}

// syntax reports a parse error. The library's text is "yaml: line 7: …": the
// line becomes the place, the column is not known and taken as the first.
func (r *reader) syntax(err error) {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	p := at{1, 1}
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		if n, tail, ok := strings.Cut(rest, ": "); ok {
			if line, err := strconv.Atoi(n); err == nil {
				p.line, text = line, tail
			}
		}
	}
	r.fail(p, "not YAML: %s", text)
}

// field is a key of a mapping and what reads its value.
type field struct {
	key  string
	need bool
	read func(*yaml.Node)
}

// mapping reads n as a mapping with these keys and no others, each once.
func (r *reader) mapping(n *yaml.Node, what string, fields []field) {
	if n.Kind != yaml.MappingNode {
		r.fail(place(n), "%s: want keys and values, found %s", what, kindOf(n))
		return
	}
	seen := make([]bool, len(fields))
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		f := indexOf(fields, k.Value)
		if now := formerKey(k.Value); f < 0 && now != "" && k.Kind == yaml.ScalarNode {
			if f = indexOf(fields, now); f >= 0 {
				r.renamed(place(k), what, k.Value, now)
			}
		}
		switch {
		case k.Kind != yaml.ScalarNode || f < 0:
			r.fail(place(k), "%s: unknown key %q; want one of %s", what, k.Value, keysOf(fields))
		case seen[f]:
			r.fail(place(k), "%s: key %q twice", what, k.Value)
		default:
			seen[f] = true
			fields[f].read(n.Content[i+1])
		}
	}
	for i, f := range fields {
		if f.need && !seen[i] {
			r.fail(place(n), "%s: key %q is missing", what, f.key)
		}
	}
}

func indexOf(fields []field, key string) int {
	for i, f := range fields {
		if f.key == key {
			return i
		}
	}
	return -1
}

func keysOf(fields []field) string {
	var ks []string
	for _, f := range fields {
		ks = append(ks, f.key)
	}
	return strings.Join(ks, ", ")
}

// list reads n as a list.
func (r *reader) list(n *yaml.Node, key string, item func(*yaml.Node)) {
	if n.Kind != yaml.SequenceNode {
		r.fail(place(n), "%s: want a list, found %s", key, kindOf(n))
		return
	}
	for _, c := range n.Content {
		item(c)
	}
}

// text reads n as words.
func (r *reader) text(n *yaml.Node, key string) string {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" {
		r.fail(place(n), "%s: want text, found %s", key, kindOf(n))
		return ""
	}
	return strings.TrimSpace(n.Value)
}

// number reads n as a finite number.
func (r *reader) number(n *yaml.Node, key string) float64 {
	v, err := strconv.ParseFloat(n.Value, 64)
	if n.Kind != yaml.ScalarNode || n.Tag != "!!float" && n.Tag != "!!int" || err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		r.fail(place(n), "%s: want a finite decimal number, found %s", key, kindOf(n))
		return 0
	}
	return v
}

// duration reads n as a length of time, such as 60s.
func (r *reader) duration(n *yaml.Node, key string) time.Duration {
	d, err := time.ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || d < 0 {
		r.fail(place(n), "%s: want a length of time such as 60s, found %s", key, kindOf(n))
		return 0
	}
	return d
}

// mask reads n as a whole number of 64 bits, decimal or after 0x or 0b.
func (r *reader) mask(n *yaml.Node, key string) uint64 {
	v, err := strconv.ParseUint(n.Value, 0, 64)
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" || err != nil {
		r.fail(place(n), "%s: want a whole number such as 96 or 0x60, found %s", key, kindOf(n))
		return 0
	}
	return v
}

// flag reads n as true or false.
func (r *reader) flag(n *yaml.Node, key string) bool {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" {
		r.fail(place(n), "%s: want true or false, found %s", key, kindOf(n))
		return false
	}
	return strings.EqualFold(n.Value, "true")
}

// flagOr reads n as true, false or a word.
func (r *reader) flagOr(n *yaml.Node, key, word string) (yes, other bool) {
	switch {
	case n.Kind == yaml.ScalarNode && n.Value == word:
		return false, true
	case n.Kind == yaml.ScalarNode && n.Tag == "!!bool":
		return strings.EqualFold(n.Value, "true"), false
	}
	r.fail(place(n), "%s: want true, false or %s, found %s", key, word, kindOf(n))
	return false, false
}

// corroborates reads whether the evidence for a fault is corroborating evidence, and
// whether it is so at once, also for a step that has not ended.
func (r *reader) corroborates(n *yaml.Node) (ended, atOnce bool) {
	ended, atOnce = r.flagOr(n, "corroborates", "at-once")
	return ended || atOnce, atOnce
}

// kindOf states what a node is, for an error.
func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "keys and values"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias, which is not allowed"
	}
	switch n.Tag {
	case "!!null":
		return "nothing"
	case "!!str":
		return fmt.Sprintf("text %.40q", n.Value)
	}
	return fmt.Sprintf("%.40q", n.Value)
}
