package collect

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/collectors/kind"
	"github.com/quintet-dc/quintet/collectors/standard"
)

// Where is what Find looks at in addition to this host.
type Where struct {
	Root  string   // of this host's file system
	Hosts []string // host, host:port or URL
	Scan  []string // prefixes, or Neighbours
	// User and the file with the password are the account of management controllers;
	// CA is a file of certificates that theirs must be signed by.
	User, PasswordFile, CA string
}

// Neighbours is the scan of the addresses that this host has talked to.
const Neighbours = "neighbours"

// maxScan bounds the addresses of a scan.
const maxScan = 4096

// Finding is what was found of one kind.
type Finding struct {
	Kind  kind.Kind
	Found []kind.Found
}

// Find has every kind of collector look for what it could read, and returns what was
// found with the prefixes of the network that were asked.
func Find(ctx context.Context, w Where) (all []Finding, asked []netip.Prefix, err error) {
	places, asked, err := w.places(ctx)
	if err != nil {
		return nil, nil, err
	}
	search := kind.Search{Root: w.Root, Env: os.Getenv, Places: places, Guard: dial.Guard{Prefixes: asked}, Account: dial.BasicAuth{Username: w.User, PasswordFile: w.PasswordFile}, CA: w.CA}
	var looking sync.WaitGroup
	for _, k := range standard.Kinds() {
		if k.Find != nil {
			all = append(all, Finding{Kind: k})
		}
	}
	for i := range all {
		looking.Go(func() { all[i].Found = all[i].Kind.Find(ctx, search) })
	}
	looking.Wait()
	return slices.DeleteFunc(all, func(f Finding) bool { return len(f.Found) == 0 }), asked, ctx.Err()
}

// places returns what may be asked: this host, the hosts given, the addresses of
// scans; and the prefixes that they are in.
func (w Where) places(ctx context.Context) (places []string, asked []netip.Prefix, err error) {
	places = []string{"localhost"}
	asked = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	for _, h := range w.Hosts {
		addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", hostOf(h))
		if err != nil {
			return nil, nil, fmt.Errorf("--host %s: %w", h, err)
		}
		for _, a := range addresses {
			if a = a.Unmap(); !a.IsLoopback() {
				asked = append(asked, netip.PrefixFrom(a.WithZone(""), a.BitLen()))
			}
		}
		places = append(places, h)
	}
	for _, s := range w.Scan {
		found, prefixes, err := w.scan(s)
		if err != nil {
			return nil, nil, fmt.Errorf("--scan %s: %w", s, err)
		}
		for _, a := range found {
			places = append(places, a.String())
		}
		asked = append(asked, prefixes...)
	}
	if len(places) > maxScan {
		return nil, nil, fmt.Errorf("--scan: more than %d addresses: name smaller prefixes", maxScan)
	}
	slices.SortFunc(asked, netip.Prefix.Compare)
	return places, slices.Compact(asked), nil
}

// hostOf returns the host of host, host:port or URL.
func hostOf(place string) string {
	if u, err := url.Parse(place); err == nil && u.Host != "" {
		return u.Hostname()
	}
	if h, _, err := net.SplitHostPort(place); err == nil {
		return h
	}
	return place
}

// scan returns the addresses of a prefix, or those of this host's neighbours.
func (w Where) scan(what string) (found []netip.Addr, prefixes []netip.Prefix, err error) {
	if what == Neighbours {
		found, err = neighbours(filepath.Join(w.Root, "proc/net/arp"))
		for _, a := range found {
			prefixes = append(prefixes, netip.PrefixFrom(a, a.BitLen()))
		}
		return found, prefixes, err
	}
	p, err := netip.ParsePrefix(what)
	if err != nil {
		return nil, nil, errors.New("want a prefix such as 10.0.0.0/24, or " + Neighbours)
	}
	p = p.Masked()
	for a := p.Addr(); p.Contains(a) && len(found) <= maxScan; a = a.Next() {
		found = append(found, a)
	}
	return found, []netip.Prefix{p}, nil
}

// neighbours reads the kernel's table of IPv4 neighbours that have answered.
func neighbours(path string) (out []netip.Addr, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	for s.Scan() {
		fields := strings.Fields(s.Text()) // address, type, flags, hardware address, …
		if len(fields) < 4 || fields[2] == "0x0" {
			continue
		}
		if a, err := netip.ParseAddr(fields[0]); err == nil {
			out = append(out, a)
		}
	}
	return out, s.Err()
}
