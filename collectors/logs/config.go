package logs

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/settings"
)

// Bounds and defaults.
const (
	kernelDevice = "/dev/kmsg"
	maxName      = 100
	maxSources   = 64
)

// File is a log that is followed: its path, or path, form and boot.
type File struct {
	// Path is where it is.
	Path string `yaml:"path"`
	// Form is auto, kmsg or syslog.
	Form string `yaml:"form" oneof:"auto kmsg syslog"`
	// Boot is when the host started that a recording of kernel messages is of.
	Boot time.Time `yaml:"boot"`
}

// Set reads the short form: the path alone.
func (f *File) Set(path string) error { f.Path = path; return nil }

// Validate reports a file without a path.
func (f File) Validate() error {
	if f.Path == "" {
		return errors.New("path: required")
	}
	return nil
}

// Address is where messages are received: udp://127.0.0.1:514.
type Address struct {
	Network string // udp or tcp
	Address netip.AddrPort
}

// Set reads the text form. Without a host it is loopback, without a port 514.
func (a *Address) Set(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return err
	case u.Scheme != "udp" && u.Scheme != "tcp":
		return fmt.Errorf("%.60q: want udp:// or tcp://", text)
	}
	ip, err := netip.ParseAddr(cmp.Or(u.Hostname(), "127.0.0.1"))
	if err != nil {
		return fmt.Errorf("%.60q: %w", text, err)
	}
	port, err := strconv.ParseUint(cmp.Or(u.Port(), "514"), 10, 16)
	*a = Address{u.Scheme, netip.AddrPortFrom(ip, uint16(port))}
	return err
}

// Config defines which logs are read, and which entities their names mean.
type Config struct {
	// Name distinguishes entries of one process; the default is node.
	Name string `yaml:"name" max:"100"`
	// Node is the host that files and kernel messages are of; the default is its host
	// name.
	Node string `yaml:"node" max:"100"`
	// Kernel is the device of kernel messages, or a recording of it; the default is
	// /dev/kmsg where neither files nor listen are set.
	Kernel File `yaml:"kernel"`
	// Files are logs that are followed.
	Files []File `yaml:"files" max:"64"`
	// Listen is where syslog is received.
	Listen []Address `yaml:"listen" max:"64" example:"[udp://127.0.0.1:514]"`
	// Every is how often counts are sent and positions written.
	Every time.Duration `yaml:"interval" was:"every" default:"10s" min:"1s" max:"1h"`
	// Since is how old a line may be that was there before the first start.
	Since time.Duration `yaml:"since" min:"0s" max:"24h"`
	// State is the file in which positions are kept.
	State string `yaml:"state"`
	// Patterns are files of patterns of the site's own.
	Patterns []string `yaml:"patterns" max:"64"`
	// Zone is the time zone of times that have none; the default is the host's.
	Zone *time.Location `yaml:"zone"`
	// GPUs gives numbers by PCI address.
	GPUs map[string]string `yaml:"gpus" max:"65536"`
	// NICs gives RDMA devices by PCI address or interface.
	NICs map[string]string `yaml:"nics" max:"65536"`
	// Ports gives the site's names by "switch/name".
	Ports map[string]string `yaml:"ports" max:"65536"`
	// Subnets gives the subnet by host.
	Subnets map[string]string `yaml:"subnets" max:"65536"`
	// Hosts gives the site's names by address, or by the name in a message.
	Hosts map[string]string `yaml:"hosts" max:"65536"`
	// GPUsFrom is the folder from which the addresses of this host's GPUs are read.
	GPUsFrom string `yaml:"gpus_from"`
	// NICsFrom is the folder from which the names of this host's NICs are read.
	NICsFrom string `yaml:"nics_from"`
}

// withDefaults returns c with its defaults filled in.
func (c Config) withDefaults(g dial.Guard) (Config, error) {
	settings.Default(&c)
	if c.Kernel.Path == "" && len(c.Files) == 0 && len(c.Listen) == 0 {
		c.Kernel.Path = kernelDevice
	}
	if c.Kernel.Path == kernelDevice {
		c.GPUsFrom = cmp.Or(c.GPUsFrom, "/proc/driver/nvidia/gpus")
		c.NICsFrom = cmp.Or(c.NICsFrom, "/sys/class/infiniband")
	}
	c.Zone = cmp.Or(c.Zone, time.Local)
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
// *settings.Problem for everything that is wrong. A nil or empty node reads the
// kernel's messages of this host.
func DecodeConfig(n *yaml.Node) (Config, error) {
	var c Config
	err := settings.Decode("logs", n, &c)
	if c.Kernel.Path != "" {
		c.Kernel.Form = formKmsg
	}
	return c, err
}

// Validate gives the tables the form of keys that messages have, and reports keys that
// cannot be one.
func (c *Config) Validate() error {
	pci := func(s string) string {
		if a, ok := address(s); ok {
			return a
		}
		return s
	}
	gpu := func(s string) string { a, _ := address(s); return a }
	port := func(s string) string {
		if !strings.Contains(s, "/") {
			return ""
		}
		return s
	}
	return errors.Join(rekey("gpus", &c.GPUs, gpu), rekey("nics", &c.NICs, pci), rekey("ports", &c.Ports, port))
}

// rekey gives each key of a table another form, "" where it has none.
func rekey(name string, table *map[string]string, form func(string) string) error {
	if *table == nil {
		return nil
	}
	out := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(*table)) {
		k := form(key)
		if _, twice := out[k]; twice || k == "" {
			return settings.Errorf(name, "%.40q is not a key here, or there twice", key)
		}
		out[k] = (*table)[key]
	}
	*table = out
	return nil
}
