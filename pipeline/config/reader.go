package config

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// reader walks a document and collects all mistakes, so that one run reports them
// all.
type reader struct {
	path     string
	problems []Problem
	named    []Named
}

func (r *reader) fail(n *yaml.Node, format string, args ...any) {
	r.problems = append(r.problems, Problem{Path: r.path, Line: n.Line, Column: n.Column, Text: fmt.Sprintf(format, args...)})
}

func (r *reader) doubt(n *yaml.Node, format string, args ...any) {
	r.problems = append(r.problems, Problem{Path: r.path, Line: n.Line, Column: n.Column, Text: fmt.Sprintf(format, args...), Doubt: true})
}

func (r *reader) failFile(format string, args ...any) {
	r.problems = append(r.problems, Problem{Path: r.path, Text: fmt.Sprintf(format, args...)})
}

// wrong reports whether anything keeps the file from being used.
func (r *reader) wrong() bool {
	return slices.ContainsFunc(r.problems, func(p Problem) bool { return !p.Doubt })
}

// document returns the root of the only document, nil where it is empty or
// not readable.
func (r *reader) document(text string) *yaml.Node {
	var doc yaml.Node
	d := yaml.NewDecoder(strings.NewReader(text))
	err := d.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil // empty: every key has a default
	}
	if err != nil {
		r.failFile("%v", err)
		return nil
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		r.failFile("more than one document")
		return nil
	}
	return doc.Content[0]
}

// field is a key of a mapping and what reads its value.
type field struct {
	key  string
	read func(n *yaml.Node)
}

// mapping gives every key of a mapping, known and stated once, to its field.
func (r *reader) mapping(n *yaml.Node, in string, fields ...field) {
	if empty(n) {
		return
	}
	if n.Kind != yaml.MappingNode {
		r.fail(n, "%swant a mapping of keys", in)
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		line, twice := seen[key.Value]
		seen[key.Value] = key.Line
		k := slices.IndexFunc(fields, func(f field) bool { return f.key == key.Value })
		switch {
		case twice:
			r.fail(key, "%skey %q is also in line %d", in, key.Value, line)
		case k < 0:
			r.fail(key, "%sunknown key %q: want one of %s", in, key.Value, names(fields))
		default:
			fields[k].read(n.Content[i+1])
		}
	}
}

func empty(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

func names(fields []field) string {
	var keys []string
	for _, f := range fields {
		keys = append(keys, f.key)
	}
	return strings.Join(keys, ", ")
}

// each gives every item of a list to fn.
func (r *reader) each(n *yaml.Node, in string, fn func(n *yaml.Node)) {
	if empty(n) {
		return
	}
	if n.Kind != yaml.SequenceNode {
		r.fail(n, "%swant a list", in)
		return
	}
	for _, item := range n.Content {
		fn(item)
	}
}

// The scalars. Each leaves into as it is where the value makes no sense.

func (r *reader) text(key string, into *string) field {
	return field{key, func(n *yaml.Node) {
		if n.Kind != yaml.ScalarNode || n.Value == "" {
			r.fail(n, "%s: want a word", key)
			return
		}
		*into = n.Value
	}}
}

// paths reads a list of names of files.
func (r *reader) paths(key string, use Use, into *[]string) field {
	list := r.texts(key, into)
	return field{key, func(n *yaml.Node) {
		list.read(n)
		for _, item := range n.Content {
			if item.Kind == yaml.ScalarNode && item.Value != "" {
				r.named = append(r.named, Named{use, item.Value, item.Line, item.Column})
			}
		}
	}}
}

func (r *reader) truth(key string, into *bool) field {
	return field{key, func(n *yaml.Node) {
		v, err := strconv.ParseBool(n.Value)
		if err != nil || n.Kind != yaml.ScalarNode {
			r.fail(n, "%s: want true or false", key)
			return
		}
		*into = v
	}}
}

func (r *reader) span(key string, into *time.Duration) field {
	return field{key, func(n *yaml.Node) {
		d, err := time.ParseDuration(n.Value)
		if err != nil || n.Kind != yaml.ScalarNode || d <= 0 {
			r.fail(n, "%s: want a length of time such as 2s or 500ms", key)
			return
		}
		*into = d
	}}
}

// size reads a number of bytes: 512MiB, 8GiB, 1000000.
func (r *reader) size(key string, into *int64) field {
	return field{key, func(n *yaml.Node) {
		v, err := parseSize(n.Value)
		if err != nil || n.Kind != yaml.ScalarNode {
			r.fail(n, "%s: want a number of bytes such as 512MiB or 8GiB", key)
			return
		}
		*into = v
	}}
}

func parseSize(s string) (int64, error) {
	for i, unit := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if number, ok := strings.CutSuffix(s, unit); ok {
			v, err := strconv.ParseInt(strings.TrimSpace(number), 10, 32)
			if err == nil && v <= 0 {
				err = fmt.Errorf("size %q: not positive", s)
			}
			return v << (10 * (i + 1)), err
		}
	}
	v, err := strconv.ParseInt(s, 10, 64)
	if err == nil && v <= 0 {
		err = fmt.Errorf("size %q: not positive", s)
	}
	return v, err
}

func (r *reader) texts(key string, into *[]string) field {
	return field{key, func(n *yaml.Node) {
		r.each(n, key+": ", func(item *yaml.Node) {
			if item.Kind != yaml.ScalarNode || item.Value == "" {
				r.fail(item, "%s: want a word", key)
				return
			}
			*into = append(*into, item.Value)
		})
	}}
}
