package ibsim

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/quintet-dc/quintet/lab/board"
	"github.com/quintet-dc/quintet/telemetry"
)

// Subnet is a part of a site's network that nothing connects to the rest.
type Subnet struct {
	Name string
	Net  *Net
	// Of states which entity of the site an end is.
	Of map[End]telemetry.Entity
	// PortName is how the site names a switch's ports, {port} being the number.
	PortName string
}

// Subnets draws the subnets of a site from the cables on its board, in the
// order of their names.
func Subnets(b *board.Board) ([]*Subnet, error) {
	edges := slices.DeleteFunc(b.Edges(telemetry.Connects), func(e telemetry.Edge) bool { return !wired(e.From) || !wired(e.To) })
	if len(edges) == 0 {
		return nil, errors.New("no cable on the board")
	}
	owner := map[telemetry.Entity]string{}
	groups := newGroups()
	for _, e := range edges {
		for _, x := range []telemetry.Entity{e.From, e.To} {
			owner[x] = x.String()
			if x.Kind == telemetry.Port {
				owner[x] = x.Prefix()
			}
		}
		groups.join(owner[e.From], owner[e.To])
	}
	byGroup := map[string]*drawing{}
	var order []string
	for _, e := range edges {
		of := groups.find(owner[e.From])
		d := byGroup[of]
		if d == nil {
			d = &drawing{Subnet: &Subnet{Net: &Net{}, Of: map[End]telemetry.Entity{}}, nodes: map[string]int{}}
			byGroup[of], order = d, append(order, of)
		}
		if err := d.cable(&e); err != nil {
			return nil, err
		}
	}
	var out []*Subnet
	for i, of := range order {
		byGroup[of].name(i)
		out = append(out, byGroup[of].Subnet)
	}
	slices.SortFunc(out, func(a, b *Subnet) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// wired reports whether an entity is an end of the network's cables.
func wired(x telemetry.Entity) bool { return x.Kind == telemetry.NIC || x.Kind == telemetry.Port }

// InfiniBand reports whether a site's network is one: its ports count for how
// long they had no credit.
func InfiniBand(b *board.Board) bool {
	return slices.ContainsFunc(b.Edges(telemetry.Connects), func(e telemetry.Edge) bool {
		_, ok := b.Read(e.To, "port_xmit_wait_ticks_total")
		return ok && wired(e.From) && wired(e.To)
	})
}

// drawing is a subnet in the making.
type drawing struct {
	*Subnet
	nodes    map[string]int
	switches []string
}

// cable adds a cable and what it joins.
func (d *drawing) cable(e *telemetry.Edge) error {
	a, err := d.end(e.From)
	if err != nil {
		return err
	}
	b, err := d.end(e.To)
	if err != nil {
		return err
	}
	speed, err := strconv.ParseFloat(cmp.Or(e.Attr(telemetry.AttrSpeed), "200e9"), 64)
	if err != nil {
		return fmt.Errorf("cable %s to %s: %w", e.From, e.To, err)
	}
	width, lane := form(speed)
	d.Net.Cables = append(d.Net.Cables, Cable{a, b, width, lane})
	return nil
}

// end finds an end of a cable, and makes its node if there is none.
func (d *drawing) end(x telemetry.Entity) (End, error) {
	if x.Kind != telemetry.Port {
		name := strings.Replace(x.Name, "/", " ", 1)
		i, ok := d.nodes[name]
		if !ok {
			i = d.Net.AddAdapter(name)
			d.nodes[name] = i
		}
		d.Of[End{i, 1}] = x
		return End{i, 1}, nil
	}
	sw, port := x.Prefix(), x.Name[strings.LastIndexByte(x.Name, '/')+1:]
	letters := strings.TrimRight(port, "0123456789")
	number, err := strconv.Atoi(port[len(letters):])
	if err != nil || sw == "" || number < 1 || number > 254 {
		return End{}, fmt.Errorf("%s: want a switch and a port's number from 1 to 254", x)
	}
	if name := letters + "{port}"; d.PortName == "" {
		d.PortName = name
	} else if d.PortName != name {
		return End{}, fmt.Errorf("%s: others are named %s", x, d.PortName)
	}
	i, ok := d.nodes[sw]
	if !ok {
		i = d.Net.AddSwitch("MF0;"+sw+":MQM8700/U1", 0)
		d.nodes[sw] = i
		d.switches = append(d.switches, sw)
	}
	d.Net.Nodes[i].Ports = max(d.Net.Nodes[i].Ports, number)
	d.Of[End{i, number}] = x
	return End{i, number}, nil
}

// name calls a subnet by what its switches' names begin with, "p0" of p0-leaf00,
// or by its number.
func (d *drawing) name(i int) {
	for _, sw := range d.switches {
		first, _, ok := strings.Cut(sw, "-")
		if !ok || d.Name != "" && d.Name != first {
			d.Name = fmt.Sprintf("ib%d", i)
			return
		}
		d.Name = first
	}
}

// form is how a link of so many bits per second runs in ibsim, which knows no
// lanes faster than HDR: what is not exact is the next slower.
func form(speed float64) (width int, lane string) {
	lanes := []struct {
		name string
		rate float64
	}{{"HDR", 50e9}, {"EDR", 25e9}, {"FDR", 14e9}, {"QDR", 10e9}, {"DDR", 5e9}, {"SDR", 2.5e9}}
	best := 0.0
	width, lane = 1, "SDR"
	for _, w := range []int{4, 8, 12, 1} {
		for _, l := range lanes {
			if rate := float64(w) * l.rate; rate <= speed && rate > best {
				best, width, lane = rate, w, l.name
			}
		}
	}
	return width, lane
}

// shown is what a port's counters are called on the board and in ibsim, and
// the most that they show: ibsim's extended counters are of data alone.
var shown = []struct {
	metric    telemetry.MetricName
	attribute string
	field     string
	words     uint64 // bytes of a unit
	most      uint64
	moves     bool // ibsim counts here what passes, or is lost, of its own datagrams
}{
	{"port_tx_bytes_total", "PortCountersExtended", "PortXmitData", 4, math.MaxUint64, true},
	{"port_rx_bytes_total", "PortCountersExtended", "PortRcvData", 4, math.MaxUint64, true},
	{"port_tx_packets_total", "PortCountersExtended", "PortXmitPkts", 1, math.MaxUint64, true},
	{"port_rx_packets_total", "PortCountersExtended", "PortRcvPkts", 1, math.MaxUint64, true},
	{"port_xmit_wait_ticks_total", "PortCounters", "PortXmitWait", 1, math.MaxUint32, false},
	{"port_link_downs_total", "PortCounters", "LinkDownedCounter", 1, math.MaxUint8, false},
	{"port_rx_errors_total", "PortCounters", "PortRcvErrors", 1, math.MaxUint16, true},
	{"port_tx_discards_total", "PortCounters", "PortXmitDiscards", 1, math.MaxUint16, true},
}

// counters lists what a subnet's ports show now, in the order of the cables.
func (s *Subnet) counters(b *board.Board) []Counter {
	var out []Counter
	for _, c := range s.Net.Cables {
		for _, e := range []End{c.A, c.B} {
			for _, x := range shown {
				r, ok := b.Read(s.Of[e], x.metric)
				if !ok || r.Gap {
					continue
				}
				out = append(out, Counter{At: e, Attribute: x.attribute, Field: x.field, Value: min(r.Uint()/x.words, x.most), moves: x.moves})
			}
		}
	}
	return out
}

// groups finds what hangs together.
type groups map[string]string

func newGroups() groups { return groups{} }

func (g groups) find(x string) string {
	for g[x] != "" && g[x] != x {
		x = g[x]
	}
	return x
}

func (g groups) join(a, b string) {
	if a, b = g.find(a), g.find(b); a != b {
		g[b] = a
	}
}
