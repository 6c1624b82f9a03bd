package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/pipeline/broker"
)

// TestEnrollGrants: a process that is enrolled to collect may state its own host,
// and what else it was granted.
func TestEnrollGrants(t *testing.T) {
	dir := t.TempDir()
	s, err := broker.Start(t.Context(), broker.Config{Dir: dir, Site: "site"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i, c := range []struct {
		enrollCommand
		file, said, wrong string
	}{
		{enrollCommand{Name: "n012", Role: []string{"collect"}}, `"n012"`, "n012 may state: hosts n012\n", ""},
		{enrollCommand{Name: "n012", Role: []string{"collect"}, Nodes: []string{"n012"}, May: []string{"jobs"}}, `"jobs"`, "n012 may state: hosts n012; every job\n", ""},
		{enrollCommand{Name: "fabric", Role: []string{"collect"}, Entities: []string{"switch:*"}, Jobs: []string{"a*"}}, `"switch:*"`, "fabric may state: entities switch:*; jobs a*\n", ""},
		{enrollCommand{Name: "ops", Role: []string{"collect"}, May: []string{"all"}}, `"all"`, "ops may state: everything\n", ""},
		{enrollCommand{Name: "judge", Role: []string{"engine"}}, "", "", ""},
		{enrollCommand{Name: "judge2", Role: []string{"engine"}, May: []string{"jobs"}}, "", "", "want --role collect"},
		{enrollCommand{Name: "x", Role: []string{"collect"}, May: []string{"king"}}, "", "", `right "king"`},
		{enrollCommand{Name: "y", Role: []string{"collect"}, Entities: []string{"leaf1"}}, "", "", "want kind:name"},
	} {
		var out bytes.Buffer
		c.Data, c.Output = dir, filepath.Join(t.TempDir(), "creds")
		err := c.Run(&cli.Shell{Ctx: t.Context(), Out: &out, Err: &out})
		if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%d: %v, want %q", i, err, c.wrong)
			continue
		}
		if _, serr := os.Stat(c.Output); (serr == nil) != (err == nil) {
			t.Errorf("%d: credentials: %v", i, serr)
		}
		b, _ := os.ReadFile(filepath.Join(dir, "grants", c.Name+".json"))
		if !strings.HasSuffix(out.String(), c.said) || !strings.Contains(string(b), c.file) || (c.file == "") != (len(b) == 0) {
			t.Errorf("%d: said %q, wrote %s", i, out.String(), b)
		}
	}
}

// TestRevokeListsAndRevokes what enroll wrote.
func TestRevokeListsAndRevokes(t *testing.T) {
	dir := t.TempDir()
	s, err := broker.Start(t.Context(), broker.Config{Dir: dir, Site: "site"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var out bytes.Buffer
	sh := &cli.Shell{Ctx: t.Context(), Out: &out, Err: &out}
	for _, c := range []enrollCommand{{Name: "n012", Role: []string{"collect"}, Expires: time.Hour}, {Name: "n012", Role: []string{"collect"}}, {Name: "judge", Role: []string{"engine"}}} {
		c.Data, c.Output = dir, filepath.Join(t.TempDir(), "creds")
		if err := c.Run(sh); err != nil {
			t.Fatal(err)
		}
	}
	revoke := func(name string) (string, error) {
		out.Reset()
		err := (&revokeCommand{Name: name, Data: dir}).Run(sh)
		return out.String(), err
	}
	if said, err := revoke("n012"); err != nil || said != "n012: 2 credentials revoked\n" {
		t.Errorf("%q, %v", said, err)
	}
	if _, err := revoke("n013"); err == nil || !strings.Contains(err.Error(), "revoke n013: not enrolled") {
		t.Errorf("another name: %v", err)
	}
	said, err := revoke("")
	if err != nil || strings.Count(said, ", revoked ") != 2 || strings.Count(said, ", expires ") != 1 || strings.Count(said, "\n") != 3 {
		t.Errorf("the list: %q, %v", said, err)
	}
}
