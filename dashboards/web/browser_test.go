package web_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

const chromium = "/usr/bin/chromium"

// browser runs a job of browsertest/run.mjs and returns what it printed; it
// skips where there is no browser.
func browser(t *testing.T, job object) []byte {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes seconds")
	}
	if _, err := os.Stat(chromium); err != nil {
		t.Skipf("no browser: %v", err)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skipf("no node to drive the browser: %v", err)
	}
	if _, err := os.Stat(filepath.Join("node_modules", "playwright-core")); err != nil {
		t.Skip("playwright-core is not installed: npm ci --prefix dashboards/web")
	}
	readScripts(t)
	job["chromium"] = chromium
	in, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, filepath.Join("browsertest", "run.mjs"))
	cmd.Stdin = bytes.NewReader(in)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("browser: %v\n%s\n%s", err, out, stderr.Bytes())
	}
	return out
}

// readScripts reads what node will: go test remembers a result only for the files
// that the test itself has read.
func readScripts(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("browsertest", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("browsertest: %d files, %v", len(files), err)
	}
	for _, f := range append(files, "package-lock.json") {
		if _, err := os.ReadFile(f); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPage runs every scenario of browsertest in one browser, each against a
// site of its own.
func TestPage(t *testing.T) {
	alive, quiet, old := live(t), calm(t), recording(t)
	quiet["/api/v1/example"] = alive["/api/v1/incidents"].(object)["incidents"].([]any)[0]
	worlds := []struct {
		scenario string
		world    api
	}{
		{"liveIncident", quiet}, {"notReady", quiet}, {"alarms", quiet}, {"logStandsStill", quiet}, {"deadStream", quiet}, {"boundedCurves", quiet},
		{"deepLink", alive}, {"unknownIncident", alive}, {"chain", alive}, {"curves", alive}, {"wholeStory", alive}, {"verdict", alive},
		{"keyboard", alive}, {"lostConnection", alive}, {"contrast", alive}, {"narrow", alive},
		{"recordingTimes", old}, {"hostileNames", hostile(t)}, {"emptySite", empty()}, {"large", crowded(t)},
	}
	var list []object
	for _, w := range worlds {
		list = append(list, object{"name": w.scenario, "url": newSite(t, w.world).URL})
	}
	out := browser(t, object{"scenarios": list})
	told := 0
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); told++ {
		var result struct {
			Name          string
			Errors, Notes []string
		}
		if err := json.Unmarshal(lines.Bytes(), &result); err != nil {
			t.Fatalf("%v in %s", err, lines.Bytes())
		}
		t.Run(result.Name, func(t *testing.T) {
			for _, note := range result.Notes {
				t.Log(note)
			}
			for _, e := range result.Errors {
				t.Error(e)
			}
		})
	}
	if told != len(worlds) {
		t.Errorf("%d scenarios told of %d", told, len(worlds))
	}
}
