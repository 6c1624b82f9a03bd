package logs

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/dial"
)

const down = "oper state set from up to down"

// TestSyslog: messages by datagram and by connection, in both framings and all
// forms, become the same events.
func TestSyslog(t *testing.T) {
	udp, tcp := free(t, "udp"), free(t, "tcp")
	c := sampleConfig()
	c.Listen, c.Hosts = []Address{udp, tcp}, map[string]string{"leaf9.example": "leaf9"}
	r, err := New(c, dial.Guard{})
	if err != nil {
		t.Fatal(err)
	}
	got := running(t, r)
	began := time.Now()
	d, err := net.Dial("udp", udp.Address.String())
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	fmt.Fprintf(d, "<141>1 %s leaf1 swss#orchagent - - - Port Ethernet4 %s", began.Add(-2*time.Second).Format(time.RFC3339Nano), down)
	await(t, "a datagram", func() bool { return got.count() == 1 })
	s, err := net.Dial("tcp", tcp.Address.String())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	m := "<141>1 2001-02-03T04:05:06Z leaf9.example swss#orchagent - - - Port Ethernet8 " + down
	fmt.Fprintf(s, "%d %s%d %s", len(m), m, len(m), strings.Replace(m, "Ethernet8", "Ethernet0", 1))
	fmt.Fprintf(s, "<141>Feb  1 00:00:00 leaf3 orchagent: Port Ethernet12 %s\r\n\n<141>1 nonsense\n", down)
	await(t, "a connection", func() bool { return got.count() == 4 })
	equal(t, "events", got.told(), []string{"port:leaf1/eth2 link_down Ethernet4: oper state down", "port:leaf9/Ethernet8 link_down Ethernet8: oper state down",
		"port:leaf9/Ethernet0 link_down Ethernet0: oper state down", "port:leaf3/Ethernet12 link_down Ethernet12: oper state down"})
	for i, e := range got.Events {
		at := time.Unix(0, int64(e.At))
		if i == 0 && began.Sub(at) != 2*time.Second || i > 0 && at.Before(began) {
			t.Errorf("event %d happened at %s; sane times are the device's, others ours", i, at)
		}
		if e.Source.Collector != "logs" || e.Source.Target != "h1" || e.Received < e.At {
			t.Errorf("event %d: %+v", i, e)
		}
	}
	await(t, "word of the malformed", func() bool { return got.holds(func() bool { return got.Dropped[collectors.Malformed] == 1 }) })
}

// TestWhoMaySend: senders outside the management prefixes are ignored, and
// addresses outside them are not listened on.
func TestWhoMaySend(t *testing.T) {
	c := sampleConfig()
	c.Listen = []Address{{"udp", netip.MustParseAddrPort("0.0.0.0:5514")}}
	if _, err := New(c, dial.Guard{}); err == nil || !strings.Contains(err.Error(), "management") {
		t.Errorf("listens on every address: %v", err)
	}
	only := dial.Guard{Prefixes: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	c.Listen = []Address{{"udp", netip.MustParseAddrPort("127.0.0.1:5514")}}
	if _, err := New(c, only); err == nil {
		t.Error("listens on loopback, which is no management prefix")
	}
	c.Listen = []Address{free(t, "udp"), free(t, "tcp")}
	for i, a := range c.Listen {
		c.Listen[i].Address = netip.AddrPortFrom(netip.MustParseAddr("0.0.0.0"), a.Address.Port())
	}
	r, err := New(c, only)
	if err != nil {
		t.Fatal(err)
	}
	got := running(t, r)
	for _, a := range c.Listen {
		d, err := net.Dial(a.Network, fmt.Sprintf("127.0.0.1:%d", a.Address.Port()))
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		fmt.Fprintf(d, "<141>1 - leaf1 swss#orchagent - - - Port Ethernet4 %s\n", down)
	}
	await(t, "word of the refused", func() bool { return got.holds(func() bool { return got.Dropped[collectors.Refused] >= 2 }) })
	equal(t, "events", got.told(), nil)
}

// TestConnectionsAreBounded: beyond the limit they are closed; what a
// connection has of nonsense ends it alone.
func TestConnectionsAreBounded(t *testing.T) {
	tcp := free(t, "tcp")
	c := sampleConfig()
	c.Listen = []Address{tcp}
	r, err := New(c, dial.Guard{})
	if err != nil {
		t.Fatal(err)
	}
	got := running(t, r)
	var all []net.Conn
	defer func() {
		for _, s := range all {
			_ = s.Close()
		}
	}()
	for range maxConnections + 5 {
		s, err := net.Dial("tcp", tcp.Address.String())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	await(t, "word of too many", func() bool { return got.holds(func() bool { return got.Dropped[collectors.OverLimit] >= 5 }) })
	fmt.Fprint(all[0], "99999999999 x")
	fmt.Fprintf(all[1], "<13>1 - x - - - - %s\n<141>1 - leaf1 swss#orchagent - - - Port Ethernet4 %s\n", strings.Repeat("z", 40000), down)
	await(t, "the next message", func() bool { return got.count() == 1 })
	await(t, "word of nonsense", func() bool { return got.holds(func() bool { return got.Dropped[collectors.Malformed] == 1 }) })
}
