package gnmi

import (
	"slices"
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

// TestProfilesOfTheProgram: each is sound, and what it states is declared, of
// that kind.
func TestProfilesOfTheProgram(t *testing.T) {
	catalogue := telemetry.DefaultCatalogue()
	for _, name := range ProfileNames() {
		p, err := LoadProfile(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if p.Name != name || len(p.groups) == 0 || len(p.root.edges) == 0 {
			t.Errorf("%s: %+v", name, p)
		}
		for _, r := range p.root.all() {
			if r.role != reading {
				continue
			}
			if m, ok := catalogue.Lookup(r.Column.Metric); !ok || !slices.Contains(m.Kinds, r.kind) {
				t.Errorf("%s: %s is not declared of a %s", name, r.Column.Metric, r.kind)
			}
		}
	}
}

// all lists the rules of a pattern and of what lies below it.
func (p *pattern) all() []*rule {
	rules := slices.Clone(p.rules)
	for _, e := range p.edges {
		rules = append(rules, e.to.all()...)
	}
	return rules
}
