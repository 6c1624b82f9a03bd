package sysfs

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/sysfs/ethtool"
	"github.com/quintet-dc/quintet/telemetry"
)

// statisticsOf are ethtool's statistics of one interface, in its driver's
// order.
type statisticsOf struct {
	open  *ethtool.Interface
	cells [][]cell // by place; most have none
	bound int      // places with cells
	known int      // places whose name is known
	ratio *errorRatio
}

// settle counts the places that have cells, and returns how many are known and have
// none, because another place has the same.
func (s *statisticsOf) settle() (duplicates int) {
	for _, cells := range s.cells {
		if len(cells) > 0 {
			s.bound++
		}
	}
	return s.known - s.bound
}

// lossless lists the priorities that have counters of pause, where the driver has
// those only for priorities with flow control: mlx5 does.
type lossless struct {
	byPriority bool // there are counters by priority, and the driver is such a one
	pause      [priorities]bool
}

// String lists the lossless priorities.
func (l lossless) String() string {
	var out []string
	for p, on := range l.pause {
		if on {
			out = append(out, strconv.Itoa(p))
		}
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ",")
}

// statistics claims what an interface's driver counts.
func (b *planner) statistics(p *port, n netdev, e telemetry.Entity) (l lossless) {
	if b.stats == nil {
		return l
	}
	in, err := b.stats.Open(n.name)
	if err != nil {
		b.drop(statisticsReason(err), 1)
		return l
	}
	driver := n.module
	if in.Driver() != "" {
		driver = in.Driver()
	}
	names := in.Names()
	s := &statisticsOf{open: in, cells: make([][]cell, len(names))}
	for i, name := range names {
		means := b.words.statistic(driver, name)
		if len(means) == 0 {
			means = b.strange(e, driver, name)
		}
		if len(means) > 0 {
			s.known++
		}
		for _, m := range means {
			owner := e
			if m.priority != whole {
				owner = b.queue(e, m.priority)
				l.byPriority = families(driver) == "mlx5"
				l.pause[m.priority] = l.pause[m.priority] || m.means.metric == "port_pfc_rx_pause_frames_total"
			}
			b.claim(p.device, owner, m.means, &s.cells[i])
		}
	}
	if s.ratio = ratioOf(names); s.ratio != nil {
		b.claim(p.device, e, meaning{metric: "port_pre_fec_ber", scale: 1, exp: ratioDigits, rank: rankOptional}, &s.ratio.cells)
	}
	g := b.group()
	g.stats = s
	return l
}

// strange returns the meanings of an unknown name: it is carried if all are wanted,
// and counted if not.
func (b *planner) strange(e telemetry.Entity, driver, name string) []statistic {
	if b.cfg.AllStatistics && name != "" {
		// No two places are the same number, whatever they are called.
		m := b.named(e, foreign("ethtool_"+part(driver), name), fmt.Sprintf("%s %d", name, len(b.foreign)))
		m.rank = rankOptional
		return []statistic{{m, whole}}
	}
	if perRing(name) {
		b.drop(collectors.Skipped, 1)
	} else {
		b.drop(collectors.Unknown, 1)
	}
	return nil
}

// statisticsReason returns the reason why an interface gave no statistics.
func statisticsReason(err error) collectors.Reason {
	switch {
	case errors.Is(err, ethtool.ErrNone):
		return collectors.Unsupported
	case errors.Is(err, ethtool.ErrGone):
		return collectors.Vanished
	case errors.Is(err, ethtool.ErrListing):
		return collectors.Malformed
	case errors.Is(err, ethtool.ErrChanged):
		return collectors.Stale
	}
	return reasonOf(err)
}

// read reads every statistic that has a place.
func (s *statisticsOf) read(r *reader) {
	reading, err := s.open.Read()
	if err != nil {
		r.dropped[statisticsReason(err)] += s.bound
		r.look = r.look || errors.Is(err, ethtool.ErrGone) || errors.Is(err, ethtool.ErrChanged)
		r.changed = r.changed || errors.Is(err, ethtool.ErrChanged)
		for _, cells := range s.cells {
			gaps(cells)
		}
		if s.ratio != nil {
			s.ratio.lose()
		}
		return
	}
	if s.ratio != nil {
		s.ratio.take(r, reading)
	}
	malformed := reading.Malformed
	for i, cells := range s.cells {
		bad := len(malformed) > 0 && malformed[0] == i
		if bad {
			malformed = malformed[1:]
		}
		switch {
		case len(cells) == 0:
		case bad:
			gaps(cells)
			r.dropped[collectors.Malformed]++
		default:
			r.put(cells, reading.Words[i])
		}
	}
}

// verify asks whether the names are still the same. Names that changed while
// their number did not are found by this alone.
func (s *statisticsOf) verify(r *reader) {
	if err := s.open.Verify(); errors.Is(err, ethtool.ErrChanged) {
		r.changed = true
	}
}

// pauseMask states which priorities are lossless, where that is reported.
func (b *planner) pauseMask(n netdev, e telemetry.Entity, l lossless) {
	if !l.byPriority {
		return
	}
	b.settings = append(b.settings, &setting{key: "net/lossless_priorities", text: l.String(), entity: e, memory: b.memories.get("interface "+n.name, e)})
	for p, on := range l.pause {
		c := &constant{value: bit(on)}
		b.fixed = append(b.fixed, c)
		b.aside(b.queue(e, p), "port_pfc_enabled", alone, &c.cells)
	}
}
