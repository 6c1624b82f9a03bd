package detect

import (
	"cmp"
	"slices"

	"github.com/quintet-dc/quintet/correlate/window"
	"github.com/quintet-dc/quintet/telemetry"
)

// Config sets a Detector.
type Config struct {
	Catalogue *telemetry.Catalogue // not used yet: the window knows each series' metric
}

// SourceSamples is the metric of a finding about a whole source.
const SourceSamples telemetry.MetricName = "source_samples"

// Finding is a series that looks wrong over an interval.
type Finding struct {
	Series telemetry.Series
	Slot   int // -1 where a whole source is stale
	Shape  telemetry.Shape
	Onset  telemetry.Interval // last good sample, first bad one
	Ended  telemetry.Time     // zero while it lasts
	Before float64            // what it is compared with
	Now    float64            // the value that confirmed or ended it
	Score  float64            // how far beyond its threshold, ≥ 1; at most 100
}

// When is what findings are ordered by: the end if it ended, else the onset.
func (f *Finding) When() telemetry.Time {
	if f.Ended != 0 {
		return f.Ended
	}
	return f.Onset.Latest
}

// Compare orders findings by time, entity, metric and shape (I3).
func (f *Finding) Compare(o *Finding) int {
	if c := cmp.Compare(f.When(), o.When()); c != 0 {
		return c
	}
	return f.compareIdentity(o)
}

func (f *Finding) compareIdentity(o *Finding) int {
	if c := f.Series.Compare(o.Series); c != 0 {
		return c
	}
	return cmp.Compare(f.Shape, o.Shape)
}

// Detector holds the state of all series. It is not safe for concurrent use;
// inside Run the sources are dealt out by the caller's ForEach.
type Detector struct {
	state   state
	plans   []plan   // by run
	sources []source // by the window's source
	workers [window.MaxSlices]*worker
	running running
	found   []Finding
	base    int64 // number of the first grid judged; 0 before
}

// foundLeast is how many findings of one grid there is room for from the start.
const foundLeast = 64

// New returns a Detector that has seen nothing.
func New(Config) *Detector {
	d := &Detector{found: make([]Finding, 0, foundLeast)}
	d.running.fn = d.runSlice
	return d
}

// source is what the detector knows of one of the window's sources.
type source struct {
	episodes []episode // by slot, then shape
	stale    bool      // it has an episode of that
}

// episode is a finding, or one that is not confirmed yet, that lasts.
type episode struct {
	slot      int32
	shape     telemetry.Shape
	confirmed bool
	onset     telemetry.Interval
	before    float32
	peak      float32 // the largest value since it began
	score     float32
}

// baseAhead is how many grids before the first one judged count from: classes
// that lag come after.
const baseAhead = 1 << 20

// running is what the slices of one Run share.
type running struct {
	w     *window.Window
	class telemetry.LatenessClass
	fn    func(slice, lo, hi int)
}

// worker is what one slice needs to itself.
type worker struct {
	d      *Detector
	w      *window.Window
	g      telemetry.Time
	src    *source
	view   window.SourceView
	run    window.RunView
	fn     func(*window.RunView) // judge
	drop   func(*window.RunView) // dropOnly
	found  []Finding
	peers  []float64
	slopes []float64 // of a trend

	// Of the run being judged.
	counter bool           // its metric is a counter
	all     bool           // every slot has a value to judge
	from    telemetry.Time // the begin of the grid
	cell    uint32         // its number, from the detector's first
}

// Run judges the grids that the window closed last for the sources of a class. It
// returns the findings that began or ended in them, by time, entity, metric and
// shape; they are valid until the next Run.
func (d *Detector) Run(w *window.Window, class telemetry.LatenessClass, each window.ForEach) []Finding {
	d.found = d.found[:0]
	n := w.SourceCount(class)
	g, ok := w.Closed(class)
	if n == 0 || !ok {
		return d.found
	}
	d.state.grow(w.Slots())
	d.grow(w)
	if d.base == 0 {
		d.base = int64(g)/int64(w.Grid()) - baseAhead
	}
	d.running.w, d.running.class = w, class
	each(n, d.running.fn)
	for _, k := range d.workers {
		if k != nil {
			d.found = append(d.found, k.found...)
			k.found = k.found[:0]
		}
	}
	slices.SortFunc(d.found, func(a, b Finding) int { return a.Compare(&b) })
	return d.found
}

// grow makes room for the window's runs and sources.
func (d *Detector) grow(w *window.Window) {
	if n := w.RunCount(); n > len(d.plans) {
		d.plans = append(d.plans, make([]plan, n-len(d.plans))...)
	}
	if n := w.SourceTotal(); n > len(d.sources) {
		d.sources = append(d.sources, make([]source, n-len(d.sources))...)
	}
}

func (d *Detector) runSlice(slice, lo, hi int) {
	k := d.workers[slice]
	if k == nil {
		k = &worker{d: d, found: make([]Finding, 0, foundLeast)}
		k.fn, k.drop = k.judge, k.dropOnly
		d.workers[slice] = k
	}
	r := &d.running
	k.w = r.w
	for i := lo; i < hi; i++ {
		k.view = r.w.View(r.class, i)
		if !k.view.Closed {
			continue
		}
		k.g, k.from = k.view.Grid, k.view.Grid.Add(-r.w.Grid())
		k.cell = uint32(int64(k.g)/int64(r.w.Grid()) - d.base)
		k.src = &d.sources[k.view.ID]
		k.src.reserve(k.view.Series)
		k.source()
	}
}

// source judges one source: whether it reports at all, then its series.
func (k *worker) source() {
	switch {
	case k.view.Fresh:
		if k.src.stale {
			k.sourceReceiving()
		}
	case !k.view.HasData:
		return
	case k.src.stale:
		k.w.Runs(&k.view, &k.run, k.drop)
		return
	case k.view.StaleAfter > 0 && k.g.Sub(k.view.Latest) > k.view.StaleAfter:
		k.sourceStale()
		k.w.Runs(&k.view, &k.run, k.drop)
		return
	}
	k.w.Runs(&k.view, &k.run, k.fn)
}

// Active calls f for every finding that lasts, by entity, metric and shape.
func (d *Detector) Active(w *window.Window, f func(*Finding)) {
	var all []Finding
	for class := range telemetry.LatenessClasses {
		for i := range w.SourceCount(class) {
			v := w.View(class, i)
			if v.ID >= len(d.sources) {
				continue
			}
			for _, e := range d.sources[v.ID].episodes {
				if e.confirmed && int(e.slot) < w.Slots() {
					all = append(all, e.finding(w, &v))
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b Finding) int { return a.compareIdentity(&b) })
	for i := range all {
		f(&all[i])
	}
}

func (e *episode) finding(w *window.Window, v *window.SourceView) Finding {
	f := Finding{Slot: int(e.slot), Shape: e.shape, Onset: e.onset, Before: float64(e.before), Now: float64(e.peak), Score: float64(e.score)}
	if e.slot < 0 {
		f.Series = sourceSeries(v.Name)
		return f
	}
	f.Series = w.Series(int(e.slot))
	return f
}

// sourceSeries is the series of a finding about a whole source.
func sourceSeries(s telemetry.Source) telemetry.Series {
	return telemetry.Series{Entity: telemetry.Entity{Kind: telemetry.Collector, Name: s.String()}, Metric: SourceSamples}
}
