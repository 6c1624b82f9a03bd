package mapping

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/collectors"
)

// Read returns the mapper of files of a user's, which come first, and of named
// ones that come with this package; all of those where names is nil.
func Read(paths, names []string) (*Mapper, error) {
	if names == nil {
		names = Names()
	}
	var own [][]byte
	for _, name := range names {
		b, err := shipped(name)
		if err != nil {
			return nil, err
		}
		own = append(own, b)
	}
	all, former, err := Load[Document](paths, own...)
	if err != nil {
		return nil, err
	}
	var files []*File
	for i := range all {
		files = append(files, all[i].file)
	}
	m := NewMapper(files...)
	m.Formers = former
	return m, nil
}

// Mapper finds the rules for a series. It is safe for concurrent use.
type Mapper struct {
	Formers
	exact    map[string][]known
	patterns []patterned
}

// known is a rule, of which file, and which of its names a name is.
type known struct {
	rule *rule
	file int
	rank int
	role role
}

// patterned is a rule and one of its patterns.
type patterned struct {
	known
	pattern Whole
}

// NewMapper returns the mapper of some files. An earlier file takes precedence over
// a later one.
func NewMapper(files ...*File) *Mapper {
	m := &Mapper{exact: map[string][]known{}}
	for i, f := range files {
		for _, r := range f.rules {
			m.add(r, i)
		}
	}
	return m
}

func (m *Mapper) add(r *rule, file int) {
	for i, name := range r.names {
		if r.as == histogram {
			m.exact[name+"_bucket"] = append(m.exact[name+"_bucket"], known{r, file, i, bucket})
			m.exact[name+"_count"] = append(m.exact[name+"_count"], known{r, file, i, count})
			m.exact[name+"_sum"] = append(m.exact[name+"_sum"], known{r, file, i, sum})
			continue
		}
		m.exact[name] = append(m.exact[name], known{r, file, i, value})
	}
	if r.per != "" {
		m.exact[r.per] = append(m.exact[r.per], known{r, file, 0, divisor})
	}
	for i, p := range r.patterns {
		m.patterns = append(m.patterns, patterned{known{r, file, len(r.names) + i, value}, p})
	}
}

// Names reports whether a file names a series of this name: one that differs by
// a suffix is another.
func (m *Mapper) Names(name string) bool {
	return len(m.exact[name]) > 0 || slices.ContainsFunc(m.patterns, func(p patterned) bool { return p.pattern.MatchString(name) })
}

// find returns the rules that apply to a series; a refusal comes alone.
func (m *Mapper) find(name string, target, page []Label) (out []match, refused collectors.Reason) {
	first := math.MaxInt
	take := func(k known, p *Whole) {
		l := labelled{target: target, page: page}
		if p != nil {
			if !p.MatchString(name) {
				return
			}
			l.taken = p.groups(name)
		}
		if !k.rule.applies(&l) {
			return
		}
		if k.rule.refuse != "" {
			refused = cmp.Or(refused, k.rule.refuse)
			return
		}
		e, within, ok := k.rule.place(l)
		if !ok {
			return
		}
		first = min(first, k.file)
		out = append(out, match{k, e, within})
	}
	for _, k := range m.exact[name] {
		take(k, nil)
	}
	for _, p := range m.patterns {
		take(p.known, &p.pattern)
	}
	if refused != "" {
		return nil, refused
	}
	return slices.DeleteFunc(out, func(x match) bool { return x.file > first }), ""
}

// foreignName is the metric of a series that no file knows: its name with its
// sorted labels. A character that is not allowed in a name becomes '_'.
func foreignName(name string, labels []Label) string {
	if len(labels) == 0 {
		return name
	}
	sorted := slices.Clone(labels)
	slices.SortFunc(sorted, func(a, b Label) int { return strings.Compare(a.Name, b.Name) })
	var b strings.Builder
	b.WriteString(name)
	for i, l := range sorted {
		b.WriteString(map[bool]string{true: "{", false: ","}[i == 0])
		b.WriteString(l.Name)
		b.WriteString(`="`)
		for _, r := range l.Value {
			switch {
			case r == '"' || r == '\\':
				b.WriteByte('\\')
				b.WriteRune(r)
			case r < ' ' || r >= 0x7f && r < 0xa0:
				b.WriteByte('_')
			default:
				b.WriteRune(r)
			}
		}
		b.WriteByte('"')
	}
	b.WriteByte('}')
	return b.String()
}
