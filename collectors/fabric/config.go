package fabric

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/entry"
)

// Bounds and defaults of a configuration.
const (
	DefaultSubnet   = "ib0"
	DefaultEvery    = 10 * time.Second
	DefaultTopology = time.Minute
	DefaultRate     = 2000 // design B6
	DefaultPorts    = 8192
	DefaultTimeout  = time.Second

	leastRate, mostRate = 40, 20000
	mostPorts           = 65536
	maxSubnet           = 60
)

// Config says which subnet is read, by which programs and how often.
type Config struct {
	// Subnet names the subnet: sm:<subnet> is its manager. "" means ib0.
	Subnet string
	// Every is the time between two readings of a port's counters; it becomes
	// longer where the rate does not allow it. Zero means 10 s.
	Every time.Duration
	// Topology is the time between two discoveries, longer where one takes more
	// than a quarter of the rate. Zero means a minute.
	Topology time.Duration
	// Rate is how many management datagrams are sent in a second at most. Zero
	// means 2,000.
	Rate int
	// Adapters says that the ports of adapters are read too, and not only those
	// of switches. Their own hosts tell more of them, out of band.
	Adapters bool
	// Ports is how many ports are read at most; zero means 8,192.
	Ports int
	// CA and Port say from where: a local adapter and its port, as the programs
	// take them. "" and 0 leave it to them.
	CA   string
	Port int
	// PortName names a switch's ports: {port} is the number, {cage} and {split}
	// count cages of two. "" means {port}.
	PortName string
	// NodeNameMap is a file of "0x<GUID> <name>" lines, as infiniband-diags has
	// them; Profile a file of rules. "" is none.
	NodeNameMap, Profile string
	// Ibnetdiscover, Perfquery and Sminfo are the programs; "" are those of the
	// path, or of /usr/sbin.
	Ibnetdiscover, Perfquery, Sminfo string
	// Environment is set for the programs beside what this process has.
	Environment map[string]string
	// Directory is where they run; "" is where this process runs.
	Directory string
	// Timeout is how long they wait for an answer to one datagram.
	Timeout time.Duration
}

// DecodeConfig reads one entry of "collectors: fabric:". Nothing but a key that
// is known, once, with a value of its kind passes. The error joins a
// *entry.Fault for everything that is wrong. A nil or empty node is the default
// configuration.
func DecodeConfig(n *yaml.Node) (Config, error) {
	r := entry.NewReader("fabric")
	var c Config
	text := func(name string, to *string) entry.Key {
		return entry.Key{Name: name, Read: func(v *yaml.Node) { *to = r.Text(v, name) }}
	}
	whole := func(name string, to *int, least, most int) entry.Key {
		return entry.Key{Name: name, Read: func(v *yaml.Node) { *to = r.Whole(v, name, least, most) }}
	}
	span := func(name string, to *time.Duration, least, most time.Duration) entry.Key {
		return entry.Key{Name: name, Read: func(v *yaml.Node) { *to = r.Duration(v, name, entry.Span{Least: least, Most: most}) }}
	}
	r.Entry(n,
		entry.Key{Name: "subnet", Read: func(v *yaml.Node) { c.Subnet = r.Name(v, "subnet", maxSubnet) }},
		span("every", &c.Every, time.Second, time.Hour),
		span("topology", &c.Topology, 2*time.Second, 24*time.Hour),
		whole("rate", &c.Rate, leastRate, mostRate),
		entry.Key{Name: "adapters", Read: func(v *yaml.Node) { c.Adapters = r.Flag(v, "adapters") }},
		whole("ports", &c.Ports, 1, mostPorts),
		text("ca", &c.CA),
		whole("port", &c.Port, 1, 254),
		entry.Key{Name: "port_name", Read: func(v *yaml.Node) {
			if c.PortName = r.Text(v, "port_name"); checkPortName(c.PortName) != nil {
				r.Fail(v, "port_name: %v", checkPortName(c.PortName))
			}
		}},
		text("node_name_map", &c.NodeNameMap),
		text("profile", &c.Profile),
		text("ibnetdiscover", &c.Ibnetdiscover),
		text("perfquery", &c.Perfquery),
		text("sminfo", &c.Sminfo),
		entry.Key{Name: "environment", Read: func(v *yaml.Node) { c.Environment = environment(r, v) }},
		text("directory", &c.Directory),
		span("timeout", &c.Timeout, 50*time.Millisecond, 10*time.Second),
	)
	if err := r.Err(); err != nil {
		return Config{}, err
	}
	return c, nil
}

// environment reads names and values.
func environment(r *entry.Reader, n *yaml.Node) map[string]string {
	out := map[string]string{}
	if n.Kind != yaml.MappingNode {
		r.Fail(n, "environment: want names and values, found %s", entry.KindOf(n))
		return out
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i]
		if !variable().MatchString(name.Value) {
			r.Fail(name, "environment: %.40q is no name of a variable", name.Value)
			continue
		}
		out[name.Value] = r.Name(n.Content[i+1], "environment", 4096)
	}
	return out
}

// variable is what an environment variable may be called.
func variable() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) }

// withDefaults returns c with its defaults filled in.
func (c Config) withDefaults() (Config, error) {
	c.Subnet = cmp.Or(c.Subnet, DefaultSubnet)
	c.Every = cmp.Or(c.Every, DefaultEvery)
	c.Topology = cmp.Or(c.Topology, DefaultTopology)
	c.Rate = cmp.Or(c.Rate, DefaultRate)
	c.Ports = cmp.Or(c.Ports, DefaultPorts)
	c.PortName = cmp.Or(c.PortName, "{port}")
	c.Timeout = cmp.Or(c.Timeout, DefaultTimeout)
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
