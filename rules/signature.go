package rules

import (
	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// parsed is a signature and the places of what is checked afterwards. Lists of
// places run beside the lists of the signature.
type parsed struct {
	explain.Signature
	file string
	at   struct {
		name, family, doc, sentence, precursor at
		roots, features, needs                 []at
		whys, texts                            []at
		readings                               []readingAt
	}
	silent, fires int // scenarios beside it
	// weighed states that the prior is known, and featureWeighed the same of each feature's
	// weights: from the file itself or from a file of fitted weights.
	weighed        bool
	featureWeighed []origin
}

// origin is where the weights of a feature come from.
type origin uint8

const (
	missing origin = iota
	stated         // in the signature's file
	fitted         // in a file of weights
)

// signature reads one file.
func (r *reader) signature(b []byte) *parsed {
	n := r.document(b)
	if n == nil {
		return nil
	}
	s := &parsed{file: r.file}
	s.at.name, s.at.family, s.at.doc, s.at.sentence = place(n), place(n), place(n), place(n)
	r.mapping(n, "signature", []field{
		{"signature", true, func(n *yaml.Node) { s.at.name, s.Name = place(n), r.text(n, "signature") }},
		{"domain", true, func(n *yaml.Node) { s.Domain = r.domain(n) }},
		{"expect", true, func(n *yaml.Node) { s.Expect = r.expect(n) }},
		{"roots", true, func(n *yaml.Node) { r.list(n, "roots", func(n *yaml.Node) { r.root(n, s) }) }},
		{"together", false, func(n *yaml.Node) { s.Together = r.flag(n, "together") }},
		{"family", false, func(n *yaml.Node) { r.family(n, s) }},
		{"prior", false, func(n *yaml.Node) { s.Prior, s.weighed = r.number(n, "prior"), true }},
		{"risk_severity", false, func(n *yaml.Node) {
			s.RiskSeverity = r.choice(n, "risk_severity", []string{explain.SeverityWarning, explain.SeverityCritical})
		}},
		{"corroborates", false, func(n *yaml.Node) { s.Corroborates, s.CorroboratesAtOnce = r.corroborates(n) }},
		{"doc", false, func(n *yaml.Node) { s.at.doc, s.Doc = place(n), r.text(n, "doc") }},
		{"sentence", true, func(n *yaml.Node) { s.at.sentence, s.Sentence = place(n), r.text(n, "sentence") }},
		{"precursor", false, func(n *yaml.Node) { r.precursor(n, s) }},
		{"features", true, func(n *yaml.Node) { r.list(n, "features", func(n *yaml.Node) { r.feature(n, s) }) }},
		{"needs", false, func(n *yaml.Node) { r.list(n, "needs", func(n *yaml.Node) { r.need(n, s) }) }},
		{"actions", false, func(n *yaml.Node) { r.list(n, "actions", func(n *yaml.Node) { r.action(n, s) }) }},
	})
	return s
}

func (r *reader) domain(n *yaml.Node) telemetry.Domain {
	d, err := telemetry.ParseDomain(n.Value)
	if err != nil || n.Kind != yaml.ScalarNode {
		r.fail(place(n), "domain: want software, computing, network, power or cooling, found %s", kindOf(n))
	}
	return d
}

func (r *reader) expect(n *yaml.Node) explain.Expect {
	switch e := explain.Expect(r.text(n, "expect")); e {
	case explain.ExpectIncident, explain.ExpectRisk, explain.ExpectBenign:
		return e
	}
	r.fail(place(n), "expect: want incident, risk or benign, found %s", kindOf(n))
	return ""
}

func (r *reader) root(n *yaml.Node, s *parsed) {
	s.Roots = append(s.Roots, telemetry.Kind(r.text(n, "roots")))
	s.at.roots = append(s.at.roots, place(n))
}

func (r *reader) family(n *yaml.Node, s *parsed) {
	s.at.family = place(n)
	r.list(n, "family", func(n *yaml.Node) { s.Family = append(s.Family, r.text(n, "family")) })
}

func (r *reader) precursor(n *yaml.Node, s *parsed) {
	s.at.precursor, s.Precursor = place(n), &explain.Precursor{}
	r.mapping(n, "precursor", []field{
		{"features", true, func(n *yaml.Node) {
			r.list(n, "features", func(n *yaml.Node) { s.Precursor.Features = append(s.Precursor.Features, r.text(n, "feature")) })
		}},
		{"while", false, func(n *yaml.Node) {
			r.list(n, "while", func(n *yaml.Node) { s.Precursor.While = append(s.Precursor.While, r.text(n, "feature")) })
		}},
		{"load", false, func(n *yaml.Node) { s.Precursor.Load = telemetry.MetricName(r.text(n, "load")) }},
		{"lasts", false, func(n *yaml.Node) { s.Precursor.Lasts = r.duration(n, "lasts") }},
		{"sentence", true, func(n *yaml.Node) { s.Precursor.Sentence = r.text(n, "sentence") }},
		{"until", false, func(n *yaml.Node) { r.until(n, s.Precursor) }},
	})
}

func (r *reader) until(n *yaml.Node, p *explain.Precursor) {
	r.mapping(n, "until", []field{
		{"metric", true, func(n *yaml.Node) { p.Until = telemetry.MetricName(r.text(n, "metric")) }},
		{"then", true, func(n *yaml.Node) { p.Then = r.text(n, "then") }},
	})
}

func (r *reader) need(n *yaml.Node, s *parsed) {
	var x explain.Need
	r.mapping(n, "need", []field{
		{"metric", true, func(n *yaml.Node) { x.Metric = telemetry.MetricName(r.text(n, "metric")) }},
		{"on", true, func(n *yaml.Node) { x.On = telemetry.Kind(r.text(n, "on")) }},
		{"would_tell", true, func(n *yaml.Node) { x.WouldTell = r.text(n, "would_tell") }},
	})
	s.Needs = append(s.Needs, x)
	s.at.needs = append(s.at.needs, place(n))
}

func (r *reader) action(n *yaml.Node, s *parsed) {
	var a explain.ActionTemplate
	p := place(n)
	r.mapping(n, "action", []field{
		{"kind", true, func(n *yaml.Node) { a.Kind = r.choice(n, "kind", actionKinds()) }},
		{"target", true, func(n *yaml.Node) { a.Target = r.choice(n, "target", []string{"root", "node", "job"}) }},
		{"text", true, func(n *yaml.Node) { p, a.Text = place(n), r.text(n, "text") }},
	})
	s.Actions = append(s.Actions, a)
	s.at.texts = append(s.at.texts, p)
}
