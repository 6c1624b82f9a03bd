package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"quintet": main}) }

// Every command as its user meets it: testdata/script/*.txtar. $RUNS is the
// folder of the recorded runs that are part of the project.
func TestScripts(t *testing.T) {
	runs, err := filepath.Abs("../../testdata/roce")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("UPDATE") != "",
		Setup: func(e *testscript.Env) error {
			e.Setenv("RUNS", runs)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"rc": exitCode, "damage": damage, "cut": cut},
	})
}
