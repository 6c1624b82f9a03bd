//go:build service

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/correlate"
)

// companion is the program that has the workbench.
const companion = "quintet-lab"

// workbench lists the commands that quintet-lab runs.
type workbench struct {
	Demo   delegated `cmd:"" passthrough:"" help:"Everything in one process, with a simulated site."`
	Lab    delegated `cmd:"" passthrough:"" help:"A run of the simulated site, with or without a fault, into a trace."`
	Score  delegated `cmd:"" passthrough:"" help:"Replay labelled bundles and print how often the answer was right."`
	Learn  delegated `cmd:"" passthrough:"" help:"Move the priors of signatures towards what incidents with a verdict were."`
	Export delegated `cmd:"" passthrough:"" help:"Write a recording as Parquet, for other programs."`
}

// delegated is a command of quintet-lab: this process becomes that one.
type delegated struct {
	Args []string `arg:"" optional:"" passthrough:"" help:"Flags and arguments: see the command's --help."`
}

// Run is reached by none: prelude has replaced the process.
func (delegated) Run(*cli.Shell) error { return errors.ErrUnsupported }

// prelude replaces this process with quintet-lab where the command is one of the
// workbench's. It returns where there is nothing to replace, or nothing to
// replace it with.
func prelude() error {
	if len(os.Args) < 2 || !delegates(os.Args[1]) {
		return nil
	}
	if _, ok := os.LookupEnv(labVersion); ok {
		return fmt.Errorf("%s: %s is a quintet without the workbench: install the package %s", os.Args[1], companion, companion)
	}
	path, err := locate()
	if err != nil {
		return fmt.Errorf("%s: %w", os.Args[1], err)
	}
	env := append(os.Environ(), labVersion+"="+correlate.Version)
	return fmt.Errorf("%s: %s: %w", os.Args[1], path, syscall.Exec(path, append([]string{companion}, os.Args[1:]...), env))
}

// delegates reports whether a command is one of the workbench's.
func delegates(command string) bool {
	for f := range reflect.TypeFor[workbench]().Fields() {
		if strings.ToLower(f.Name) == command {
			return true
		}
	}
	return false
}

// locate returns where quintet-lab is: in the folder of this program, or in PATH.
func locate() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return "", err
	}
	beside := filepath.Join(filepath.Dir(self), companion)
	if _, err := os.Stat(beside); err == nil {
		return beside, nil
	}
	path, err := exec.LookPath(companion)
	if err != nil {
		return "", fmt.Errorf("%s not found beside %s or in PATH: install the package %s", companion, self, companion)
	}
	return path, nil
}
