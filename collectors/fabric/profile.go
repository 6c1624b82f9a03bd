package fabric

import (
	_ "embed"
	"errors"
	"fmt"
	"strconv"

	"github.com/quintet-dc/quintet/collectors/mapping"
)

//go:embed profile.yaml
var builtIn []byte

// Profile is the form of a mapping file of a fabric: how nodes are named, how ASICs
// count and what counters mean.
type Profile struct {
	mapping.Header `yaml:",inline"`
	Names          []rule    `yaml:"names" max:"1000"`
	Devices        []device  `yaml:"devices" max:"1000"`
	Rules          []counter `yaml:"rules" was:"counters" max:"1000"`
}

// rule names nodes by their descriptions.
type rule struct {
	Of      nature        `yaml:"of"`
	Pattern mapping.Whole `yaml:"match" was:"pattern"`
}

// nature is the kind of node that a description names.
type nature string

const (
	isSwitch      nature = "switch"
	isAdapter     nature = "adapter"
	isAggregation nature = "aggregation" // the reduction engine inside a switch
	isUnnamed     nature = "unnamed"     // it was never given a name
)

// Set reads the name of a nature.
func (n *nature) Set(text string) error {
	switch *n = nature(text); *n {
	case isSwitch, isAdapter, isAggregation, isUnnamed:
	case "nobody": // its former name
		*n = isUnnamed
	default:
		return fmt.Errorf("want one of switch, adapter, aggregation, unnamed, found %.40q", text)
	}
	return nil
}

// Validate reports a rule that names nothing.
func (r rule) Validate() error {
	has := func(group string) bool { return r.Pattern.SubexpIndex(group) >= 0 }
	switch {
	case r.Pattern.Regexp == nil || r.Of == "":
		return errors.New("want of and match")
	case r.Of == isAdapter && (!has("node") || !has("device") && !has("ordinal")):
		return errors.New("an adapter's pattern requires the groups node, and device or ordinal")
	case r.Of == isSwitch && !has("name"):
		return errors.New("a switch's pattern requires the group name")
	}
	return nil
}

// device is an ASIC and the length of its ticks: bytes that the port, or one lane of
// it, sends in one.
type device struct {
	Name    string `yaml:"name" max:"64"`
	Vendor  number `yaml:"vendor"`
	Device  number `yaml:"device"`
	Tick    int    `yaml:"tick_bytes" max:"1048576"`
	PerLane int    `yaml:"tick_bytes_per_lane" max:"1048576"`
}

// Validate reports what is missing.
func (d device) Validate() error {
	if d.Vendor == 0 || d.Device == 0 || d.Tick+d.PerLane == 0 {
		return errors.New("want vendor, device, and tick_bytes or tick_bytes_per_lane")
	}
	return nil
}

// number is a whole number that may be in hexadecimal.
type number uint32

// Set reads a number.
func (n *number) Set(text string) error {
	v, err := strconv.ParseUint(text, 0, 32)
	if *n = number(v); err != nil {
		return fmt.Errorf("want a number such as 0x2c9, found %.30q", text)
	}
	return nil
}

// counter is a field of perfquery's. One without a metric is known, and left out.
type counter struct {
	Fields          []string `yaml:"from,single" was:"field"`
	mapping.Reading `yaml:",inline"`
	Narrow          bool `yaml:"narrow"` // not among every device's extended counters

	quantity *mapping.Quantity
}

// Validate reports what is missing or invalid.
func (c *counter) Validate() (err error) {
	if len(c.Fields) == 0 {
		return errors.New("want from")
	}
	if c.Metric != "" {
		c.quantity, err = c.Quantity(nil)
	}
	return err
}

// loadProfile reads the built-in profile and, before it, the file at path if
// that is not "".
func loadProfile(path string) (*Profile, mapping.Formers, error) {
	var files []string
	if path != "" {
		files = append(files, path)
	}
	all, former, err := mapping.Load[Profile](files, builtIn)
	if err != nil {
		return nil, nil, fmt.Errorf("profile: %w", err)
	}
	p := &Profile{}
	for i := range all {
		p.Names, p.Devices, p.Rules = append(p.Names, all[i].Names...), append(p.Devices, all[i].Devices...), append(p.Rules, all[i].Rules...)
	}
	return p, former, nil
}

// device returns what is known of an ASIC, nil if nothing is.
func (p *Profile) device(vendor, id uint32) *device {
	for i := range p.Devices {
		if d := &p.Devices[i]; uint32(d.Vendor) == vendor && uint32(d.Device) == id {
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
	case d.PerLane > 0:
		return float64(float64(d.PerLane)*float64(lanes)) * 8 / speed
	}
	return float64(d.Tick) * 8 / speed
}
