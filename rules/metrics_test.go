package rules

import (
	"strings"
	"testing"
	"testing/fstest"
)

// declared is a folder of signatures in which some faults declare a metric.
func declared(text string, faults ...string) fstest.MapFS {
	out := site(good)
	for _, name := range faults {
		out[name+"/metrics.yaml"] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

const swapping = `metrics:
  - {name: node_swap_in_bytes_per_second, domain: computing, kinds: [node], unit: bytes per second, rise: worse, help: What a host reads back from its swap.}
`

// TestLoadOfDeclaredMetrics: what two folders declare alike is one metric, in the
// catalogue and in the digest; what they declare differently, or the program declares,
// is an error.
func TestLoadOfDeclaredMetrics(t *testing.T) {
	digest := func(root fstest.MapFS) string {
		t.Helper()
		set, err := Load(root)
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := set.Catalogue.Lookup("node_swap_in_bytes_per_second"); !ok || m.Domain.String() != "computing" || m.Unit != "bytes per second" {
			t.Errorf("declared: %+v, %v", m, ok)
		}
		return set.Digest
	}
	one, two := digest(declared(swapping, "a")), digest(declared(swapping, "a", "b"))
	if one != two {
		t.Errorf("digests %s and %s of one metric", one, two)
	}
	if other := digest(declared(strings.Replace(swapping, "rise: worse", "rise: better", 1), "a")); other == one {
		t.Error("the digest does not depend on the metric")
	}
	differing := declared(swapping, "a")
	differing["b/metrics.yaml"] = &fstest.MapFile{Data: []byte(strings.Replace(swapping, "computing", "power", 1))}
	for name, c := range map[string]struct {
		root fstest.MapFS
		want string
	}{
		"differing":   {differing, "declared twice"},
		"the program": {declared(strings.Replace(swapping, "node_swap_in_bytes_per_second", "node_power_watts", 1), "a"), "a/metrics.yaml:2:12: metrics: node_power_watts is declared by the program"},
		"no domain":   {declared(strings.Replace(swapping, "computing", "compute", 1), "a"), `a/metrics.yaml:2:51: metrics`},
		"no kind":     {declared(strings.Replace(swapping, "[node]", "[machine]", 1), "a"), "machine"},
	} {
		if _, err := Load(c.root); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}
