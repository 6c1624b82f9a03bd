package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/quintet-dc/quintet/correlate"
)

// versionCommand prints what this program is.
type versionCommand struct{}

// Run prints the engine's version, the source's revision and the toolchain.
func (c *versionCommand) Run(sh *shell) error {
	_, err := fmt.Fprintf(sh.out, "quintet %s\nsource %s\n%s %s/%s\n", correlate.Version, revision(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// program names this program in the files it writes.
func program() string { return "quintet " + correlate.Version }

// revision returns the commit this was built from, where the build says so.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	commit, changed := "unknown", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = " with changes"
		}
	}
	return commit + changed
}
