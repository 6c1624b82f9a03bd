package notifytest

import (
	"os"
	"path/filepath"
	"testing"
)

// Secret writes a text into a file of its own, as a secret is kept, and returns the
// file's path.
func Secret(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
