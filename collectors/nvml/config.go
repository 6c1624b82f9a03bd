package nvml

import (
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/settings"
)

// Bounds of a configuration.
const (
	leastEvery = time.Second // below it NVML's own averages repeat themselves
	mostEvery  = time.Minute
)

// Config defines how often GPUs are read, and under which name.
type Config struct {
	// Every is the time between readings.
	Every time.Duration `yaml:"interval" was:"every" default:"1s" min:"1s" max:"1m"`
	// Node names the host; the default is its host name.
	Node string `yaml:"node" max:"100"`
}

// DecodeConfig reads one entry of "collectors: nvml:". The error joins a
// *settings.Problem for everything that is wrong.
func DecodeConfig(n *yaml.Node) (Config, error) {
	var c Config
	err := settings.Decode("nvml", n, &c)
	return c, err
}

func (c Config) withDefaults() (Config, error) {
	settings.Default(&c)
	if c.Every < leastEvery || c.Every > mostEvery {
		return c, fmt.Errorf("interval: %s, want %s to %s", c.Every, leastEvery, mostEvery)
	}
	name, err := collectors.NodeName(c.Node)
	if err != nil {
		return c, err
	}
	c.Node = name
	return c, nil
}
