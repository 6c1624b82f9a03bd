package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestASiteOverTheWire: a lab in one process, the service in another, and
// nothing between them but the devices' protocols and the configuration that the
// lab wrote. A fault that the lab strikes is named at the entity where it was
// struck.
func TestASiteOverTheWire(t *testing.T) {
	if testing.Short() {
		t.Skip("waits two minutes for jobs to have a usual step, and for a fault")
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
	file := filepath.Join(dir, "site.yaml")
	lab := exec.CommandContext(t.Context(), program, "lab", "--site", "small", "--seed", "3", "--dir", filepath.Join(dir, "lab"), "--write-config", file,
		"--listen", listen, "--fault", "gpu-slow@gpu:n0001/2", "--after", "60s", "--lasts", "10m")
	told := lines(t, lab)
	wait(t, told, "lab: read it with", time.Minute)
	serve := exec.CommandContext(t.Context(), program, "serve", "--config", file, "--data", filepath.Join(dir, "data"))
	lines(t, serve)
	wait(t, told, "gpu-slow at gpu:n0001/2", 3*time.Minute)

	deadline := time.Now().Add(3 * time.Minute)
	for ; time.Now().Before(deadline); <-time.After(time.Second) {
		roots := openRoots(t, "http://"+listen)
		if len(roots) == 0 {
			continue
		}
		if len(roots) > 1 || roots[0] != "gpu-slow at gpu:n0001/2" {
			t.Errorf("open: %v", roots)
		}
		return
	}
	t.Error("no incident")
}

// lines starts a program and returns what it prints, line by line.
func lines(t *testing.T, c *exec.Cmd) <-chan string {
	t.Helper()
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stderr = c.Stdout
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 30 * time.Second
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	got := make(chan string, 1000)
	go func() {
		for in := bufio.NewScanner(out); in.Scan(); {
			select {
			case got <- in.Text():
			default: // nobody reads it
			}
		}
		close(got)
	}()
	t.Cleanup(func() {
		_ = c.Process.Signal(os.Interrupt)
		for line := range got {
			if strings.Contains(line, "panic") {
				t.Error(line)
			}
		}
		_ = c.Wait()
	})
	return got
}

// wait reads lines until one has a text.
func wait(t *testing.T, told <-chan string, text string, most time.Duration) {
	t.Helper()
	limit := time.After(most)
	for {
		select {
		case line, ok := <-told:
			if !ok {
				t.Fatalf("ended before it said %q", text)
			}
			if strings.Contains(line, text) {
				return
			}
		case <-limit:
			t.Fatalf("did not say %q in %s", text, most)
		}
	}
}

// openRoots asks which roots have open incidents.
func openRoots(t *testing.T, url string) []string {
	t.Helper()
	a, err := http.Get(url + "/api/v1/incidents?state=open")
	if err != nil {
		return nil // not up yet
	}
	defer a.Body.Close()
	var body struct {
		Incidents []struct {
			Root struct{ Entity, Signature string }
		}
	}
	if err := json.NewDecoder(a.Body).Decode(&body); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, i := range body.Incidents {
		out = append(out, fmt.Sprintf("%s at %s", i.Root.Signature, i.Root.Entity))
	}
	return out
}

// TestSchedules: what a schedule says is read, and what is wrong is told with
// file and line.
func TestSchedules(t *testing.T) {
	got, err := parseSchedule("f", "# drill\n3m gpu-slow@gpu:n0000/1 2m\n\n10s inlet-warm 1m # warm\n")
	if err != nil || len(got) != 2 || got[0].name != "inlet-warm" || got[1].at != 3*time.Minute || got[1].where.Name != "n0000/1" || got[1].lasts != 2*time.Minute {
		t.Fatalf("%+v, %v", got, err)
	}
	for text, want := range map[string]string{
		"1m gpu-slow":          "f:1: want a time, NAME[@ENTITY] and a length",
		"\n1m gremlins 1m":     `f:2: no kind of fault is called "gremlins"`,
		"soon gpu-slow 1m":     `f:1: time: invalid duration "soon"`,
		"1m gpu-slow@gpu 1m":   "f:1: ",
		"1m gpu-slow 0s":       "f:1: want no negative time, and a length",
		"-1m gpu-slow@x:y 10s": "f:1: ",
	} {
		if _, err := parseSchedule("f", text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
