package sysfs

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/telemetry"
)

// setting is a file of configuration: reported as an event when it changes, and as
// a number where there is a metric for it.
type setting struct {
	key    string // as the event calls it
	name   string // of its file; "" if text gives it
	text   string
	entity telemetry.Entity
	memory *memory
	parse  func([]byte) (uint64, collectors.Reason) // nil: text alone
	cells  []cell
	rare   bool // asking for it is a command to the device
	varies bool // a reading, whose changes are not reported
	last   uint64
	have   bool // last is a number
	rests  time.Duration
}

// rareEvery: settings that are commands to the device are read at every sixth
// reading of settings, once a minute.
const rareEvery = 6

// restUnset is how long a setting is left alone that the device does not have.
const restUnset = 10 * time.Minute

// maxSettings bounds the settings of one device or interface; maxValue the bytes of
// a value that are kept and reported.
const (
	maxSettings = 256
	maxValue    = 512
)

// settingsOfDevice: firmware, model, place, and the way into the host.
func (b *planner) settingsOfDevice(d *device, e telemetry.Entity) {
	m := b.memories.get(d.identity(), e)
	for _, k := range []string{"fw_ver", "hca_type", "board_id", "hw_rev", "node_desc", "node_guid", "sys_image_guid"} {
		b.setting(&setting{key: k, name: path.Join(d.dir, k), entity: e, memory: m})
	}
	bus := d.bus
	if isDir(b.tree, path.Join(bus, "physfn")) {
		bus = path.Join(bus, "physfn") // a virtual function has no link of its own
	}
	for _, k := range []struct {
		file   string
		metric telemetry.MetricName
		parse  func([]byte) (uint64, collectors.Reason)
	}{
		{"current_link_width", "pcie_link_width", parseLanes},
		{"max_link_width", "pcie_link_max_width", parseLanes},
		{"current_link_speed", "pcie_link_speed_transfers_per_second", transfers},
		{"max_link_speed", "pcie_link_max_speed_transfers_per_second", transfers},
	} {
		s := &setting{key: "pcie/" + k.file, name: path.Join(bus, k.file), entity: e, memory: m, parse: k.parse}
		if b.setting(s) {
			b.aside(e, k.metric, alone, &s.cells)
		}
	}
}

// moduleOf claims the temperature of a device's optical module, in thousandths of
// a degree, where the driver shows its sensors: mlx5 since Linux 6.7, beside the
// chip's own. Their labels come from the firmware: asic, Module0.
func (b *planner) moduleOf(d *device, e telemetry.Entity) {
	monitors, err := b.tree.list(path.Join(d.bus, "hwmon"))
	if err != nil {
		return // most drivers have none
	}
	for _, m := range monitors {
		dir := path.Join(d.bus, "hwmon", m)
		files, err := b.tree.list(dir)
		if err != nil {
			continue
		}
		for _, f := range b.bounded(files) {
			sensor, is := strings.CutSuffix(f, "_label")
			if !is {
				continue
			}
			if label, err := readText(b.tree, path.Join(dir, f)); err != nil || !strings.HasPrefix(label, "Module") {
				continue
			}
			s := &setting{name: path.Join(dir, sensor+"_input"), entity: e, parse: count, varies: true}
			if b.setting(s) {
				b.asides = append(b.asides, claim{settingsPart, e, meaning{metric: "optic_temperature_celsius", scale: 1, exp: 3}, &s.cells})
				return // of a function with several modules the first is its port's
			}
		}
	}
}

// transfers reads a PCIe speed in transfers a second.
func transfers(b []byte) (uint64, collectors.Reason) {
	tenths, why := parseTransfers(b)
	return tenths * 1e8, why
}

// settingsOfPort: what the subnet manager gave it, and its GIDs' types.
func (b *planner) settingsOfPort(p *port, e telemetry.Entity) {
	m := b.memories.of(p, e)
	for _, k := range []string{"link_layer", "lid", "lid_mask_count", "sm_lid", "sm_sl", "cap_mask"} {
		b.setting(&setting{key: k, name: path.Join(p.dir, k), entity: e, memory: m})
	}
	for _, i := range []string{"0", "1", "2", "3"} {
		b.setting(&setting{key: "gid_attrs/types/" + i, name: path.Join(p.dir, "gid_attrs/types", i), entity: e, memory: m})
	}
}

