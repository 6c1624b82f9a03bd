package match

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// The operators.
const (
	Equal    = "="
	NotEqual = "!="
	Regex    = "=~"
	NotRegex = "!~"
)

// Bounds of matchers.
const (
	MaxMatchers = 32
	maxValue    = 1000 // bytes
)

// Matcher is one condition. The zero Matcher is not valid.
type Matcher struct {
	Name, Op, Value string

	pattern *regexp.Regexp // of values; nil where they are compared as they are
}

// New returns a matcher, or an error if it is invalid.
func New(name, op, value string) (Matcher, error) {
	m := Matcher{Name: name, Op: op, Value: value}
	switch {
	case !slices.Contains(Names(), name):
		return m, fmt.Errorf("name %.40q: want one of %s", name, strings.Join(Names(), ", "))
	case !slices.Contains([]string{Equal, NotEqual, Regex, NotRegex}, op):
		return m, fmt.Errorf("op %.10q: want =, !=, =~ or !~", op)
	case len(value) > maxValue:
		return m, fmt.Errorf("value: longer than %d bytes", maxValue)
	}
	var err error
	switch {
	case op == Regex || op == NotRegex:
		m.pattern, err = regexp.Compile("^(?s:" + value + ")$")
	case strings.Contains(value, "*"):
		m.pattern, err = regexp.Compile("^(?s:" + strings.ReplaceAll(regexp.QuoteMeta(value), `\*`, ".*") + ")$")
	}
	if err != nil {
		return m, fmt.Errorf("value %.80q: not a regular expression", value)
	}
	return m, nil
}

// Set reads a matcher as Parse does.
func (m *Matcher) Set(text string) (err error) {
	*m, err = Parse(text)
	return err
}

// notation is name, operator and value, which may be quoted.
var notation = regexp.MustCompile(`^\s*([a-z]+)\s*(=~|!~|!=|=)\s*(.*?)\s*$`)

// Parse reads a matcher as written in a configuration: severity=critical,
// entity=~"switch:.*".
func Parse(text string) (Matcher, error) {
	parts := notation.FindStringSubmatch(text)
	if parts == nil {
		return Matcher{}, fmt.Errorf("matcher %.80q: want a name, =, !=, =~ or !~, and a value", text)
	}
	value := parts[3]
	if strings.HasPrefix(value, `"`) {
		if len(value) < 2 || !strings.HasSuffix(value, `"`) {
			return Matcher{}, fmt.Errorf("matcher %.80q: a quotation mark is missing", text)
		}
		value = value[1 : len(value)-1]
	}
	m, err := New(parts[1], parts[2], value)
	if err != nil {
		return m, fmt.Errorf("matcher %.80q: %w", text, err)
	}
	return m, nil
}

// String returns the matcher as Parse reads it.
func (m Matcher) String() string { return m.Name + m.Op + `"` + m.Value + `"` }

// Matches reports whether the facts fulfil m.
func (m Matcher) Matches(f Facts) bool {
	values := f.values[m.Name]
	if len(values) == 0 {
		values = []string{""}
	}
	return slices.ContainsFunc(values, m.matchesValue) == (m.Op == Equal || m.Op == Regex)
}

// matchesValue reports whether one value is meant, whatever follows from that.
func (m Matcher) matchesValue(value string) bool {
	if m.pattern != nil {
		return m.pattern.MatchString(value)
	}
	return value == m.Value
}

// stated is a matcher as JSON.
type stated struct {
	Name  string `json:"name"`
	Op    string `json:"op"`
	Value string `json:"value"`
}

// MarshalJSON implements json.Marshaler.
func (m Matcher) MarshalJSON() ([]byte, error) { return json.Marshal(stated{m.Name, m.Op, m.Value}) }

// UnmarshalJSON implements json.Unmarshaler. An operator that is not stated is =.
func (m *Matcher) UnmarshalJSON(b []byte) error {
	s := stated{Op: Equal}
	if err := json.Unmarshal(b, &s); err != nil {
		return errors.New("want an object of name, op and value")
	}
	var err error
	*m, err = New(s.Name, s.Op, s.Value)
	return err
}

// Matchers are conditions of which all must hold. None hold for everything.
type Matchers []Matcher

// Match reports whether the facts fulfil all.
func (ms Matchers) Match(f Facts) bool {
	for _, m := range ms {
		if !m.Matches(f) {
			return false
		}
	}
	return true
}

// String lists the matchers.
func (ms Matchers) String() string {
	parts := make([]string, len(ms))
	for i, m := range ms {
		parts[i] = m.String()
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// Owner is a team and what is its business.
type Owner struct {
	// Name is the team's.
	Name string `yaml:"name"`
	// Match selects the incidents that are its business.
	Match Matchers `yaml:"matchers" was:"match" max:"32"`
}

// Owned returns the facts with the teams whose business they are.
func Owned(f Facts, owners []Owner) Facts {
	for _, o := range owners {
		if o.Match.Match(f) {
			f = f.With(Team, o.Name)
		}
	}
	return f
}
