package mapping

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/settings"
)

// Header is what every mapping file has, whatever the protocol.
type Header struct {
	// Name is the file's, for people.
	Name string `yaml:"mapping" was:"profile" max:"100"`
	// About describes what it maps.
	About string `yaml:"about"`
	// Version is that of the language.
	Version int `yaml:"version" default:"1" max:"1"`
}

// Former is a file with keys that have other names now.
type Former struct {
	Path string
	Keys []settings.Renamed
}

// Formers lists the files with former keys. A collector embeds it: what is listed is a
// warning about its entry.
type Formers []Former

// FormerKeys returns the list.
func (f Formers) FormerKeys() []Former { return f }

// MaxFile bounds a mapping file, in bytes.
const MaxFile = 1 << 20

// DecodeFile decodes a file of a user's. Errors name file, line and column.
func (f *Formers) DecodeFile(path string, to any) error {
	b, err := settings.ReadFile(path, MaxFile)
	if err != nil {
		return err
	}
	keys, err := Decode(b, to)
	if len(keys) > 0 {
		*f = append(*f, Former{path, keys})
	}
	return at(path, err)
}

// Load reads the files of a user's, which come first, and those that come with the
// program.
func Load[T any](paths []string, own ...[]byte) (all []T, former Formers, err error) {
	all = make([]T, len(paths)+len(own))
	for i, p := range paths {
		err = errors.Join(err, former.DecodeFile(p, &all[i]))
	}
	for i, b := range own {
		_, wrong := Decode(b, &all[len(paths)+i])
		err = errors.Join(err, wrong)
	}
	return all, former, err
}

// at prefixes every problem with a file's name.
func at(path string, err error) error {
	if err == nil {
		return nil
	}
	var out []error
	for line := range strings.Lines(err.Error()) {
		out = append(out, errors.New(path+":"+strings.TrimSuffix(line, "\n")))
	}
	return errors.Join(out...)
}

// Decode reads a mapping file into the struct that to points to, and returns the former
// keys that it has. The error joins a *settings.Problem for everything that is wrong.
func Decode(text []byte, to any) ([]settings.Renamed, error) {
	root, err := settings.Document(string(text))
	if err != nil {
		return nil, err
	}
	former := Rename(root, to)
	return former, settings.Decode("", root, to)
}

// Rename gives the former keys of a document the names that they have now, and the
// readings of a rule, which were keys and values, the form of a list.
func Rename(root *yaml.Node, of any) []settings.Renamed {
	if root == nil {
		return nil
	}
	unfold(root)
	return settings.Rename(root, of)
}

// unfold makes a list of the keys and values of "leaves".
func unfold(n *yaml.Node) {
	for i, x := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 && n.Content[i-1].Value == "leaves" && x.Kind == yaml.MappingNode {
			x.Kind, x.Tag, x.Content = yaml.SequenceNode, "!!seq", items(x)
		}
		unfold(x)
	}
}

// items makes of every key and its value an item with the key from.
func items(n *yaml.Node) (out []*yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		word := func(text string) *yaml.Node {
			return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Line: k.Line, Column: k.Column}
		}
		item := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: yaml.FlowStyle, Line: k.Line, Column: k.Column, HeadComment: k.HeadComment, LineComment: v.LineComment}
		from := *k
		from.HeadComment = ""
		item.Content = []*yaml.Node{word("from"), &from}
		switch {
		case v.Kind == yaml.MappingNode:
			item.Content = append(item.Content, v.Content...)
		case v.Value == "ignore":
			yes := word("true")
			yes.Tag = "!!bool"
			item.Content = append(item.Content, word("ignore"), yes)
		default:
			item.Content = append(item.Content, word("metric"), v)
		}
		out = append(out, item)
	}
	return out
}

// Whole is a regular expression for the whole of a text. An empty one is that of what
// is not there.
type Whole struct{ *regexp.Regexp }

// Blank marks an expression that may be empty.
func (w *Whole) Blank() {}

// Set reads an expression.
func (w *Whole) Set(text string) (err error) {
	if len(text) > 400 {
		return fmt.Errorf("%d bytes, want at most 400", len(text))
	}
	w.Regexp, err = regexp.Compile("^(?:" + text + ")$")
	return err
}

// Expression is a regular expression that is found anywhere in a text.
type Expression struct{ *regexp.Regexp }

// Set reads an expression.
func (e *Expression) Set(text string) (err error) {
	e.Regexp, err = regexp.Compile(text)
	return err
}

// Glob is a pattern of a whole name, in which * is any text and ? a character.
type Glob string

// Set reads a pattern.
func (g *Glob) Set(text string) error {
	*g = Glob(text)
	_, err := path.Match(text, "")
	return err
}

// Match reports whether a name is one of those.
func (g Glob) Match(name string) bool {
	ok, _ := path.Match(string(g), name)
	return ok
}

// Where are names of texts, each with the expressions of which one has to match.
type Where map[string][]Whole

// Match returns the named groups of the expressions that match; false where of a text
// none does.
func (w Where) Match(text func(name string) string) (vars []Binding, ok bool) {
	for _, name := range slices.Sorted(maps.Keys(w)) {
		t := text(name)
		i := slices.IndexFunc(w[name], func(x Whole) bool { return x.MatchString(t) })
		if i < 0 {
			return nil, false
		}
		vars = append(vars, w[name][i].groups(t)...)
	}
	return vars, true
}

// groups are the named groups of an expression in a text that it matches.
func (w *Whole) groups(text string) (out []Binding) {
	if w.NumSubexp() == 0 {
		return nil
	}
	found := w.FindStringSubmatch(text)
	for i, name := range w.SubexpNames() {
		if name != "" && found[i] != "" {
			out = append(out, Binding{name, found[i]})
		}
	}
	return out
}

// Blanks returns the ranges of numbers that mean that there is none.
func Blanks(ranges [][]Number) (out []Blank, err error) {
	for _, r := range ranges {
		if len(r) == 0 || len(r) > 2 || r[0].Float > r[len(r)-1].Float {
			return nil, settings.Errorf("blank", "want a number, or the first and the last of a range")
		}
		out = append(out, Blank{r[0].Float, r[len(r)-1].Float, len(r) == 1})
	}
	return out, nil
}
