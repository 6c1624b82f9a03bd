package receive

import (
	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors/mapping"
	"github.com/quintet-dc/quintet/settings"
)

// DecodeConfig reads one entry of "collectors: receive:", of which a process has
// one at most. The error joins a *settings.Problem for everything that is wrong.
func DecodeConfig(n *yaml.Node) (Config, error) {
	var c Config
	err := settings.Decode("receive", n, &c)
	return c, err
}

// Validate reads the mapping files.
func (c *Config) Validate() (err error) {
	c.Mapper, err = mapping.Read(c.Files, c.Mappings)
	return err
}
