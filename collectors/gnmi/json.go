package gnmi

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/mapping"
)

// maxDepth bounds how deep JSON may be nested.
const maxDepth = 64

var errJSON = errors.New("not JSON")

// jsonValue walks the JSON value of a node. What has been walked is kept; an error
// means that the rest could not be.
func (r *reader) jsonValue(n *node, b []byte) error {
	s := scanner{b: b}
	if err := r.walk(n, &s); err != nil {
		return err
	}
	s.space()
	if s.i != len(b) {
		return errJSON
	}
	return nil
}

// walk reads one value.
func (r *reader) walk(n *node, s *scanner) error {
	switch s.space(); s.peek() {
	case '{':
		return r.object(n, s)
	case '[':
		return r.array(n, s)
	}
	v, err := s.scalar()
	if err != nil {
		return err
	}
	if n.leaf == nil {
		r.drop(collectors.Unknown)
		return nil
	}
	r.set(n.leaf, v)
	return nil
}

func (r *reader) object(n *node, s *scanner) error {
	return s.members(func(key []byte) error { return r.member(n, key, s) })
}

// member reads an object's member: a child of n, or n once more, as an answer to a
// path repeats the name of its last element.
func (r *reader) member(n *node, key []byte, s *scanner) error {
	if s.peek() == '[' {
		if keys := r.listKeys(n, key); len(keys) > 0 {
			return r.list(n, key, s)
		}
		if n.parent != nil && mapping.Unqualified(string(key)) == mapping.Unqualified(n.elem.Name) && len(r.listKeys(n.parent, key)) > 0 {
			return r.list(n.parent, key, s)
		}
	}
	c, ok := n.children[string(key)]
	if !ok {
		c = r.child(n, mapping.Element{Name: string(key)})
	}
	switch {
	case c != nil:
		return r.walk(c, s)
	case s.peek() == '{' && mapping.Unqualified(string(key)) == mapping.Unqualified(n.elem.Name):
		return r.object(n, s)
	}
	if _, key := mapping.Bound(n.elem.Keys, mapping.Unqualified(string(key))); !key {
		r.drop(collectors.Unknown)
	}
	return s.skip()
}

// listKeys are the names of the keys of a list among n's members, as the profile
// names them.
func (r *reader) listKeys(n *node, name []byte) []string {
	if keys, ok := n.lists[string(name)]; ok {
		return keys
	}
	if !r.keep(placeBytes + len(name)) {
		return nil
	}
	var keys []string
	for _, s := range n.states {
		for i := range s.at.edges {
			st := &s.at.edges[i].step
			_, same := st.Name.Match(mapping.Unqualified(string(name)), s.vars, false)
			for _, k := range st.Keys {
				if same && !slices.Contains(keys, k.Key) {
					keys = append(keys, k.Key)
				}
			}
		}
	}
	slices.Sort(keys)
	if n.lists == nil {
		n.lists = map[string][]string{}
	}
	n.lists[string(name)] = keys
	return keys
}

// list reads the objects of a list, each with its keys among its members.
func (r *reader) list(n *node, name []byte, s *scanner) error {
	keys := r.listKeys(n, name)
	return s.each(']', func() error {
		if s.peek() != '{' {
			r.drop(collectors.Malformed)
			return s.skip()
		}
		return r.listed(n, name, keys, s)
	})
}

// listed reads one object of a list. Its keys may be anywhere in it, so it is read
// twice.
func (r *reader) listed(n *node, name []byte, keys []string, s *scanner) error {
	ahead := *s
	r.found = slices.Grow(r.found[:0], len(keys))[:len(keys)]
	clear(r.found)
	if err := ahead.keys(keys, r.found); err != nil {
		return err
	}
	r.scratch = append(r.scratch[:0], name...)
	for i, k := range keys {
		if r.found[i] == nil {
			continue
		}
		r.scratch = append(append(append(r.scratch, '['), k...), '=')
		r.scratch = append(append(r.scratch, r.found[i]...), ']')
	}
	c, ok := n.children[string(r.scratch)]
	if !ok {
		e := mapping.Element{Name: string(name)}
		for i, k := range keys {
			if r.found[i] != nil {
				e.Keys = append(e.Keys, mapping.Binding{Name: k, Value: string(r.found[i])})
			}
		}
		c = r.child(n, e)
	}
	if c == nil {
		r.drop(collectors.Unknown)
		return s.skip()
	}
	return r.object(c, s)
}

