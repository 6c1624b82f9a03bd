package wiretest

import (
	"net"
	"net/netip"
	"testing"
)

// No connection is given a port that FreeAddress may choose.
func TestNoConnectionTakesAFreeAddress(t *testing.T) {
	last := clientPort()
	if last <= firstPort {
		t.Skipf("%s leaves no port to servers", clientPorts)
	}
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	for range 100 {
		if p := int(netip.MustParseAddrPort(FreeAddress(t)).Port()); p < firstPort || p >= last {
			t.Errorf("FreeAddress gives port %d, which a connection may have", p)
		}
		c, err := net.Dial("tcp", server.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if p := int(netip.MustParseAddrPort(c.LocalAddr().String()).Port()); p < last {
			t.Errorf("a connection has port %d, below %d", p, last)
		}
	}
}
