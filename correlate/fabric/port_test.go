package fabric_test

import (
	"fmt"
	"testing"

	"github.com/quintet-dc/quintet/correlate/fabric"
	"github.com/quintet-dc/quintet/telemetry"
)

// TestAPortOfANICIsItsEnd: a NIC that contains two ports has an end at each, read by the port's own
// series, and by the NIC's where the port has none.
func TestAPortOfANICIsItsEnd(t *testing.T) {
	w := build(t, 2, 1, 1)
	state := func(from string, r telemetry.Relation, to string) {
		w.graph.Add(&telemetry.Edge{From: entity(from), To: entity(to), Relation: r, Source: "file"})
	}
	state("node:h9", telemetry.Contains, "nic:h9/n0")
	state("switch:leaf0", telemetry.Contains, "port:leaf0/x0")
	state("switch:leaf1", telemetry.Contains, "port:leaf1/x0")
	for k := range 2 {
		port := fmt.Sprintf("port:h9/n0/p%d", k)
		state("nic:h9/n0", telemetry.Contains, port)
		state(port, telemetry.Connects, fmt.Sprintf("port:leaf%d/x0", k))
		state(port, telemetry.Member, fmt.Sprintf("plane:%d", k))
	}
	w.graph.Advance(at(1))
	w.sends("port:h9/n0/p1", 0.5)
	m := fabric.Survey(w.graph, w)
	if got := len(m.Links(entity("node:h9"))); got != 2 {
		t.Fatalf("the host has %d links, want 2", got)
	}
	for k := range 2 {
		i, ok := m.Index(entity(fmt.Sprintf("port:h9/n0/p%d", k)))
		facing, known := m.Index(entity(fmt.Sprintf("port:leaf%d/x0", k)))
		if !ok || !known || !m.Ends[i].IsNIC() || m.Ends[i].Entity != entity("nic:h9/n0") || m.Ends[i].Peer != facing || !m.FacesHost(facing) {
			t.Errorf("port %d: %+v", k, m.Ends[i])
		}
		if sends := m.SentBy(i) >= 0; sends != (k == 1) {
			t.Errorf("port %d is read: %v", k, sends)
		}
	}
	if len(m.Planes) != 2 || len(m.Planes[0].Ends) != 1 {
		t.Errorf("planes %+v", m.Planes)
	}
	on := fabric.OnPath(m, nodes("h9"))
	for _, port := range []string{"port:h9/n0/p0", "port:leaf0/x0", "port:h9/n0/p1", "port:leaf1/x0"} {
		if !on[index(t, m, port)] {
			t.Errorf("%s is not on the paths of what runs there", port)
		}
	}
}

// TestDropsOfAPriorityAreDrops: a port that counts those only that it drops of a priority for want
// of a buffer, and one that counts all.
func TestDropsOfAPriorityAreDrops(t *testing.T) {
	for _, all := range []bool{false, true} {
		w := quiet(t, 2, 1, 2)
		rates := map[string]float64{"port_rx_buffer_discards_total": 7}
		if all {
			rates["port_rx_discards_total"] = 9
		}
		for metric, rate := range rates {
			w.report("port:leaf0/h0", metric, half, grids, rate)
		}
		m, _, r := w.read()
		got, ok := r.Rate(index(t, m, "port:leaf0/h0"), fabric.Refused)
		if want := map[bool]float64{false: 7, true: 9}[all]; !ok || got != want {
			t.Errorf("all of them counted %v: %v packets a second, %v, want %v", all, got, ok, want)
		}
	}
}
