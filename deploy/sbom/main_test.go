package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

// TestWriteListsTheModulesOfABinary on this test itself.
func TestWriteListsTheModulesOfABinary(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var a, b bytes.Buffer
	if err := write(&a, self, "v1.2.3"); err != nil {
		t.Fatal(err)
	}
	if err := write(&b, self, "v1.2.3"); err != nil || !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Errorf("two runs differ: %v", err)
	}
	var got bom
	if err := json.Unmarshal(a.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Format != "CycloneDX" || got.Metadata.Component.Version != "v1.2.3" || len(got.Components) == 0 || got.Components[0].PURL == "" {
		t.Errorf("%+v", got)
	}
	if err := write(&a, "main.go", "v1"); err == nil {
		t.Error("no error for a file that is no binary")
	}
}

// TestLicensesHaveTheTextOfEveryModule: the module's own, that of code which it contains,
// and an error where there is none.
func TestLicensesHaveTheTextOfEveryModule(t *testing.T) {
	cache := t.TempDir()
	for path, text := range map[string]string{"github.com/!acme/a@v1.0.0/LICENSE": "MIT", "github.com/!acme/a@v1.0.0/internal/x/LICENSE.txt": "BSD",
		"github.com/!acme/a@v1.0.0/testdata/LICENSE": "test", "github.com/!acme/a@v1.0.0/license.go": "package a", "github.com/b@v2.0.0/README": "none"} {
		name := filepath.Join(cache, path)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	m := &debug.Module{Path: "github.com/Acme/a", Version: "v1.0.0"}
	if err := ofModule(&out, m, filepath.Join(cache, escaped(m.Path)+"@"+m.Version)); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.Count(got, "github.com/Acme/a v1.0.0, ") != 2 || !strings.Contains(got, "MIT") || !strings.Contains(got, "internal/x/LICENSE.txt\n\nBSD") {
		t.Errorf("%s", got)
	}
	if err := ofModule(&out, m, filepath.Join(cache, "github.com/b@v2.0.0")); err == nil {
		t.Error("a module without a text is no error")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := licenses(&out, self, cache, cache); err == nil {
		t.Error("a standard library without a text is no error")
	}
}
