package topology

import (
	"fmt"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

// plant is two racks of one row with a switch between their hosts, fed twice and
// cooled once.
func plant() *Graph {
	return site(2,
		"row:w contains rack:r1", "row:w contains rack:r2", "rack:r1 contains node:h1", "rack:r2 contains node:h2",
		"pdu:w/a feeds rack:r1", "pdu:w/b feeds rack:r1", "crah:w cools rack:r1",
		"switch:s member plane:0", "switch:s member group:tier/leaf", "job:a runs node:h1",
		"nic:h1/n connects port:s/p1 speed_bits_per_second=4e11", "nic:h2/n connects port:s/p2", "port:s/p3 connects port:t/p1")
}

func told(ds []Detail, more bool) string {
	var out []string
	for _, d := range ds {
		s := d.Entity.String()
		for _, x := range []struct {
			what string
			who  []telemetry.Entity
		}{{"in", []telemetry.Entity{d.Inside}}, {"of", d.Groups}, {"peer", []telemetry.Entity{d.Peer}}, {"fed", d.FedBy}, {"cooled", d.CooledBy}, {"job", d.Jobs}} {
			if n := strings.TrimSpace(names(x.who)); n != "" {
				s += fmt.Sprintf(" %s %s", x.what, n)
			}
		}
		if d.Speed > 0 {
			s += fmt.Sprintf(" %g", d.Speed)
		}
		if d.Downlinks+d.Uplinks > 0 {
			s += fmt.Sprintf(" %d↓%d↑", d.Downlinks, d.Uplinks)
		}
		out = append(out, s)
	}
	if more {
		out = append(out, "…")
	}
	return strings.Join(out, "\n")
}

func TestAListShowsWhatIsNextToEach(t *testing.T) {
	g := plant()
	for kind, want := range map[telemetry.Kind]string{
		telemetry.Rack:   "rack:r1 in row:w fed pdu:w/a pdu:w/b cooled crah:w\nrack:r2 in row:w",
		telemetry.Node:   "node:h1 in rack:r1 job job:a\nnode:h2 in rack:r2",
		telemetry.Switch: "switch:s of group:tier/leaf plane:0 2↓1↑\nswitch:t 0↓1↑",
		telemetry.Port:   "port:s/p1 in switch:s peer nic:h1/n 4e+11\nport:s/p2 in switch:s peer nic:h2/n\nport:s/p3 in switch:s peer port:t/p1\nport:t/p1 in switch:t peer port:s/p3",
		telemetry.Loop:   "",
	} {
		if got := told(g.List(ListQuery{Kind: kind, Limit: 100})); got != want {
			t.Errorf("%s:\n%s\nwant:\n%s", kind, got, want)
		}
	}
}

// Pages of any length, one after the other, are the whole.
func TestPagesOfAListAreTheWhole(t *testing.T) {
	g := plant()
	for _, inside := range []telemetry.Entity{{}, ent("switch:s")} {
		whole := told(g.List(ListQuery{Kind: telemetry.Port, Inside: inside, Limit: 100}))
		for limit := 1; limit <= 5; limit++ {
			var all []Detail
			q := ListQuery{Kind: telemetry.Port, Inside: inside, Limit: limit}
			for more := true; more; {
				var page []Detail
				if page, more = g.List(q); len(page) > limit || more && len(page) == 0 {
					t.Fatalf("a page of %d for a limit of %d, more %v", len(page), limit, more)
				}
				all = append(all, page...)
				q.After = page[len(page)-1].Entity.Name
			}
			if got := told(all, false); got != whole {
				t.Errorf("pages of %d in %v:\n%s\nwant:\n%s", limit, inside, got, whole)
			}
		}
	}
	if got := told(g.List(ListQuery{Kind: telemetry.Port, After: "s/p25", Limit: 1})); got != "port:s/p3 in switch:s peer port:t/p1\n…" {
		t.Errorf("after a name that is gone:\n%s", got)
	}
}
