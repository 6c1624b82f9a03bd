package sysfs

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/entry"
)

// Bounds and defaults of a configuration.
const (
	DefaultPath = "/sys"
	leastEvery  = time.Second // what a device is asked at most (design B6)
	mostEvery   = time.Hour
	KernelStats = "kernel" // Config.Ethtool: ask this host's kernel
	NoStats     = "none"   // Config.Ethtool: leave ethtool's statistics out
)

// Config says what is read, how often, and under which name.
type Config struct {
	// Path is the root of the tree; "" means /sys. What stands in for it may be
	// a recorded tree, or a recorded class/infiniband by itself.
	Path string
	// Every is the time between readings of counters, at least a second; zero
	// means a second.
	Every time.Duration
	// Ethtool says where statistics of network interfaces come from:
	// KernelStats, NoStats, or a folder of recorded listings. "" means the
	// kernel for /sys, none for any other tree: its interfaces are not this
	// host's.
	Ethtool string
	// AllStatistics carries every statistic of ethtool's under a name of its
	// own; otherwise only those that a metric is declared for are read, and the
	// others counted. Drivers have hundreds, and some for every processor.
	AllStatistics bool
	// Node names the host; "" means its host name.
	Node string
}

// withDefaults returns c with its defaults filled in.
func (c Config) withDefaults() (Config, error) {
	c.Path = cmp.Or(c.Path, DefaultPath)
	c.Every = cmp.Or(c.Every, time.Second)
	if c.Ethtool == "" {
		c.Ethtool = NoStats
		if c.Path == DefaultPath {
			c.Ethtool = KernelStats
		}
	}
	if c.Every < leastEvery || c.Every > mostEvery {
		return c, fmt.Errorf("every: %s, want %s to %s", c.Every, leastEvery, mostEvery)
	}
	name, err := collectors.NodeName(c.Node)
	if err != nil {
		return c, err
	}
	c.Node = name
	if len(collectors.Part(c.Node)) > maxNode || c.Node != printable(c.Node, maxNode) || strings.Contains(c.Node, "|") {
		return c, fmt.Errorf("node: %.40q: want at most %d bytes of text without '|'", c.Node, maxNode)
	}
	return c, nil
}

// maxNode bounds the name of a node, so that there is room for what lies in it.
const maxNode = 100

// DecodeConfig reads one entry of "collectors: sysfs:". Nothing but a key that
// is known, once, with a value of its kind passes. The error joins a
// *entry.Fault for everything that is wrong. A nil or empty node is the
// default configuration.
func DecodeConfig(n *yaml.Node) (Config, error) {
	r := entry.NewReader("sysfs")
	var c Config
	r.Entry(n,
		entry.Key{Name: "path", Read: func(v *yaml.Node) { c.Path = r.Text(v, "path") }},
		entry.Key{Name: "every", Read: func(v *yaml.Node) { c.Every = r.Duration(v, "every", entry.Span{Least: leastEvery, Most: mostEvery}) }},
		entry.Key{Name: "ethtool", Read: func(v *yaml.Node) { c.Ethtool = r.Text(v, "ethtool") }},
		entry.Key{Name: "all_statistics", Read: func(v *yaml.Node) { c.AllStatistics = r.Flag(v, "all_statistics") }},
		entry.Key{Name: "node", Read: func(v *yaml.Node) { c.Node = r.Name(v, "node", maxNode) }},
	)
	if err := r.Err(); err != nil {
		return Config{}, err
	}
	return c, nil
}
