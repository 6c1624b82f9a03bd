package fabric

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/collectors/fabric/ibdiag"
	"github.com/quintet-dc/quintet/lab/wire/ibsim"
	"github.com/quintet-dc/quintet/telemetry"
)

// surveyor has a bench's subnet discovered step by step and writes what is
// reported.
type surveyor struct {
	t *testing.T
	b *bench
	r *reader
	l *ledger
	n int // discoveries so far
}

// newSurveyor: two adapters on leaf00, one on leaf01, a spine. Cables 0 to 2 are
// the adapters', 3 and 4 the leaves'.
func newSurveyor(t *testing.T) *surveyor {
	b := newBench(ibsim.Tree(3, 2, 1))
	l := newLedger(t)
	r, err := on(t, b, Config{}).newReader(l)
	if err != nil {
		t.Fatal(err)
	}
	return &surveyor{t: t, b: b, r: r, l: l}
}

// see discovers the subnet and returns what was reported, one item a line.
func (s *surveyor) see(whole bool) string {
	s.t.Helper()
	top, faults, err := ibdiag.ParseTopology(s.b.listing())
	if err != nil || faults.Err() != nil {
		s.t.Fatal(err, faults.Err())
	}
	s.n++
	return s.told(func() { s.r.take(top, telemetry.Time(s.n)*telemetry.Time(time.Minute), whole) })
}

// told writes what an act reports: events, edges of cables with their beginning and
// end, and ports that are down or unknown.
func (s *surveyor) told(act func()) string {
	before := s.l.edges
	s.l.events, s.l.edges = nil, map[telemetry.EdgeIdentity]telemetry.Edge{}
	act()
	out := s.l.happened()
	var edges []string
	for id, e := range s.l.edges {
		if e.Relation != telemetry.Connects {
			continue
		}
		edges = append(edges, fmt.Sprintf("edge %s - %s %sGb %s..%s", e.From.Name, e.To.Name, strings.TrimSuffix(e.Attr(telemetry.AttrSpeed), "000000000"), minute(e.Start), minute(e.End)))
		before[id] = e
	}
	slices.Sort(edges)
	out = append(out, edges...)
	var ports []string
	for x, v := range s.l.values {
		if x.Metric == "port_up" && v == 0 {
			ports = append(ports, x.Entity.Name+" down")
		}
	}
	for x := range s.l.gaps {
		if x.Metric == "port_up" {
			ports = append(ports, x.Entity.Name+" ?")
		}
	}
	slices.Sort(ports)
	return strings.Join(append(out, ports...), "\n")
}

func minute(t telemetry.Time) string {
	if t == 0 {
		return ""
	}
	return fmt.Sprint(int64(t) / int64(time.Minute))
}

func (s *surveyor) want(got string, lines ...string) {
	s.t.Helper()
	if want := strings.Join(lines, "\n"); got != want {
		s.t.Errorf("told\n%s\nwant\n%s", got, want)
	}
}

// first is what the first discovery reports: no event, every edge without a
// beginning.
var first = []string{
	"edge leaf00/eth1 - n0000/mlx5_0 200Gb ..",
	"edge leaf00/eth2 - n0000/mlx5_1 200Gb ..",
	"edge leaf00/eth3 - spine00/eth1 200Gb ..",
	"edge leaf01/eth1 - n0000/mlx5_2 200Gb ..",
	"edge leaf01/eth3 - spine00/eth2 200Gb ..",
}

// A cable between switches is pulled and put back: both ends are in view.
func TestACableBetweenSwitches(t *testing.T) {
	s := newSurveyor(t)
	// A second way, so that both leaves stay in view.
	s.b.net.Nodes[0].Ports, s.b.net.Nodes[1].Ports = 4, 4
	s.b.net.Cables = append(s.b.net.Cables, ibsim.Cable{A: ibsim.End{Node: 0, Port: 4}, B: ibsim.End{Node: 1, Port: 4}, Width: 4, Speed: "HDR"})
	s.see(true)
	s.want(s.see(true))
	s.b.pulled[3] = true
	s.want(s.see(true),
		"port:leaf00/eth3 link_down was 4xHDR, to spine00/eth1",
		"port:spine00/eth1 link_down was 4xHDR, to leaf00/eth3",
		"edge leaf00/eth3 - spine00/eth1 200Gb ..",
		"leaf00/eth3 down", "spine00/eth1 down")
	s.want(s.see(true), "leaf00/eth3 down", "spine00/eth1 down")
	s.b.pulled[3] = false
	s.want(s.see(true),
		"port:leaf00/eth3 link_up 4xHDR, to spine00/eth1",
		"port:spine00/eth1 link_up 4xHDR, to leaf00/eth3",
		"edge leaf00/eth3 - spine00/eth1 200Gb ..")
	// One is put into a port that was free: the port that it leaves is down.
	s.b.net.Cables[3].A.Port = 5
	s.b.net.Nodes[0].Ports = 5
	s.want(s.see(true),
		"port:leaf00/eth3 link_down was 4xHDR, to spine00/eth1",
		"port:spine00/eth1 link_down was 4xHDR, to leaf00/eth3",
		"port:leaf00/eth5 link_up 4xHDR, to spine00/eth1",
		"port:spine00/eth1 link_up 4xHDR, to leaf00/eth5",
		"edge leaf00/eth3 - spine00/eth1 200Gb ..6",
		"edge leaf00/eth5 - spine00/eth1 200Gb 6..",
		"leaf00/eth3 down")
}