// array reads values that have no keys: a list of one value is that value.
func (r *reader) array(n *node, s *scanner) error {
	if n.leaf == nil {
		r.drop(collectors.Unknown)
		return s.skip()
	}
	s.i++
	s.space()
	if s.take(']') {
		r.set(n.leaf, scalar{})
		return nil
	}
	v, err := s.scalar()
	if err != nil {
		// An array of arrays or objects is no leaf-list.
		return err
	}
	s.space()
	if s.take(']') {
		r.set(n.leaf, v)
		return nil
	}
	many := leafList{r: r, n: n}
	many.add(v)
	for s.take(',') {
		s.space()
		if v, err = s.scalar(); err != nil {
			return err
		}
		many.add(v)
		s.space()
	}
	if !s.take(']') {
		return errJSON
	}
	many.set()
	return nil
}

// scanner reads JSON without keeping any of it.
type scanner struct {
	b     []byte
	i     int
	depth int
}

func (s *scanner) space() {
	for s.i < len(s.b) && (s.b[s.i] == ' ' || s.b[s.i] == '\n' || s.b[s.i] == '\t' || s.b[s.i] == '\r') {
		s.i++
	}
}

// peek returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	if s.i < len(s.b) {
		return s.b[s.i]
	}
	return 0
}

func (s *scanner) take(c byte) bool {
	if s.peek() != c || s.i >= len(s.b) {
		return false
	}
	s.i++
	return true
}

// text reads a string; only one with escapes is copied.
func (s *scanner) text() ([]byte, error) {
	if !s.take('"') {
		return nil, errJSON
	}
	from := s.i
	for ; s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; {
		case c == '"':
			s.i++
			return s.b[from : s.i-1], nil
		case c == '\\':
			return s.escaped(from)
		case c < ' ':
			return nil, errJSON
		}
	}
	return nil, errJSON
}

func (s *scanner) escaped(from int) ([]byte, error) {
	for ; s.i < len(s.b) && s.b[s.i] != '"'; s.i++ {
		if s.b[s.i] == '\\' {
			s.i++
		}
	}
	if s.i >= len(s.b) {
		return nil, errJSON
	}
	s.i++
	var out string
	if err := json.Unmarshal(s.b[from-1:s.i], &out); err != nil {
		return nil, errJSON
	}
	return []byte(out), nil
}

// scalar reads a string, number, true, false or null.
func (s *scanner) scalar() (scalar, error) {
	switch c := s.peek(); {
	case c == '"':
		b, err := s.text()
		return scalar{form: text, b: b}, err
	case c == '-' || c >= '0' && c <= '9':
		from := s.i
		for s.i < len(s.b) && bytes.IndexByte([]byte("+-.eE0123456789"), s.b[s.i]) >= 0 {
			s.i++
		}
		v, ok := parseNumber(s.b[from:s.i])
		if !ok {
			return scalar{}, errJSON
		}
		return v, nil
	case c == '{' || c == '[':
		return scalar{}, errJSON
	}
	for _, w := range [...]struct {
		word string
		v    scalar
	}{{"true", scalar{form: truth, u: 1}}, {"false", scalar{form: truth}}, {"null", scalar{}}} {
		if bytes.HasPrefix(s.b[s.i:], []byte(w.word)) {
			s.i += len(w.word)
			return w.v, nil
		}
	}
	return scalar{}, errJSON
}

// skip reads an unused value.
func (s *scanner) skip() error {
	open := 0
	for {
		s.space()
		switch c := s.peek(); c {
		case '{', '[':
			if open++; open+s.depth > maxDepth {
				return errJSON
			}
			s.i++
			continue
		case '}', ']':
			open--
			s.i++
		case ',', ':':
			s.i++
			if open == 0 {
				return errJSON
			}
			continue
		default:
			if _, err := s.scalar(); err != nil {
				return err
			}
		}
		if open <= 0 {
			if open < 0 {
				return errJSON
			}
			return nil
		}
	}
}

// each reads what is in brackets, separated by commas, up to the closing one.
func (s *scanner) each(end byte, read func() error) error {
	if s.depth++; s.depth > maxDepth {
		return errJSON
	}
	s.i++
	s.space()
	for more := !s.take(end); more; {
		if err := read(); err != nil {
			return err
		}
		s.space()
		if more = s.take(','); !more && !s.take(end) {
			return errJSON
		}
		s.space()
	}
	s.depth--
	return nil
}

// members reads the members of an object, each up to its value.
func (s *scanner) members(read func(name []byte) error) error {
	return s.each('}', func() error {
		name, err := s.text()
		if err != nil {
			return err
		}
		if s.space(); !s.take(':') {
			return errJSON
		}
		s.space()
		return read(name)
	})
}

// keys reads an object for the values of some members.
func (s *scanner) keys(want []string, found [][]byte) error {
	return s.members(func(name []byte) error {
		from := s.i
		if err := s.skip(); err != nil {
			return err
		}
		for i, k := range want {
			if string(name) == k || found[i] == nil && mapping.Unqualified(string(name)) == k {
				found[i] = bytes.Trim(s.b[from:s.i], `"`)
			}
		}
		return nil
	})
}
