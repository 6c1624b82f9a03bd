package prometheus

import (
	"embed"
	"io/fs"
	"path"
	"strings"
)

//go:embed *.yml
var files embed.FS

// testSuffix is how a file of tests ends.
const testSuffix = "_test.yml"

// Files returns the files that are part of the program, rules and tests.
func Files() fs.FS { return files }

// Names lists the files of rules, by name.
func Names() []string {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		panic(err) // the files are part of the program
	}
	var out []string
	for _, e := range entries {
		if !IsTest(e.Name()) {
			out = append(out, e.Name())
		}
	}
	return out
}

// IsTest reports whether a file of this name holds tests.
func IsTest(name string) bool { return strings.HasSuffix(path.Base(name), testSuffix) }
