package promlint

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/rules"
	"github.com/quintet-dc/quintet/rules/prometheus"
	"github.com/quintet-dc/quintet/telemetry"
)

// File is a file to be checked.
type File struct {
	Name string
	Text []byte
}

// rule is a rule and where it is.
type rule struct {
	rulefmt.Rule
	file         string
	line, column int
	expr         parser.Expr // nil where it does not parse
}

// language returns the parser of expressions, without what is experimental:
// every Prometheus is to understand our rules.
func language() parser.Parser { return parser.NewParser(parser.Options{}) }

// ours are the rules that are part of the program.
func ours() []rule {
	var out []rule
	for _, name := range prometheus.Names() {
		text, err := fs.ReadFile(prometheus.Files(), name)
		if err != nil {
			panic(err) // the files are part of the program
		}
		read, _ := parse(File{Name: name, Text: text})
		out = append(out, read...)
	}
	return out
}

// IsRules reports whether a document is one of Prometheus rules: a mapping with
// groups at its top.
func IsRules(text []byte) bool { return has(text, "groups") }

func has(text []byte, key string) bool {
	var top map[string]yaml.Node
	if yaml.Unmarshal(text, &top) != nil {
		return false
	}
	_, ok := top[key]
	return ok
}

// Rules reports what is wrong with files of rules. What one of them records,
// another may ask for.
func Rules(v *Vocabulary, files ...File) rules.Problems {
	known := v.clone()
	var problems rules.Problems
	var all []rule
	for _, f := range files {
		read, ps := parse(f)
		problems = append(problems, ps...)
		all = append(all, read...)
	}
	known.record(all)
	for i := range all {
		problems = append(problems, known.check(&all[i])...)
	}
	slices.SortStableFunc(problems, func(a, b rules.Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return problems
}

// parse reads a file as Prometheus does.
func parse(f File) (out []rule, problems rules.Problems) {
	groups, errs := rulefmt.Parse(f.Text, false, model.UTF8Validation, language(), slog.New(slog.DiscardHandler))
	for _, err := range errs {
		problems = append(problems, located(f.Name, err))
	}
	if groups == nil {
		return nil, problems
	}
	places := places(f.Text)
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			x := rule{Rule: r, file: f.Name, line: 1, column: 1}
			if len(places) > len(out) {
				x.line, x.column = places[len(out)].Line, places[len(out)].Column
			}
			x.expr, _ = language().ParseExpr(r.Expr)
			out = append(out, x)
		}
	}
	return out, problems
}

// located turns an error of Prometheus' own reader into a problem. Its text
// begins with line:column where it knows them.
func located(file string, err error) rules.Problem {
	p := rules.Problem{File: file, Severity: rules.Error, Text: err.Error()}
	if e := (*rulefmt.Error)(nil); errors.As(err, &e) {
		p.Text = strings.TrimPrefix(p.Text, file+": ")
	}
	if _, e := fmt.Sscanf(p.Text, "%d:%d: ", &p.Line, &p.Column); e == nil {
		p.Text = strings.TrimSpace(strings.SplitN(p.Text, ":", 3)[2])
	}
	return p
}

// places are where the rules of a document are, in order.
func places(text []byte) (out []*yaml.Node) {
	var doc struct {
		Groups []struct {
			Rules []yaml.Node `yaml:"rules"`
		} `yaml:"groups"`
	}
	if yaml.Unmarshal(text, &doc) != nil {
		return nil
	}
	for i := range doc.Groups {
		for j := range doc.Groups[i].Rules {
			out = append(out, &doc.Groups[i].Rules[j])
		}
	}
	return out
}

// With returns a vocabulary that also has what files of rules record.
func (v *Vocabulary) With(files ...File) *Vocabulary {
	out := v.clone()
	var all []rule
	for _, f := range files {
		read, _ := parse(f)
		all = append(all, read...)
	}
	out.record(all)
	return out
}

func (v *Vocabulary) clone() *Vocabulary {
	out := &Vocabulary{metrics: map[string]meaning{}}
	for k, m := range v.metrics {
		out.metrics[k] = m
	}
	return out
}

