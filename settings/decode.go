package settings

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Decode sets the struct that to points to: first the defaults, then the keys of n, of
// which none but those of the struct are accepted, once each. Former names of keys are
// refused with the command that renames them (Rename). Where nothing was wrong with a struct and it has a method
// Validate() error, that is called. name is the first part of every problem's text,
// unless it is empty. The error joins a *Problem for everything that is wrong. A nil or
// empty node sets the defaults.
func Decode(name string, n *yaml.Node, to any) error {
	if n != nil && n.Kind == yaml.DocumentNode && len(n.Content) == 1 {
		n = n.Content[0]
	}
	if n == nil || n.IsZero() {
		n = &yaml.Node{Kind: yaml.ScalarNode, Tag: nullTag, Line: 1, Column: 1}
	}
	d := &decoder{}
	if name != "" {
		d.path = []string{name}
	}
	d.structure(n, reflect.ValueOf(to).Elem())
	return errors.Join(d.problems...)
}

// Document returns the root of the only document of a text, nil if it is empty.
func Document(text string) (*yaml.Node, error) {
	var doc yaml.Node
	d := yaml.NewDecoder(strings.NewReader(text))
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one document")
	}
	return doc.Content[0], nil
}

const nullTag = "!!null"

// decoder collects problems on its way through a document.
type decoder struct {
	path     []string
	problems []error
	known    map[reflect.Type][]Field
}

// fields returns those of a type, which are found once.
func (d *decoder) fields(t reflect.Type) []Field {
	out, ok := d.known[t]
	if !ok {
		if d.known == nil {
			d.known = map[reflect.Type][]Field{}
		}
		out = Fields(t)
		d.known[t] = out
	}
	return out
}

func (d *decoder) fail(n *yaml.Node, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if len(d.path) > 0 {
		text = strings.Join(d.path, ": ") + ": " + text
	}
	d.problems = append(d.problems, &Problem{n.Line, n.Column, text})
}

// within runs fn with a further part of the path.
func (d *decoder) within(key string, fn func()) {
	d.path = append(d.path, key)
	fn()
	d.path = d.path[:len(d.path)-1]
}

func null(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == nullTag }

// structure decodes keys and values.
func (d *decoder) structure(n *yaml.Node, v reflect.Value) {
	d.fill(v)
	before := len(d.problems)
	switch {
	case null(n):
	case n.Kind != yaml.MappingNode:
		d.fail(n, "want keys and values, found %s", kindOf(n))
		return
	default:
		d.keys(n, v)
	}
	if c, ok := v.Addr().Interface().(interface{ Validate() error }); ok && len(d.problems) == before {
		each(c.Validate(), func(err error) {
			var at *KeyError
			if errors.As(err, &at) {
				d.fail(Find(n, at.Key), "%v", err)
				return
			}
			d.fail(n, "%v", err)
		})
	}
}

func (d *decoder) keys(n *yaml.Node, v reflect.Value) {
	fields := d.fields(v.Type())
	seen := make([]int, len(fields))
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		at := slices.IndexFunc(fields, func(f Field) bool { return key.Kind == yaml.ScalarNode && f.Key == key.Value })
		switch {
		case at < 0:
			d.unknown(key, fields)
		case seen[at] > 0:
			d.fail(key, "duplicate key %q: also in line %d", key.Value, seen[at])
		default:
			seen[at] = key.Line
			d.within(key.Value, func() { d.value(n.Content[i+1], v.FieldByIndex(fields[at].Index), fields[at]) })
		}
	}
}

// unknown reports a key that no field has.
func (d *decoder) unknown(key *yaml.Node, fields []Field) {
	var names []string
	for _, f := range fields {
		for _, was := range f.Was {
			if was.Old == key.Value {
				d.fail(key, "%s is now %s: run quintet config migrate FILE", key.Value, was.now(f.Key))
				return
			}
		}
		names = append(names, f.Key)
	}
	if like := Nearest(key.Value, names); like != "" {
		d.fail(key, "unknown key %.40q; did you mean %s?", key.Value, like)
		return
	}
	d.fail(key, "unknown key %.40q; want one of %s", key.Value, strings.Join(names, ", "))
}

// Find returns the node of a key, whose levels and items are separated by dots
// ("routes.2"), or the closest there is.
func Find(n *yaml.Node, key string) *yaml.Node {
	first, rest, more := strings.Cut(key, ".")
	var next *yaml.Node
	switch n.Kind {
	case yaml.DocumentNode:
		return Find(n.Content[0], key)
	case yaml.MappingNode:
		_, next = lookup(n, first)
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(first); err == nil && i < len(n.Content) {
			next = n.Content[i]
		}
	}
	switch {
	case next == nil:
		return n
	case more:
		return Find(next, rest)
	}
	return next
}

// lookup returns a key of a mapping and its value, nil where it has none.
func lookup(n *yaml.Node, key string) (k, v *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i], n.Content[i+1]
		}
	}
	return nil, nil
}

// value decodes one value of any type that a configuration has.
func (d *decoder) value(n *yaml.Node, v reflect.Value, f Field) {
	if n.Kind == yaml.AliasNode {
		d.fail(n, "want a value, found %s", kindOf(n))
		return
	}
	if d.own(n, v) || d.scalar(n, v, f) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		d.value(n, p.Elem(), f)
		v.Set(p)
	case reflect.Struct:
		d.structure(n, v)
	case reflect.Slice:
		d.list(n, v, f)
	case reflect.Map:
		d.table(n, v, f)
	default:
		panic("settings: no decoder for " + v.Type().String()) // a mistake of ours, found by any test of the struct
	}
}

func (d *decoder) list(n *yaml.Node, v reflect.Value, f Field) {
	switch {
	case null(n):
		return
	case n.Kind == yaml.ScalarNode && f.Single:
		n = &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{n}, Line: n.Line, Column: n.Column}
	case n.Kind != yaml.SequenceNode:
		d.fail(n, "want a list, found %s", kindOf(n))
		return
	case f.most > 0 && int64(len(n.Content)) > f.most:
		d.fail(n, "%d, want at most %d", len(n.Content), f.most)
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, item := range n.Content {
		d.value(item, out.Index(i), f.item())
	}
	v.Set(out)
}

func (d *decoder) table(n *yaml.Node, v reflect.Value, f Field) {
	switch {
	case null(n):
		return
	case n.Kind != yaml.MappingNode:
		d.fail(n, "want names and values, found %s", kindOf(n))
		return
	case f.most > 0 && int64(len(n.Content)/2) > f.most:
		d.fail(n, "%d, want at most %d", len(n.Content)/2, f.most)
		return
	}
	out := reflect.MakeMapWithSize(v.Type(), len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		d.value(n.Content[i], key, f.item())
		if out.MapIndex(key).IsValid() {
			d.fail(n.Content[i], "duplicate key %.40q", n.Content[i].Value)
			continue
		}
		d.within(n.Content[i].Value, func() { d.value(n.Content[i+1], value, f.item()) })
		out.SetMapIndex(key, value)
	}
	v.Set(out)
}

// kindOf returns what a node is, for an error.
func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "keys and values"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias, which is not supported"
	}
	if n.Tag == nullTag || n.Value == "" {
		return "nothing"
	}
	return fmt.Sprintf("%.40q", n.Value)
}

// Keys returns the keys of a mapping.
func Keys(n *yaml.Node) (out []string) {
	if n != nil && n.Kind == yaml.DocumentNode && len(n.Content) == 1 {
		n = n.Content[0]
	}
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		out = append(out, n.Content[i].Value)
	}
	return out
}
