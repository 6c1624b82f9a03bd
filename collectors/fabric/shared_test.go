package fabric

import (
	"os"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/fabric/ibdiag"
	"github.com/quintet-dc/quintet/telemetry"
)

// Numbers counted in its lines by grep: engines inside switches, and adapters
// without a name in their description.
const engines, unnamed = 40, 69

// TestAnotherSitesFabric: the listing of another site's NDR fabric becomes cables
// between nics and ports; engines inside switches have none, and adapters that were
// never named are known by their GUIDs.
func TestAnotherSitesFabric(t *testing.T) {
	text, err := os.ReadFile("../../../shared/fixtures/ibdiag/topograph/ibnetdiscover/example.out")
	if err != nil {
		t.Skip("no recordings beside this checkout")
	}
	top, faults, err := ibdiag.ParseTopology(text)
	if err != nil || faults.Err() != nil {
		t.Fatal(err, faults.Err())
	}
	l := newLedger(t)
	r, err := on(t, &bench{}, Config{PortName: "{port}", Adapters: true}).newReader(l)
	if err != nil {
		t.Fatal(err)
	}
	r.take(top, 1, true)
	cables, nameless := 0, 0
	for _, e := range l.edges {
		if e.Relation != telemetry.Connects {
			continue
		}
		cables++
		if strings.HasPrefix(e.From.Name, "guid-") || strings.HasPrefix(e.To.Name, "guid-") {
			nameless++
		}
		if got := e.Attr(telemetry.AttrSpeed); got != "400000000000" {
			t.Errorf("%s to %s at %s", e.From, e.To, got)
		}
	}
	// 2,228 ends of links, two of each engine's.
	if want := (2228 - 2*engines) / 2; cables != want || nameless != unnamed {
		t.Errorf("%d cables, %d of them to nobody; want %d and %d", cables, nameless, want, unnamed)
	}
	there := false
	for id := range l.edges {
		a, b := id.From.String(), id.To.String()
		there = there || min(a, b) == "nic:a08-p1-dgx-04-c01/mlx5_5" && max(a, b) == "port:A09-P1-IBLEAF-04-04/1"
	}
	if !there {
		t.Error("no cable from nic:a08-p1-dgx-04-c01/mlx5_5 to port:A09-P1-IBLEAF-04-04/1")
	}
	if v, ok := l.value("port:A10-P1-IBSPINE-02/32 port_speed_bits_per_second"); !ok || v != 400e9 {
		t.Errorf("a spine's port runs at %g", v)
	}
	if l.dropped[collectors.Duplicate] > 0 || r.plan.unaddr > 0 || r.plan.ports != 2*cables {
		t.Errorf("%d ports of %d cables, %d without an address, dropped %v", r.plan.ports, cables, r.plan.unaddr, r.dropped)
	}
}
