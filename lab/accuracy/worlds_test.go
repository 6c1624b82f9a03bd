package accuracy

import (
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/lab/cases"
	"github.com/quintet-dc/quintet/replay/score"
)

func TestWriteWorldsPrintsALineForEachFamilyAndTheTotal(t *testing.T) {
	ran := cases.Outcome{Score: score.Case{Dir: "one", Class: cases.Healthy, Start: cases.Start, End: cases.Start.Add(3600e9)}}
	dropped := cases.Outcome{Dropped: "it hurts no job"}
	rows := []World{ByWorld("physics", []cases.Outcome{ran, dropped}), ByWorld("noise", []cases.Outcome{ran})}
	var b strings.Builder
	if err := WriteWorlds(&b, rows); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 4 {
		t.Fatalf("%d lines, want a head, two families and all:\n%s", len(lines), b.String())
	}
	for i, want := range []string{"", "physics 1 1 0", "noise 1 0 0", "all 2 1 0"} {
		if got := strings.Join(strings.Fields(lines[i])[:4], " "); want != "" && got != want {
			t.Errorf("line %d begins %q, want %q", i, got, want)
		}
	}
}
