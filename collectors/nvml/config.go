package nvml

import (
	"cmp"
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/entry"
)

// Bounds of a configuration.
const (
	leastEvery = time.Second // below it NVML's own averages repeat themselves
	mostEvery  = time.Minute
	maxNode    = 100 // bytes
)

// Config says how often GPUs are read, and under which name.
type Config struct {
	// Every is the time between readings, at least a second; zero is a second.
	Every time.Duration
	// Node names the host; "" is its host name.
	Node string
}

// DecodeConfig reads one entry of "collectors: nvml:". The error joins an
// *entry.Fault for everything that is wrong.
func DecodeConfig(n *yaml.Node) (Config, error) {
	r := entry.NewReader("nvml")
	var c Config
	r.Entry(n,
		entry.Key{Name: "every", Read: func(v *yaml.Node) { c.Every = r.Duration(v, "every", entry.Span{Least: leastEvery, Most: mostEvery}) }},
		entry.Key{Name: "node", Read: func(v *yaml.Node) { c.Node = r.Name(v, "node", maxNode) }},
	)
	return c, r.Err()
}

func (c Config) withDefaults() (Config, error) {
	c.Every = cmp.Or(c.Every, leastEvery)
	if c.Every < leastEvery || c.Every > mostEvery {
		return c, fmt.Errorf("every: %s, want %s to %s", c.Every, leastEvery, mostEvery)
	}
	name, err := collectors.NodeName(c.Node)
	if err != nil {
		return c, err
	}
	c.Node = name
	return c, nil
}
