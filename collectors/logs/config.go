package logs

import (
	"cmp"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/collectors/entry"
)

// Bounds and defaults.
const (
	kernelDevice = "/dev/kmsg"
	defaultEvery = 10 * time.Second
	maxName      = 100
	maxSources   = 64
	maxTable     = 65536
)

// File is a log that is followed.
type File struct {
	Path string
	Form string    // formAuto, formKmsg or formSyslog; "" auto
	Boot time.Time // of the host that a recording of kernel messages is of; zero unknown
}

// Address is where messages are received.
type Address struct {
	Network string // udp or tcp
	Address netip.AddrPort
}

// Config says which logs are read, and what they call things.
type Config struct {
	// Name tells entries of one process apart; "" is Node.
	Name string
	// Node is the host that files and kernel messages are of; "" its host name.
	Node string
	// Kernel is the device of kernel messages, or a recording of it; "" where
	// Files and Listen are empty too means /dev/kmsg.
	Kernel File
	// Files are logs that are followed.
	Files []File
	// Listen is where syslog is received.
	Listen []Address
	// Every is how often counts are stated and positions written.
	Every time.Duration
	// Since is how old a line may be that was there before the first start.
	Since time.Duration
	// State is the file in which positions are kept; "" none.
	State string
	// Patterns are files of one's own.
	Patterns []string
	// Zone of times that state none; nil is the host's.
	Zone *time.Location
	// GPUs gives numbers by PCI address, NICs the RDMA devices by PCI address or
	// interface, Ports the site's names by "switch/name", Subnets by host, Hosts
	// the site's names by address or by the name that a message states.
	GPUs, NICs, Ports, Subnets, Hosts map[string]string
	// GPUsFrom and NICsFrom are where those of Node are learned from.
	GPUsFrom, NICsFrom string
}

// withDefaults returns c with its defaults filled in.
func (c Config) withDefaults(g dial.Guard) (Config, error) {
	c.Every = cmp.Or(c.Every, defaultEvery)
	if c.Kernel.Path == "" && len(c.Files) == 0 && len(c.Listen) == 0 {
		c.Kernel.Path = kernelDevice
	}
	if c.Kernel.Path == kernelDevice {
		c.GPUsFrom = cmp.Or(c.GPUsFrom, "/proc/driver/nvidia/gpus")
		c.NICsFrom = cmp.Or(c.NICsFrom, "/sys/class/infiniband")
	}
	if c.Zone == nil {
		c.Zone = time.Local
	}
	name, err := collectors.NodeName(c.Node)
	if err != nil {
		return c, err
	}
	c.Node = name
	c.Name = cmp.Or(c.Name, c.Node)
	for _, s := range []string{c.Node, c.Name} {
		if len(s) > maxName || s != clean(s) || strings.ContainsAny(s, " |/") {
			return c, fmt.Errorf("node: %.40q: want at most %d bytes of text without space, '|' and '/'", s, maxName)
		}
	}
	for _, a := range c.Listen {
		ip := a.Address.Addr()
		if ip.IsUnspecified() && len(g.Prefixes) > 0 {
			continue // what comes is asked where it comes from
		}
		if !g.Allows(ip) {
			return c, fmt.Errorf("listen: %w", &dial.RefusedError{Host: a.Address.String(), Address: ip, Allowed: g.Prefixes})
		}
	}
	return c, nil
}

