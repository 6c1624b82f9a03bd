package fabric

import (
	_ "embed"
	"fmt"
	"os"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors/entry"
	"github.com/quintet-dc/quintet/telemetry"
)

//go:embed profile.yaml
var builtIn []byte

// profile defines how nodes are named, how ASICs count and what counters mean.
type profile struct {
	rules    []rule
	devices  []device
	counters []counter
}

// rule names nodes by their descriptions.
type rule struct {
	of      nature
	pattern *regexp.Regexp
}

// nature is the kind of node that a description names.
type nature string

const (
	isSwitch      nature = "switch"
	isAdapter     nature = "adapter"
	isAggregation nature = "aggregation" // the reduction engine inside a switch
	isNobody      nature = "nobody"      // it was never given a name
)

// device is an ASIC and the length of its ticks.
type device struct {
	name           string
	vendor, device uint32
	tick           float64 // bytes that the port, or one lane of it, sends in one
	perLane        bool
}

// counter is a field of perfquery's.
type counter struct {
	field  string
	metric telemetry.MetricName // "": known, and left out
	times  uint64
	narrow bool // not among every device's extended counters
}

// loadProfile reads the built-in profile and, before it, the file at path if
// that is not "".
func loadProfile(path string) (*profile, error) {
	p, err := parseProfile(builtIn)
	if err != nil {
		return nil, fmt.Errorf("built-in profile: %w", err)
	}
	if path == "" {
		return p, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	own, err := parseProfile(text)
	if err != nil {
		return nil, fmt.Errorf("profile %s: %w", path, err)
	}
	own.rules = append(own.rules, p.rules...)
	own.devices = append(own.devices, p.devices...)
	own.counters = append(own.counters, p.counters...)
	return own, nil
}

// maxProfile is how many rules, devices or counters a profile may have.
const maxProfile = 1000

// parseProfile reads a profile. The error joins a *entry.Fault for everything
// that is wrong.
func parseProfile(text []byte) (*profile, error) {
	var n yaml.Node
	if err := yaml.Unmarshal(text, &n); err != nil {
		return nil, err
	}
	p, r := &profile{}, entry.NewReader("fabric profile")
	bounded := func(v *yaml.Node, key string, item func(*yaml.Node)) {
		if len(v.Content) > maxProfile {
			r.Fail(v, "%s: %d of them, at most %d", key, len(v.Content), maxProfile)
			return
		}
		r.List(v, key, item)
	}
	r.Entry(&n,
		entry.Key{Name: "names", Read: func(v *yaml.Node) {
			bounded(v, "names", func(x *yaml.Node) { p.rules = append(p.rules, readRule(r, x)) })
		}},
		entry.Key{Name: "devices", Read: func(v *yaml.Node) {
			bounded(v, "devices", func(x *yaml.Node) { p.devices = append(p.devices, readDevice(r, x)) })
		}},
		entry.Key{Name: "counters", Read: func(v *yaml.Node) {
			bounded(v, "counters", func(x *yaml.Node) { p.counters = append(p.counters, readCounter(r, x)) })
		}},
	)
	return p, r.Err()
}

func readRule(r *entry.Reader, n *yaml.Node) rule {
	var out rule
	r.Entry(n,
		entry.Key{Name: "of", Read: func(v *yaml.Node) {
			out.of = nature(r.OneOf(v, "of", string(isSwitch), string(isAdapter), string(isAggregation), string(isNobody)))
		}},
		entry.Key{Name: "pattern", Read: func(v *yaml.Node) {
			re, err := regexp.Compile("^(?:" + r.Text(v, "pattern") + ")$")
			if err != nil {
				r.Fail(v, "pattern: %v", err)
			}
			out.pattern = re
		}},
	)
	switch {
	case out.pattern == nil:
		r.Fail(n, "names: a rule without a pattern")
		return out
	case out.of == "":
		r.Fail(n, "names: of: required: the entity of the name")
	case out.of == isAdapter && (!has(out.pattern, "node") || !has(out.pattern, "device") && !has(out.pattern, "ordinal")):
		r.Fail(n, "names: an adapter's pattern requires the groups node, and device or ordinal")
	case out.of == isSwitch && !has(out.pattern, "name"):
		r.Fail(n, "names: a switch's pattern requires the group name")
	}
	return out
}

func has(re *regexp.Regexp, group string) bool { return re.SubexpIndex(group) >= 0 }

func readDevice(r *entry.Reader, n *yaml.Node) device {
	var out device
	var tick int
	r.Entry(n,
		entry.Key{Name: "name", Read: func(v *yaml.Node) { out.name = r.Name(v, "name", 64) }},
		entry.Key{Name: "vendor", Read: func(v *yaml.Node) { out.vendor = number(r, v, "vendor") }},
		entry.Key{Name: "device", Read: func(v *yaml.Node) { out.device = number(r, v, "device") }},
		entry.Key{Name: "tick_bytes", Read: func(v *yaml.Node) { tick = r.Whole(v, "tick_bytes", 1, 1<<20) }},
		entry.Key{Name: "tick_bytes_per_lane", Read: func(v *yaml.Node) {
			tick, out.perLane = r.Whole(v, "tick_bytes_per_lane", 1, 1<<20), true
		}},
	)
	out.tick = float64(tick)
	if out.vendor == 0 || out.device == 0 || tick == 0 {
		r.Fail(n, "devices: want vendor, device, and tick_bytes or tick_bytes_per_lane")
	}
	return out
}

// number reads a whole number that may be in hexadecimal.
func number(r *entry.Reader, v *yaml.Node, key string) uint32 {
	n, err := strconv.ParseUint(v.Value, 0, 32)
	if err != nil {
		r.Fail(v, "%s: want a number such as 0x2c9, found %.30q", key, v.Value)
	}
	return uint32(n)
}

func readCounter(r *entry.Reader, n *yaml.Node) counter {
	out := counter{times: 1}
	r.Entry(n,
		entry.Key{Name: "field", Read: func(v *yaml.Node) { out.field = r.Name(v, "field", 100) }},
		entry.Key{Name: "metric", Read: func(v *yaml.Node) {
			out.metric = telemetry.MetricName(r.Name(v, "metric", telemetry.MaxMetricBytes))
			if !metricName().MatchString(v.Value) {
				r.Fail(v, "metric: %.40q: want a name such as port_tx_bytes_total", v.Value)
			}
		}},
		entry.Key{Name: "times", Read: func(v *yaml.Node) { out.times = uint64(r.Whole(v, "times", 1, 1<<20)) }},
		entry.Key{Name: "narrow", Read: func(v *yaml.Node) { out.narrow = r.Flag(v, "narrow") }},
	)
	if out.field == "" {
		r.Fail(n, "counters: want field")
	}
	return out
}

// metricName is what a metric may be called.
func metricName() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_]*$`) }

// device returns what is known of an ASIC, nil if nothing is.
func (p *profile) device(vendor, id uint32) *device {
	for i := range p.devices {
		if d := &p.devices[i]; d.vendor == vendor && d.device == id {
			return d
		}
	}
	return nil
}

// seconds is how long a tick is at a port of so many lanes and bits per second;
// 0 if the rate is not known.
func (d *device) seconds(lanes int, speed float64) float64 {
	switch {
	case speed <= 0:
		return 0
	case d.perLane:
		return float64(d.tick*float64(lanes)) * 8 / speed
	}
	return d.tick * 8 / speed
}
