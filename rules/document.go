package rules

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

//go:generate go test . -run TestTheDocIsCurrent -update

// WriteDoc writes the page that lists the signatures, by domain and name, and
// the measures that clues may use. Equal sets give equal pages.
func WriteDoc(w io.Writer, sigs []explain.Signature) error {
	p := &page{w: w}
	p.f("<!-- Written from rules/signatures by `make generate`. Do not edit. -->\n\n# Signatures\n\n")
	p.f("A signature is a named fault as data: what speaks for it, what speaks against it, which metrics it needs to be told " +
		"from its look-alikes, and what to do. A clue's measure is read for a candidate root. It adds *for* to the candidate's " +
		"log-odds at or beyond *full*, *against* at or before *none*, and a mix in between; *none* above *full* means that less " +
		"is more. A required clue that is absent or cannot be seen rules the signature out.\n\n")
	p.index(sigs)
	for _, d := range telemetry.Domains() {
		if !slices.ContainsFunc(sigs, func(s explain.Signature) bool { return s.Domain == d }) {
			continue
		}
		p.f("## %s\n\n", d)
		for _, s := range byName(sigs) {
			if s.Domain == d {
				p.signature(&s)
			}
		}
	}
	p.measures()
	return p.err
}

func byName(sigs []explain.Signature) []explain.Signature {
	s := slices.Clone(sigs)
	slices.SortFunc(s, func(a, b explain.Signature) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// page writes until the first error.
type page struct {
	w   io.Writer
	err error
}

func (p *page) f(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

func (p *page) index(sigs []explain.Signature) {
	p.f("| signature | domain | expect | root |\n|---|---|---|---|\n")
	for _, s := range byName(sigs) {
		p.f("| [%s](#%s) | %s | %s | %s |\n", s.Name, s.Name, s.Domain, s.Expect, joined(s.Roots))
	}
	p.f("\n")
}

func (p *page) signature(s *explain.Signature) {
	p.f("### %s\n\n", s.Name)
	if s.Doc != "" {
		p.f("%s\n\n", s.Doc)
	}
	p.f("Expect: %s. Root: %s. Prior: %g.", s.Expect, joined(s.Roots), s.Prior)
	if len(s.Family) > 0 {
		p.f(" Looks like: %s (without the metrics below the answer is %s).", strings.Join(others(s), ", "), s.Family[0])
	}
	p.f("\n\nIt says: “%s”\n\n", s.Sentence)
	p.f("| clue | measure | none | full | for | against | why |\n|---|---|---|---|---|---|---|\n")
	for _, c := range s.Clues {
		name := c.Name
		if c.Required {
			name += " (required)"
		}
		p.f("| %s | `%s` | %g | %g | %+g | %+g | %s |\n", name, c.Measure, c.None, c.Full, c.For, c.Against, cell(c.Why))
	}
	p.f("\n")
	for _, n := range s.Needs {
		p.f("- needs `%s` of the %s, to tell %s\n", n.Metric, n.On, n.WouldTell)
	}
	for _, a := range s.Actions {
		p.f("- **%s** the %s: %s\n", a.Kind, a.Target, a.Text)
	}
	if len(s.Needs)+len(s.Actions) > 0 {
		p.f("\n")
	}
}

func others(s *explain.Signature) (out []string) {
	for _, f := range s.Family {
		if f != s.Name {
			out = append(out, f)
		}
	}
	return out
}

func (p *page) measures() {
	p.f("## Measures\n\n| measure | unit | meaning |\n|---|---|---|\n")
	for _, m := range explain.Measures() {
		p.f("| `%s` | %s | %s |\n", m.Name, m.Unit, cell(m.Doc))
	}
}

func joined(kinds []telemetry.Kind) string {
	var s []string
	for _, k := range kinds {
		s = append(s, string(k))
	}
	return strings.Join(s, ", ")
}

// cell makes text fit into a table.
func cell(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, "|", `\|`), "\n", " ") }
