package mapping

import (
	"fmt"
	"slices"
	"strings"
)

// Path selects places of a tree: /interfaces/interface[name={port}]/state. Each element
// is a selector, and so are the values of its keys.
type Path []Step

// Step is an element of a path.
type Step struct {
	Text string // as it was written
	Name Selector
	Keys []KeySelector // by name
}

// KeySelector is a key of an element and the values that it may have.
type KeySelector struct {
	Key   string
	Value Selector
}

// Set reads a path.
func (p *Path) Set(s string) error {
	parts, err := SplitPath(s)
	*p = nil
	for _, x := range parts {
		st := Step{Text: string(x.AppendTo(nil))}
		if err := st.Name.Set(x.Name); err != nil {
			return err
		}
		for _, k := range x.Keys {
			value := KeySelector{Key: k.Name}
			if err := value.Value.Set(k.Value); err != nil {
				return err
			}
			st.Keys = append(st.Keys, value)
		}
		*p = append(*p, st)
	}
	return err
}

// Variables lists the names of the variables.
func (p Path) Variables() (out []string) {
	for i := range p {
		out = append(out, p[i].Name.Variables()...)
		for j := range p[i].Keys {
			out = append(out, p[i].Keys[j].Value.Variables()...)
		}
	}
	return out
}

// Match binds the step's variables so that it reads an element of a tree. What a
// module's name and a colon precede is read without them too, as RFC 7951 writes names.
// Keys that the step does not name are not looked at.
func (s *Step) Match(name string, keys, vars []Binding) ([]Binding, bool) {
	out, ok := s.Name.Match(name, vars, false)
	if !ok {
		if out, ok = s.Name.Match(Unqualified(name), vars, false); !ok {
			return nil, false
		}
	}
	for i := range s.Keys {
		v, given := Bound(keys, s.Keys[i].Key)
		if !given {
			return nil, false
		}
		if out, ok = s.Keys[i].Value.Match(v, out, false); !ok {
			return nil, false
		}
	}
	return out, true
}

// Unqualified takes a module's name off.
func Unqualified(s string) string { return s[strings.IndexByte(s, ':')+1:] }

// Element is an element of a path to one place.
type Element struct {
	Name string
	Keys []Binding // by name
}

// AppendTo writes an element so that different ones differ.
func (e Element) AppendTo(b []byte) []byte {
	b = append(b, e.Name...)
	for _, k := range e.Keys {
		b = append(append(append(append(b, '['), k.Name...), '='), k.Value...)
		b = append(b, ']')
	}
	return b
}

// SplitPath cuts a path at its slashes, those in brackets left out.
func SplitPath(s string) (out []Element, err error) {
	rest := strings.Trim(s, "/")
	for rest != "" {
		n, open := 0, 0
		for ; n < len(rest) && (open > 0 || rest[n] != '/'); n++ {
			switch rest[n] {
			case '[':
				open++
			case ']':
				open--
			}
		}
		e, err := readElement(rest[:n])
		if err != nil {
			return nil, err
		}
		rest = strings.TrimPrefix(rest[n:], "/")
		out = append(out, e)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%q: no path", s)
	}
	return out, nil
}

// readElement reads name[key=value][key=value].
func readElement(text string) (e Element, err error) {
	var keys string
	e.Name, keys, _ = strings.Cut(text, "[")
	if e.Name == "" {
		return e, fmt.Errorf("%q: an element without a name", text)
	}
	for keys != "" {
		one, more, ok := strings.Cut(keys, "]")
		k, v, eq := strings.Cut(one, "=")
		if !ok || !eq || k == "" || v == "" || more != "" && more[0] != '[' {
			return e, fmt.Errorf("%q: want [key=value]", text)
		}
		e.Keys = append(e.Keys, Binding{k, v})
		keys = strings.TrimPrefix(more, "[")
	}
	slices.SortFunc(e.Keys, func(a, b Binding) int { return strings.Compare(a.Name, b.Name) })
	return e, nil
}
