package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/cmd/cli"
)

// TestManNamesEveryCommand: each command of --help has its section, and mandoc
// finds no error in the page where it is installed.
func TestManNamesEveryCommand(t *testing.T) {
	page, code := said(t, "man")
	if code != cli.Sound || !strings.HasPrefix(page, ".TH QUINTET 1 ") {
		t.Fatalf("exit code %d, %.100q", code, page)
	}
	for _, want := range []string{"serve", "collect", "doctor", `import prometheus`, "check config", "version"} {
		if !strings.Contains(page, "\n.SS "+want) {
			t.Errorf("no section of %q", want)
		}
	}
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "'") {
			t.Errorf("%q would be taken for a macro", line)
		}
	}
	lint, err := exec.LookPath("mandoc")
	if err != nil {
		t.Skip("mandoc is not installed")
	}
	cmd := exec.Command(lint, "-T", "lint", "-W", "error")
	cmd.Stdin = strings.NewReader(page)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("mandoc: %v\n%s", err, out)
	}
}