// An adapter that is gone reports nothing about itself; its switch's port does.
func TestAnAdapterIsOff(t *testing.T) {
	s := newSurveyor(t)
	s.want(s.see(true), first...)
	s.b.off[4] = true
	s.want(s.see(true), "port:leaf00/eth2 link_down was 4xHDR, to n0000/mlx5_1", "edge leaf00/eth2 - n0000/mlx5_1 200Gb ..", "leaf00/eth2 down", "n0000/mlx5_1 down")
}

// A switch that is gone hides everything connected to it: that is unknown, and
// nothing is reported.
func TestASwitchIsGone(t *testing.T) {
	s := newSurveyor(t)
	s.see(true)
	s.b.off[1] = true // leaf01, as it is seen from leaf00
	s.want(s.see(true), "port:spine00/eth2 link_down was 4xHDR, to leaf01/eth3", "edge leaf01/eth3 - spine00/eth2 200Gb ..",
		"leaf01/eth1 ?", "leaf01/eth3 down", "n0000/mlx5_2 ?", "spine00/eth2 down")
	clear(s.b.off)
	s.want(s.see(true), "port:leaf01/eth3 link_up 4xHDR, to spine00/eth2", "port:spine00/eth2 link_up 4xHDR, to leaf01/eth3", "edge leaf01/eth3 - spine00/eth2 200Gb ..")
}

// A discovery that lost answers proves nothing of what it does not list.
func TestADiscoveryWithLosses(t *testing.T) {
	s := newSurveyor(t)
	s.see(true)
	s.b.pulled[0], s.b.off[1] = true, true
	s.want(s.see(false), "leaf00/eth1 ?", "leaf01/eth1 ?", "leaf01/eth3 ?", "n0000/mlx5_0 ?", "n0000/mlx5_2 ?", "spine00/eth2 ?")
	clear(s.b.off)
	s.want(s.see(true), "port:leaf00/eth1 link_down was 4xHDR, to n0000/mlx5_0", "edge leaf00/eth1 - n0000/mlx5_0 200Gb ..", "leaf00/eth1 down", "n0000/mlx5_0 down")
}

// A node that did not report its name keeps its old one, unless it was asked and
// reports none; one that is given a name has other edges.
func TestANodeIsNamed(t *testing.T) {
	s := newSurveyor(t)
	s.see(true)
	s.b.net.Nodes[3].Name, s.b.net.Nodes[2].Name = "", ""
	s.want(s.see(false))
	s.b.net.Nodes[2].Name, s.b.net.Nodes[3].Name = "MF0;spine00:MQM8700/U1", "MT4129 ConnectX7   Mellanox Technologies"
	s.want(s.see(true), "edge leaf00/eth1 - guid-0c42a20300100300 200Gb 3..", "edge leaf00/eth1 - n0000/mlx5_0 200Gb ..3", "n0000/mlx5_0 ?")
	s.b.net.Nodes[3].Name = "n0000 mlx5_0"
	s.want(s.see(true), "edge leaf00/eth1 - guid-0c42a20300100300 200Gb 3..4", "edge leaf00/eth1 - n0000/mlx5_0 200Gb 4..", "guid-0c42a20300100300 ?")
}

// A cable is put into another port: the old edge ends, the new one begins.
func TestACableIsMoved(t *testing.T) {
	s := newSurveyor(t)
	s.see(true)
	s.b.net.Cables[0].B.Port, s.b.net.Cables[1].B.Port = 2, 1 // two adapters change places
	s.want(s.see(true),
		"port:leaf00/eth2 link_down was 4xHDR, to n0000/mlx5_1",
		"nic:n0000/mlx5_1 link_down was 4xHDR, to leaf00/eth2",
		"port:leaf00/eth1 link_down was 4xHDR, to n0000/mlx5_0",
		"nic:n0000/mlx5_0 link_down was 4xHDR, to leaf00/eth1",
		"port:leaf00/eth2 link_up 4xHDR, to n0000/mlx5_0",
		"nic:n0000/mlx5_0 link_up 4xHDR, to leaf00/eth2",
		"port:leaf00/eth1 link_up 4xHDR, to n0000/mlx5_1",
		"nic:n0000/mlx5_1 link_up 4xHDR, to leaf00/eth1",
		"edge leaf00/eth1 - n0000/mlx5_0 200Gb ..2",
		"edge leaf00/eth1 - n0000/mlx5_1 200Gb 2..",
		"edge leaf00/eth2 - n0000/mlx5_0 200Gb 2..",
		"edge leaf00/eth2 - n0000/mlx5_1 200Gb ..2")
}

