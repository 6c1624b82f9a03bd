package quintet_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSlowTestsExist: what make quick leaves out (testdata/slow.txt) is there, and
// in order; a test that was renamed or deleted is taken off the list.
func TestSlowTestsExist(t *testing.T) {
	text, err := os.ReadFile("testdata/slow.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if !slices.IsSorted(lines) {
		t.Error("testdata/slow.txt is not sorted")
	}
	tests := map[string]string{} // of a folder, by it
	for _, line := range lines {
		dir, name, ok := strings.Cut(line, " ")
		if !ok {
			t.Errorf("%q: want FOLDER TEST", line)
			continue
		}
		if _, ok := tests[dir]; !ok {
			tests[dir] = testsIn(t, dir)
		}
		if !strings.Contains(tests[dir], "\nfunc "+name+"(") {
			t.Errorf("%s has no %s: make the list anew with .ci/slow, or take the line out", dir, name)
		}
	}
}

// testsIn returns the text of the test files of a folder.
func testsIn(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(text)
	}
	return out.String()
}
