package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/cmd/collect"
	"github.com/quintet-dc/quintet/pipeline/config"
)

// initSite is a lab with some of its listeners, as they are named to quintet init.
type initSite struct {
	t             *testing.T
	dir           string
	hosts         []string // flags
	node, account []string // flags
	services      int
}

func newInitSite(t *testing.T) *initSite {
	t.Helper()
	s := &initSite{t: t, dir: t.TempDir()}
	w, err := newWiredSite(16, 3, onSlurm, s.dir)
	if err != nil {
		t.Fatal(err)
	}
	alive(t, w)
	for _, a := range w.addresses() {
		kind, rest, _ := strings.Cut(a, " ")
		_, address, _ := strings.Cut(rest, "https://")
		switch {
		case kind == "redfish" && s.services < 3:
			address, _, _ = strings.Cut(address, " ")
			s.hosts = append(s.hosts, "--host", strings.TrimSuffix(address, "/"))
			s.services++
		case kind == "scrape" && strings.Contains(rest, "/dcgm/"):
			s.hosts = append(s.hosts, "--host", rest[strings.Index(rest, "http://"):])
		}
	}
	secrets := filepath.Join(s.dir, "redfish")
	s.node = []string{"--root", filepath.Join(s.dir, "hosts", "n0000")}
	s.account = []string{"--user", "monitor", "--password-file", filepath.Join(secrets, "password"), "--ca", filepath.Join(secrets, "ca.pem")}
	return s
}

// run runs quintet init into a file, and returns the exit code and what it printed.
func (s *initSite) run(file string, flags ...[]string) (code int, printed string) {
	s.t.Helper()
	var out bytes.Buffer
	args := []string{"init", "-o", filepath.Join(s.dir, file)}
	for _, f := range flags {
		args = append(args, f...)
	}
	code = app().Run(&cli.Shell{Ctx: s.t.Context(), Out: &out, Err: &out}, args)
	return code, out.String()
}

func (s *initSite) text(file string) string {
	s.t.Helper()
	b, err := os.ReadFile(filepath.Join(s.dir, file))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

// TestInitFindsTheLab: init finds a host's RDMA devices, its exporters and controllers
// on the lab's listeners, writes a configuration that is valid, reads all of it, and
// does not overwrite it.
func TestInitFindsTheLab(t *testing.T) {
	s := newInitSite(t)
	code, out := s.run("quintet.yaml", s.hosts, s.node, s.account, []string{"--prove", "2m"})
	t.Log(out)
	for _, want := range []string{"found  sysfs", "found  redfish", "found  scrape   dcgm", "written, valid", "0 findings", "next: quintet serve"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q", want)
		}
	}
	file, err := collect.ReadConfig(&cli.Shell{Err: t.Output()}, filepath.Join(s.dir, "quintet.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, c := range file.Collectors.Entries() {
		kinds[c.Kind]++
	}
	if kinds["sysfs"] != 1 || kinds["redfish"] != 1 || kinds["scrape"] != 1 || code != cli.Sound {
		t.Errorf("exit code %d, entries %v", code, kinds)
	}
	before := s.text("quintet.yaml")
	if !strings.Contains(before, "entity: node:n0000") {
		t.Errorf("the node has not the name that its controller reports:\n%s", before)
	}
	if info, err := os.Stat(filepath.Join(s.dir, "quintet.yaml")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if code, out := s.run("quintet.yaml", s.node); code != cli.Wrong || s.text("quintet.yaml") != before {
		t.Errorf("a file that exists: exit code %d\n%s", code, out)
	}
}

// TestInitWithoutAnAccount: what lacks an account and an authority is a comment that
// says so, and is a configuration as soon as the marks are taken off.
func TestInitWithoutAnAccount(t *testing.T) {
	s := newInitSite(t)
	none := []string{"--root", filepath.Join(s.dir, "none"), "--prove", "0s"}
	code, out := s.run("quintet.yaml", s.hosts[:2*s.services], none)
	if code != cli.Doubted || !strings.Contains(out, "left as a comment") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	_, comments, ok := strings.Cut(s.text("quintet.yaml"), "Below collectors:\n")
	if !ok || !strings.Contains(comments, "an account that may read") || !strings.Contains(comments, "a certificate signed by") {
		t.Errorf("what is lacking is not stated:\n%s", s.text("quintet.yaml"))
	}
	file, problems := config.Parse("x", "collectors:\n"+strings.ReplaceAll("\n"+comments, "\n# ", "\n"))
	if len(problems) > 0 || len(file.Collectors) != 1 {
		t.Errorf("%v in\n%s", problems, comments)
	}
}
