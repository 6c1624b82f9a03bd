package quintet_test

import (
	"fmt"
	"go/ast"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// documents returns the Go and Markdown files of the module, by path.
func documents(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".ci" || d.Name() == "node_modules"):
			return fs.SkipDir
		case filepath.Ext(path) != ".go" && filepath.Ext(path) != ".md":
			return nil
		}
		b, err := os.ReadFile(path)
		out[filepath.ToSlash(path)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// named matches what names a document of ours.
var named = regexp.MustCompile(`\bdocs/[A-Za-z0-9/_-]+\.md\b`)

// missing returns the documents that text names and that are not there.
func missing(text string, exists func(string) bool) (out []string) {
	for _, name := range named.FindAllString(text, -1) {
		if !exists(name) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

func TestDocumentsThatAreNamedExist(t *testing.T) {
	exists := func(name string) bool { _, err := os.Stat(name); return err == nil }
	for path, text := range documents(t) {
		if path == "arch_docs_test.go" {
			continue
		}
		for _, name := range missing(text, exists) {
			t.Errorf("%s names %s, which is not there", path, name)
		}
	}
	if got := missing("see docs/no-such.md", exists); len(got) != 1 {
		t.Errorf("a missing document was not noticed: %v", got)
	}
}

// testNamed and testDeclared match what names a test in backquotes, and what
// is one.
var (
	testNamed    = regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z][A-Za-z0-9]+)`")
	testDeclared = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)[A-Z]\w*)\(`)
)

// untested returns the tests that a document names and that are not there.
func untested(text string, tests map[string]bool) (out []string) {
	for _, m := range testNamed.FindAllStringSubmatch(text, -1) {
		if !tests[m[1]] {
			out = append(out, m[1])
		}
	}
	return out
}

func TestTestsThatDocumentsNameExist(t *testing.T) {
	all, tests := documents(t), map[string]bool{}
	for path, text := range all {
		if strings.HasSuffix(path, "_test.go") {
			for _, m := range testDeclared.FindAllStringSubmatch(text, -1) {
				tests[m[1]] = true
			}
		}
	}
	for path, text := range all {
		if strings.HasSuffix(path, ".md") {
			for _, name := range untested(text, tests) {
				t.Errorf("%s names %s, which is not there", path, name)
			}
		}
	}
	if got := untested("as `TestNoSuch` shows", tests); len(got) != 1 {
		t.Errorf("a missing test was not noticed: %v", got)
	}
}

var (
	decisionName = regexp.MustCompile(`^\d{4}-[a-z0-9-]+\.md$`)
	decisionHead = regexp.MustCompile(`^# (\d{4}) .+\n\nStatus: (proposed|accepted|superseded by \d{4})\nDate: \d{4}-\d\d-\d\d\n`)
)

// decisionFault says what is wrong with the form of a decision, or "".
func decisionFault(name, text string) string {
	head := decisionHead.FindStringSubmatch(text)
	switch {
	case !decisionName.MatchString(name):
		return "want a name as 0001-what-it-is.md"
	case head == nil:
		return "want '# 0001 Title', a Status and a Date"
	case head[1] != name[:4]:
		return "its number is not that of its name"
	}
	return ""
}

func TestDecisionsAreDatedAndNumbered(t *testing.T) {
	entries, err := os.ReadDir("docs/decisions")
	if err != nil {
		t.Fatal(err)
	}
	numbers := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join("docs/decisions", e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if fault := decisionFault(e.Name(), string(text)); fault != "" {
			t.Errorf("docs/decisions/%s: %s", e.Name(), fault)
			continue
		}
		if other := numbers[e.Name()[:4]]; other != "" {
			t.Errorf("docs/decisions: %s and %s have one number", other, e.Name())
		}
		numbers[e.Name()[:4]] = e.Name()
	}
	if decisionFault("0001-x.md", "# 0001 X\n\nNo date.\n") == "" || decisionFault("0002-x.md", "# 0001 X\n\nStatus: accepted\nDate: 2026-11-21\n") == "" {
		t.Error("a faulty decision was not noticed")
	}
}

// TestEveryInvariantHasATest: correlate/doc.go numbers them, and each has a
// test of its name.
func TestEveryInvariantHasATest(t *testing.T) {
	doc, err := os.ReadFile("correlate/doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var tests []string
	for _, p := range open(t).packages {
		for _, f := range p.files {
			for _, d := range f.ast.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && f.test {
					tests = append(tests, fn.Name.Name)
				}
			}
		}
	}
	for n := 1; n <= 9; n++ {
		if !strings.Contains(string(doc), fmt.Sprintf("\n// I%d. ", n)) {
			t.Errorf("correlate/doc.go does not state I%d", n)
		}
		if !slices.ContainsFunc(tests, func(s string) bool { return strings.HasPrefix(s, fmt.Sprintf("TestI%d", n)) }) {
			t.Errorf("I%d has no test of its name", n)
		}
	}
}
