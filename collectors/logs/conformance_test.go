package logs

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/collectors/dial"
)

// TestFilesConform: a recording of kernel messages that grows.
func TestFilesConform(t *testing.T) {
	collectorstest.Run(t, collectorstest.Harness{New: func(t *testing.T) collectorstest.Subject {
		path := temp(t, "kmsg")
		write(t, path, "6,1,1,-;booted\n")
		c, err := New(Config{Node: "h1", Kernel: File{Path: path, Boot: time.Now()}, Every: time.Second, Since: time.Hour}, dial.Guard{})
		if err != nil {
			t.Fatal(err)
		}
		seq := 1
		return collectorstest.Subject{
			Collector: c,
			Poke: func() {
				seq++
				if _, err := os.Stat(path); err == nil {
					write(t, path, fmt.Sprintf("6,%d,%d,-;NVRM: Xid (PCI:0000:1a:00): %d, GPU\n", seq, seq*1000, seq%7))
				}
			},
			Sever: func() {
				if err := os.Remove(path); err != nil {
					t.Error(err)
				}
			},
			Restore:  func() { write(t, path, "6,9000,9000000,-;here again\n") },
			Spoil:    func() { write(t, path, "no record\n6,x,1,-;nor this\n") },
			SpoiltAs: collectors.Malformed,
			Swell: func() {
				for i := range 2000 {
					write(t, path, fmt.Sprintf("6,%d,%d,-;NVRM: Xid (PCI:0000:1a:00): %d, GPU\n", i+2, i+2, i))
				}
			},
		}
	}})
}

// TestSyslogConforms: messages by datagram.
func TestSyslogConforms(t *testing.T) {
	collectorstest.Run(t, collectorstest.Harness{RealTime: true, New: func(t *testing.T) collectorstest.Subject {
		at := free(t, "udp")
		c, err := New(Config{Node: "h1", Listen: []Address{at}}, dial.Guard{})
		if err != nil {
			t.Fatal(err)
		}
		c.poll, c.cfg.Every = 2*time.Millisecond, 4*time.Millisecond
		// A socket that is not connected gets no connection refused error, and
		// drops no message for one.
		out, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = out.Close() })
		say := func(s string) { _, _ = out.WriteTo([]byte(s), net.UDPAddrFromAddrPort(at.Address)) }
		sent, swollen := 0, false
		return collectorstest.Subject{
			Collector: c,
			Poke: func() {
				sent++
				say(fmt.Sprintf("<141>1 - leaf1 swss#orchagent - - - Port Ethernet%d oper state set from up to down", sent%8))
				for i := 0; swollen && i < 1000; i++ {
					say(fmt.Sprintf("<141>1 - leaf1 swss#orchagent - - - Port Ethernet%d oper state set from up to down", i))
				}
			},
			Spoil:    func() { say("<999>nobody's priority") },
			SpoiltAs: collectors.Malformed,
			Swell:    func() { swollen = true },
		}
	}})
}

// free is a loopback address without a listener.
func free(t *testing.T, network string) Address {
	t.Helper()
	at := netip.MustParseAddrPort("127.0.0.1:0")
	if network == "udp" {
		c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return Address{"udp", c.LocalAddr().(*net.UDPAddr).AddrPort()}
	}
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return Address{"tcp", l.Addr().(*net.TCPAddr).AddrPort()}
}
