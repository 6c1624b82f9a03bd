package topology

import (
	"fmt"
	"strings"
	"testing"
)

// hall is two hosts on a switch, a job on both, and an edge that is never renewed.
func hall(at int) *Graph {
	return site(at,
		"nic:h0/n0 connects port:s/p0 speed_bits_per_second=1e11",
		"nic:h1/n0 connects port:s/p1",
		"job:a runs node:h0 recv=1", "job:a runs node:h1 recv=1",
		"rack:r contains node:h0", "node:h0 contains nic:h0/n0")
}

func spell(x Excerpt) string {
	var out []string
	for _, e := range x.Edges {
		s := fmt.Sprintf("%v %s %v", e.From, e.Relation, e.To)
		if e.Source == FromName {
			s += " by name"
		}
		if e.Stale {
			s += " stale"
		}
		out = append(out, s)
	}
	return strings.Join(out, "\n")
}

func TestAroundGoesAsFarAsItIsAsked(t *testing.T) {
	g := hall(2)
	for hops, want := range map[int]string{
		0: "node:h1",
		1: "job:a nic:h1/n0 node:h1",
		2: "job:a nic:h1/n0 node:h0 node:h1 port:s/p1",
		9: "job:a nic:h0/n0 nic:h1/n0 node:h0 node:h1 port:s/p0 port:s/p1 rack:r switch:s",
	} {
		if got := names(g.Around(ent("node:h1"), hops, 100).Entities); got != want {
			t.Errorf("%d hops: %s, want %s", hops, got, want)
		}
	}
	want := "node:h1 contains nic:h1/n0 by name\njob:a runs node:h1"
	if got := spell(g.Around(ent("node:h1"), 1, 100)); got != want {
		t.Errorf("edges:\n%s\nwant:\n%s", got, want)
	}
	if x := g.Around(ent("node:h9"), 3, 100); len(x.Entities) > 0 {
		t.Errorf("around what is not there: %v", x.Entities)
	}
}

func TestAnExcerptSaysWhatIsStaleAndWhatThereWasNoRoomFor(t *testing.T) {
	g := hall(1000)
	whole := g.Whole(100)
	if got := strings.Count(spell(whole), "stale"); got != 2 || whole.Truncated {
		t.Errorf("%d stale edges, truncated %v: want the two of the job:\n%s", got, whole.Truncated, spell(whole))
	}
	if got := len(whole.Edges); got != 6+3 { // nic in h1, two ports in s
		t.Errorf("%d edges, want 9:\n%s", got, spell(whole))
	}
	if x := g.Whole(4); len(x.Edges) != 4 || !x.Truncated {
		t.Errorf("%d edges of at most 4, truncated %v", len(x.Edges), x.Truncated)
	}
	if x := g.Around(ent("switch:s"), 9, 3); len(x.Entities) != 3 || len(x.Edges) > 3 || !x.Truncated {
		t.Errorf("%d entities of at most 3, truncated %v", len(x.Entities), x.Truncated)
	}
	total := 0
	for _, k := range g.Count() {
		total += k.Count
	}
	if total != 9 {
		t.Errorf("%d entities counted, want 9: %v", total, g.Count())
	}
}

// TestAnExcerptShowsWhatAnswers: of two containers that exclude each other, one.
func TestAnExcerptShowsWhatAnswers(t *testing.T) {
	g := site(5, "rack:r1 contains node:h0 src=file", "rack:r2 contains node:h0 src=slurm")
	if got := len(g.Whole(100).Edges); got != 1 {
		t.Errorf("%d edges, want the one that is believed:\n%s", got, spell(g.Whole(100)))
	}
}
