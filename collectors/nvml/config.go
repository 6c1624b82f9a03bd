package nvml

import (
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/settings"
)

// Config defines how often GPUs are read, and under which name.
type Config struct {
	// Every is the time between readings.
	Every time.Duration `yaml:"interval" was:"every" default:"1s" min:"1s" max:"1m"` // below 1 s NVML's own averages repeat themselves
	// Node names the host; the default is its host name.
	Node string `yaml:"node" max:"100"`
}

func (c Config) withDefaults() (Config, error) {
	settings.Default(&c)
	name, err := collectors.NodeName(c.Node)
	if err != nil {
		return c, err
	}
	c.Node = name
	return c, nil
}
