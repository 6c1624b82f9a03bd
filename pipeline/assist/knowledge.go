package assist

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quintet-dc/quintet/correlate/explain"
)

// addKnowledge adds the tool for knowledge about faults.
func (t *tools) addKnowledge(s *mcp.Server) {
	add(s, tool{"list_signatures", "List the faults that are known",
		"The faults that can be named (signatures), by domain. With a name: what it is, the evidence for and against it, which faults look alike, which metrics distinguish them, what to do."}, t.listSignatures)
}

type signaturesIn struct {
	Name   string `json:"name,omitempty" jsonschema:"one signature whole, such as slow-receiver"`
	Domain string `json:"domain,omitempty" jsonschema:"only those of this domain: software, computing, network, power or cooling"`
}

func (t *tools) listSignatures(_ context.Context, in signaturesIn) (*result, error) {
	if in.Name != "" {
		return t.signature(in.Name)
	}
	rows := []map[string]any{}
	for i := range t.cfg.Signatures {
		s := &t.cfg.Signatures[i]
		if in.Domain != "" && s.Domain.String() != in.Domain {
			continue
		}
		rows = append(rows, map[string]any{"name": s.Name, "domain": s.Domain, "is": s.Expect, "looks_like": alike(s), "what": firstSentence(s.Doc)})
	}
	if len(rows) == 0 && in.Domain != "" {
		return nil, fmt.Errorf("domain: %.40q: want software, computing, network, power or cooling", in.Domain)
	}
	return &result{text: plural(len(rows), "signature") + "; name gives one whole.", data: map[string]any{"signatures": rows}}, nil
}

func (t *tools) signature(name string) (*result, error) {
	i := slices.IndexFunc(t.cfg.Signatures, func(s explain.Signature) bool { return s.Name == name })
	if i < 0 {
		var all []string
		for _, s := range t.cfg.Signatures {
			all = append(all, s.Name)
		}
		if len(all) == 0 {
			return nil, errors.New("signatures: not found in this process")
		}
		return nil, fmt.Errorf("name: no signature is called %.60q; there are %s", name, strings.Join(all, ", "))
	}
	s := &t.cfg.Signatures[i]
	features := []map[string]any{}
	for _, c := range s.Features {
		features = append(features, map[string]any{"feature": c.Name, "why": c.Why, "required": c.Required, "for": c.For, "against": c.Against})
	}
	needs := []map[string]any{}
	for _, n := range s.Needs {
		needs = append(needs, map[string]any{"metric": n.Metric, "on": n.On, "distinguishes": n.WouldTell})
	}
	actions := []map[string]any{}
	for _, a := range s.Actions {
		actions = append(actions, map[string]any{"kind": a.Kind, "target": a.Target, "text": a.Text})
	}
	return &result{text: s.Name + ": " + firstSentence(s.Doc), data: map[string]any{"name": s.Name, "domain": s.Domain, "is": s.Expect, "roots": s.Roots,
		"looks_like": alike(s), "needs": needs, "features": features, "actions": actions, "what": s.Doc}}, nil
}

// alike are the other signatures of a family.
func alike(s *explain.Signature) []string {
	return slices.DeleteFunc(append([]string{}, s.Family...), func(n string) bool { return n == s.Name })
}

func firstSentence(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if i := strings.Index(s, ". "); i >= 0 {
		return s[:i+1]
	}
	return s
}
