package correlate

import (
	"fmt"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// Snapshot hands the engine's whole state to sink, piece by piece, by identity:
// restored, the engine continues as if it had never stopped (I5). It is taken
// between two records. A piece is valid during the call only.
func (e *Engine) Snapshot(sink func([]byte)) {
	c := snapshot.NewStream(sink)
	e.code(c)
	c.Flush()
}

// Restore replaces the engine's state by a snapshot of the same version and
// rules. After an error the engine must not be used.
func (e *Engine) Restore(b []byte) error {
	c := snapshot.NewReader(b)
	fresh := assemble(e.sight.cfg)
	fresh.code(c)
	if err := c.Err(); err != nil {
		return fmt.Errorf("restore engine: %w", err)
	}
	if n := c.Remaining(); n != 0 {
		return fmt.Errorf("restore engine: %d bytes left over", n)
	}
	*e = *fresh
	return nil
}

// code writes or restores every field, in one order for both.
func (e *Engine) code(c *snapshot.Codec) {
	c.Tag("quintet/engine/6")
	e.codeConfig(c)
	if !c.Writing() {
		if c.Err() != nil || e.sight.cfg.Validate() != nil {
			c.Fail(fmt.Errorf("configuration: %w", e.sight.cfg.Validate()))
			return
		}
		e.build()
	}
	c.Time(&e.sight.at)
	c.Time(&e.earliest)
	e.sight.window.Snapshot(c)
	e.sight.detect.Snapshot(c)
	e.sight.graph.Snapshot(c)
	e.sight.book.Snapshot(c)
	e.sight.perStep.Snapshot(c)
	snapshot.List(c, &e.memory.events, 64, codeEvent)
	snapshot.List(c, &e.memory.processed, 64, codeEvent)
	snapshot.List(c, &e.memory.recent, 64, codeEvent)
	snapshot.List(c, &e.roll.running, 24, codeRunningJob)
	c.Bool(&e.roll.censused)
	c.U64(&e.roll.counted)
	snapshot.List(c, &e.incidents.cases, 64, codeCase)
	snapshot.List(c, &e.incidents.past, 64, codeCase)
	snapshot.List(c, &e.examiner.usual, 64, func(c *snapshot.Codec, s *usualState) { s.snapshot(c) })
	snapshot.List(c, &e.roll.paced, 32, codePacer)
	c.Bool(&e.incidents.warmStart)
	snapshot.List(c, &e.incidents.restoring, 64, func(c *snapshot.Codec, in *explain.Incident) { in.Snapshot(c) })
	snapshot.List(c, &e.memory.gaps, 40, codeGap)
	snapshot.List(c, &e.memory.holes, 32, codeHole)
	e.costs.snapshot(c)
	snapshot.List(c, &e.signals.signalled, 64, codeSignal)
	snapshot.List(c, &e.signals.fallen, 64, codeFallen)
	e.risks.snapshot(c)
	e.codeCounts(c)
}

func (e *Engine) codeConfig(c *snapshot.Codec) {
	c.String(&e.sight.cfg.Site)
	c.Duration(&e.sight.cfg.Grid)
	for i := range e.sight.cfg.Lateness {
		c.Duration(&e.sight.cfg.Lateness[i])
	}
}

// codeCounts codes the engine's own counts; the mechanisms code theirs.
func (e *Engine) codeCounts(c *snapshot.Codec) {
	n := e.counts
	for _, x := range []*uint64{&n.Ticks, &n.TicksPast, &n.TicksFuture, &n.Grids, &n.Events, &n.EventsRepeat, &n.EventsRefused, &n.Edges, &n.Configs, &n.ConfigRefused, &n.Unknown, &n.ModelsRefused} {
		c.U64(x)
	}
}

func codeCase(c *snapshot.Codec, x **incidentCase) {
	if *x == nil {
		*x = &incidentCase{}
	}
	(*x).snapshot(c)
}

func codeEvent(c *snapshot.Codec, e *telemetry.Event) {
	c.Entity(&e.Entity)
	c.Time(&e.At)
	c.Time(&e.Received)
	c.String((*string)(&e.Name))
	c.String(&e.Text)
	c.String(&e.Source.Collector)
	c.String(&e.Source.Target)
	c.String(&e.Source.Part)
}
