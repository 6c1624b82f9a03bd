package discovery_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/collectors/discovery"
)

// TestRead: groups of all files come in the order of their names, JSON and YAML alike,
// and what is wrong has its place.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("b.yaml", "- targets: [n3, n4]\n")
	write("a.json", `[{"targets": ["n1", "n2"], "labels": {"rack": "r1"}}]`)
	all := []discovery.FileSD{{Files: []string{filepath.Join(dir, "*")}}}
	got, err := discovery.Read(all)
	if err != nil || len(got) != 2 || got[0].Targets[1] != "n2" || got[0].Labels["rack"] != "r1" || got[1].Targets[0] != "n3" {
		t.Fatalf("%+v, %v", got, err)
	}
	write("b.yaml", "- target: [n3]\n")
	if _, err := discovery.Read(all); err == nil || !strings.Contains(err.Error(), "b.yaml:1:3: groups: unknown key \"target\"; did you mean targets?") {
		t.Error(err)
	}
	write("b.yaml", "- targets: ["+strings.Repeat("a,", discovery.MaxTargets+1)+"]\n")
	if _, err := discovery.Read(all); err == nil || !strings.Contains(err.Error(), "more than 16384 targets") {
		t.Error(err)
	}
}
