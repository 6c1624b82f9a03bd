package main

import (
	"bufio"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"
	"time"
)

// TestClockOfAProcess steps the wall clock of one process by a minute and back;
// its monotonic clock and our own clock go on.
func TestClockOfAProcess(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the function that is put in place is one of amd64")
	}
	if os.Getenv("QUINTET_CLOCK_PROCESS") != "" {
		tellTime()
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestClockOfAProcess$")
	cmd.Env = append(os.Environ(), "QUINTET_CLOCK_PROCESS=yes")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	lines := bufio.NewScanner(out)
	differs := func() time.Duration { // of its wall clock from ours
		if _, err := in.Write([]byte("?\n")); err != nil || !lines.Scan() {
			t.Fatal("the process does not answer", err)
		}
		theirs, err := strconv.ParseInt(lines.Text(), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return time.Until(time.Unix(0, theirs)).Round(30 * time.Second)
	}
	if d := differs(); d != 0 {
		t.Fatalf("at first the clocks differ by %s", d)
	}
	c, err := newClock(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []time.Duration{time.Minute, -time.Minute, 0} {
		if err := c.step(by); err != nil {
			t.Fatal(err)
		}
		if d := differs(); d != by {
			t.Errorf("the clocks differ by %s, want %s", d, by)
		}
	}
}

// tellTime answers each line with the wall clock, and ends where the monotonic
// clock has been stepped.
func tellTime() {
	began := time.Now()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if passed := time.Since(began); passed < 0 || passed > 30*time.Second {
			os.Exit(1)
		}
		_, _ = os.Stdout.WriteString(strconv.FormatInt(time.Now().UnixNano(), 10) + "\n")
	}
	os.Exit(0)
}