// settingsOfInterface: trust, priorities, DSCP, buffers and congestion control.
// The driver asks the device for most of them.
func (b *planner) settingsOfInterface(n netdev, e telemetry.Entity) {
	m := b.memories.get("interface "+n.name, e)
	for _, k := range []string{"mtu", "operstate"} {
		b.setting(&setting{key: "net/" + k, name: path.Join(n.dir, k), entity: e, memory: m})
	}
	for _, dir := range []string{"qos", "ecn/roce_np", "ecn/roce_rp", "ecn/roce_np/enable", "ecn/roce_rp/enable"} {
		files, err := b.tree.list(path.Join(n.dir, dir))
		if err != nil {
			continue
		}
		if len(files) > maxSettings {
			b.drop(collectors.OverLimit, len(files)-maxSettings)
			files = files[:maxSettings]
		}
		for _, f := range files {
			s := &setting{key: path.Join("net", dir, f), name: path.Join(n.dir, dir, f), entity: e, memory: m, rare: true}
			if !b.setting(s) {
				continue
			}
			if priority, err := strconv.Atoi(f); err == nil && path.Base(dir) == "enable" && priority >= 0 && priority < priorities {
				s.parse = count
				b.aside(b.queue(e, priority), "port_ecn_enabled", least, &s.cells)
			}
		}
	}
}

// setting takes a setting in if it is a file that can be read at all now.
func (b *planner) setting(s *setting) bool {
	if _, err := readText(b.tree, s.name); err != nil {
		return false // most devices lack most of them
	}
	b.settings = append(b.settings, s)
	return true
}

// readSettings reads the configuration: rarely all of it.
func (r *reader) readSettings(all bool) {
	for _, s := range r.plan.settings {
		switch {
		case s.rests > r.now:
		case !s.rare || all:
			s.read(r)
		case s.have:
			r.put(s.cells, s.last)
		default:
			gaps(s.cells)
		}
	}
	for _, c := range r.plan.fixed {
		r.put(c.cells, c.value)
	}
}

func (s *setting) read(r *reader) {
	text, why := s.text, good
	if s.name != "" {
		var err error
		if text, err = readText(r.tree, s.name); err != nil {
			why = reasonOf(err)
		}
	}
	if why == good && s.parse != nil {
		if s.last, why = s.parse([]byte(text)); why == good {
			r.put(s.cells, s.last)
		}
	}
	s.have = why == good
	if why != good {
		r.dropped[why]++
		gaps(s.cells)
		if why == collectors.Unsupported || why == collectors.Denied {
			s.rests = r.now + restUnset
		}
		return
	}
	if s.varies {
		return
	}
	value := printable(strings.Join(strings.Fields(text), " "), maxValue)
	before, known := s.memory.settings[s.key]
	if known && before != value {
		r.event(s.entity, telemetry.EventConfigChanged, fmt.Sprintf("%s %s -> %s", s.key, orNothing(before), orNothing(value)))
	}
	if known || len(s.memory.settings) < maxSettings {
		s.memory.settings[s.key] = value
	}
}

func orNothing(s string) string {
	if s == "" {
		return `""`
	}
	return s
}

// attrs are the attributes of a device on the edge from its node.
func (d *device) attrs() []telemetry.Attr {
	out := []telemetry.Attr{{Key: "device", Value: d.name}, {Key: "driver", Value: d.driver}, {Key: "guid", Value: d.guid}, {Key: "pci", Value: d.pci}}
	if len(d.ports) == 1 {
		out = append(out, d.ports[0].attrs()...)
	}
	return tidy(out)
}

// attrs are the attributes of a port on an edge.
func (p *port) attrs() []telemetry.Attr {
	var behind []string
	for _, n := range p.behind {
		behind = append(behind, n.name)
	}
	return tidy([]telemetry.Attr{
		{Key: "link_layer", Value: p.layer}, {Key: "netdev", Value: strings.Join(behind, ",")},
		{Key: "port", Value: strconv.Itoa(p.number)}, {Key: "transport", Value: string(p.transport)},
	})
}

// tidy removes what is not known, cuts what is too long and sorts the rest.
func tidy(attrs []telemetry.Attr) []telemetry.Attr {
	const most = 200
	out := attrs[:0]
	for _, a := range attrs {
		if a.Value = printable(a.Value, most); a.Value != "" {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, func(a, b telemetry.Attr) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// printable makes any text fit to be stated: UTF-8 without control characters,
// of at most so many bytes.
func printable(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsControl(r) {
			return '_'
		}
		return r
	}, s[:min(len(s), most)])
	for len(s) > most {
		_, n := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-n]
	}
	return s
}
