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
// the measures that features may use. Equal sets give equal pages.
func WriteDoc(w io.Writer, sigs []explain.Signature) error {
	p := &page{w: w}
	p.f("<!-- Written from rules/signatures by `make generate`. Do not edit. -->\n\n# Signatures\n\n")
	p.f("A signature is a named fault as data: the evidence for it, the evidence against it, which metrics are needed to distinguish it " +
		"from its look-alikes, and what to do. A feature is a [measure](#measures) or a [reading](#readings) of the candidate root or of " +
		"what is around it. It adds *for* to the candidate's " +
		"log-odds at or beyond *full*, *against* at or before *none*, and a mix in between; *none* above *full* means that less " +
		"is more. A required feature that is absent or cannot be seen rules the signature out; so do those of which either is required, all together. A feature with roots of its own applies to those alone.\n\n")
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
	p.readings()
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

// needed returns the evidence that an incident needs in addition to a signature
// that corroborates.
func needed(s *explain.Signature) string {
	step, several := "that has ended ", ", or several that are a little slow, are"
	switch {
	case s.CorroboratesAtOnce:
		step = ""
	case s.Domain == telemetry.Software:
		return "Two slow steps in addition to it, or several that are a little slow, are enough to open an incident."
	case slices.ContainsFunc(s.Features, func(c explain.Feature) bool { return c.Measure == explain.Explained }):
		step = "that has ended (or goes on, where traffic waits there as it did not before) "
	}
	if s.Domain == telemetry.Network {
		several = " is"
	}
	return fmt.Sprintf("One certainly slow step %sin addition to it%s enough to open an incident.", step, several)
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
	if s.Together {
		p.f(" Roots that show it alike have it together: they are one place.")
	}
	if s.Corroborates {
		p.f(" %s", needed(s))
	}
	p.f("\n\nIts sentence: “%s”\n\n", s.Sentence)
	if x := s.Precursor; x != nil {
		p.f("Its feature %s, fully there, opens a risk before any job is degraded: “%s”", strings.Join(x.Features, " or "), x.Sentence)
		if x.Load != "" {
			p.f(" It opens none where %s moved the same way.", x.Load)
		}
		if len(x.While) > 0 {
			p.f(" Nor does it where one of %s is reported and not fully there.", strings.Join(x.While, ", "))
		}
		if x.Lasts > 0 {
			p.f(" It must have been there for %s.", x.Lasts)
		}
		if x.Until != "" {
			p.f(" The risk states when the first %s behind its root reaches 0, at the rate at which it falls.", x.Until)
		}
		p.f("\n\n")
	}
	p.f("| feature | of | none | full | for | against | why |\n|---|---|---|---|---|---|---|\n")
	for _, c := range s.Features {
		name := c.Name
		if c.Required {
			name += " (required)"
		}
		if c.Either {
			name += " (this or another such is required)"
		}
		if c.Roots != nil {
			name += " (of a root that is " + joined(c.Roots) + ")"
		}
		p.f("| %s | %s | %g | %g | %+g | %+g | %s |\n", name, source(&c), c.None, c.Full, c.For, c.Against, cell(c.Why))
	}
	p.f("\n")
	for _, n := range s.Needs {
		p.f("- needs `%s` of the %s, to distinguish %s\n", n.Metric, n.On, n.WouldTell)
	}
	for _, a := range s.Actions {
		p.f("- **%s** the %s: %s\n", a.Kind, a.Target, a.Text)
	}
	if len(s.Needs)+len(s.Actions) > 0 {
		p.f("\n")
	}
}

// source states what a feature's value is read from.
func source(c *explain.Feature) string {
	x := c.Reading
	switch {
	case x == nil:
		return "`" + string(c.Measure) + "`"
	case x.Event != "" && x.Text != "":
		return fmt.Sprintf("events `%s` “%s” of %s", x.Event, x.Text, whom(x))
	case x.Event != "" && x.Take == explain.TakeBefore:
		return fmt.Sprintf("events `%s` before it of %s", x.Event, whom(x))
	case x.Event != "":
		return fmt.Sprintf("events `%s` of %s", x.Event, whom(x))
	case x.Take == explain.TakeBits:
		return fmt.Sprintf("`%s` bits %#x of %s", x.Metric, x.Bits, whom(x))
	}
	return fmt.Sprintf("`%s` %s of %s", x.Metric, x.Take, whom(x))
}

// whom names the entities that a reading is of.
func whom(x *explain.Reading) string {
	of := string(x.Of)
	if x.Kind != "" && x.Of != explain.OfRanks {
		of += " " + string(x.Kind)
	}
	switch {
	case x.Above != nil:
		return fmt.Sprintf("%s, share above %g", of, *x.Above)
	case x.Below != nil:
		return fmt.Sprintf("%s, share below %g", of, *x.Below)
	case x.Among != "":
		return of + ", " + string(x.Among)
	}
	return of
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

// readings describes what a feature may read from telemetry itself.
func (p *page) readings() {
	p.f("\n## Readings\n\nA feature that has no `measure` reads one metric, or counts one kind of event, of the candidate root or of what " +
		"is around it in the topology, during the job's degradation against the time before it. Only metrics whose past is kept grid by grid, " +
		"and those of a job's steps, can be read. A reading is one pass over a bounded list: it cannot loop.\n\n" +
		"```yaml\n- name: plates-hot\n  metric: gpu_temperature_celsius   # or event: xid, and text: \"79\" for what its text begins with\n" +
		"  of: under                         # whose; root if it is left out\n  kind: gpu                         # with under, over, beside\n" +
		"  take: shift                       # what number is made of one entity's metric\n" +
		"  among: share                      # how the numbers of many become one; median if it is left out\n" +
		"  above: 5                          # or below, with among share\n  none: 0.2\n  full: 0.8\n  for: 4\n  against: -6\n" +
		"  why: \"{value|percent} of the GPUs on it are hotter\"\n```\n\n" +
		"`bits` belongs to `take: bits` and is a mask, decimal or after `0x`. Texts may name a feature of their signature, `{plates-hot}`, and, " +
		"of the root's own metrics, what it read before and now: `{flow-fell.before}`, `{flow-fell.now}`. " +
		"Peers are the entities of the same kind that the degraded job uses, or, where it uses fewer than four, its siblings in the topology.\n\n")
	words(p, "of", explain.Scopes())
	words(p, "take", explain.Takes())
	words(p, "among", explain.Amongs())
}

func words[T any](p *page, key string, docs []explain.WordDoc[T]) {
	p.f("| %s | meaning |\n|---|---|\n", key)
	for _, d := range docs {
		p.f("| `%s` | %s |\n", d.Text, cell(d.Doc))
	}
	p.f("\n")
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
