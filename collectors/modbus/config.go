package modbus

import (
	"cmp"
	"errors"
	"net"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/settings"
)

// Defaults of a configuration, and the bound of its labels in bytes.
const (
	defaultInterval = 10 * time.Second
	defaultTimeout  = 2 * time.Second
	defaultPort     = "502" // mbap (IANA)
	maxLabel        = 120
)

// Config is one entry of "collectors: modbus:".
type Config struct {
	// Device names a device that comes with the program.
	Device string `yaml:"device" example:"orv3-psu"`
	// Registers is a file of the site's that lists the registers of a device, in place
	// of device.
	Registers string `yaml:"registers"`
	// Mappings are files that map the registers to metrics; they go with registers.
	Mappings []string `yaml:"mappings"`
	// Targets are the units that are read; at least one.
	Targets []Target `yaml:"targets" example:"[{address: 10.30.0.11, unit: 192, labels: {shelf: s1, psu: '0'}}]"`
	// Interval is the time between readings.
	Interval time.Duration `yaml:"interval" default:"10s" min:"1s" max:"1h"`
	// Timeout bounds one request, and a connection attempt.
	Timeout time.Duration `yaml:"timeout" default:"2s" min:"100ms" max:"1m"`
}

// Target is a unit at an address. Units of one address share a connection and are
// read one after the other: a gateway has one serial line.
type Target struct {
	// Address is host:port; without a port, it is 502.
	Address string `yaml:"address" max:"255"`
	// Unit is the unit identifier.
	Unit int `yaml:"unit" default:"1" min:"0" max:"255"`
	// Labels are the labels from which the mapping makes entities.
	Labels map[string]string `yaml:"labels"`
}

// DecodeConfig reads one entry of "collectors: modbus:". The error joins a
// *settings.Problem for everything that is wrong.
func DecodeConfig(n *yaml.Node) (Config, error) {
	var c Config
	err := settings.Decode("modbus", n, &c)
	for i := range c.Targets {
		c.Targets[i].Address = withPort(c.Targets[i].Address)
	}
	return c, err
}

// Validate reports what is missing, and what excludes or requires something else.
func (c Config) Validate() error {
	var wrong []error
	if len(c.Targets) == 0 {
		wrong = append(wrong, settings.Errorf("targets", "want at least one"))
	}
	switch {
	case (c.Device == "") == (c.Registers == ""):
		wrong = append(wrong, errors.New("want either device, or registers, a file"))
	case c.Device != "" && !slices.Contains(Devices(), c.Device):
		wrong = append(wrong, settings.Errorf("device", "%.40q: want one of %v", c.Device, Devices()))
	}
	if (c.Registers == "") != (len(c.Mappings) == 0) {
		wrong = append(wrong, errors.New("registers and mappings go together: the first reads numbers, the second maps them to metrics"))
	}
	return errors.Join(wrong...)
}

// Validate reports a missing address, and labels that are too long.
func (t Target) Validate() error {
	if t.Address == "" {
		return errors.New("address: required, host:port")
	}
	for name, value := range t.Labels {
		if len(value) > maxLabel {
			return settings.Errorf("labels", "%.40s: want at most %d bytes", name, maxLabel)
		}
	}
	return nil
}

// withPort adds the protocol's own port to an address without one.
func withPort(address string) string {
	if _, _, err := net.SplitHostPort(address); address == "" || err == nil {
		return address
	}
	return net.JoinHostPort(address, defaultPort)
}

// withDefaults returns c with its defaults filled in.
func (c Config) withDefaults() Config {
	c.Interval, c.Timeout = cmp.Or(c.Interval, defaultInterval), cmp.Or(c.Timeout, defaultTimeout)
	return c
}