// A link that comes up narrower keeps what it could do on its edge.
func TestALinkIsSlower(t *testing.T) {
	s := newSurveyor(t)
	s.see(true)
	s.b.net.Cables[3].Width = 1
	s.want(s.see(true))
	if v, _ := s.l.value("port:spine00/eth1 port_speed_bits_per_second"); v != 50e9 {
		t.Errorf("runs at %g", v)
	}
	s.b.net.Cables[3].Width, s.b.net.Cables[3].Speed = 4, "NDR"
	s.want(s.see(true), "edge leaf00/eth3 - spine00/eth1 400Gb ..")
}

// A link that is down for more than an hour has no cable any more.
func TestACableIsForgotten(t *testing.T) {
	s := newSurveyor(t)
	s.see(true)
	s.b.pulled[0] = true
	s.see(true)
	s.n += 60
	s.want(s.see(true), "edge leaf00/eth1 - n0000/mlx5_0 200Gb ..63", "leaf00/eth1 ?", "n0000/mlx5_0 ?")
	s.b.pulled[0] = false
	s.want(s.see(true), "port:leaf00/eth1 link_up 4xHDR, to n0000/mlx5_0", "nic:n0000/mlx5_0 link_up 4xHDR, to leaf00/eth1", "edge leaf00/eth1 - n0000/mlx5_0 200Gb 64..")
}

// What is out of view for more than a day is gone too.
func TestACableOutOfViewIsForgotten(t *testing.T) {
	s := newSurveyor(t)
	s.see(true)
	s.b.off[1] = true
	s.see(true)
	s.n += 1440
	s.want(s.see(true), "edge leaf01/eth1 - n0000/mlx5_2 200Gb ..1443", "edge leaf01/eth3 - spine00/eth2 200Gb ..1443",
		"leaf01/eth1 ?", "leaf01/eth3 ?", "n0000/mlx5_2 ?", "spine00/eth2 ?")
	if n := len(s.r.subnet.cables); n != 2*3 {
		t.Errorf("%d ends are kept, want 6", n)
	}
}

// Nothing is known, and nothing is reported, while the subnet is not reachable.
func TestNothingIsSeen(t *testing.T) {
	s := newSurveyor(t)
	s.see(true)
	s.b.cut = true
	got := s.told(func() { s.r.survey(t.Context()) })
	if strings.Contains(got, "link") || strings.Count(got, " ?") != 10 {
		t.Errorf("told\n%s", got)
	}
	if s.l.last.Err == nil {
		t.Error("the sweep says nothing of it")
	}
	s.b.cut = false
	s.want(s.see(true))
}

// What lies in what is stated once.
func TestContainmentIsStated(t *testing.T) {
	s := newSurveyor(t)
	s.see(true)
	var got []string
	for _, e := range s.l.edges {
		if e.Relation == telemetry.Contains {
			got = append(got, e.From.String()+" "+e.To.String())
		}
	}
	slices.Sort(got)
	s.want(strings.Join(got, "\n"), "node:n0000 nic:n0000/mlx5_0", "node:n0000 nic:n0000/mlx5_1", "node:n0000 nic:n0000/mlx5_2",
		"switch:leaf00 port:leaf00/eth1", "switch:leaf00 port:leaf00/eth2", "switch:leaf00 port:leaf00/eth3",
		"switch:leaf01 port:leaf01/eth1", "switch:leaf01 port:leaf01/eth3", "switch:spine00 port:spine00/eth1", "switch:spine00 port:spine00/eth2")
	s.see(true)
	for _, e := range s.l.edges {
		if e.Received == telemetry.Time(2*time.Minute) {
			t.Errorf("again: %+v", e)
		}
	}
}

// FuzzDiscoveries: for any sequence of discoveries, complete or not, what is
// reported is sound.
func FuzzDiscoveries(f *testing.F) {
	b := newBench(ibsim.Tree(3, 2, 1))
	one := string(b.listing())
	b.pulled[3], b.net.Cables[0].B.Port = true, 2
	f.Add(one, string(b.listing()), true)
	f.Add("Switch 3 \"S-1\"\n[1] \"S-1\"[2]\n[2] \"S-1\"[1]\n[3] \"S-1\"[3]", "Ca 2 \"H-1\"\n[1](3) \"S-2\"[0]\n\nSwitch 1 \"S-2\"# \"\" lid 3\n[0] \"H-1\"[1]", false)
	c := on(f, b, Config{Adapters: true})
	f.Fuzz(func(t *testing.T, first, second string, whole bool) {
		c.kept = newSubnet()
		r, err := c.newReader(collectorstest.Strict{T: t})
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range []string{first, second, first} {
			top, _, err := ibdiag.ParseTopology([]byte(text))
			if err != nil {
				continue
			}
			r.take(top, telemetry.Time(i+1)*telemetry.Time(time.Hour), whole)
			for j := range r.plan.portions {
				r.readPortion(t.Context(), &r.plan.portions[j])
			}
		}
		for e, c := range r.subnet.cables {
			if e != c.ends[0] && e != c.ends[1] {
				t.Errorf("%v is no end of %+v", e, c)
			}
		}
	})
}
