package scenario

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheDocsExamplesAreRead reads every example of docs/scenarios.md; those
// that are only a part get the rest.
func TestTheDocsExamplesAreRead(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "scenarios.md"))
	if err != nil {
		t.Fatal(err)
	}
	examples := 0
	for i, block := range strings.Split(string(b), "\n```\n") {
		if i%2 == 0 {
			continue // text between examples
		}
		examples++
		text := block + "\n"
		if !strings.Contains(text, "-- site --") {
			text = "-- site --\nfor 60s\n" + text
		}
		if !strings.Contains(text, "-- want --") {
			text += "-- want --\nno incident\n"
		}
		s, err := Parse("docs/scenarios.md", []byte(text))
		if err != nil {
			t.Errorf("example %d: %v", examples, err)
			continue
		}
		if len(s.Records()) < 60 {
			t.Errorf("example %d: %d records", examples, len(s.Records()))
		}
	}
	if examples != 4 {
		t.Errorf("%d examples, want 4", examples)
	}
}
