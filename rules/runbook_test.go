package rules

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mostLines is what is read at night.
const mostLines = 30

var otherSignature = regexp.MustCompile(`[a-z]+(?:-[a-z]+)+`)

// TestEverySignatureHasARunbook: what it means, how to confirm it, what to do, and
// when it is something else, which is the name of another signature where it is said
// to be one.
func TestEverySignatureHasARunbook(t *testing.T) {
	set, err := Standard()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range set.Signatures {
		names = append(names, s.Name)
	}
	for _, name := range names {
		text, err := fs.ReadFile(Files(), name+"/runbook.md")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		runbookProblems(t, name, string(text), names)
	}
}

func runbookProblems(t *testing.T, name, text string, names []string) {
	t.Helper()
	if n := strings.Count(text, "\n"); n > mostLines {
		t.Errorf("%s: %d lines, more than %d", name, n, mostLines)
	}
	rest := text
	for _, part := range []string{"# " + name + "\n", "\n## Confirm\n\n- ", "\n## Do\n\n1. ", "\n## It is something else\n\n- "} {
		_, after, ok := strings.Cut(rest, part)
		if !ok {
			t.Errorf("%s: lacks %q, or it is not in its place", name, part)
			return
		}
		rest = after
	}
	for _, line := range strings.Split(rest, "\n") {
		_, said, ok := strings.Cut(line, "see ")
		if !ok {
			continue
		}
		for _, other := range otherSignature.FindAllString(said, -1) {
			if !slices.Contains(names, other) || other == name {
				t.Errorf("%s: leads to %q, which is no other signature", name, other)
			}
		}
	}
}