// DecodeConfig reads one entry of "collectors: logs:". The error joins a
// *entry.Fault for everything that is wrong. A nil or empty node reads the
// kernel's messages of this host.
func DecodeConfig(n *yaml.Node) (Config, error) {
	r := entry.NewReader("logs")
	var c Config
	table := func(name string, to *map[string]string, key func(string) (string, bool)) entry.Key {
		return entry.Key{Name: name, Read: func(v *yaml.Node) { *to = readTable(r, v, name, key) }}
	}
	texts := func(name string, each func(*yaml.Node)) entry.Key {
		return entry.Key{Name: name, Read: func(v *yaml.Node) {
			r.List(v, name, each)
			if len(v.Content) > maxSources {
				r.Fail(v, "%s: %d, at most %d", name, len(v.Content), maxSources)
			}
		}}
	}
	r.Entry(n,
		entry.Key{Name: "name", Read: func(v *yaml.Node) { c.Name = r.Name(v, "name", maxName) }},
		entry.Key{Name: "node", Read: func(v *yaml.Node) { c.Node = r.Name(v, "node", maxName) }},
		entry.Key{Name: "kernel", Read: func(v *yaml.Node) { c.Kernel = readFile(r, v); c.Kernel.Form = formKmsg }},
		texts("files", func(v *yaml.Node) { c.Files = append(c.Files, readFile(r, v)) }),
		texts("listen", func(v *yaml.Node) { c.Listen = append(c.Listen, readAddress(r, v)) }),
		entry.Key{Name: "every", Read: func(v *yaml.Node) {
			c.Every = r.Duration(v, "every", entry.Span{Least: time.Second, Most: time.Hour})
		}},
		entry.Key{Name: "since", Read: func(v *yaml.Node) {
			c.Since = r.Duration(v, "since", entry.Span{Least: 0, Most: oldest})
		}},
		entry.Key{Name: "state", Read: func(v *yaml.Node) { c.State = r.Text(v, "state") }},
		texts("patterns", func(v *yaml.Node) { c.Patterns = append(c.Patterns, r.Text(v, "patterns")) }),
		entry.Key{Name: "zone", Read: func(v *yaml.Node) {
			var err error
			if c.Zone, err = time.LoadLocation(r.Text(v, "zone")); err != nil {
				r.Fail(v, "zone: %v", err)
			}
		}},
		table("gpus", &c.GPUs, address),
		table("nics", &c.NICs, func(s string) (string, bool) {
			if a, ok := address(s); ok {
				return a, true
			}
			return s, true
		}),
		table("ports", &c.Ports, func(s string) (string, bool) { return s, strings.Contains(s, "/") }),
		table("subnets", &c.Subnets, nil), table("hosts", &c.Hosts, nil),
		entry.Key{Name: "gpus_from", Read: func(v *yaml.Node) { c.GPUsFrom = r.Text(v, "gpus_from") }},
		entry.Key{Name: "nics_from", Read: func(v *yaml.Node) { c.NICsFrom = r.Text(v, "nics_from") }},
	)
	if err := r.Err(); err != nil {
		return Config{}, err
	}
	return c, nil
}

// readTable reads names by keys.
func readTable(r *entry.Reader, n *yaml.Node, name string, key func(string) (string, bool)) map[string]string {
	if n.Kind != yaml.MappingNode {
		r.Fail(n, "%s: want keys and values, found %s", name, entry.KindOf(n))
		return nil
	}
	if len(n.Content)/2 > maxTable {
		r.Fail(n, "%s: %d, at most %d", name, len(n.Content)/2, maxTable)
		return nil
	}
	out := map[string]string{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, ok := r.Name(n.Content[i], name, 200), true
		if key != nil {
			k, ok = key(k)
		}
		if _, twice := out[k]; !ok || twice {
			r.Fail(n.Content[i], "%s: %.40q is no key here, or there twice", name, n.Content[i].Value)
		}
		out[k] = r.Name(n.Content[i+1], name, maxName)
	}
	return out
}

// readFile reads a path, or path, form and boot.
func readFile(r *entry.Reader, n *yaml.Node) File {
	if n.Kind == yaml.ScalarNode {
		return File{Path: r.Text(n, "path")}
	}
	var f File
	r.Entry(n,
		entry.Key{Name: "path", Read: func(v *yaml.Node) { f.Path = r.Text(v, "path") }},
		entry.Key{Name: "form", Read: func(v *yaml.Node) { f.Form = r.OneOf(v, "form", formAuto, formKmsg, formSyslog) }},
		entry.Key{Name: "boot", Read: func(v *yaml.Node) {
			at, err := time.Parse(time.RFC3339Nano, v.Value)
			if err != nil {
				r.Fail(v, "boot: want a time such as 2026-01-02T15:04:05Z, found %s", entry.KindOf(v))
			}
			f.Boot = at
		}},
	)
	if f.Path == "" {
		r.Fail(n, "a file without a path")
	}
	return f
}

// readAddress reads "udp://127.0.0.1:514".
func readAddress(r *entry.Reader, n *yaml.Node) Address {
	u, err := url.Parse(r.Text(n, "listen"))
	if err == nil && u.Scheme != "udp" && u.Scheme != "tcp" {
		err = fmt.Errorf("want udp:// or tcp://")
	}
	var a Address
	if err == nil {
		a.Network = u.Scheme
		host := u.Hostname()
		if host == "" {
			host = "127.0.0.1"
		}
		port, _ := strconv.ParseUint(cmp.Or(u.Port(), "514"), 10, 16)
		var ip netip.Addr
		if ip, err = netip.ParseAddr(host); err == nil {
			a.Address = netip.AddrPortFrom(ip, uint16(port))
		}
	}
	if err != nil {
		r.Fail(n, "listen: %.60q: %v", n.Value, err)
	}
	return a
}
