package gnmi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"github.com/quintet-dc/quintet/lab/board"
	"github.com/quintet-dc/quintet/telemetry"
)

// The dialects.
const (
	OpenConfig = "openconfig"
	SONiC      = "sonic"
	Cumulus    = "cumulus"
	NVOS       = "nvos"
)

// dialect is a vendor's variant of gNMI.
type dialect interface {
	// native is the dialect's own name of the n-th port, from 0.
	native(n int) string
	// encodings lists those that it has.
	encodings() []gpb.Encoding
	// leaves lists what a path leads to; an error is a status.
	leaves(s *device, prefix, path *gpb.Path) ([]leaf, error)
	// may reports whether a subscription is possible; an error is a status.
	may(s *gpb.Subscription) error
	// gets reports whether there is Get.
	gets() bool
}

// speak returns a dialect by its name.
func speak(name string) (dialect, error) {
	switch name {
	case OpenConfig:
		return treeDialect{name: name, port: "Ethernet%d/1", enc: []gpb.Encoding{gpb.Encoding_JSON_IETF, gpb.Encoding_PROTO, gpb.Encoding_JSON}, get: true, grow: openconfig}, nil
	case Cumulus:
		return treeDialect{name: name, port: "swp%ds0", enc: []gpb.Encoding{gpb.Encoding_PROTO, gpb.Encoding_JSON}, grow: cumulus}, nil
	case NVOS:
		return treeDialect{name: name, port: "sw%dp1", enc: []gpb.Encoding{gpb.Encoding_PROTO, gpb.Encoding_JSON_IETF, gpb.Encoding_JSON}, get: true, grow: nvos}, nil
	case SONiC:
		return sonic{}, nil
	}
	return nil, fmt.Errorf("dialect %q: want openconfig, sonic, cumulus or nvos", name)
}

// socket is one port of a switch.
type socket struct {
	entity telemetry.Entity
	site   string // what the site calls it
	native string
}

// neighbour is the other end of a port, as LLDP reports it.
type neighbour struct {
	system, port, description string
	bridge                    bool
}

// sockets lists a switch's ports in the order of their numbers.
func sockets(b *board.Board, sw telemetry.Entity, d dialect) []socket {
	var out []socket
	for _, e := range b.Inside(sw) {
		if e.Kind == telemetry.Port {
			out = append(out, socket{entity: e, site: strings.TrimPrefix(e.Name, sw.Name+"/")})
		}
	}
	slices.SortStableFunc(out, func(x, y socket) int { return number(x.site) - number(y.site) })
	for i := range out {
		out[i].native = d.native(i)
	}
	return out
}

// number is the digits at the end of a name.
func number(s string) int {
	i := len(s)
	for i > 0 && s[i-1] >= '0' && s[i-1] <= '9' {
		i--
	}
	n, err := strconv.Atoi(s[i:])
	if err != nil {
		return 0
	}
	return n
}

// reading returns how a port's metric is read; away while the port is.
func (s *device) reading(p *socket, m telemetry.MetricName) func() (value, telemetry.Time, bool) {
	return s.read(p.entity, m, func(r board.Reading) value { return value{u: r.Uint()} })
}

// level is reading of a number with a fraction.
func (s *device) level(e telemetry.Entity, m telemetry.MetricName) func() (value, telemetry.Time, bool) {
	return s.read(e, m, func(r board.Reading) value { return value{kind: real, f: r.Float()} })
}

// micros is reading of a time in microseconds.
func (s *device) micros(p *socket, m telemetry.MetricName) func() (value, telemetry.Time, bool) {
	return s.read(p.entity, m, func(r board.Reading) value {
		if r.Column.Type == telemetry.Decimal && r.Column.Exp == 6 {
			return value{u: r.Word}
		}
		return value{u: micro(r.Float())}
	})
}

// read returns how a series is read.
func (s *device) read(e telemetry.Entity, m telemetry.MetricName, as func(board.Reading) value) func() (value, telemetry.Time, bool) {
	return func() (value, telemetry.Time, bool) {
		if s.away(e) {
			return value{}, 0, false
		}
		r, ok := s.board.Read(e, m)
		if !ok || r.Gap {
			return value{}, 0, false
		}
		return as(r), r.At, true
	}
}

// fixed is text that a port has while it is there.
func (s *device) fixed(p *socket, v value) func() (value, telemetry.Time, bool) {
	return func() (value, telemetry.Time, bool) { return v, 0, !s.away(p.entity) }
}

// speedWord is a port's speed as text.
func (s *device) speedWord(p *socket, as func(bits uint64) string) func() (value, telemetry.Time, bool) {
	return s.read(p.entity, "port_speed_bits_per_second", func(r board.Reading) value { return textOf(as(r.Uint())) })
}

// upWord is whether a port's link is up.
func (s *device) upWord(p *socket, up, down string) func() (value, telemetry.Time, bool) {
	return s.read(p.entity, "port_up", func(r board.Reading) value {
		if r.Uint() == 1 {
			return textOf(up)
		}
		return textOf(down)
	})
}
