package replica

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	// A snapshot must come within snapshotTimeout, and a second for each snapshotRate bytes.
	snapshotTimeout = 5 * time.Second
	snapshotRate    = 8 << 20
	// damageShown is how long the alarm about survived damage is raised, in ticks.
	damageShown = telemetry.Duration(24 * time.Hour)
	// maxLost bounds the holes of the log that wait to be reported.
	maxLost = 256
)

// read reads a snapshot. A snapshot that does not arrive while the log answers
// other requests is damaged: its server cannot read it.
func (r *replica) read(ctx context.Context, i bus.SnapshotInfo) ([]byte, error) {
	once, cancel := context.WithTimeout(ctx, snapshotTimeout+time.Duration(i.Size/snapshotRate)*time.Second)
	defer cancel()
	data, err := r.cfg.Bus.Snapshot(once, i)
	if err == nil || once.Err() == nil || ctx.Err() != nil {
		return data, err
	}
	if _, other := r.cfg.Bus.State(ctx); other != nil {
		return nil, other
	}
	return nil, fmt.Errorf("%w: %w", bus.ErrDamaged, err)
}

// damaged reports whether a snapshot is of no use because its bytes are not those
// that were written.
func damaged(err error) bool {
	return errors.Is(err, bus.ErrDamaged) || errors.Is(err, engine.ErrSnapshotDamaged)
}

// reportDamage raises the alarm about snapshots that could not be read, if there are
// any; from is what the engine goes on from.
func (r *replica) reportDamage(list []bus.SnapshotInfo, from string) {
	if len(list) == 0 {
		return
	}
	newest := list[0]
	r.alarms.raise(alarmSnapshot, fmt.Sprintf("%d snapshots cannot be read, the newest of tick %s, position %d: the engine continues %s. Check the disk; quintet check data lists what is damaged",
		len(list), newest.Tick, newest.Position, from))
}

// hole notes that the log lacks entries before e.
func (o *owner) hole(e bus.Entry) {
	if o.seen == 0 || e.Position <= o.seen+1 {
		return
	}
	n := e.Position - o.seen - 1
	o.count.holes.Add(int(n))
	o.alarms.raise(alarmHole, fmt.Sprintf("the log lost %d entries, positions %d to %d, at tick %s: incidents open then may lack evidence", n, o.seen+1, e.Position-1, o.runner.Tick()))
	o.damage = o.runner.Tick()
	if len(o.lost) < maxLost {
		o.lost = append(o.lost, telemetry.Hole{First: o.seen + 1, Last: e.Position - 1, From: o.runner.Tick()})
	}
	o.log.Error("the log lost entries", "from", o.seen+1, "to", e.Position-1, "tick", o.runner.Tick())
}

// endHoles gives the holes before this tick their end.
func (o *owner) endHoles() {
	for i := range o.lost {
		if h := &o.lost[i]; h.To == 0 {
			h.From, h.To = cmp.Or(h.From, o.runner.Tick()), max(h.From, o.runner.Tick())
		}
	}
}

// unreported lists the holes that this life found and the log does not name yet.
func (o *owner) unreported() []telemetry.Hole {
	named := o.runner.Holes()
	o.lost = slices.DeleteFunc(o.lost, func(h telemetry.Hole) bool {
		return slices.ContainsFunc(named, func(n telemetry.Hole) bool { return n.First == h.First && n.Last == h.Last })
	})
	var out []telemetry.Hole
	for _, h := range o.lost {
		if h.To != 0 {
			out = append(out, h)
		}
	}
	return out
}

// reportHoles appends to the log which of its entries are missing: from there on the
// incidents of every replica and of every recording name the interval.
func (h *herald) reportHoles(ctx context.Context, s status) error {
	for _, hole := range s.holes {
		config, err := hole.Record(now())
		if err != nil {
			return err
		}
		if err := h.append(ctx, config); err != nil {
			return err
		}
		err = h.doIn(ctx, s, func(o *owner) {
			o.lost = slices.DeleteFunc(o.lost, func(x telemetry.Hole) bool { return x.First == hole.First })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// repaired clears the alarms about damage long ago.
func (o *owner) repaired() {
	if o.damage == 0 {
		o.damage = o.runner.Tick()
	}
	if o.runner.Tick().Sub(o.damage) >= damageShown {
		o.alarms.clear(alarmSnapshot)
		o.alarms.clear(alarmHole)
		o.damage = o.runner.Tick()
	}
}
