package window

import (
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// backAfter is for how many cadences a preferred source must have been back
// before a series returns to it.
const backAfter = 10

// rival is a series that several sources state. It is judged from one of them
// at a time.
type rival struct {
	series telemetry.Series
	slots  []int32          // most preferred first
	since  []telemetry.Time // since when each has been receiving without a break; never if it is stale
	chosen int              // in slots; -1 before any had data
}

// judged returns the slot to judge by; before any data is received the most
// preferred.
func (r *rival) judged() int32 { return r.slots[max(r.chosen, 0)] }

// oppose records which series of an entity two blocks both have.
func (w *Window) oppose(old *block, oldEntity int32, b *block, entity int32) {
	for _, c := range b.schema.Columns {
		was, ok := old.slot(oldEntity, c.Metric)
		slot, mine := b.slot(entity, c.Metric)
		if !ok || !mine {
			continue
		}
		r := w.rivalOf[was]
		if r == nil {
			r = &rival{series: w.Series(int(was)), chosen: -1}
			if _, reported := w.Last(int(was)); reported {
				r.chosen = 0
			}
			w.enlist(r, was)
			i, _ := slices.BinarySearchFunc(w.rivals, r, bySeries)
			w.rivals = slices.Insert(w.rivals, i, r)
		}
		if !slices.Contains(r.slots, slot) {
			w.enlist(r, slot)
		}
	}
}

// enlist adds a slot to those that compete; the chosen one stays chosen.
func (w *Window) enlist(r *rival, slot int32) {
	i, _ := slices.BinarySearchFunc(r.slots, slot, w.byPreference)
	r.slots, r.since = slices.Insert(r.slots, i, slot), slices.Insert(r.since, i, never)
	if r.chosen >= i && len(r.slots) > 1 {
		r.chosen++
	}
	w.rivalOf[slot] = r
	_, run, _ := w.locate(int(slot))
	run.rivals = true
	w.cast(r)
}

// cast marks all slots but the judged one as shadows.
func (w *Window) cast(r *rival) {
	for i, s := range r.slots {
		w.shadow[s] = i != max(r.chosen, 0)
	}
}

// elect decides, for the series that this class's closing can change, from
// which source they are judged from the next grid on. The chosen one stays
// until it has had no data for three cadences, or until one that is preferred
// to it has been back for backAfter of its own.
func (w *Window) elect(class telemetry.LatenessClass) {
	for _, r := range w.rivals {
		touched := false
		for i, s := range r.slots {
			if w.blocks[w.blockOf[s]].source.class == class {
				touched = true
				w.noteReceiving(r, i)
			}
		}
		if !touched {
			continue
		}
		if to := w.choice(r); to != r.chosen {
			w.change(r, to)
		}
	}
}

// noteReceiving records whether a slot is receiving data as of its class's last closed grid.
func (w *Window) noteReceiving(r *rival, i int) {
	s := int(r.slots[i])
	b, run, n := w.locate(s)
	at, _, _ := w.last(b, run, n)
	g := b.source.closed
	switch {
	case at == never || g.Sub(at) > b.source.staleAfter(run.column, w.cfg.Grid):
		r.since[i] = never
	case r.since[i] == never:
		r.since[i] = g
	}
}

// choice returns which slot of r should be judged.
func (w *Window) choice(r *rival) int {
	first := slices.IndexFunc(r.since, func(t telemetry.Time) bool { return t != never })
	switch {
	case first < 0:
		return r.chosen
	case r.chosen < 0 || r.since[r.chosen] == never:
		return first
	}
	for i := range r.chosen {
		slot := int(r.slots[i])
		if g, _ := w.ClosedOf(slot); r.since[i] != never && g.Sub(r.since[i]) >= backAfter*w.Cadence(slot) {
			return i
		}
	}
	return r.chosen
}

func (w *Window) change(r *rival, to int) {
	from := r.chosen
	r.chosen = to
	w.cast(r)
	if from < 0 {
		return
	}
	w.counts.Switches++
	a, b := int(r.slots[from]), int(r.slots[to])
	w.out.Switched = append(w.out.Switched, Switch{Series: r.series, From: w.Source(a), To: w.Source(b), FromSlot: a, ToSlot: b})
}
