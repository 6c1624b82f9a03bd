package settings

import (
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Renamed is a former name of a key that a document has.
type Renamed struct {
	Line, Column int
	Old, New     string // with all levels above them, separated by dots
}

// String describes the change.
func (r Renamed) String() string {
	return fmt.Sprintf("%s is now %s", r.Old, r.New)
}

// Rename gives the keys of a document that have a former name the name that they have
// now, and returns what it renamed. of is a struct of the type that the document
// describes, or a pointer to it. A former name of a key that is set too is left.
func Rename(n *yaml.Node, of any) []Renamed {
	if n == nil {
		return nil
	}
	if n.Kind == yaml.DocumentNode && len(n.Content) == 1 {
		n = n.Content[0]
	}
	t := reflect.TypeOf(of)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	r := &renamer{}
	r.walk(n, t, "")
	return r.done
}

// renamer uses a decoder for what it knows of types.
type renamer struct {
	decoder
	done []Renamed
}

func (r *renamer) walk(n *yaml.Node, t reflect.Type, path string) {
	switch k := t.Kind(); {
	case k == reflect.Pointer:
		r.walk(n, t.Elem(), path)
	case k == reflect.Slice && n.Kind == yaml.SequenceNode:
		for _, item := range n.Content {
			r.walk(item, t.Elem(), path)
		}
	case k == reflect.Map && n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			r.walk(n.Content[i+1], t.Elem(), path+n.Content[i].Value+".")
		}
	case k == reflect.Struct && n.Kind == yaml.MappingNode:
		for _, f := range r.fields(t) {
			for _, w := range f.Was {
				r.rename(n, f, w, path)
			}
			if _, value := lookup(n, f.Key); value != nil {
				r.walk(value, f.Type, path+f.Key+".")
			}
		}
	}
}

func (r *renamer) rename(n *yaml.Node, f Field, w Former, path string) {
	key, value := lookup(n, w.Old)
	if key == nil || w.Inner == "" && has(n, f.Key) || w.Inner != "" && !free(n, f.Key, w.Inner) {
		return
	}
	r.done = append(r.done, Renamed{key.Line, key.Column, path + w.Old, path + w.now(f.Key)})
	if w.Inner == "" {
		key.Value = f.Key
		return
	}
	inner, inList := strings.CutPrefix(w.Inner, "0.")
	moved := *key
	moved.Value = inner
	_, into := lookup(n, f.Key)
	if into == nil { // the first of those that move takes the place of its old key
		into = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: key.Line, Column: key.Column}
		place := into
		if inList {
			place = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Line: key.Line, Column: key.Column, Content: []*yaml.Node{into}}
		}
		for i := range n.Content {
			if n.Content[i] == key {
				name := *key
				name.Value, moved.HeadComment, moved.FootComment = f.Key, "", ""
				n.Content[i], n.Content[i+1] = &name, place
			}
		}
	} else {
		if inList {
			into = into.Content[0]
		}
		for i := range n.Content {
			if n.Content[i] == key {
				n.Content = append(n.Content[:i:i], n.Content[i+2:]...)
				break
			}
		}
	}
	into.Content = append(into.Content, &moved, value)
}

func has(n *yaml.Node, key string) bool { k, _ := lookup(n, key); return k != nil }

// free reports whether a key can be moved to be inner of another: that is not set, or
// is a mapping without inner.
func free(n *yaml.Node, key, inner string) bool {
	_, into := lookup(n, key)
	if into == nil {
		return true
	}
	if rest, ok := strings.CutPrefix(inner, "0."); ok {
		// only into an item that the same move has made
		return into.Kind == yaml.SequenceNode && len(into.Content) == 1 && into.Content[0].Kind == yaml.MappingNode && into.Line == into.Content[0].Line && into.Column == into.Content[0].Column && !has(into.Content[0], rest)
	}
	return into.Kind == yaml.MappingNode && !has(into, inner)
}
