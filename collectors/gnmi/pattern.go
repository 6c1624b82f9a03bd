package gnmi

import (
	"fmt"
	"slices"
	"strings"
)

// element is one step of a concrete path.
type element struct {
	name string
	keys []binding // by name
}

// binding is a name and its value: a key of an element, a variable of a pattern.
type binding struct{ name, value string }

// appendID writes an element so that different ones differ.
func (e element) appendID(b []byte) []byte {
	b = append(b, e.name...)
	for _, k := range e.keys {
		b = append(append(append(append(b, '['), k.name...), '='), k.value...)
		b = append(b, ']')
	}
	return b
}

// template is text with variables: {port} matches any text, {#queue} digits, {}
// text that is not used. All other characters are literal, an asterisk too.
type template []piece

type piece struct {
	text     string // literal; "" of a variable
	variable string
	digits   bool
}

func (p piece) captures() bool { return p.text == "" }

func parseTemplate(s string) (template, error) {
	var t template
	for s != "" {
		i := strings.IndexByte(s, '{')
		if i < 0 {
			i = len(s)
		}
		if i > 0 {
			t = append(t, piece{text: s[:i]})
			s = s[i:]
			continue
		}
		j := strings.IndexByte(s, '}')
		if j < 0 {
			return nil, fmt.Errorf("%q: a { without its }", s)
		}
		if n := len(t); n > 0 && t[n-1].captures() {
			return nil, fmt.Errorf("%q: two variables side by side", s)
		}
		name, digits := strings.CutPrefix(s[1:j], "#")
		if strings.ContainsAny(name, "{/[]= ") {
			return nil, fmt.Errorf("%q: not the name of a variable", name)
		}
		t = append(t, piece{variable: name, digits: digits})
		s = s[j+1:]
	}
	return t, nil
}

// variables lists the names that t binds.
func (t template) variables() (out []string) {
	for _, p := range t {
		if p.captures() && p.variable != "" {
			out = append(out, p.variable)
		}
	}
	return out
}

// match binds t's variables so that it reads s. A variable that is bound
// already has to have that value. The bindings given are not changed.
func (t template) match(s string, vars []binding) ([]binding, bool) {
	for i, p := range t {
		if !p.captures() {
			rest, ok := strings.CutPrefix(s, p.text)
			if !ok {
				return nil, false
			}
			s = rest
			continue
		}
		n := t.taken(i, s)
		if n <= 0 {
			return nil, false
		}
		got := s[:n]
		s = s[n:]
		if p.variable == "" {
			continue
		}
		if was, ok := bound(vars, p.variable); ok {
			if was != got {
				return nil, false
			}
			continue
		}
		vars = append(slices.Clip(vars), binding{p.variable, got})
	}
	return vars, s == ""
}

// taken is how much of s the variable at i matches: to the next literal; the last
// one to the end.
func (t template) taken(i int, s string) int {
	if t[i].digits {
		n := 0
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		return n
	}
	switch {
	case i+1 == len(t):
		return len(s)
	case i+2 == len(t):
		if !strings.HasSuffix(s, t[i+1].text) {
			return -1
		}
		return len(s) - len(t[i+1].text)
	}
	return strings.Index(s, t[i+1].text)
}

// fill writes t with its variables' values; false where one is not bound.
func (t template) fill(vars []binding, as func(binding) string) (string, bool) {
	var b strings.Builder
	for _, p := range t {
		if !p.captures() {
			b.WriteString(p.text)
			continue
		}
		v, ok := bound(vars, p.variable)
		if !ok {
			return "", false
		}
		b.WriteString(as(binding{p.variable, v}))
	}
	return b.String(), true
}

func bound(vars []binding, name string) (string, bool) {
	for _, v := range vars {
		if v.name == name {
			return v.value, true
		}
	}
	return "", false
}

// step is an element of a pattern.
type step struct {
	text string // as it was written
	name template
	keys []keyTemplate
}

type keyTemplate struct {
	key   string
	value template
}

// match binds s's variables so that it reads e. What a module's name and a colon
// precede is read without them too, as RFC 7951 writes names. Keys that s does
// not name are not looked at.
func (s *step) match(e element, vars []binding) ([]binding, bool) {
	out, ok := s.name.match(e.name, vars)
	if !ok {
		out, ok = s.name.match(unqualified(e.name), vars)
	}
	if !ok {
		return nil, false
	}
	for _, k := range s.keys {
		v, given := bound(e.keys, k.key)
		if !given {
			return nil, false
		}
		if out, ok = k.value.match(v, out); !ok {
			return nil, false
		}
	}
	return out, true
}

// unqualified takes a module's name off.
func unqualified(s string) string {
	if i := strings.IndexByte(s, ':'); i >= 0 {
		return s[i+1:]
	}
	return s
}

// parsePattern reads a path such as /interfaces/interface[name={port}]/state.
func parsePattern(s string) ([]step, error) {
	parts, err := splitPath(s)
	if err != nil {
		return nil, err
	}
	var out []step
	for _, p := range parts {
		st := step{text: p.text}
		if st.name, err = parseTemplate(p.name); err != nil {
			return nil, err
		}
		for _, k := range p.keys {
			v, err := parseTemplate(k.value)
			if err != nil {
				return nil, err
			}
			st.keys = append(st.keys, keyTemplate{k.name, v})
		}
		out = append(out, st)
	}
	return out, nil
}

// pathPart is an element as it is written in a path.
type pathPart struct {
	text, name string
	keys       []binding
}

// splitPath cuts a path at its slashes, those in brackets left out.
func splitPath(s string) (out []pathPart, err error) {
	rest := strings.TrimPrefix(s, "/")
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
		p := pathPart{text: rest[:n]}
		rest = strings.TrimPrefix(rest[n:], "/")
		var keys string
		p.name, keys, _ = strings.Cut(p.text, "[")
		if p.name == "" {
			return nil, fmt.Errorf("%q: an element without a name", s)
		}
		for keys != "" {
			one, more, ok := strings.Cut(keys, "]")
			k, v, eq := strings.Cut(one, "=")
			if !ok || !eq || k == "" || v == "" || more != "" && more[0] != '[' {
				return nil, fmt.Errorf("%q: want [key=value]", p.text)
			}
			p.keys = append(p.keys, binding{k, v})
			keys = strings.TrimPrefix(more, "[")
		}
		slices.SortFunc(p.keys, func(a, b binding) int { return strings.Compare(a.name, b.name) })
		out = append(out, p)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%q: no path", s)
	}
	return out, nil
}

// pattern is a node of the profile's tree: what may follow, and what it means to
// end here.
type pattern struct {
	edges []edge
	rules []*rule
}

type edge struct {
	step step
	to   *pattern
}

// grow returns the node that steps lead to, which it makes.
func (p *pattern) grow(steps []step) *pattern {
	for _, s := range steps {
		i := slices.IndexFunc(p.edges, func(e edge) bool { return e.step.text == s.text })
		if i < 0 {
			i = len(p.edges)
			p.edges = append(p.edges, edge{s, &pattern{}})
		}
		p = p.edges[i].to
	}
	return p
}
