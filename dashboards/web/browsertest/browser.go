package browsertest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"
)

const chromium = "/usr/bin/chromium"

// Scenario is one of run.mjs, and the address that it looks at.
type Scenario struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// Job is the input of run.mjs.
type Job struct {
	Page      string        `json:"-"` // the folder dashboards/web, from where the test runs
	Within    time.Duration `json:"-"` // 15 minutes if zero: a busy machine is slow
	Chromium  string        `json:"chromium"`
	Scenarios []Scenario    `json:"scenarios,omitempty"`
	AtOnce    int           `json:"atOnce,omitempty"` // scenarios that run side by side; 3 if zero
	Dir       string        `json:"dir,omitempty"`    // where scenarios that take pictures put them
	Given     any           `json:"given,omitempty"`  // for the scenarios
	Shots     any           `json:"shots,omitempty"`  // what shots.mjs takes
}

// Missing returns why no browser or driver is available; "" if both are.
func Missing(page string) string {
	if _, err := os.Stat(chromium); err != nil {
		return fmt.Sprintf("no browser: %v", err)
	}
	if _, err := os.Stat(filepath.Join(page, "node_modules", "playwright-core")); err != nil {
		return "playwright-core is not installed: npm ci --prefix dashboards/web"
	}
	if _, err := exec.LookPath("node"); err != nil {
		return fmt.Sprintf("no node: %v", err)
	}
	return ""
}

// Installed skips where something is missing, and in short runs.
func Installed(t testing.TB, page string) {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes seconds")
	}
	if why := Missing(page); why != "" {
		t.Skip(why)
	}
}

// Node skips where there is no node. It reads what node will: go test remembers a
// result only for the files that the test itself has read.
func Node(t testing.TB, page string) string {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skipf("no node: %v", err)
	}
	files, err := filepath.Glob(filepath.Join(page, "browsertest", "*.mjs"))
	if err != nil || len(files) == 0 {
		t.Fatalf("browsertest: %d files, %v", len(files), err)
	}
	for _, f := range append(files, filepath.Join(page, "package-lock.json")) {
		if _, err := os.ReadFile(f); err != nil {
			t.Fatal(err)
		}
	}
	return node
}

// Drive has run.mjs do a job, and returns its output; it skips the test if there is
// no browser.
func Drive(t testing.TB, job Job) []byte {
	t.Helper()
	Installed(t, job.Page)
	node := Node(t, job.Page)
	job.Chromium = chromium
	in, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	within := job.Within
	if within == 0 {
		within = 15 * time.Minute
	}
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, filepath.Join(job.Page, "browsertest", "run.mjs"))
	cmd.Stdin = bytes.NewReader(in)
	cmd.WaitDelay = 10 * time.Second // the browser's processes may outlive it, and hold its pipes
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("browser: %v\n%s\n%s", err, out, stderr.Bytes())
	}
	return out
}

// Run runs scenarios in one browser, each as a test of its own: its notes are
// logged, its findings are the test's errors. QUINTET_PAGE_SCENARIO is a regular
// expression of the scenarios to run, all if it is empty.
func Run(t *testing.T, job Job) {
	t.Helper()
	only := regexp.MustCompile("^(" + cmp.Or(os.Getenv("QUINTET_PAGE_SCENARIO"), ".*") + ")$")
	if job.Scenarios = slices.DeleteFunc(job.Scenarios, func(s Scenario) bool { return !only.MatchString(s.Name) }); len(job.Scenarios) == 0 {
		t.Skip("QUINTET_PAGE_SCENARIO leaves none of these")
	}
	reported := 0
	for line := range bytes.Lines(Drive(t, job)) {
		var result struct {
			Name          string
			Errors, Notes []string
		}
		if err := json.Unmarshal(line, &result); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		reported++
		t.Run(result.Name, func(t *testing.T) {
			for _, note := range result.Notes {
				t.Log(note)
			}
			for _, e := range result.Errors {
				t.Error(e)
			}
		})
	}
	if reported != len(job.Scenarios) {
		t.Errorf("%d of %d scenarios reported", reported, len(job.Scenarios))
	}
}
