package window

import "github.com/quintet-dc/quintet/telemetry"

// SourceView is one source as detectors see it after its class was closed.
type SourceView struct {
	ID         int // dense; it stays the source's, but is no identity (I4)
	Name       telemetry.Source
	Latest     telemetry.Time // of its samples, once HasData
	Grid       telemetry.Time // the end of its last closed grid
	Closed     bool           // it closed that grid in the last Close or CatchUp
	HasData    bool
	Fresh      bool               // a sample is in the closed grid
	Series     int                // how many it has stated
	StaleAfter telemetry.Duration // after so long without a sample it is stale; 0 if that is not known
	src        *source
}

// RunView is a run of neighbouring slots of one source and one metric. Its slices
// are the Window's own: read them only, and only until the next Close. They hold
// the last sample of every slot; it is in the closed grid if its time is after
// Begin. Where Even is set all slots have the same time, flag and step, and the
// slices of these are not valid: use Last.
type RunView struct {
	ID         int // dense over all runs, none ever goes away
	Slot       int // the first
	Metric     *telemetry.Metric
	Value      []float32
	Flag       []Flag
	At         []telemetry.Time
	Step       []uint32 // microseconds since the sample before
	Shadow     []bool   // judged from another source
	Begin      telemetry.Time
	Even       bool
	EvenAt     telemetry.Time
	EvenFlag   Flag
	EvenStep   uint32
	StaleAfter telemetry.Duration // after so long without a sample a slot is stale; 0 if that is not known
	Some       bool               // a sample of some slot is in the closed grid
	Full       bool               // one of every slot does
	Rivals     bool               // some Shadow may be true
}

// SourceCount returns how many sources a class has.
func (w *Window) SourceCount(class telemetry.LatenessClass) int { return len(w.byClass[class]) }

// View returns source i of a class, in the order of names.
func (w *Window) View(class telemetry.LatenessClass, i int) SourceView {
	s := w.byClass[class][i]
	v := SourceView{ID: int(s.id), Name: s.name, Latest: s.latest, Grid: s.closed, Closed: s.stepped, HasData: s.latest != never, Series: int(s.n), src: s}
	v.Fresh = v.HasData && s.latest > s.closed.Add(-w.cfg.Grid)
	if v.Fresh || !v.HasData {
		return v
	}
	for _, c := range s.columns {
		if d := s.staleTimeout(c, w.cfg.Grid); d > 0 && (v.StaleAfter == 0 || d < v.StaleAfter) {
			v.StaleAfter = d
		}
	}
	return v
}

// Last returns the time, the flag and the step of slot i of the run.
func (v *RunView) Last(i int) (telemetry.Time, Flag, uint32) {
	if v.Even {
		return v.EvenAt, v.EvenFlag, v.EvenStep
	}
	return v.At[i], v.Flag[i], v.Step[i]
}

// Runs calls f for every run of a source whose metric the catalogue requires
// judged; the RunView is valid during the call.
func (w *Window) Runs(v *SourceView, r *RunView, f func(*RunView)) {
	begin := v.src.closed.Add(-w.cfg.Grid)
	for _, b := range v.src.blocks {
		for i := range b.runs {
			if m := b.runs[i].column.metric; m != nil && len(m.Detectors) > 0 {
				w.fillView(r, b, &b.runs[i], begin)
				f(r)
			}
		}
	}
}

func (w *Window) fillView(v *RunView, b *block, r *run, begin telemetry.Time) {
	lo, hi := b.base+r.off, b.base+r.off+r.n
	v.ID, v.Slot, v.Metric, v.Begin = int(r.id), int(lo), r.column.metric, begin
	v.Value, v.Flag, v.At = w.val[lo:hi], w.flag[lo:hi], w.at[lo:hi]
	v.Step, v.Shadow = w.step[lo:hi], w.shadow[lo:hi]
	v.Even, v.EvenAt, v.EvenFlag, v.EvenStep = r.even, r.at, r.flag, r.step
	v.StaleAfter = b.source.staleTimeout(r.column, w.cfg.Grid)
	v.Some, v.Full, v.Rivals = r.some, r.full, r.rivals
}

// RunCount returns how many runs there are: every RunView's ID is below it.
func (w *Window) RunCount() int { return int(w.runs) }

// SourceTotal returns how many sources there are in all classes: every
// SourceView's ID is below it.
func (w *Window) SourceTotal() int { return len(w.sources) }
