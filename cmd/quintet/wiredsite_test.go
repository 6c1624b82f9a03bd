package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/lab/wire/wiretest"
)

// TestADrillOverTheWire: a lab in one process, the service in another, and nothing
// between them but the devices' protocols and the configuration that the lab wrote.
// The lab injects a fault and does not disclose it: neither its output, nor a file
// that it keeps, nor the configuration contains it. The service names it where it
// was injected, and the lab, when it is asked, confirms that and ends.
func TestADrillOverTheWire(t *testing.T) {
	if testing.Short() {
		t.Skip("waits two minutes for jobs to have a usual step, and for a fault")
	}
	t.Parallel() // it waits most of its time
	dir, listen := t.TempDir(), wiretest.FreeAddress(t)
	program := programIn(t, dir)
	const secret = "gpu-slow"
	schedule, file := filepath.Join(dir, "schedule"), filepath.Join(dir, "site.yaml")
	if err := os.WriteFile(schedule, []byte("60s "+secret+"@gpu:n0001/2 10m\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	lab := exec.CommandContext(t.Context(), program, "lab", "--site", "small", "--seed", "3", "--dir", filepath.Join(dir, "lab"), "--write-config", file,
		"--listen", listen, "--schedule", schedule, "--drill")
	enter, err := lab.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	said := lines(t, lab)
	wait(t, said, "lab: read it with", time.Minute)
	lines(t, exec.CommandContext(t.Context(), program, "serve", "--config", file, "--data", filepath.Join(dir, "data")))

	named := false
	for deadline := time.Now().Add(5 * time.Minute); !named && time.Now().Before(deadline); pause(t.Context(), time.Second) {
		open := openRoots(t, "http://"+listen)
		named = slices.Equal(open, []string{secret + " at gpu:n0001/2"})
		if len(open) > 1 {
			t.Errorf("open: %v", open)
		}
	}
	if !named {
		t.Error("the fault was not named")
	}
	silentOn(t, secret, filepath.Join(dir, "lab"), file)
	if _, err := io.WriteString(enter, "\n"); err != nil {
		t.Fatal(err)
	}
	var verdict []string
	for limit, ends := time.After(time.Minute), false; !ends; {
		select {
		case line, ok := <-said:
			if ends = !ok; ok {
				verdict = append(verdict, line)
			}
		case <-limit:
			t.Fatalf("a minute after it was asked the lab has not ended, and said:\n%s", strings.Join(verdict, "\n"))
		}
	}
	text := strings.Join(verdict, "\n")
	before, after, over := strings.Cut(text, "lab: the drill is over\n")
	if !over || strings.Contains(before, secret) || !strings.Contains(after, secret+" at gpu:n0001/2 for 10m0s\nlab:   right, ") || strings.Contains(after, "also reported") {
		t.Errorf("the lab said:\n%s", text)
	}
	t.Log(after)
}

// alive lets a site live, and its devices answer, until the test is over.
func alive(t testing.TB, w *wiredSite) {
	t.Helper()
	collectorstest.Start(t, w.site.Run)
	for _, f := range w.fleets {
		collectorstest.Start(t, f.Run)
	}
}

// silentOn fails where a name or the text of a file contains a word.
func silentOn(t *testing.T, word string, roots ...string) {
	t.Helper()
	files := 0
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			files++
			text, err := os.ReadFile(path)
			if errors.Is(err, fs.ErrNotExist) {
				return nil // it has been written anew under another name
			}
			if strings.Contains(string(text), word) || strings.Contains(path, word) {
				t.Errorf("%s has %q", path, word)
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	}
	if files < 100 {
		t.Errorf("only %d files", files)
	}
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

// openRoots asks which roots have open incidents; none while the service does not
// answer.
func openRoots(t *testing.T, url string) []string {
	t.Helper()
	open, err := incidentsOf(t.Context(), url+"/", "?state=open")
	if err != nil {
		return nil
	}
	var out []string
	for _, x := range open {
		out = append(out, fmt.Sprintf("%s at %s", x.Root.Signature, x.Root.Entity))
	}
	return out
}

// TestSchedules: a valid schedule is parsed, and an invalid one is reported with
// file and line.
func TestSchedules(t *testing.T) {
	got, err := parseSchedule("f", "# drill\n3m gpu-slow@gpu:n0000/1 2m\n\n10s inlet-warm 1m # warm\n")
	if err != nil || len(got) != 2 || got[0].name != "inlet-warm" || got[1].at != 3*time.Minute || got[1].where.Name != "n0000/1" || got[1].lasts != 2*time.Minute {
		t.Fatalf("%+v, %v", got, err)
	}
	for text, want := range map[string]string{
		"1m gpu-slow":          "f:1: want a time, NAME[@ENTITY] and a length",
		"\n1m gremlins 1m":     `f:2: unknown fault "gremlins"`,
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
