package sysfs

import (
	"fmt"
	"path"
	"slices"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/telemetry"
)

// status is a port's state, physical state and rate: text with a number in it.
type status struct {
	port   *port
	entity telemetry.Entity
	memory *memory

	state, physical, rate file
	logical               []cell // of state, as a number
	up                    []cell
	speed                 file // of the interface behind the port, in Mb/s
}

// statusFiles is how many files a status reads.
const statusFiles = 3

func (s *status) close() {
	for _, f := range [...]*file{&s.state, &s.physical, &s.rate, &s.speed} {
		f.close()
	}
}

// status claims a port's state. What efa reports of it never changes: always
// active, at a rate that is not its own.
func (b *planner) status(p *port, e telemetry.Entity) {
	if p.transport == efa {
		b.drop(collectors.Unsupported, statusFiles)
		return
	}
	s := &status{port: p, entity: e, memory: b.memories.of(p, e)}
	if len(p.behind) > 0 {
		s.speed.name = path.Join(p.behind[0].dir, "speed")
	}
	there, err := b.tree.list(p.dir)
	if err != nil {
		return
	}
	b.group().status = s
	for _, c := range []struct {
		file   string
		into   *file
		metric telemetry.MetricName
		cells  *[]cell
	}{
		{"state", &s.state, "port_up", &s.up},
		{"state", &s.state, "port_logical_state", &s.logical},
		{"phys_state", &s.physical, "port_physical_state", &s.physical.cells},
		{"rate", &s.rate, "port_speed_bits_per_second", &s.rate.cells},
	} {
		if slices.Contains(there, c.file) {
			c.into.name = path.Join(p.dir, c.file)
			b.claim(p.device, e, meaning{metric: c.metric, scale: 1, rank: rankPort}, c.cells)
		}
	}
}

// unasked is the Reason of a file that was not asked for.
const unasked collectors.Reason = "unasked"

// read reads a port's state and reports its changes.
func (s *status) read(r *reader) {
	physical, physicalWhy := s.read1(r, &s.physical, physicalStates)
	logical, why := s.read1(r, &s.state, logicalStates)
	switch why {
	case good:
		r.put(s.logical, logical)
		r.put(s.up, bit(logical == stateActive))
	case unasked:
	case collectors.Vanished:
		gaps(s.logical)
		r.put(s.up, 0) // what is gone carries nothing
	default:
		gaps(s.logical)
		gaps(s.up)
	}
	switch physicalWhy {
	case good:
		r.put(s.physical.cells, physical)
	case unasked:
	default:
		gaps(s.physical.cells)
	}
	s.changed(r, now{logical, why, physical, physicalWhy})
	s.readRate(r, why == good && logical == stateActive)
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func gaps(cells []cell) {
	for i := range cells {
		cells[i].gap()
	}
}

// read1 reads one state, and counts why if it cannot be had.
func (s *status) read1(r *reader, f *file, names []string) (uint64, collectors.Reason) {
	b, why := r.text(f)
	if why != good {
		return 0, why
	}
	v, why := state(b, names)
	if why != good {
		r.dropped[why]++
	}
	return v, why
}

// text reads a file of text into the reader's buffer.
func (r *reader) text(f *file) ([]byte, collectors.Reason) {
	if f.name == "" || f.rests > r.now {
		return nil, unasked
	}
	why := good
	if f.open == nil {
		h, err := r.tree.open(f.name)
		if err != nil {
			why = reasonOf(err)
			f.rests = r.now + restGone
		} else {
			f.open = h
		}
	}
	if why == good {
		n, err := f.open.read(r.buf[:])
		if err == nil {
			return r.buf[:n], good
		}
		why = reasonOf(err)
		f.close()
	}
	r.dropped[why]++
	r.look = r.look || why == collectors.Vanished
	return nil, why
}

// readRate states the speed of a port that is up. Of one that is not, the rate
// is what it had or could have.
func (s *status) readRate(r *reader, up bool) {
	b, why := r.text(&s.rate)
	var v rate
	if why == good {
		if v, why = parseRate(b); why != good {
			r.dropped[why]++
		}
	}
	if !up || why == unasked && s.speed.name == "" {
		return
	}
	if why == good && !v.slow {
		s.memory.fast = true
	}
	if why == good && (!v.slow || s.believesSlow()) {
		r.put(s.rate.cells, v.tenths*bitsPerTenth)
		return
	}
	// Either there is no rate, or it is the one that a kernel reports for a speed
	// which it does not know: the interface may know better.
	if megabits, ok := s.interfaceSpeed(r); ok {
		r.put(s.rate.cells, megabits*1e6)
		return
	}
	if why == good {
		r.dropped[collectors.Unknown]++
	}
	gaps(s.rate.cells)
}

// bitsPerTenth: rates are in tenths of Gb/s.
const bitsPerTenth = 1e8

// believesSlow reports whether SDR is to be taken at its word: from a driver
// that is as old as the speeds every kernel knows, or on a port that has shown
// another speed.
func (s *status) believesSlow() bool {
	switch s.port.device.driver {
	case "mlx4", "ib_mthca", "ib_qib":
		return true
	}
	return s.memory.fast
}

// interfaceSpeed asks the network interface, which reports Mb/s, or -1 or an error
// where there is no link.
func (s *status) interfaceSpeed(r *reader) (uint64, bool) {
	if s.speed.name == "" {
		return 0, false
	}
	if s.speed.open == nil {
		h, err := r.tree.open(s.speed.name)
		if err != nil {
			return 0, false
		}
		s.speed.open = h
	}
	n, err := s.speed.open.read(r.buf[:])
	if err != nil {
		s.speed.close()
		return 0, false
	}
	v, why := count(r.buf[:n])
	return v, why == good && v > 0 && v < 1<<30
}

// now is what a port reports of its state at one moment.
type now struct {
	logical  uint64
	why      collectors.Reason
	physical uint64
	physWhy  collectors.Reason
}

// changed reports a port that went down or came up.
func (s *status) changed(r *reader, n now) {
	was, is := s.memory.state, portState{known: true}
	switch {
	case n.why == good:
		is.up, is.logical = n.logical == stateActive, logicalStates[n.logical]
	case n.why == collectors.Vanished:
		is.logical = "gone"
	default:
		return // not known now: neither up nor down
	}
	is.physical = "unknown"
	if n.physWhy == good && n.physical > 0 {
		is.physical = physicalStates[n.physical]
	}
	s.memory.state = is
	if !was.known || was.up == is.up {
		return
	}
	name := telemetry.EventLinkDown
	if is.up {
		name = telemetry.EventLinkUp
	}
	r.event(s.entity, name, fmt.Sprintf("state %s -> %s, physical state %s -> %s", was.logical, is.logical, was.physical, is.physical))
}
