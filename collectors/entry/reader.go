package entry

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/settings"
)

// Fault is something wrong with a file of rules, with its place.
type Fault = settings.Problem

// Key is a key and what reads its value.
type Key struct {
	Name string
	Read func(*yaml.Node)
}

// Reader collects what is wrong with an entry, each with its place.
type Reader struct {
	kind   string
	faults []error
}

// NewReader returns a reader for an entry of a kind of collector.
func NewReader(kind string) *Reader { return &Reader{kind: kind} }

// Err joins a *Fault for everything that was wrong, nil if nothing was.
func (r *Reader) Err() error { return errors.Join(r.faults...) }

// Fail records that something is wrong at n.
func (r *Reader) Fail(n *yaml.Node, format string, args ...any) {
	r.faults = append(r.faults, &Fault{Line: n.Line, Column: n.Column, Text: r.kind + ": " + fmt.Sprintf(format, args...)})
}

// Entry reads keys and values: nothing but a key that is known, once, passes. A
// nil or empty node has none.
func (r *Reader) Entry(n *yaml.Node, keys ...Key) {
	if n != nil && n.Kind == yaml.DocumentNode && len(n.Content) == 1 {
		n = n.Content[0]
	}
	switch {
	case n == nil || n.IsZero() || n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		return
	case n.Kind != yaml.MappingNode:
		r.Fail(n, "want keys and values, found %s", KindOf(n))
		return
	}
	seen := make([]bool, len(keys))
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i]
		at := slices.IndexFunc(keys, func(k Key) bool { return name.Kind == yaml.ScalarNode && k.Name == name.Value })
		switch {
		case at < 0:
			r.Fail(name, "unknown key %.40q; want one of %s", name.Value, names(keys))
		case seen[at]:
			r.Fail(name, "key %q twice", name.Value)
		default:
			seen[at] = true
			keys[at].Read(n.Content[i+1])
		}
	}
}

func names(keys []Key) string {
	var out []string
	for _, k := range keys {
		out = append(out, k.Name)
	}
	return strings.Join(out, ", ")
}

// List reads each item of a list.
func (r *Reader) List(n *yaml.Node, key string, item func(*yaml.Node)) {
	if n.Kind != yaml.SequenceNode {
		r.Fail(n, "%s: want a list, found %s", key, KindOf(n))
		return
	}
	for _, x := range n.Content {
		item(x)
	}
}

// Text reads a text that is not empty.
func (r *Reader) Text(n *yaml.Node, key string) string {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" || n.Value == "" {
		r.Fail(n, "%s: want text, found %s", key, KindOf(n))
		return ""
	}
	if strings.ContainsRune(n.Value, 0) {
		r.Fail(n, "%s: a zero byte in %.40q", key, n.Value)
	}
	return n.Value
}

// Name reads any scalar of at most so many bytes: a host may be named 1234.
func (r *Reader) Name(n *yaml.Node, key string, most int) string {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" || n.Value == "" || len(n.Value) > most {
		r.Fail(n, "%s: want a name of at most %d bytes, found %s", key, most, KindOf(n))
		return ""
	}
	return n.Value
}

// Flag reads true or false.
func (r *Reader) Flag(n *yaml.Node, key string) bool {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" {
		r.Fail(n, "%s: want true or false, found %s", key, KindOf(n))
	}
	return strings.EqualFold(n.Value, "true")
}

// Whole reads a whole number of a range.
func (r *Reader) Whole(n *yaml.Node, key string, least, most int) int {
	v, err := strconv.Atoi(n.Value)
	switch {
	case n.Kind != yaml.ScalarNode || err != nil:
		r.Fail(n, "%s: want a whole number, found %s", key, KindOf(n))
	case v < least || v > most:
		r.Fail(n, "%s: %d, want %d to %d", key, v, least, most)
	}
	return v
}

// Span is a range of times.
type Span struct{ Least, Most time.Duration }

// Duration reads a time such as 1s, of a range.
func (r *Reader) Duration(n *yaml.Node, key string, within Span) time.Duration {
	v, err := time.ParseDuration(n.Value)
	switch {
	case n.Kind != yaml.ScalarNode || err != nil:
		r.Fail(n, "%s: want a time such as 1s, found %s", key, KindOf(n))
	case v < within.Least || v > within.Most:
		r.Fail(n, "%s: %s, want %s to %s", key, v, within.Least, within.Most)
	}
	return v
}

// OneOf reads one of some words.
func (r *Reader) OneOf(n *yaml.Node, key string, words ...string) string {
	if n.Kind != yaml.ScalarNode || !slices.Contains(words, n.Value) {
		r.Fail(n, "%s: want one of %s, found %s", key, strings.Join(words, ", "), KindOf(n))
		return ""
	}
	return n.Value
}

// KindOf returns the kind of a node, for an error message.
func KindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "keys and values"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias, which is not allowed"
	}
	if n.Tag == "!!null" || n.Value == "" {
		return "nothing"
	}
	return fmt.Sprintf("%.40q", n.Value)
}
