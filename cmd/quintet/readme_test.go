package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/lab/live"
	"github.com/quintet-dc/quintet/lab/wire/wiretest"
	"github.com/quintet-dc/quintet/telemetry"
)

// readme returns README.md.
func readme(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var (
	codeInReadme = regexp.MustCompile("(?s)```.*?```|`[^`]+`")
	callInReadme = regexp.MustCompile(`\bquintet[ -][a-z][^\n|;#]*`)
	flagInReadme = regexp.MustCompile(`--[a-z][a-z-]*`)
	makeInReadme = regexp.MustCompile(`\bmake ([a-z][a-z-]*)`)
	rowInReadme  = regexp.MustCompile("(?m)^\\| `quintet.*$")
)

// TestReadmeCommandsExist: every command of the README is one of the program, has the
// flags that stand with it, and every target of make is in the Makefile.
func TestReadmeCommandsExist(t *testing.T) {
	text := readme(t)
	calls := 0
	for _, code := range codeInReadme.FindAllString(text, -1) {
		for _, call := range callInReadme.FindAllString(strings.ReplaceAll(code, `\|`, " "), -1) {
			calls++
			checkCall(t, call, flagInReadme.FindAllString(call, -1))
		}
	}
	for _, row := range rowInReadme.FindAllString(text, -1) {
		for _, call := range callInReadme.FindAllString(row, 1) {
			checkCall(t, call, flagInReadme.FindAllString(row, -1))
		}
	}
	makefile, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range makeInReadme.FindAllStringSubmatch(strings.Join(codeInReadme.FindAllString(text, -1), "\n"), -1) {
		if !regexp.MustCompile(`(?m)^` + m[1] + `:`).Match(makefile) {
			t.Errorf("make %s: not in the Makefile", m[1])
		}
	}
	if calls < 30 {
		t.Errorf("%d commands found", calls)
	}
}

// checkCall checks one command line and flags that are said to be its.
func checkCall(t *testing.T, call string, flags []string) {
	t.Helper()
	var path []string
	for _, word := range strings.Fields(strings.Replace(strings.Trim(call, "`"), "quintet-collect", "quintet collect", 1))[1:] {
		if word = strings.Trim(word, "`,)"); !regexp.MustCompile(`^[a-z]+$`).MatchString(word) || len(path) == 2 {
			break
		}
		path = append(path, word)
	}
	if len(path) == 0 {
		return // a flag of the program itself
	}
	help, code := said(t, append(slices.Clone(path[:1]), "--help")...)
	if code != cli.Sound {
		t.Errorf("%q: no command %s", call, path[0])
		return
	}
	if len(path) == 2 {
		if more, code := said(t, append(slices.Clone(path), "--help")...); code == cli.Sound {
			help += more
		}
	}
	for _, f := range flags {
		if !strings.Contains(help, f) {
			t.Errorf("%q: %s has no flag %s", call, strings.Join(path, " "), f)
		}
	}
}

// TestDemoHasAPlaceForItsFaults: the site of the demo can have every fault of its order.
func TestDemoHasAPlaceForItsFaults(t *testing.T) {
	c := &demoCommand{GPUs: 16, Seed: 3, After: 4 * time.Second, Lasts: 3 * time.Minute}
	schedule, err := c.schedule()
	if err != nil {
		t.Fatal(err)
	}
	if schedule[0].at != c.After || schedule[0].lasts != demoFirst || schedule[1].at != c.After+demoFirst+demoApart || schedule[2].at-schedule[1].at != c.Lasts+demoApart {
		t.Errorf("schedule: %v", schedule[:3])
	}
	site, err := live.New(c.GPUs, c.Seed, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range demoOrder() {
		if _, err := site.Strike(name, telemetry.Entity{}, time.Minute); err != nil {
			t.Error(err)
		}
	}
}

// TestReadmeFirstMinute measures the times that the README states of the first minute,
// on this machine: from the line that says where the page is until the first fault is
// struck and named, and until the recording's incident is reported.
func TestReadmeFirstMinute(t *testing.T) {
	if os.Getenv("QUINTET_README") == "" {
		t.Skip("QUINTET_README is not set: it measures this machine for a minute (make readme)")
	}
	text, program := readme(t), programIn(t, t.TempDir())
	promise := func(pattern string) time.Duration {
		t.Helper()
		m := regexp.MustCompile(pattern).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("the README states no %s", pattern)
		}
		n, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		return time.Duration(n) * time.Second
	}
	began := time.Now()
	demo := lines(t, exec.CommandContext(t.Context(), program, "demo", "--listen", wiretest.FreeAddress(t)))
	wait(t, demo, "the page is at", time.Minute)
	up := time.Now()
	wait(t, demo, "  struck  ", promise(`After (\d+) s the first of five faults is struck`)+time.Second)
	struck := time.Now()
	wait(t, demo, "supplies no power any more", promise(`named within (\d+) s after the page is up`)-struck.Sub(up))
	t.Logf("demo: page after %.1f s, struck %.1f s and named %.1f s later", up.Sub(began).Seconds(), struck.Sub(up).Seconds(), time.Since(up).Seconds())

	listen := wiretest.FreeAddress(t)
	recorded := lines(t, exec.CommandContext(t.Context(), program, "demo", "--recorded", "--listen", listen))
	wait(t, recorded, "the page is at", time.Minute)
	up = time.Now()
	most := promise(`the incident above, within (\d+) s`)
	for len(openRoots(t, "http://"+listen)) == 0 {
		if time.Since(up) > most {
			t.Fatalf("no incident of the recording after %s", most)
		}
		pause(t.Context(), 100*time.Millisecond)
	}
	t.Logf("demo --recorded: its incident %.1f s after the page", time.Since(up).Seconds())
}
