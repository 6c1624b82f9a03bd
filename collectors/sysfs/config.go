package sysfs

import (
	"fmt"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/settings"
)

// Bounds and defaults of a configuration.
const (
	DefaultPath = "/sys"
	leastEvery  = time.Second // the shortest interval: a device is read once a second at most
	mostEvery   = time.Hour
	KernelStats = "kernel" // Config.Ethtool: ask this host's kernel
	NoStats     = "none"   // Config.Ethtool: leave ethtool's statistics out
)

// Config states the tree that is read, how often, and the host's name.
type Config struct {
	// Path is the root of the tree. What replaces /sys may be a recorded tree, or a
	// recorded class/infiniband by itself.
	Path string `yaml:"path" default:"/sys"`
	// Every is the time between readings of counters.
	Every time.Duration `yaml:"interval" was:"every" default:"1s" min:"1s" max:"1h"`
	// Ethtool is where statistics of network interfaces come from: kernel, none, or
	// a folder of recorded listings. The default is kernel for /sys and none for
	// any other tree, whose interfaces are not this host's.
	Ethtool string `yaml:"ethtool"`
	// AllStatistics carries every statistic of ethtool's under a name of its own;
	// otherwise only those that a metric is declared for are read, and the others
	// counted. Drivers have hundreds, and some for every processor.
	AllStatistics bool `yaml:"all_statistics"`
	// Node names the host; the default is its host name.
	Node string `yaml:"node" max:"100"`
}

// withDefaults returns c with its defaults filled in.
func (c Config) withDefaults() (Config, error) {
	settings.Default(&c)
	if c.Ethtool == "" {
		c.Ethtool = NoStats
		if c.Path == DefaultPath {
			c.Ethtool = KernelStats
		}
	}
	if c.Every < leastEvery || c.Every > mostEvery {
		return c, fmt.Errorf("interval: %s, want %s to %s", c.Every, leastEvery, mostEvery)
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

// maxNode bounds the name of a node, so that there is room for the names of what it
// contains.
const maxNode = 100
