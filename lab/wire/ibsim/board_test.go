package ibsim

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/lab/board"
	"github.com/quintet-dc/quintet/lab/live"
	"github.com/quintet-dc/quintet/telemetry"
)

// TestSubnetsOfASite: a site of rails is one subnet, one of planes has one for
// each; every end is an entity of the site, and every switch has the ports that
// it needs.
func TestSubnetsOfASite(t *testing.T) {
	for seed, want := range map[uint64]int{14: 1, 4: 8} { // both are InfiniBand
		site, err := live.New(16, seed, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		b := site.Board()
		subnets, err := Subnets(b)
		if err != nil || len(subnets) != want || !InfiniBand(b) {
			t.Fatalf("seed %d: %d subnets, want %d: %v", seed, len(subnets), want, err)
		}
		cables, names := 0, map[string]bool{}
		for _, s := range subnets {
			cables += len(s.Net.Cables)
			names[s.Name] = true
			if s.PortName != "eth{port}" {
				t.Errorf("ports are named %q", s.PortName)
			}
			for _, c := range s.Net.Cables {
				for _, e := range []End{c.A, c.B} {
					if s.Of[e].Name == "" || e.Port > s.Net.Nodes[e.Node].Ports {
						t.Errorf("end %v of %s", e, s.Net.Nodes[e.Node].Name)
					}
				}
			}
		}
		if len(names) != want || !names["p0"] {
			t.Errorf("subnets %v", names)
		}
		wires := 0
		for _, e := range b.Edges(telemetry.Connects) {
			if wired(e.From) && wired(e.To) {
				wires++
			}
		}
		if cables != wires {
			t.Errorf("%d cables, want %d", cables, wires)
		}
	}
	site, err := live.New(16, 3, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if InfiniBand(site.Board()) {
		t.Error("a site on Ethernet is taken for InfiniBand")
	}
}

// TestNamesThatIbsimCannotHave are refused as what they are.
func TestNamesThatIbsimCannotHave(t *testing.T) {
	for to, want := range map[string]string{"leaf/up": "port:leaf/up: want a switch and a port's number from 1 to 254",
		"leaf/p300": "port:leaf/p300: want a switch and a port's number from 1 to 254"} {
		b := board.New()
		e := telemetry.Edge{From: telemetry.Entity{Kind: telemetry.NIC, Name: "h/n"}, To: telemetry.Entity{Kind: telemetry.Port, Name: to},
			Relation: telemetry.Connects, Source: "test"}
		if err := b.Take(&telemetry.Record{Kind: telemetry.EdgeRecord, Edge: &e}); err != nil {
			t.Fatal(err)
		}
		if _, err := Subnets(b); err == nil || err.Error() != want {
			t.Errorf("%s: %v", to, err)
		}
	}
	if _, err := Subnets(board.New()); err == nil || !strings.Contains(err.Error(), "no cable") {
		t.Errorf("an empty board: %v", err)
	}
}

func TestSpeedsInLanes(t *testing.T) {
	for speed, want := range map[float64]string{400e9: "8xHDR", 200e9: "4xHDR", 100e9: "4xEDR", 40e9: "4xQDR", 800e9: "12xHDR", 50e9: "1xHDR", 1: "1xSDR"} {
		if w, lane := form(speed); fmt.Sprintf("%dx%s", w, lane) != want {
			t.Errorf("%g: %dx%s, want %s", speed, w, lane, want)
		}
	}
}
