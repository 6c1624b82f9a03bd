package dial

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"
)

// Guard lets connections go to the management network only. The zero Guard
// allows loopback alone.
type Guard struct {
	// Prefixes are those of the management network.
	Prefixes []netip.Prefix
}

// RefusedError reports that an address is not in the management network.
type RefusedError struct {
	Host    string // as it was asked for
	Address netip.Addr
	Allowed []netip.Prefix
}

func (e *RefusedError) Error() string {
	if len(e.Allowed) == 0 {
		return fmt.Sprintf("%s: %s is not on loopback, and the configuration allows no management prefix", e.Host, e.Address)
	}
	return fmt.Sprintf("%s: %s is in none of the management prefixes %v", e.Host, e.Address, e.Allowed)
}

// Allows reports whether an address may be dialled.
func (g Guard) Allows(a netip.Addr) bool {
	a = a.Unmap()
	if len(g.Prefixes) == 0 {
		return a.IsLoopback()
	}
	return slices.ContainsFunc(g.Prefixes, func(p netip.Prefix) bool { return p.Contains(a.WithZone("")) })
}

// connectTimeout is how long a connection may take to come about.
const connectTimeout = 10 * time.Second

// DialContext connects to "host:port" over tcp, or to the path of a unix
// socket. A name is looked up first, and only those of its addresses are tried
// that are allowed; where none is, the error is a *RefusedError.
func (g Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: connectTimeout, KeepAlive: 15 * time.Second}
	if network == "unix" {
		return d.DialContext(ctx, network, address)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	var refused netip.Addr
	for _, a := range found {
		if !g.Allows(a) {
			refused = a
			continue
		}
		var c net.Conn
		if c, err = d.DialContext(ctx, "tcp", net.JoinHostPort(a.Unmap().String(), port)); err == nil {
			return c, nil
		}
	}
	if err == nil {
		err = &RefusedError{Host: host, Address: refused, Allowed: g.Prefixes}
	}
	return nil, err
}
