package window

import (
	"math"
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// Config sets a Window. The zero value of a field means its default.
type Config struct {
	Grid      telemetry.Duration   // default 1 s
	Lateness  telemetry.Lateness   // default telemetry.DefaultLateness
	Catalogue *telemetry.Catalogue // default telemetry.DefaultCatalogue
	History   int                  // grids kept for evidence metrics; default 192
	// Ahead is how far a frame may be ahead of the latest closed grid, beyond
	// its class's lateness, before it is refused as Future; default 5 min.
	Ahead      telemetry.Duration
	MaxSeries  int // default 1<<25
	MaxPending int // bytes of frames that wait; default 1<<30
}

func (c Config) withDefaults() Config {
	if c.Grid <= 0 {
		c.Grid = 1e9
	}
	if c.Lateness == (telemetry.Lateness{}) {
		c.Lateness = telemetry.DefaultLateness()
	}
	if c.Catalogue == nil {
		c.Catalogue = telemetry.DefaultCatalogue()
	}
	if c.History <= 0 {
		c.History = 192
	}
	if c.Ahead <= 0 {
		c.Ahead = 300e9
	}
	if c.MaxSeries <= 0 {
		c.MaxSeries = 1 << 25
	}
	if c.MaxPending <= 0 {
		c.MaxPending = 1 << 30
	}
	return c
}

// never is the time of what has not happened.
const never = telemetry.Time(math.MinInt64)

// staleAfter is how many cadences without a sample make a series stale.
const staleAfter = 3

// Window holds a site's series on the grid. It is not safe for concurrent
// use; inside Close the sources are dealt out by the caller's ForEach.
type Window struct {
	cfg    Config
	counts Counts

	schemas map[telemetry.Fingerprint]*schema
	order   []*schema // as they came
	sources map[sourceKey]*source
	byClass [telemetry.LatenessClasses][]*source // by name
	blocks  []*block                             // by base
	closed  [telemetry.LatenessClasses]telemetry.Time
	pending int // bytes that wait, in sources and in waiting
	waiting []waiting

	entities map[telemetry.Entity][]place
	rivals   []*rival // by series
	rivalOf  map[int32]*rival
	runs     int32 // how many there are

	// Per slot.
	word    []uint64         // last word
	at      []telemetry.Time // time of the last sample
	val     []float32        // last rate or value
	peak    []float32        // slowly forgotten maximum of a counter's rate
	flag    []Flag           // of the last sample
	step    []uint32         // microseconds from the sample before to the last
	shadow  []bool           // another source's slot is judged instead
	blockOf []int32
	runOf   []uint16 // of the block's runs: there are fewer than a source has series

	workers [MaxSlices]*worker
	closing closing
	out     Closed
}

// New returns an empty Window.
func New(cfg Config) *Window {
	w := &Window{
		cfg:      cfg.withDefaults(),
		schemas:  make(map[telemetry.Fingerprint]*schema),
		sources:  make(map[sourceKey]*source),
		entities: make(map[telemetry.Entity][]place),
		rivalOf:  make(map[int32]*rival),
	}
	for i := range w.closed {
		w.closed[i] = never
	}
	w.closing.fn = w.closeSlice
	return w
}

// Counts returns what happened since the beginning.
func (w *Window) Counts() Counts { return w.counts }

// Grid returns the length of a grid.
func (w *Window) Grid() telemetry.Duration { return w.cfg.Grid }

// Closed returns the end of the last closed grid of a class, and false if none
// was closed yet.
func (w *Window) Closed(c telemetry.LatenessClass) (telemetry.Time, bool) {
	return w.closed[c], w.closed[c] != never
}

// AddFrame files a frame. Its bytes are copied. Its content becomes visible when
// its class's grid is closed, and not before (I1).
func (w *Window) AddFrame(b telemetry.EncodedFrame) Outcome {
	o := w.addFrame(b)
	w.counts.Frames[o]++
	return o
}

func (w *Window) addFrame(b telemetry.EncodedFrame) Outcome {
	h, err := b.Header()
	if err != nil {
		return Corrupt
	}
	sc := w.schemas[h.Fingerprint]
	switch {
	case sc == nil && w.pending+len(b) > w.cfg.MaxPending/waitingShare:
		return Full
	case sc == nil:
		return w.wait(h, b)
	case h.Instants*sc.Len() > telemetry.MaxFrameSamples:
		return Corrupt
	}
	return w.file(sc, h, b)
}

// file puts a frame of a known schema among those that wait for their grid.
func (w *Window) file(sc *schema, h telemetry.FrameHeader, b telemetry.EncodedFrame) Outcome {
	src := sc.source
	if w.ahead(src.class, h.Last) {
		return Future
	}
	if len(src.frames) >= maxSourceFrames {
		return Full
	}
	if src.holds(h, b) {
		return Duplicate
	}
	if w.pending+cost(h, sc, len(b)) > w.cfg.MaxPending {
		return Full
	}
	w.pending += src.push(sc, h, b)
	if h.Last <= src.closed {
		w.came(src, h)
		return Late
	}
	return Accepted
}

// maxSourceFrames bounds the frames of one source that wait: each is compared with a
// new one. A source that states a frame a second and is a quarter of an hour ahead has
// a thousand.
const maxSourceFrames = 8192

// ahead reports whether t is further in the future than clocks differ. The
// present is the furthest tick that the closed grids let us know of.
func (w *Window) ahead(class telemetry.LatenessClass, t telemetry.Time) bool {
	now := never
	for c, g := range w.closed {
		if g != never {
			now = max(now, g.Add(w.cfg.Lateness[c]))
		}
	}
	return now != never && t > now.Add(w.cfg.Lateness[class]+w.cfg.Ahead)
}

// waitingShare is the part of MaxPending that frames without a schema may
// take: a quarter.
const waitingShare = 4

// waiting is a frame whose schema is not known yet.
type waiting struct {
	header telemetry.FrameHeader
	bytes  telemetry.EncodedFrame
}

// wait keeps a frame until its schema comes. A repeat is found here too.
func (w *Window) wait(h telemetry.FrameHeader, b telemetry.EncodedFrame) Outcome {
	for i := range w.waiting {
		if w.waiting[i].header == h && string(w.waiting[i].bytes) == string(b) {
			return Duplicate
		}
	}
	w.waiting = append(w.waiting, waiting{h, slices.Clone(b)})
	w.pending += len(b)
	return UnknownSchema
}

// expire drops the frames without a schema that would be late in every class.
func (w *Window) expire() {
	oldest := slices.Min(w.closed[:])
	w.waiting = slices.DeleteFunc(w.waiting, func(x waiting) bool {
		gone := x.header.Last <= oldest
		if gone {
			w.pending -= len(x.bytes)
			w.counts.Expired++
		}
		return gone
	})
}

// release files the frames that waited for sc.
func (w *Window) release(sc *schema) {
	for i := range w.waiting {
		if x := &w.waiting[i]; x.header.Fingerprint == sc.fingerprint {
			w.pending -= len(x.bytes)
			w.counts.Frames[w.file(sc, x.header, x.bytes)]++
		}
	}
	w.waiting = slices.DeleteFunc(w.waiting, func(x waiting) bool { return x.header.Fingerprint == sc.fingerprint })
}
