// Package egress limits where this program sends what it concludes: messages of
// receivers and the history that is forwarded.
//
// It owns the list of allowed targets and the addresses that are never a target. A
// name is judged by the addresses that it has when a connection is made, so that a
// name that changes leads nowhere else.
package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

// ErrRefused is why a target is refused.
var ErrRefused = errors.New("egress refused")

// Guard decides where connections may go. The zero Guard refuses link-local,
// multicast and metadata addresses, and nothing else.
type Guard struct {
	// Prefixes and Names are the targets that are allowed; all where both are empty. A
	// name may begin with "*." for everything below a domain.
	Prefixes []netip.Prefix
	Names    []string
}

// ParseTarget adds a target to g: an address, a prefix, a name, or *.DOMAIN.
func (g *Guard) ParseTarget(text string) error {
	if a, err := netip.ParseAddr(text); err == nil {
		g.Prefixes = append(g.Prefixes, netip.PrefixFrom(a, a.BitLen()))
		return nil
	}
	if p, err := netip.ParsePrefix(text); err == nil {
		g.Prefixes = append(g.Prefixes, p.Masked())
		return nil
	}
	name := strings.TrimPrefix(text, "*.")
	if name == "" || len(text) > 253 || strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' || r == '_')
	}) {
		return fmt.Errorf("target %.60q: want an address, a prefix such as 10.20.0.0/16, a name, or *.example.org", text)
	}
	g.Names = append(g.Names, strings.ToLower(text))
	return nil
}

// limited reports whether only some targets are allowed.
func (g Guard) limited() bool { return len(g.Prefixes)+len(g.Names) > 0 }

// metadata are the addresses at which clouds answer with credentials of the machine,
// and which are not link-local: AWS, Google, Alibaba, Azure, Oracle.
var metadata = [...]string{"fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "168.63.129.16", "192.0.0.192"}

// never returns why an address is never a target; empty if it may be one.
func never(a netip.Addr) string {
	switch {
	case a.IsLinkLocalUnicast():
		return "a link-local address"
	case a.IsMulticast():
		return "a multicast address"
	case a.IsUnspecified():
		return "no address"
	case slices.Contains(metadata[:], a.String()):
		return "a metadata service of a cloud"
	}
	return ""
}

// embedded returns the IPv4 address in an IPv6 address that a gateway or the kernel
// would translate to it: IPv4-mapped, NAT64 and 6to4 addresses.
func embedded(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	if !a.Is6() {
		return a
	}
	b := a.As16()
	switch {
	case netip.MustParsePrefix("64:ff9b::/96").Contains(a):
		return netip.AddrFrom4([4]byte(b[12:16]))
	case netip.MustParsePrefix("2002::/16").Contains(a):
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	return a
}

// Address returns an ErrRefused if a connection to an address is not allowed. named
// means that its name is an allowed one.
func (g Guard) Address(a netip.Addr, named bool) error {
	a = embedded(a)
	if why := never(a); why != "" {
		return fmt.Errorf("%w: %s is %s", ErrRefused, a, why)
	}
	if named || !g.limited() || slices.ContainsFunc(g.Prefixes, func(p netip.Prefix) bool { return p.Contains(a) }) {
		return nil
	}
	return fmt.Errorf("%w: %s is not in egress.allow", ErrRefused, a)
}

// Host returns an ErrRefused if no connection to a host would be allowed, as far as that
// is known without looking up its name.
func (g Guard) Host(host string) error {
	if a, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return g.Address(a, false)
	}
	if !g.limited() || g.names(host) || len(g.Prefixes) > 0 {
		return nil
	}
	return fmt.Errorf("%w: %s is not in egress.allow", ErrRefused, host)
}

// names reports whether a name is an allowed one.
func (g Guard) names(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return slices.ContainsFunc(g.Names, func(n string) bool {
		domain, below := strings.CutPrefix(n, "*")
		return n == host || below && strings.HasSuffix(host, domain)
	})
}

// connectTimeout is the timeout for establishing a connection.
const connectTimeout = 10 * time.Second

// DialContext connects to host:port over TCP if g allows the address that it comes to.
func (g Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	named := g.names(host)
	d := net.Dialer{Timeout: connectTimeout, KeepAlive: 15 * time.Second, Control: func(_, to string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(to)
		if err != nil {
			return fmt.Errorf("%w: %s", ErrRefused, to)
		}
		return g.Address(at.Addr(), named)
	}}
	return d.DialContext(ctx, network, address)
}

// Proxy returns the environment's proxy for a request. A proxy looks names up itself, so
// that behind one a limited Guard allows only names and addresses that are listed.
func (g Guard) Proxy(r *http.Request) (*url.URL, error) {
	u, err := http.ProxyFromEnvironment(r)
	if err != nil || u == nil {
		return u, err
	}
	host := r.URL.Hostname()
	if err := g.Host(host); err != nil {
		return nil, err
	}
	if _, err := netip.ParseAddr(host); err != nil && g.limited() && !g.names(host) {
		return nil, fmt.Errorf("%w: %s is not in egress.allow: behind a proxy, list its name", ErrRefused, host)
	}
	return u, nil
}
