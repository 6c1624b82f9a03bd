package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/cmd/collect"
	"github.com/quintet-dc/quintet/pipeline"
	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/config"
)

// A process is named after its enrolment, and one that needs more permissions than
// those gets an error before the log refuses it.
func TestEnrolled(t *testing.T) {
	dir := t.TempDir()
	s, err := broker.Start(t.Context(), broker.Config{Dir: dir, Site: "site"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	creds := func(name string, roles ...string) string {
		path := filepath.Join(t.TempDir(), name)
		c := &enrollCommand{Name: name, Output: path, Data: dir, Role: roles}
		if err := c.Run(&cli.Shell{Ctx: t.Context(), Out: io.Discard, Err: io.Discard}); err != nil {
			t.Fatal(err)
		}
		return path
	}
	host, both, judge, all := creds("n,1", "collect"), creds("n2", "collect", "engine", "web"), creds("x", "engine"), creds("x", "all")
	foreign := filepath.Join(t.TempDir(), "foreign.creds")
	text, err := os.ReadFile(host)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n") // the mark of quintet enroll
	if err := os.WriteFile(foreign, []byte(rest), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file, said string
		roles      []string
		name, want string
	}{
		{host, "", []string{"collect"}, "n,1", ""},
		{host, "n,1", []string{"collect"}, "n,1", ""},
		{host, "other", nil, "", `nats: process "other": ` + host + ` was enrolled for "n,1", and may not publish as another process`},
		{host, "", []string{"engine"}, "n,1", "was enrolled as collect:n,1, which does not allow role engine: enroll this process with --role engine"},
		{both, "", []string{"collect", "engine", "web"}, "n2", ""},
		{both, "", []string{"collect", "tick"}, "n2", "which does not allow role tick: enroll this process with --role collect,tick"},
		{judge, "own", []string{"engine"}, "own", ""},
		{judge, "own", []string{"collect"}, "own", "does not allow role collect"},
		{all, "own", []string{"engine", "web"}, "own", ""},
		{foreign, "own", []string{"engine"}, "own", ""},
		{"nowhere.creds", "own", nil, "", "nats: open nowhere.creds"},
	} {
		file := config.Default()
		file.NATS.Embedded, file.NATS.CredentialsFile, file.NATS.Process = false, c.file, c.said
		name, err := collect.ProcessName(file)
		if err == nil {
			var roles pipeline.Roles
			if roles, err = pipeline.ParseRoles(c.roles); err == nil {
				err = collect.EnrolledFor(file, roles.Names())
			}
		}
		if name != c.name || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s as %q for %q: %q, %v; want %q, %s", filepath.Base(c.file), c.said, c.roles, name, err, c.name, c.want)
		}
	}
}
