package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/quintet-dc/quintet/correlate"
)

// versionCommand prints what this program is.
type versionCommand struct{}

// Run prints the version, the source's revision and the toolchain.
func (c *versionCommand) Run(sh *shell) error {
	_, err := fmt.Fprintf(sh.out, "quintet %s\nsource %s\n%s %s/%s\n", release(), revision(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// program names this program in the files it writes.
func program() string { return "quintet " + correlate.Version }

// stamped and commit are the version and the revision of a release, written by the
// linker (deploy/release/build.sh); "" in any other build.
var stamped, commit string

// release returns the version of the release that this is, or that of the engine.
func release() string { return cmp.Or(strings.TrimPrefix(stamped, "v"), correlate.Version) }

// revision returns the commit this was built from, where the build records it.
func revision() string {
	if commit != "" {
		return commit
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	from, changed := "unknown", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			from = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = " with changes"
		}
	}
	return from + changed
}
