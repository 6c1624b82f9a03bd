package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryLinkOfTheDocumentsResolves builds the site of this repository, which
// fails at a link to a file or heading that is not there.
func TestEveryLinkOfTheDocumentsResolves(t *testing.T) {
	out := t.TempDir()
	if err := build("../..", out, "https://source/"); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(out, "index.js"))
	if err != nil {
		t.Fatal(err)
	}
	var index []struct{ T, U, X string }
	text := strings.TrimSuffix(strings.TrimPrefix(string(b), "window.quintetIndex="), ";\n")
	if err := json.Unmarshal([]byte(text), &index); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, e := range index {
		page, _, _ := strings.Cut(e.U, "#")
		if _, err := os.Stat(filepath.Join(out, page)); err != nil {
			t.Errorf("the index has %s: %v", e.U, err)
		}
		found = found || e.T == "The HTTP API" && strings.Contains(e.X, "cursor=")
	}
	if !found {
		t.Error("the index does not find cursor= on the page of the HTTP API")
	}
	loads(t, out)
}

// fromElsewhere finds what a page would load from another server.
var fromElsewhere = regexp.MustCompile(`(?:src|<link[^>]* href)="(?:https?:)?//[^"]*"`)

// loads checks that pages load nothing from elsewhere.
func loads(t *testing.T, out string) {
	t.Helper()
	err := filepath.WalkDir(out, func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".html") {
			return err
		}
		b, err := os.ReadFile(path)
		if found := fromElsewhere.Find(b); found != nil {
			t.Errorf("%s loads %s", path, found)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestBuildNamesBrokenLinks(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"README.md":   "# A\n\n[to](docs/x.1.md#here) [gone](docs/y.1.md) [no heading](docs/x.1.md#there) [own](#a) ![none](img/none.png)\n",
		"llms.txt":    "# A\n",
		"docs/x.1.md": "# X\n\n## Here\n\n[back](../README.md)\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	err := build(root, filepath.Join(root, "out"), "https://source/")
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"README.md: link docs/y.1.md: not found", "README.md: link img/none.png: not found", "README.md: link docs/x.1.md#there: no such heading"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %s", err, want)
		}
	}
	if strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("more than three: %v", err)
	}
}
