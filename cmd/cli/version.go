package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// VersionCommand prints what this program is.
type VersionCommand struct{}

// Run prints the version, the source's revision and the toolchain.
func (c *VersionCommand) Run(sh *Shell, a App) error {
	_, err := fmt.Fprintf(sh.Out, "%s %s\nsource %s\n%s %s/%s\n", a.Name, a.Release(), revision(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// stamped and commit are the version and the revision of a release, written by the
// linker (deploy/release/build.sh); "" in any other build.
var stamped, commit string

// Release returns the version of the release that this is, or a.Version.
func (a App) Release() string { return cmp.Or(strings.TrimPrefix(stamped, "v"), a.Version) }

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
