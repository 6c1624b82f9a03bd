package fabric

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/lab/wire/ibsim"
	"github.com/quintet-dc/quintet/telemetry"
)

// simulate runs a subnet of n with one manager on its first adapter.
func simulate(t *testing.T, n *ibsim.Net) (*ibsim.Sim, *ibsim.Manager) {
	t.Helper()
	if err := ibsim.Available(); err != nil {
		t.Skipf("no simulated subnet: %v", err)
	}
	s, err := ibsim.Start(t.Context(), fmt.Sprintf("%s-%d", t.Name(), os.Getpid()), t.TempDir(), n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	m, err := s.Manage(n.Find("n0000 mlx5_0"), 12)
	if err != nil {
		t.Fatal(err)
	}
	return s, m
}

// reading returns a collector that stands on a node of the subnet.
func reading(t *testing.T, s *ibsim.Sim, node string, change func(*Config)) *Collector {
	t.Helper()
	c := Config{Subnet: "p0", Every: time.Second, Topology: 2 * time.Second, PortName: "eth{port}", Timeout: 300 * time.Millisecond,
		Environment: s.Environment(s.Net.Find(node)), Directory: s.Dir()}
	if change != nil {
		change(&c)
	}
	out, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func connects(l *ledger) (n int) {
	for _, e := range l.edges {
		if e.Relation == telemetry.Connects && e.End == 0 {
			n++
		}
	}
	return n
}

// TestARealSubnet: ibnetdiscover, perfquery and sminfo, OpenSM and ibsim. A tree
// of 64 adapters is seen in full; a cable is pulled and put back; counters that
// ibsim's console sets come out exact; the manager dies and the standby
// follows.
func TestARealSubnet(t *testing.T) {
	net := ibsim.Tree(64, 4, 2)
	sim, master := simulate(t, net)
	ctx, cancel := context.WithTimeout(t.Context(), 80*time.Second)
	defer cancel()
	began := time.Now()
	l := start(t, reading(t, sim, "n0003 mlx5_5", nil))
	step := func(what string) { t.Logf("%5.1f s: %s", time.Since(began).Seconds(), what) }

	l.until(ctx, "every cable", func() bool { return connects(l) == len(net.Cables) })
	step("discovered")
	l.until(ctx, "counters of a port", func() bool { _, ok := l.value("port:spine01/eth4 port_tx_bytes_total"); return ok })
	step("read")
	if v, _ := l.value("port:leaf00/eth1 port_speed_bits_per_second"); v != 200e9 {
		t.Errorf("leaf00/eth1 runs at %g", v)
	}
	l.until(ctx, "a manager", func() bool { v, _ := l.value("sm:p0 sm_up"); return v == 1 })

	leaf := net.Find("MF0;leaf01:MQM8700/U1")
	set := []ibsim.Counter{
		{At: ibsim.End{Node: leaf, Port: 3}, Attribute: "PortCounters", Field: "PortXmitWait", Value: 4_000_000_123},
		{At: ibsim.End{Node: leaf, Port: 3}, Attribute: "PortCounters", Field: "SymbolErrorCounter", Value: 65_535},
		{At: ibsim.End{Node: leaf, Port: 3}, Attribute: "PortCounters", Field: "PortXmitDiscards", Value: 77},
		{At: ibsim.End{Node: leaf, Port: 3}, Attribute: "PortCountersExtended", Field: "PortUnicastRcvPkts", Value: 1<<53 + 1},
	}
	if err := sim.Set(ctx, set...); err != nil {
		t.Fatal(err)
	}
	for series, want := range map[string]uint64{"port_xmit_wait_ticks_total": 4_000_000_123, "port_symbol_errors_total": 65_535,
		"port_tx_discards_total": 77, "port_rx_unicast_packets_total": 1<<53 + 1} {
		x := telemetry.Series{Entity: telemetry.Entity{Kind: telemetry.Port, Name: "leaf01/eth3"}, Metric: telemetry.MetricName(series)}
		l.until(ctx, series, func() bool { return l.words[x] == want })
	}
	step("counters exact")

	cable := ibsim.End{Node: leaf, Port: 7}
	if err := sim.Pull(ctx, cable); err != nil {
		t.Fatal(err)
	}
	l.until(ctx, "link_down", func() bool { v, ok := l.value("port:leaf01/eth7 port_up"); return ok && v == 0 && len(l.events) > 0 })
	step("cable pulled")
	if err := sim.Plug(ctx, cable); err != nil {
		t.Fatal(err)
	}
	l.until(ctx, "link_up", func() bool { v, ok := l.value("port:leaf01/eth7 port_up"); return ok && v == 1 })
	step("cable put back")

	if _, err := sim.Manage(net.Find("n0005 mlx5_1"), 10); err != nil {
		t.Fatal(err)
	}
	step("standby")
	<-time.After(3 * time.Second) // the standby finds the master
	master.Kill()
	l.until(ctx, "another master", func() bool {
		return len(l.events) > 0 && l.events[len(l.events)-1].Name == telemetry.EventSMMasterChanged
	})
	step("failed over")
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.happened() {
		t.Log(e)
	}
	t.Log(l.dropped, l.sweeps, l.frames)
}
