package sysfs

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors"
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
	// Logger takes what changes; nil discards it.
	Logger *slog.Logger
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
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Every < leastEvery || c.Every > mostEvery {
		return c, fmt.Errorf("every: %s, want %s to %s", c.Every, leastEvery, mostEvery)
	}
	if c.Node == "" {
		name, err := os.Hostname()
		if err != nil {
			return c, fmt.Errorf("node: no name given, and the host has none: %w", err)
		}
		c.Node = name
	}
	if len(collectors.Part(c.Node)) > maxNode || c.Node != printable(c.Node, maxNode) || strings.Contains(c.Node, "|") {
		return c, fmt.Errorf("node: %.40q: want at most %d bytes of text without '|'", c.Node, maxNode)
	}
	return c, nil
}

// maxNode bounds the name of a node, so that there is room for what lies in it.
const maxNode = 100

// Fault is something wrong with a configuration. Line and Column count from 1.
type Fault struct {
	Line, Column int
	Text         string
}

// Error returns "line:column: text"; whoever knows the file puts its name
// before that.
func (f *Fault) Error() string { return fmt.Sprintf("%d:%d: %s", f.Line, f.Column, f.Text) }

// DecodeConfig reads one entry of "collectors: sysfs:". Nothing but a key that
// is known, once, with a value of its kind passes. The error joins a *Fault for
// everything that is wrong. A nil or empty node is the default configuration.
func DecodeConfig(n *yaml.Node) (Config, error) {
	d := decoder{}
	var c Config
	d.entry(n, []key{
		{"path", func(v *yaml.Node) { c.Path = d.text(v, "path") }},
		{"every", func(v *yaml.Node) { c.Every = d.duration(v, "every") }},
		{"ethtool", func(v *yaml.Node) { c.Ethtool = d.text(v, "ethtool") }},
		{"all_statistics", func(v *yaml.Node) { c.AllStatistics = d.flag(v, "all_statistics") }},
		{"node", func(v *yaml.Node) { c.Node = d.node(v) }},
	})
	if len(d.faults) > 0 {
		return Config{}, errors.Join(d.faults...)
	}
	return c, nil
}

// decoder collects what is wrong, each with its place.
type decoder struct{ faults []error }

// key is a key and what reads its value.
type key struct {
	name string
	read func(*yaml.Node)
}

func (d *decoder) fail(n *yaml.Node, format string, args ...any) {
	d.faults = append(d.faults, &Fault{n.Line, n.Column, "sysfs: " + fmt.Sprintf(format, args...)})
}

func (d *decoder) entry(n *yaml.Node, keys []key) {
	if n != nil && n.Kind == yaml.DocumentNode && len(n.Content) == 1 {
		n = n.Content[0]
	}
	switch {
	case n == nil || n.IsZero() || n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		return
	case n.Kind != yaml.MappingNode:
		d.fail(n, "want keys and values, found %s", kindOf(n))
		return
	}
	seen := make([]bool, len(keys))
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i]
		at := slices.IndexFunc(keys, func(k key) bool { return name.Kind == yaml.ScalarNode && k.name == name.Value })
		switch {
		case at < 0:
			d.fail(name, "unknown key %.40q; want one of %s", name.Value, names(keys))
		case seen[at]:
			d.fail(name, "key %q twice", name.Value)
		default:
			seen[at] = true
			keys[at].read(n.Content[i+1])
		}
	}
}

func names(keys []key) string {
	var out []string
	for _, k := range keys {
		out = append(out, k.name)
	}
	return strings.Join(out, ", ")
}

func (d *decoder) text(n *yaml.Node, key string) string {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" || n.Value == "" {
		d.fail(n, "%s: want text, found %s", key, kindOf(n))
		return ""
	}
	if strings.ContainsRune(n.Value, 0) {
		d.fail(n, "%s: a zero byte in %.40q", key, n.Value)
	}
	return n.Value
}

func (d *decoder) flag(n *yaml.Node, key string) bool {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" {
		d.fail(n, "%s: want true or false, found %s", key, kindOf(n))
	}
	return strings.EqualFold(n.Value, "true")
}

// node takes any scalar: a host may be named 1234.
func (d *decoder) node(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" || n.Value == "" || len(n.Value) > maxNode {
		d.fail(n, "node: want a name of at most %d bytes, found %s", maxNode, kindOf(n))
		return ""
	}
	return n.Value
}

func (d *decoder) duration(n *yaml.Node, key string) time.Duration {
	v, err := time.ParseDuration(n.Value)
	switch {
	case n.Kind != yaml.ScalarNode || err != nil:
		d.fail(n, "%s: want a time such as 1s, found %s", key, kindOf(n))
	case v < leastEvery || v > mostEvery:
		d.fail(n, "%s: %s, want %s to %s", key, v, leastEvery, mostEvery)
	}
	return v
}

// kindOf says what a node is, for an error.
func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "keys and values"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias, which is not allowed"
	}
	if n.Tag == "!!null" || n.Value == "" {
		return "nothing"
	}
	return fmt.Sprintf("%.40q", n.Value)
}
