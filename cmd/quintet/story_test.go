package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestTheStory is what the page is for: one command starts a site, and by
// browser alone somebody finds the job that is slow, its cause, its cost and its
// evidence, and silences it. The site answers over real protocols; nothing is
// scripted. QUINTET_PAGE_PICTURES names a folder for pictures of the way.
func TestTheStory(t *testing.T) {
	const chromium = "/usr/bin/chromium"
	if testing.Short() {
		t.Skip("a fault is struck, found and looked at: minutes")
	}
	if _, err := os.Stat(chromium); err != nil {
		t.Skipf("no browser: %v", err)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skipf("no node to drive the browser: %v", err)
	}
	page := filepath.Join("..", "..", "dashboards", "web")
	if _, err := os.Stat(filepath.Join(page, "node_modules", "playwright-core")); err != nil {
		t.Skip("playwright-core is not installed: npm ci --prefix dashboards/web")
	}
	if _, err := os.ReadFile(filepath.Join(page, "browsertest", "story.mjs")); err != nil {
		t.Fatal(err)
	}
	t.Parallel() // it waits most of its time
	dir, listen := t.TempDir(), freeAddress(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "quintet")
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 8*time.Minute)
	defer stop()
	told := lines(t, exec.CommandContext(t.Context(), program, "demo", "--listen", listen, "--fault", "gpu-slow", "--after", "45s"))
	wait(t, told, "the page is at", time.Minute)
	url := "http://" + listen + "/"
	in, err := json.Marshal(map[string]string{"chromium": chromium, "url": url, "dir": os.Getenv("QUINTET_PAGE_PICTURES")})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, node, filepath.Join(page, "browsertest", "story.mjs"))
	cmd.Stdin = bytes.NewReader(in)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	answer, err := cmd.Output()
	if err != nil {
		t.Fatalf("browser: %v\n%s\n%s", err, answer, stderr.Bytes())
	}
	var said struct{ Errors, Notes []string }
	if err := json.Unmarshal(answer, &said); err != nil {
		t.Fatalf("%v in %s", err, answer)
	}
	for _, n := range said.Notes {
		t.Log(n)
	}
	for _, e := range said.Errors {
		t.Error(e)
	}
}
