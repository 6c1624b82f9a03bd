package logs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/lab/board"
	"github.com/quintet-dc/quintet/telemetry"
)

// words is how the switches of a vendor report what happened: a syslog message.
type words func(s *sender, e *telemetry.Event) string

// sender is a switch, or a host that runs a subnet manager.
type sender struct {
	name       string
	words      words
	ports      map[string]string // native names by the site's
	infiniBand bool
}

func newSender(b *board.Board, sw telemetry.Entity, n int) *sender {
	s := &sender{name: sw.Name, ports: map[string]string{}}
	var ports []string
	for _, p := range b.Inside(sw) {
		if p.Kind == telemetry.Port {
			ports = append(ports, strings.TrimPrefix(p.Name, sw.Name+"/"))
			_, waits := b.Read(p, "port_xmit_wait_ticks_total")
			s.infiniBand = s.infiniBand || waits
		}
	}
	slices.SortStableFunc(ports, func(x, y string) int { return trailing(x) - trailing(y) })
	native := "Ethernet%d/1"
	s.words = eos
	switch {
	case s.infiniBand:
		s.words, native = nvos, "sw%dp1"
	case n%3 == 0:
		s.words = sonic
	case n%3 == 1:
		s.words, native = cumulus, "swp%ds0"
	}
	for i, p := range ports {
		s.ports[p] = fmt.Sprintf(native, i+1)
		if !s.infiniBand && n%3 == 0 {
			s.ports[p] = fmt.Sprintf("Ethernet%d", 4*i)
		}
	}
	return s
}

// trailing is the number at the end of a name.
func trailing(s string) int {
	i := len(s)
	for i > 0 && s[i-1] >= '0' && s[i-1] <= '9' {
		i--
	}
	n, _ := strconv.Atoi(s[i:])
	return n
}

// format words an event; "" where such a switch does not log it.
func (s *sender) format(e *telemetry.Event) string { return s.words(s, e) }

// state is what an event reports about a port's link; "" nothing.
func (s *sender) state(e *telemetry.Event) (port, now, before string) {
	port = s.ports[strings.TrimPrefix(e.Entity.Name, s.name+"/")]
	switch {
	case port == "":
		return "", "", ""
	case e.Name == telemetry.EventLinkDown:
		return port, "down", "up"
	case e.Name == telemetry.EventLinkUp:
		return port, "up", "down"
	}
	return "", "", ""
}

// sonic forwards with the time in RFC 3339, and the severity before the tag.
func sonic(s *sender, e *telemetry.Event) string {
	port, now, before := s.state(e)
	if port == "" {
		return ""
	}
	return fmt.Sprintf("<141>%s %s NOTICE swss#orchagent: :- updatePortOperStatus: Port %s oper state set from %s to %s",
		wall(e.At).UTC().Format("2006-01-02T15:04:05.000000-07:00"), s.name, port, before, now)
}

// cumulus forwards its kernel's messages as RFC 3164 has them: no year, no zone,
// whole seconds.
func cumulus(s *sender, e *telemetry.Event) string {
	port, now, _ := s.state(e)
	if port == "" {
		return ""
	}
	return fmt.Sprintf("<6>%s %s kernel: [%12.6f] %s: link %s", wall(e.At).Local().Format(time.Stamp), s.name, float64(e.At)/1e9-1.7e9, port, now)
}

// eos writes as RFC 5424 has it.
func eos(s *sender, e *telemetry.Event) string {
	port, now, _ := s.state(e)
	if port == "" {
		return ""
	}
	return fmt.Sprintf("<189>1 %s %s Ebra - - - %%LINEPROTO-5-UPDOWN: Line protocol on Interface %s, changed state to %s",
		wall(e.At).UTC().Format(time.RFC3339Nano), s.name, port, now)
}

func nvos(s *sender, e *telemetry.Event) string {
	port, now, _ := s.state(e)
	if port == "" {
		return ""
	}
	return fmt.Sprintf("<189>1 %s %s portd - - - Interface %s state is %s", wall(e.At).UTC().Format(time.RFC3339Nano), s.name, port, now)
}

// opensm writes to the system's log when its state changes.
func opensm(s *sender, e *telemetry.Event) string {
	if e.Name != telemetry.EventSMMasterChanged {
		return ""
	}
	return fmt.Sprintf("<30>1 %s %s OpenSM 812 - - Entering MASTER state", wall(e.At).UTC().Format(time.RFC3339Nano), s.name)
}
