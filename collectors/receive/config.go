package receive

import (
	"github.com/quintet-dc/quintet/collectors/mapping"
)

// Validate reads the mapping files.
func (c *Config) Validate() (err error) {
	c.Mapper, err = mapping.Read(c.Files, c.Mappings)
	return err
}
