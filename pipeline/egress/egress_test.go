package egress

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"
)

func guard(t *testing.T, targets ...string) (g Guard) {
	t.Helper()
	for _, x := range targets {
		if err := g.ParseTarget(x); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

// TestAddressRefusesMetadata in every notation, and whatever is allowed.
func TestAddressRefusesMetadata(t *testing.T) {
	for _, g := range []Guard{{}, guard(t, "0.0.0.0/0", "::/0")} {
		for _, a := range []string{"169.254.169.254", "169.254.0.1", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "fe80::1", "fe80::1%eth0",
			"fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "168.63.129.16", "192.0.0.192", "224.0.0.1", "ff02::1", "0.0.0.0", "::"} {
			if err := g.Address(netip.MustParseAddr(a), true); !errors.Is(err, ErrRefused) {
				t.Errorf("%s: %v", a, err)
			}
			if err := g.Host(a); !errors.Is(err, ErrRefused) {
				t.Errorf("host %s: %v", a, err)
			}
		}
		for _, a := range []string{"127.0.0.1", "::1", "10.1.2.3", "198.51.100.7", "2001:db8::1"} {
			if err := g.Address(netip.MustParseAddr(a), false); err != nil {
				t.Errorf("%s: %v", a, err)
			}
		}
	}
}

func TestHostFollowsTheList(t *testing.T) {
	names := guard(t, "hooks.example.org", "*.Slack.com")
	mixed := guard(t, "10.0.0.0/8", "pager.example.org")
	for _, c := range []struct {
		g    Guard
		host string
		ok   bool
	}{
		{names, "hooks.example.org", true}, {names, "HOOKS.example.org.", true}, {names, "hooks.slack.com", true}, {names, "a.b.slack.com", true},
		{names, "slack.com", false}, {names, "evilslack.com", false}, {names, "hooks.example.org.evil.org", false}, {names, "10.0.0.1", false},
		{mixed, "10.1.1.1", true}, {mixed, "11.1.1.1", false}, {mixed, "pager.example.org", true},
		{mixed, "elsewhere.example.org", true}, // its address decides
		{Guard{}, "anything.example.org", true},
	} {
		if err := c.g.Host(c.host); (err == nil) != c.ok {
			t.Errorf("%v: %s: %v", c.g, c.host, err)
		}
	}
	for _, bad := range []string{"", "*.", "a b", "http://x", "*", "10.0.0.0/40"} {
		if err := new(Guard).ParseTarget(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// TestDialContextJudgesTheAddress: a name that leads to an address that is not allowed
// is refused when the connection is made.
func TestDialContextJudgesTheAddress(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for _, c := range []struct {
		g       Guard
		host    string
		refused bool
	}{
		{Guard{}, "localhost", false},
		{guard(t, "127.0.0.0/8", "::1"), "localhost", false},
		{guard(t, "localhost"), "localhost", false},
		{guard(t, "10.0.0.0/8"), "localhost", true},
		{guard(t, "10.0.0.0/8"), "127.0.0.1", true},
		{guard(t, "pager.example.org"), "127.0.0.1", true},
	} {
		conn, err := c.g.DialContext(ctx, "tcp", net.JoinHostPort(c.host, port))
		if errors.Is(err, ErrRefused) != c.refused || (err == nil) == c.refused {
			t.Errorf("%v to %s: %v", c.g, c.host, err)
		}
		if err == nil {
			conn.Close()
		}
	}
}

// TestProxyWantsNames: behind a proxy a limited list knows no addresses of names.
func TestProxyWantsNames(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://10.0.0.1:3128")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://169.254.169.254/latest/meta-data", nil)
	if err != nil {
		t.Fatal(err)
	}
	if u, err := (Guard{}).Proxy(r); !errors.Is(err, ErrRefused) {
		t.Errorf("the metadata service is asked through %v: %v", u, err)
	}
	if r, err = http.NewRequestWithContext(t.Context(), http.MethodGet, "http://pager.example.org/", nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		g  Guard
		ok bool
	}{{Guard{}, true}, {guard(t, "pager.example.org", "10.0.0.1"), true}, {guard(t, "10.0.0.0/8"), false}} {
		if u, err := c.g.Proxy(r); (err == nil && u != nil) != c.ok {
			t.Errorf("%v: %v, %v", c.g, u, err)
		}
	}
}

// FuzzParseTarget: an accepted target never allows a metadata address.
func FuzzParseTarget(f *testing.F) {
	for _, s := range []string{"10.0.0.0/8", "169.254.0.0/16", "::/0", "*.example.org", "fe80::1%1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var g Guard
		if g.ParseTarget(text) != nil {
			return
		}
		for _, a := range []string{"169.254.169.254", "fd00:ec2::254", "64:ff9b::a9fe:a9fe"} {
			if g.Host(a) == nil {
				t.Errorf("%q allows %s", text, a)
			}
		}
	})
}
