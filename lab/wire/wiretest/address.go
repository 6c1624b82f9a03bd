// Package wiretest is for tests whose servers run in processes of their own or stop
// and start anew.
package wiretest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"testing"
)

const (
	firstPort = 10000
	// clientPorts says which ports the kernel gives to connections
	// (Linux: Documentation/networking/ip-sysctl.rst).
	clientPorts = "/proc/sys/net/ipv4/ip_local_port_range"
	attempts    = 100
)

// FreeAddress returns an address of 127.0.0.1 on which no server listens. Its port is
// below those that the kernel gives to connections: one of these may be taken by any
// connection of another process before the server is back on it. Where the kernel does
// not say which these are, the kernel chooses.
func FreeAddress(t testing.TB) string {
	t.Helper()
	last := clientPort()
	var failed error
	for range attempts {
		port := 0
		if last > firstPort {
			port = firstPort + rand.IntN(last-firstPort)
		}
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", fmt.Sprint(port)))
		if err == nil {
			defer l.Close()
			return l.Addr().String()
		}
		failed = err
	}
	t.Fatalf("no free port on 127.0.0.1: %v", failed)
	return ""
}

// clientPort is the first port that a connection may have, or 0.
func clientPort() int {
	b, err := os.ReadFile(clientPorts)
	if err != nil {
		return 0
	}
	low := 0
	if _, err := fmt.Sscan(string(b), &low); err != nil {
		return 0
	}
	return low
}
