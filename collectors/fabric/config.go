package fabric

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/settings"
)

// Bounds of a configuration.
const (
	leastRate, mostRate = 40, 20000
	maxSubnet           = 60
)

// Config defines which subnet is read, by which programs and how often.
type Config struct {
	// Subnet names the subnet: sm:<subnet> is its manager.
	Subnet string `yaml:"subnet" default:"ib0" max:"60"`
	// Every is the time between two readings of a port's counters; it becomes longer
	// where the rate does not allow it.
	Every time.Duration `yaml:"interval" was:"every" default:"10s" min:"1s" max:"1h"`
	// Topology is the time between two discoveries, longer where one takes more than a
	// quarter of the rate.
	Topology time.Duration `yaml:"discovery_interval" was:"topology" default:"1m" min:"2s" max:"24h"`
	// Rate is how many management datagrams are sent per second at most.
	Rate int `yaml:"rate" default:"2000" min:"40" max:"20000"`
	// Adapters enables reading the ports of adapters too, and not only those of
	// switches. Their own hosts report more of them, out of band.
	Adapters bool `yaml:"adapters"`
	// Ports is how many ports are read at most.
	Ports int `yaml:"ports" default:"8192" max:"65536"`
	// CA is the local channel adapter, as the programs take it; the default is theirs.
	CA string `yaml:"ca"`
	// Port is the adapter's port; the default is the programs'.
	Port int `yaml:"port" max:"254"`
	// PortName names a switch's ports: {port} is the number, {cage} and {split} count
	// cages of two.
	PortName string `yaml:"port_name" default:"{port}"`
	// NodeNameMap is a file of "0x<GUID> <name>" lines, as infiniband-diags has them.
	NodeNameMap string `yaml:"node_name_map"`
	// Profile is a file of rules.
	Profile string `yaml:"profile"`
	// Ibnetdiscover is the program; the default is the one on the path, or in /usr/sbin.
	Ibnetdiscover string `yaml:"ibnetdiscover"`
	// Perfquery is the program; the default is the one on the path, or in /usr/sbin.
	Perfquery string `yaml:"perfquery"`
	// Sminfo is the program; the default is the one on the path, or in /usr/sbin.
	Sminfo string `yaml:"sminfo"`
	// Environment is set for the programs, in addition to that of this process.
	Environment map[string]string `yaml:"environment"`
	// Directory is where the programs run; the default is where this process runs.
	Directory string `yaml:"directory"`
	// Timeout is how long the programs wait for the answer to one datagram.
	Timeout time.Duration `yaml:"timeout" default:"1s" min:"50ms" max:"10s"`
}

// Validate reports values that the programs could not use.
func (c Config) Validate() error {
	var wrong []error
	if err := checkPortName(c.PortName); err != nil {
		wrong = append(wrong, &settings.KeyError{Key: "port_name", Err: err})
	}
	for _, name := range slices.Sorted(maps.Keys(c.Environment)) {
		if !variable().MatchString(name) {
			wrong = append(wrong, settings.Errorf("environment", "%.40q is not the name of a variable", name))
		}
	}
	return errors.Join(wrong...)
}

// variable is what an environment variable may be called.
func variable() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) }

// withDefaults returns c with its defaults filled in.
func (c Config) withDefaults() (Config, error) {
	settings.Default(&c)
	if err := checkPortName(c.PortName); err != nil {
		return c, fmt.Errorf("port_name: %w", err)
	}
	if collectors.Part(c.Subnet) != c.Subnet || len(c.Subnet) > maxSubnet {
		return c, fmt.Errorf("subnet: %.40q: want at most %d bytes of text without '/'", c.Subnet, maxSubnet)
	}
	if c.Rate < leastRate || c.Rate > mostRate {
		return c, fmt.Errorf("rate: %d, want %d to %d", c.Rate, leastRate, mostRate)
	}
	return c, nil
}

// checkPortName: two ports of a switch must never have one name.
func checkPortName(s string) error {
	switch {
	case !strings.Contains(s, "{port}") && !(strings.Contains(s, "{cage}") && strings.Contains(s, "{split}")):
		return fmt.Errorf("%.40q: want {port}, or {cage} and {split}", s)
	case len(s) > 40 || strings.ContainsAny(s, "/ \t\n"):
		return fmt.Errorf("%.40q: want at most 40 bytes without '/' and spaces", s)
	}
	return nil
}

// variables lists the environment of the programs, by name.
func (c Config) variables() []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(c.Environment)) {
		out = append(out, k+"="+c.Environment[k])
	}
	return out
}
