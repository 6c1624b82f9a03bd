package collectorstest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Recorded runs the recordings of a folder: files of what a source sent, and the lines
// that its mapping makes of it. All mappings are tested in this form:
//
//	What it is, and where it was recorded.
//	-- source --
//	what is known of the source: labels, an entity, a profile
//	-- input --
//	what it sent
//	-- want --
//	entity metric value
func Recorded(t *testing.T, folder string, read func(t *testing.T, source, input string) []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no recording (%v)", folder, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			about, rest, ok := strings.Cut(string(b), "\n-- source --\n")
			source, rest, ok2 := strings.Cut(rest, "\n-- input --\n")
			input, want, ok3 := strings.Cut(rest, "\n-- want --\n")
			if !ok || !ok2 || !ok3 || about == "" {
				t.Fatalf("%s: want a description, and the sections source, input and want", file)
			}
			if got := strings.Join(read(t, source, input), "\n"); got != strings.TrimSpace(want) {
				t.Errorf("%s: got\n%s\nwant\n%s", file, got, want)
			}
		})
	}
}
