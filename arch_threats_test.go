package quintet_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// threatCommand is a command of the threat model's table.
var threatCommand = regexp.MustCompile("`go test \\./(\\S+) -run '?([^'`]+)'?`")

// TestThreatModelCommandsRunSomething: every command in docs/threats.md names a test
// that is there.
func TestThreatModelCommandsRunSomething(t *testing.T) {
	text, err := os.ReadFile("docs/threats.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := threatCommand.FindAllStringSubmatch(string(text), -1)
	if rows := strings.Count(string(text), "`go test "); len(commands) != rows || rows < 20 {
		t.Fatalf("%d commands in %d rows", len(commands), rows)
	}
	for _, c := range commands {
		files, err := filepath.Glob(c[1] + "/*_test.go")
		if err != nil || len(files) == 0 {
			t.Errorf("%s: no tests", c[0])
			continue
		}
		var tests strings.Builder
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			tests.Write(b)
		}
		for name := range strings.SplitSeq(c[2], `\|`) {
			name, _, _ = strings.Cut(name, "/")
			if !strings.Contains(tests.String(), "func "+name+"(") {
				t.Errorf("%s: %s is not a test of ./%s", c[0], name, c[1])
			}
		}
	}
}
