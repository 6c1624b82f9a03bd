package modbus

import (
	"cmp"
	"math"
	"net"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors/entry"
)

// Bounds and defaults of a configuration.
const (
	leastInterval   = time.Second
	mostInterval    = time.Hour
	defaultInterval = 10 * time.Second
	defaultTimeout  = 2 * time.Second
	defaultPort     = "502" // mbap (IANA)
	maxLabel        = 120
)

// Config is one entry of "collectors: modbus:".
type Config struct {
	// Device names a device that comes with the program (Devices). Registers and
	// Mappings are files of the user's instead.
	Device    string
	Registers string
	Mappings  []string
	// Targets are the units that are read; at least one.
	Targets []Target
	// Interval is the time between readings; zero means 10 s.
	Interval time.Duration
	// Timeout bounds one request, and a connection attempt; zero means 2 s.
	Timeout time.Duration
}

// Target is a unit at an address. Units of one address share a connection and are
// read one after the other: a gateway has one serial line.
type Target struct {
	// Address is host:port.
	Address string
	// Unit is the unit identifier, 0 to 255; 1 if the entry has none.
	Unit byte
	// Labels are the labels from which the mapping makes entities.
	Labels map[string]string
}

// DecodeConfig reads one entry of "collectors: modbus:". The error joins an
// *entry.Fault for everything that is wrong.
func DecodeConfig(n *yaml.Node) (Config, error) {
	r := entry.NewReader("modbus")
	var c Config
	r.Entry(n,
		entry.Key{Name: "device", Read: func(v *yaml.Node) { c.Device = r.OneOf(v, "device", Devices()...) }},
		entry.Key{Name: "registers", Read: func(v *yaml.Node) { c.Registers = r.Text(v, "registers") }},
		entry.Key{Name: "mappings", Read: func(v *yaml.Node) {
			r.List(v, "mappings", func(x *yaml.Node) { c.Mappings = append(c.Mappings, r.Text(x, "mappings")) })
		}},
		entry.Key{Name: "targets", Read: func(v *yaml.Node) {
			r.List(v, "targets", func(x *yaml.Node) { c.Targets = append(c.Targets, decodeTarget(r, x)) })
		}},
		entry.Key{Name: "interval", Read: func(v *yaml.Node) {
			c.Interval = r.Duration(v, "interval", entry.Span{Least: leastInterval, Most: mostInterval})
		}},
		entry.Key{Name: "timeout", Read: func(v *yaml.Node) {
			c.Timeout = r.Duration(v, "timeout", entry.Span{Least: 100 * time.Millisecond, Most: time.Minute})
		}},
	)
	if err := r.Err(); err != nil {
		return Config{}, err
	}
	if n != nil && len(c.Targets) == 0 {
		r.Fail(n, "targets: want at least one")
	}
	if n != nil && (c.Device == "") == (c.Registers == "") {
		r.Fail(n, "want either device, one of %v, or registers, a file", Devices())
	}
	if n != nil && (c.Registers == "") != (len(c.Mappings) == 0) {
		r.Fail(n, "registers and mappings go together: the first reads numbers, the second maps them to metrics")
	}
	return c, r.Err()
}

func decodeTarget(r *entry.Reader, n *yaml.Node) Target {
	t := Target{Unit: 1, Labels: map[string]string{}}
	r.Entry(n,
		entry.Key{Name: "address", Read: func(v *yaml.Node) { t.Address = withPort(r.Name(v, "address", 255)) }},
		entry.Key{Name: "unit", Read: func(v *yaml.Node) { t.Unit = byte(r.Whole(v, "unit", 0, math.MaxUint8)) }},
		entry.Key{Name: "labels", Read: func(v *yaml.Node) {
			if v.Kind != yaml.MappingNode {
				r.Fail(v, "labels: want names and values, found %s", entry.KindOf(v))
				return
			}
			for i := 0; i+1 < len(v.Content); i += 2 {
				t.Labels[v.Content[i].Value] = r.Name(v.Content[i+1], "labels", maxLabel)
			}
		}},
	)
	if t.Address == "" {
		r.Fail(n, "targets: want an address, host:port")
	}
	return t
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
