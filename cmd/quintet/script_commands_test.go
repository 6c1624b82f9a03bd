package main

import (
	"errors"
	"os"
	"os/exec"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"
)

// exitCode runs quintet and wants a certain exit code: rc 3 check trace FILE.
// Its output is that of the command, for stdout and stderr to match.
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: rc CODE ARGUMENT...")
	}
	got := 0
	err := ts.Exec("quintet", args[1:]...)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

// damage flips a bit of a file: damage FILE OFFSET.
func damage(ts *testscript.TestScript, _ bool, args []string) {
	b, at := fileAt(ts, args)
	b[at] ^= 1
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b, 0o644))
}

// cut keeps the beginning of a file: cut FILE BYTES.
func cut(ts *testscript.TestScript, _ bool, args []string) {
	b, at := fileAt(ts, args)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b[:at], 0o644))
}

func fileAt(ts *testscript.TestScript, args []string) ([]byte, int) {
	b, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	at, err := strconv.Atoi(args[1])
	ts.Check(err)
	return b, at
}
