package fabric

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors/fabric/ibdiag"
	"github.com/quintet-dc/quintet/lab/wire/ibsim"
	"github.com/quintet-dc/quintet/telemetry"
)

// simulate runs a subnet of n with one manager on its first adapter.
func simulate(t *testing.T, n *ibsim.Net) (*ibsim.Sim, *ibsim.Manager) {
	t.Helper()
	if err := ibsim.Available(); err != nil {
		t.Skipf("no simulated subnet: %v", err)
	}
	s, err := ibsim.Start(t.Context(), t.TempDir(), n)
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

// reading returns a collector that runs on a node of the subnet.
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
	step := func(what string) { t.Logf("%5.1f s: %s", time.Since(began).Seconds(), what) } // for whoever watches

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
	standby(ctx, t, sim, net.Find("n0005 mlx5_1"))
	master.Kill()
	l.until(ctx, "another master", func() bool {
		return len(l.events) > 0 && l.events[len(l.events)-1].Name == telemetry.EventSMMasterChanged
	})
	step("failed over")
	l.mu.Lock()
	defer l.mu.Unlock()
	want := []string{
		"port:leaf01/eth7 link_down was 4xHDR, to n0002/mlx5_6",
		"port:leaf01/eth7 link_up 4xHDR, to n0002/mlx5_6",
		"nic:n0002/mlx5_6 link_up 4xHDR, to leaf01/eth7",
		"sm:p0 sm_master_changed n0000/mlx5_0 -> n0005/mlx5_1, priority 10",
	}
	if got := l.happened(); !slices.Equal(got, want) {
		t.Errorf("told %q\nwant %q", got, want)
	}
	if n := connects(l); n != len(net.Cables) {
		t.Errorf("%d cables at the end, want %d", n, len(net.Cables))
	}
}

// heard keeps the warnings of a log.
type heard struct {
	slog.Handler
	warned chan string
}

func (h heard) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

func (h heard) Handle(_ context.Context, r slog.Record) error {
	select {
	case h.warned <- r.Message:
	default:
	}
	return nil
}

// TestARealSubnetThatLosesDatagrams: switches that answer no more than one
// request in ten make it back off, and links that are not seen for that are not
// reported down.
func TestARealSubnetThatLosesDatagrams(t *testing.T) {
	net := ibsim.Tree(16, 2, 2)
	sim, _ := simulate(t, net)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	h := heard{slog.DiscardHandler, make(chan string, 1)}
	l := newLedger(t)
	l.log = h
	startInto(l, reading(t, sim, "n0001 mlx5_7", nil))
	l.until(ctx, "counters of a port", func() bool { _, ok := l.value("port:spine01/eth2 port_tx_bytes_total"); return ok })
	for _, name := range []string{"MF0;spine00:MQM8700/U1", "MF0;spine01:MQM8700/U1"} {
		for port := 0; port <= 2; port++ {
			if err := sim.Lose(ctx, ibsim.End{Node: net.Find(name), Port: port}, 90); err != nil {
				t.Fatal(err)
			}
		}
	}
	for {
		select {
		case said := <-h.warned:
			if !strings.Contains(said, "back-off") {
				continue
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			if len(l.events) > 0 {
				t.Errorf("reported links that it lost sight of: %q", l.happened())
			}
			return
		case <-ctx.Done():
			l.mu.Lock()
			t.Fatalf("no back-off: dropped %v, events %v", l.dropped, l.happened())
		}
	}
}

// program runs a program of infiniband-diags on a node, and returns its output.
func program(ctx context.Context, sim *ibsim.Sim, node int, name string, args ...string) (string, error) {
	path, err := find("", name)
	if err != nil {
		return "", err
	}
	c := Config{Environment: sim.Environment(node)}
	a := processes{c.variables(), sim.Dir()}.run(ctx, request{program: path, args: args, most: 1 << 20, patient: 30 * time.Second})
	if a.err != nil {
		return "", fmt.Errorf("%s: %w: %s", name, a.err, a.complaints)
	}
	return string(a.out), nil
}

// standby waits until the manager on a node has found the master.
func standby(ctx context.Context, t *testing.T, sim *ibsim.Sim, node int) {
	t.Helper()
	for {
		// From the node itself, whose manager it is.
		text, err := program(ctx, sim, node, "sminfo", "-D", "0", "-t", "300")
		if m, bad := ibdiag.ParseManager([]byte(text)); err == nil && bad == nil && m.State == ibdiag.Standby {
			return
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("no standby: %s %v", text, err)
		}
	}
}

// TestWhatADiscoveryCosts: what ibnetdiscover and perfquery send is counted by
// the port that sends it, and is what is reckoned with.
func TestWhatADiscoveryCosts(t *testing.T) {
	net := ibsim.Tree(48, 4, 3)
	sim, _ := simulate(t, net)
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	here, there := net.Find("n0002 mlx5_0"), net.Find("n0005 mlx5_0")
	run := func(node int, name string, args ...string) string {
		t.Helper()
		for { // addresses are given before the ways to them
			text, err := program(ctx, sim, node, name, args...)
			if err == nil {
				return text
			}
			if ctx.Err() != nil {
				t.Fatal(err)
			}
		}
	}
	var top *ibdiag.Topology
	for lid := uint16(0); lid == 0; { // until the manager has been everywhere
		var err error
		if top, _, err = ibdiag.ParseTopology([]byte(run(here, "ibnetdiscover"))); err != nil {
			t.Fatal(err)
		}
		lid = ^uint16(0)
		for _, n := range top.Nodes {
			for _, l := range n.Links {
				if n.Type == ibdiag.Adapter {
					lid = min(lid, l.LID)
				}
			}
		}
		if ctx.Err() != nil {
			t.Fatal("no manager")
		}
	}
	lid := func(node int) string {
		for _, n := range top.Nodes {
			if n.GUID == net.Nodes[node].GUID {
				return strconv.Itoa(int(max(n.LID, n.Links[0].LID)))
			}
		}
		return ""
	}
	sent := func() (n int) {
		t.Helper()
		_, err := ibdiag.ParseCounters([]byte(run(there, "perfquery", "-x", lid(here), "1")), func(c *ibdiag.Counters) {
			for _, f := range c.Fields {
				if string(f.Name) == "PortXmitPkts" {
					n = int(f.Value)
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := sent()
	idle := sent() - before
	before = sent()
	run(here, "ibnetdiscover", "-o", "1")
	discovery := sent() - before - idle
	links := 2 * len(net.Cables)
	if got, most := discovery, discoveryCost(top); got > most || got < most-links-links/10 {
		t.Errorf("a discovery sends %d, reckoned with are %d, %d of them for what links can", got, most, links)
	}
	p := portion{lid: 0, ports: []int{1, 2, 3, 4, 5, 6, 7, 8, 9}}
	args := p.args("1000")
	args[len(args)-2] = lid(net.Find("MF0;leaf00:MQM8700/U1"))
	before = sent()
	run(here, "perfquery", args...)
	if got := sent() - before - idle; got < p.cost()-2 || got > p.cost()+4 { // the manager sweeps meanwhile
		t.Errorf("perfquery sends %d for %d ports, reckoned with are %d", got, len(p.ports), p.cost())
	}
	t.Logf("%d nodes, %d cables: a discovery sends %d datagrams", len(top.Nodes), len(net.Cables), discovery)
}