// record adds what rules record, with its labels. A rule may read what another
// records, so it goes round until nothing changes.
func (v *Vocabulary) record(all []rule) {
	pending := slices.DeleteFunc(slices.Clone(all), func(r rule) bool { return r.Record == "" || r.expr == nil })
	for range len(pending) + 1 {
		rest := pending[:0:0]
		for _, r := range pending {
			if !v.knows(r.expr, pending) {
				rest = append(rest, r)
				continue
			}
			in := &inference{vocabulary: v}
			m := meaning{labels: in.of(r.expr)}
			for l := range r.Labels {
				m.labels = m.labels.with(setOf(l))
			}
			if old, twice := v.metrics[r.Record]; twice && r.Record != "" {
				m.labels = m.labels.with(old.labels)
			}
			v.metrics[r.Record] = m
		}
		if len(rest) == len(pending) {
			break
		}
		pending = rest
	}
	for _, r := range pending { // they read each other: nothing is known of their labels
		v.metrics[r.Record] = meaning{}
	}
}

// knows reports whether an expression reads nothing that is still to be recorded.
func (v *Vocabulary) knows(e parser.Expr, pending []rule) bool {
	known := true
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		if s, ok := n.(*parser.VectorSelector); ok && slices.ContainsFunc(pending, func(r rule) bool { return r.Record == s.Name }) {
			_, have := v.metrics[s.Name]
			known = known && have
		}
		return nil
	})
	return known
}

// recorded is how the name of what is recorded is made: level, metric and
// operations.
var recorded = regexp.MustCompile(`^([a-z_]+):[a-z][a-z0-9_]*:[a-z][a-z0-9_]*$`)

// label is a use of a label in a template.
var label = regexp.MustCompile(`\$labels\.([a-zA-Z_][a-zA-Z0-9_]*)`)

// check reports what is wrong with one rule.
func (v *Vocabulary) check(r *rule) (out rules.Problems) {
	say := func(s rules.Severity, format string, args ...any) {
		out = append(out, rules.Problem{File: r.file, Line: r.line, Column: r.column, Severity: s, Text: cmp.Or(r.Record, r.Alert) + ": " + fmt.Sprintf(format, args...)})
	}
	if r.expr == nil {
		return nil // said already
	}
	in := &inference{vocabulary: v}
	has := in.of(r.expr)
	for _, f := range in.found {
		if f.doubt {
			say(rules.Warning, "%s", f.text)
			continue
		}
		say(rules.Error, "%s", f.text)
	}
	if r.Record != "" {
		v.checkName(r, say)
		return out
	}
	for l := range r.Labels {
		has = has.with(setOf(l))
	}
	checkAlert(r, has, say)
	return out
}

// checkName checks what a recording rule's series is called.
func (v *Vocabulary) checkName(r *rule, say func(rules.Severity, string, ...any)) {
	m := recorded.FindStringSubmatch(r.Record)
	switch {
	case m == nil:
		say(rules.Warning, "a recorded series is named level:metric:operation")
	case !slices.Contains(levels(), m[1]):
		say(rules.Warning, "%q is no level: want one of %s", m[1], strings.Join(levels(), ", "))
	}
}

// levels are what a recorded series may be stated of.
func levels() []string {
	out := []string{"kind", "tier", "domain", "severity", "signature", "instance", "route", "receiver"}
	for _, k := range telemetry.Kinds() {
		out = append(out, string(k))
	}
	return out
}

// checkAlert checks the texts that the notified engineer reads.
func checkAlert(r *rule, has labelSet, say func(rules.Severity, string, ...any)) {
	switch s := r.Labels["severity"]; s {
	case "critical", "warning", "info":
	default:
		say(rules.Warning, "severity %q: want critical, warning or info", s)
	}
	for _, key := range []string{"summary", "description"} {
		if r.Annotations[key] == "" {
			say(rules.Warning, "no annotation %s", key)
		}
	}
	if r.Annotations["runbook"] == "" && r.Annotations["runbook_url"] == "" {
		say(rules.Warning, "no annotation runbook (what to do, as text) or runbook_url")
	}
	for _, text := range r.Annotations {
		for _, m := range label.FindAllStringSubmatch(text, -1) {
			if !has.has(m[1]) {
				say(rules.Error, "an annotation names label %s, which the alert does not have", m[1])
			}
		}
	}
}
