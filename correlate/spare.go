package correlate

import (
	"slices"

	"github.com/quintet-dc/quintet/correlate/attribute"
	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// spare counts the GPUs that no job has.
type spare struct {
	filed                     telemetry.Time // up to when their GPU-seconds are filed
	at                        uint64         // the topology's generation of the count, plus one
	gpus                      int            // of the site
	idle, drained, fragmented int
	maintained                []telemetry.Entity // under maintenance, in identity order
	stale                     bool               // maintenance has changed since the count
}

// maxMaintained bounds the entities under maintenance that are remembered.
const maxMaintained = 16384

// Maintained returns what is under maintenance, in identity order.
func (e *Engine) Maintained() []telemetry.Entity { return slices.Clone(e.costs.spare.maintained) }

// maintenance records what is taken out of service and what comes back.
func (e *costs) maintenance(ev *telemetry.Event) {
	s := &e.spare
	i, known := slices.BinarySearchFunc(s.maintained, ev.Entity, telemetry.Entity.Compare)
	switch {
	case ev.Name == telemetry.EventMaintenanceStarted && !known && len(s.maintained) < maxMaintained:
		s.maintained = slices.Insert(s.maintained, i, ev.Entity)
	case ev.Name == telemetry.EventMaintenanceEnded && known:
		s.maintained = slices.Delete(s.maintained, i, i+1)
	default:
		return
	}
	s.stale = true
}

// fileSpare files the GPU-seconds of the GPUs that no job has: once in filedWithin
// grids, and when the topology or a maintenance changes, from when on they are
// counted anew. Before any job is known to run nothing is: whoever places jobs has
// not reported yet.
func (e *costs) fileSpare(g telemetry.Time) {
	s := &e.spare
	counted := s.at == e.graph.Generation()+1 && !s.stale
	if counted && g.Sub(s.filed) < filedWithin*e.cfg.Grid || s.filed == 0 && len(e.roll.running) == 0 {
		return
	}
	if s.filed != 0 {
		var t attribute.Tally
		span := g.Sub(s.filed).Seconds()
		for p, n := range map[attribute.Part]int{attribute.Idle: s.idle, attribute.Drained: s.drained, attribute.Fragmented: s.fragmented} { // order-independent: each part fills a field of its own
			t.Taken[p] = float64(float64(n) * span)
		}
		t.Whole = float64(float64(s.idle+s.drained+s.fragmented) * span)
		seen := float64(float64(s.gpus) * span)
		t.Seen[attribute.Idle], t.Seen[attribute.Drained], t.Seen[attribute.Fragmented] = seen, seen, seen
		e.usage.Add(telemetry.Entity{}, s.filed, g, &t)
	}
	s.filed = g
	if counted {
		return
	}
	s.at, s.stale = e.graph.Generation()+1, false
	e.countSpare(s)
}

// countSpare counts node by node.
func (e *costs) countSpare(s *spare) {
	s.gpus, s.idle, s.drained, s.fragmented = 0, 0, 0, 0
	taken := e.roll.taken()
	for _, node := range e.graph.Entities(telemetry.Node) {
		gpus := e.graph.GPUs(node)
		s.gpus += len(gpus)
		free := 0
		for _, x := range gpus {
			if _, ok := slices.BinarySearchFunc(taken, x, telemetry.Entity.Compare); !ok {
				free++
			}
		}
		switch {
		case e.containedIn(node, e.spare.maintained):
			s.drained += free
		case free < len(gpus):
			s.fragmented += free
		default:
			s.idle += free
		}
	}
}

// taken lists the GPUs that jobs have, in identity order.
func (e *roll) taken() []telemetry.Entity {
	var out []telemetry.Entity
	for i := range e.running {
		out = append(out, e.gpusOf(e.running[i].job)...)
	}
	slices.SortFunc(out, telemetry.Entity.Compare)
	return slices.Compact(out)
}

func (s *spare) snapshot(c *snapshot.Codec) {
	c.Time(&s.filed)
	c.U64(&s.at)
	c.Int(&s.gpus)
	c.Int(&s.idle)
	c.Int(&s.drained)
	c.Int(&s.fragmented)
	snapshot.List(c, &s.maintained, 16, (*snapshot.Codec).Entity)
	c.Bool(&s.stale)
}
