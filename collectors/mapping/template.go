package mapping

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/telemetry"
)

// Template is text with variables. It makes a text of their values, and the other way
// round: it finds their values in a text.
//
//	{name}     a value; in a text that is matched, any text
//	{#name}    digits
//	{}         any text, which is not used; so is * in a selector
//	{a|b}      the value of the first of several variables that has one
//	{t:name}   what the table t has for a value
//	{.A.B}     a property of a document
type Template []Slot

// Slot is a piece of a template: text, or a variable.
type Slot struct {
	Text   string   // of a piece that is no variable
	Names  []string // of the variable, the first that has a value counts
	Table  string   // that a value is looked up in; "" none
	digits bool
}

// Variable reports whether the slot is one.
func (s *Slot) Variable() bool { return s.Text == "" }

// Binding is a variable and its value, or a key of a path's element.
type Binding struct{ Name, Value string }

// Bound returns the value of a variable.
func Bound(vars []Binding, name string) (string, bool) {
	for _, v := range vars {
		if v.Name == name {
			return v.Value, true
		}
	}
	return "", false
}

// Set reads a template.
func (t *Template) Set(s string) error { return t.read(s, "{") }

// read reads a template whose variables begin with one of some characters.
func (t *Template) read(s, begin string) error {
	*t = nil
	for s != "" {
		i := strings.IndexAny(s, begin)
		if i < 0 {
			i = len(s)
		}
		if i > 0 {
			*t, s = append(*t, Slot{Text: s[:i]}), s[i:]
			continue
		}
		inside, rest, ok := "", s[1:], true
		if s[0] != '*' {
			inside, rest, ok = strings.Cut(s[1:], "}")
		}
		if !ok || strings.ContainsAny(inside, "{/[]= ") {
			return fmt.Errorf("%.80q: want a variable between { and }", s)
		}
		*t, s = append(*t, slotOf(inside)), rest
	}
	return nil
}

func slotOf(inside string) Slot {
	name, digits := strings.CutPrefix(inside, "#")
	if former, ok := strings.CutSuffix(name, ":digits"); ok {
		name, digits = former, true
	}
	table, rest, ok := strings.Cut(name, ":")
	if !ok {
		table, rest = "", name
	}
	return Slot{Names: strings.Split(rest, "|"), Table: table, digits: digits}
}

// Variables lists the names of the variables.
func (t Template) Variables() (out []string) {
	for i := range t {
		for _, name := range t[i].Names {
			if name != "" {
				out = append(out, name)
			}
		}
	}
	return out
}

// Fill writes the template; false where a variable has no value.
func (t Template) Fill(value func(table, name string) (string, bool)) (string, bool) {
	var b strings.Builder
	for i := range t {
		b.WriteString(t[i].Text)
		known := t[i].Variable()
		for _, name := range t[i].Names {
			var v string
			if v, known = value(t[i].Table, name); known {
				b.WriteString(v)
				break
			}
		}
		if !known && t[i].Variable() {
			return "", false
		}
	}
	return b.String(), true
}

// Match binds the variables so that the template reads s. One that is bound already
// has to have that value. The bindings given are not changed. Fold compares letters of
// either case as the same.
func (t Template) Match(s string, vars []Binding, fold bool) ([]Binding, bool) {
	for i := range t {
		if !t[i].Variable() {
			n := len(t[i].Text)
			if len(s) < n || s[:n] != t[i].Text && !(fold && strings.EqualFold(s[:n], t[i].Text)) {
				return nil, false
			}
			s = s[n:]
			continue
		}
		n := t.taken(i, s, fold)
		if n <= 0 {
			return nil, false
		}
		name, got := t[i].Names[0], s[:n]
		s = s[n:]
		switch was, ok := Bound(vars, name); {
		case name == "":
		case !ok:
			vars = append(slices.Clip(vars), Binding{name, got})
		case was != got:
			return nil, false
		}
	}
	return vars, s == ""
}

// taken is how much of s the variable at i matches: to the next text; the last one to
// the end.
func (t Template) taken(i int, s string, fold bool) int {
	if t[i].digits {
		return len(s) - len(strings.TrimLeft(s, "0123456789"))
	}
	if i+1 == len(t) {
		return len(s)
	}
	next := t[i+1].Text
	if i+2 < len(t) {
		return strings.Index(s, next)
	}
	n := len(s) - len(next)
	if n < 0 || s[n:] != next && !(fold && strings.EqualFold(s[n:], next)) {
		return -1
	}
	return n
}

// Selector is a template that texts are matched against.
type Selector struct{ Template }

var errSideBySide = errors.New("two variables side by side")

// Set reads a selector.
func (x *Selector) Set(s string) error {
	if err := x.read(s, "{*"); err != nil {
		return err
	}
	for i := range x.Template {
		if i > 0 && x.Template[i].Variable() && x.Template[i-1].Variable() {
			return fmt.Errorf("%.80q: %w", s, errSideBySide)
		}
	}
	return nil
}

// EntityTemplate makes an entity: kind:name, or one of a few words that a protocol
// has for an entity that it knows already.
type EntityTemplate struct {
	Word string         // "" where the entity is made
	Kind telemetry.Kind // of what is made
	Name Template
}

// entityWords stand for an entity that is known already: self for the source (switch,
// where a switch is read), entity for that of the rule.
var entityWords = []string{"self", "switch", "entity"}

// Set reads the template of an entity.
func (t *EntityTemplate) Set(s string) error {
	*t = EntityTemplate{}
	if slices.Contains(entityWords, s) {
		t.Word = s
		return nil
	}
	kind, name, _ := strings.Cut(s, ":")
	t.Kind = telemetry.Kind(kind)
	if !slices.Contains(telemetry.Kinds(), t.Kind) || name == "" {
		return fmt.Errorf("%.80q: want kind:name with a kind of entity", s)
	}
	return t.Name.Set(name)
}

// Entity fills the template; false where a variable has no value or the name is
// invalid.
func (t *EntityTemplate) Entity(value func(table, name string) (string, bool)) (telemetry.Entity, bool) {
	name, ok := t.Name.Fill(value)
	e := telemetry.Entity{Kind: t.Kind, Name: name}
	return e, ok && e.Validate() == nil
}
