package symptom

import (
	"math"
	"slices"

	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// History gives the values of a series in the window's closed grids.
type History interface {
	Slot(telemetry.Series) (int, bool)
	Chosen(slot int) int
	At(slot int, g telemetry.Time) (float64, bool)
	Span(dst []float32, slot int, from, to telemetry.Time) []float32
	Last(slot int) (telemetry.Time, bool)
	ClosedOf(slot int) (telemetry.Time, bool)
	Cadence(slot int) telemetry.Duration
}

// Steps gives what was reported step by step.
type Steps interface {
	Last(s telemetry.Series, until telemetry.Time, n int) []float64
	Values(s telemetry.Series, from, to telemetry.Time) []float64
}

var _ Steps = (*jobs.PerStep)(nil)

// ForEach runs fn on slices of n things, concurrently if the shell does so.
type ForEach func(n int, fn func(slice, lo, hi int))

// Source is where telemetry is read from.
type Source struct {
	History History
	Steps   Steps
	Grid    telemetry.Duration
	Each    ForEach
}

// Span is the grids that end in (From, To].
type Span struct {
	From, To telemetry.Time
}

// Stat is what one series did over a span. It is float32, as the window's
// history is, so that a baseline restored from a snapshot is the one that was
// taken.
type Stat struct {
	Seen  int32 // samples, 0 if none
	Mean  float32
	Least float32
	Most  float32
	// Spread is the standard deviation of single samples over Mean, of the time before
	// a degradation; 0 where Mean is. A clock that is at one of two levels has one, where
	// the median distance from the median may be none.
	Spread float32
	// Run is how many samples in a row count as one, 1 or more: those that follow one
	// another are alike where what is measured varies slowly.
	Run float32
	// Err is the standard error of Mean, of the samples as far as they scatter; of a
	// single one that is not known, and NaN.
	Err float32
}

// Sheet is the reading of one span: a Stat for every entity of a survey and every
// column of its kind.
type Sheet struct {
	plan   *Plan
	survey *Survey
	span   Span
	rows   [][]Stat // by entity; nil where nothing is read of its kind
	stale  [][]bool // by entity and column: it had data, and has none any more
	pulse  []int32  // by entity: the column with the most samples, -1 where none has any
	silent []silence
}

// beforeSteps is how many steps before a degradation represent the time before it.
const beforeSteps = 10

// usualSteps is how many steps represent what a job usually waits for or saves.
const usualSteps = 40

// Read reads a span: before a degradation, or during it. For the time before it,
// Read may look back beyond the span for a value that still applies; for the time
// during it, it may not, unless the metric is a state, because a sample from before
// the degradation is no evidence of it.
func (p *Plan) Read(s *Survey, src Source, span Span, during bool) *Sheet {
	sh := p.sheet(s, span)
	if s.slots == nil {
		s.slots = make([][]int32, len(s.all))
	}
	var saves saved
	if during {
		saves = usualSaves(src, s.job, span)
	}
	src.Each(len(s.all), func(_, lo, hi int) {
		r := reader{src: src, span: span, during: during, saves: saves}
		for i := lo; i < hi; i++ {
			columns := p.of(s.all[i].Kind)
			if s.slots[i] == nil {
				s.slots[i] = slotsOf(src.History, s.all[i], columns)
			}
			r.entity, r.slots, r.columns = s.all[i], s.slots[i], columns
			for c := range columns {
				sh.rows[i][c], sh.stale[i][c] = r.read(c)
			}
			if sh.pulse[i] = -1; !during {
				continue // silence is of the degradation
			}
			sh.pulse[i] = r.pulse()
			if c := sh.pulse[i]; c >= 0 && sh.stale[i][c] {
				sh.silent[i] = r.silence(int(c))
			}
		}
	})
	return sh
}

// Replace replaces what was read of a series by what it is known to have been: a gauge
// that moved before the span began.
func (sh *Sheet) Replace(series telemetry.Series, v float64) {
	i, met := sh.survey.index[series.Entity]
	c := sh.plan.find(series.Entity.Kind, series.Metric, 0)
	if met && c >= 0 {
		x := float32(v)
		sh.rows[i][c] = Stat{Seen: 1, Mean: x, Least: x, Most: x, Run: 1, Err: float32(math.NaN())}
	}
}

// slotsOf finds the slots of an entity's columns, -1 where there is none.
func slotsOf(h History, e telemetry.Entity, columns []column) []int32 {
	out := make([]int32, len(columns))
	for c, col := range columns {
		out[c] = -1
		if slot, ok := h.Slot(telemetry.Series{Entity: e, Metric: col.metric.Name}); ok && !col.metric.PerStep {
			out[c] = int32(slot)
		}
	}
	return out
}

// sheet returns an empty sheet. Its rows are in one array: the largest job has
// hundreds of thousands.
func (p *Plan) sheet(s *Survey, span Span) *Sheet {
	sh := &Sheet{plan: p, survey: s, span: span, rows: make([][]Stat, len(s.all)), stale: make([][]bool, len(s.all)),
		pulse: make([]int32, len(s.all)), silent: make([]silence, len(s.all))}
	total := 0
	for i := range s.all {
		total += len(p.of(s.all[i].Kind))
	}
	cells, flags := make([]Stat, total), make([]bool, total)
	for i := range s.all {
		n := len(p.of(s.all[i].Kind))
		sh.rows[i], sh.stale[i] = cells[:n:n], flags[:n:n]
		cells, flags = cells[n:], flags[n:]
	}
	return sh
}

// reader holds the buffers of one slice.
type reader struct {
	src     Source
	span    Span
	during  bool
	saves   saved            // usual checkpoints that the job reports
	entity  telemetry.Entity // the one being read
	slots   []int32          // of its columns
	columns []column
	cells   []float32
	engine  []float32
	sorted  []float32
	values  []float64
}

func (r *reader) read(i int) (Stat, bool) {
	c := r.columns[i]
	if c.metric.PerStep {
		return r.steps(telemetry.Series{Entity: r.entity, Metric: c.metric.Name}, c), false
	}
	if r.slots[i] < 0 {
		return Stat{}, false
	}
	slot := r.src.History.Chosen(int(r.slots[i]))
	last, reported := r.src.History.Last(slot)
	if !reported {
		return Stat{}, false
	}
	until, _ := r.src.History.ClosedOf(slot) // a source that waits for long is known later to be receiving
	stale := min(until, r.span.To).Sub(last) > staleAfter*r.src.History.Cadence(slot)
	r.values = r.values[:0]
	if !r.during && c.steady() {
		r.fill(slot, c, r.long())
	}
	if len(r.values) == 0 {
		r.cells = r.src.History.Span(r.cells[:0], slot, r.span.From, r.span.To)
		if c.metric.Name == metricClock {
			r.atWork()
		}
		if c.metric.Name == metricEngine {
			dropPauses(r.cells, r.during, r.saves)
		}
		r.keep(c)
	}
	if len(r.values) == 0 && (!r.during || c.metric.Type == telemetry.StateOf && !stale) {
		at := r.span.From
		if r.during {
			at = r.span.To
		}
		if v, ok := r.src.History.At(slot, at); ok {
			r.values = append(r.values, c.value(v))
		}
	}
	return r.stat(c), stale
}

// pulse is the column of an entity that is reported most often, the first of several; -1
// where none is. Sites differ in what they report of a GPU or a NIC, and whatever they
// report stops when it does.
func (r *reader) pulse() int32 {
	out, least := int32(-1), telemetry.Duration(0)
	for c, slot := range r.slots {
		if slot < 0 {
			continue
		}
		chosen := r.src.History.Chosen(int(slot))
		every := r.src.History.Cadence(chosen)
		if _, reported := r.src.History.Last(chosen); reported && (out < 0 || every < least) {
			out, least = int32(c), every
		}
	}
	return out
}

// silence is whether an entity, whatever is reported of it, is reported no more.
type silence uint8

const (
	reported   silence = iota
	fellSilent         // since about the span began
	wasSilent          // for longer
	inPart             // something else of it is reported
)

// silentBefore a span an entity may have fallen silent because of what began in it: a job
// goes on without a host until its step needs it.
const silentBefore = telemetry.Duration(60e9)

// silence returns how silent the entity of a stale column is: in part, where something else
// of it was reported since, by more than the column's interval. A collector that stops is
// not what it reads, and a management controller reports of a machine that is down.
func (r *reader) silence(c int) silence {
	at := r.src.History.Chosen(int(r.slots[c]))
	last, _ := r.src.History.Last(at)
	until := last.Add(r.src.History.Cadence(at))
	since := func(slot int32) bool {
		if slot < 0 {
			return false
		}
		seen, ever := r.src.History.Last(r.src.History.Chosen(int(slot)))
		return ever && seen > until
	}
	switch {
	case slices.ContainsFunc(r.slots, since):
		return inPart
	case last < r.span.From.Add(-silentBefore):
		return wasSilent
	}
	return fellSilent
}

// Heat has a delay: a fan that stops or coolant that comes warmer has its effect
// minutes later; so does a slow storage, with the next checkpoint. So for metrics
// that hardly move in normal operation, the value before a degradation is taken
// that long before it.
const (
	longBefore  = 180 // grids
	shortBefore = 90
)

// long is the span that represents the time before, of such metrics.
func (r *reader) long() Span {
	return Span{r.span.To.Add(-longBefore * r.src.Grid), r.span.To.Add(-shortBefore * r.src.Grid)}
}

// fill fills r.values with the values of a slot over a span.
func (r *reader) fill(slot int, c column, over Span) {
	r.cells = r.src.History.Span(r.cells[:0], slot, over.From, over.To)
	r.keep(c)
}

// keep makes r.values of the cells that hold something.
func (r *reader) keep(c column) {
	for _, v := range r.cells {
		switch {
		case v != v:
		case c.bits == 0:
			r.values = append(r.values, float64(v))
		default:
			r.values = append(r.values, c.value(float64(v)))
		}
	}
}

// busy is the part of its usual activity that a GPU's engine has in a grid for the
// GPU to be at work: while it waits in a collective it is.
const busy = 0.95

// atWork keeps of a GPU's clocks those of grids in which it was at work, where that
// is reported: an idle GPU lowers its clock, and what keeps it waiting is no fault
// of the clock.
func (r *reader) atWork() {
	at := slices.IndexFunc(r.columns, func(c column) bool { return c.metric.Name == metricEngine })
	if at < 0 || r.slots[at] < 0 {
		return
	}
	r.engine = r.src.History.Span(r.engine[:0], r.src.History.Chosen(int(r.slots[at])), r.span.From, r.span.To)
	least := float32(float64(busy * float64(r.level(r.engine))))
	for i := range min(len(r.engine), len(r.cells)) {
		if r.engine[i] < least {
			r.cells[i] = nan()
		}
	}
}

// level is an engine's activity while there is work: exceeded in a fifth of the
// grids, 1 in training, less for a serving job.
func (r *reader) level(engine []float32) float32 {
	r.sorted = r.sorted[:0]
	for _, v := range engine {
		if v == v {
			r.sorted = append(r.sorted, v)
		}
	}
	if len(r.sorted) == 0 {
		return 1
	}
	slices.Sort(r.sorted)
	return min(1, r.sorted[len(r.sorted)*4/5])
}

// staleAfter is the number of cadences without a sample after which a series is
// stale, as in the window.
const staleAfter = 3

// value converts a sample for a column: to 1 or 0 where the column reads bits.
func (c column) value(v float64) float64 {
	if c.bits == 0 {
		return v
	}
	if v >= 0 && v < 1<<53 && uint64(v)&c.bits != 0 {
		return 1
	}
	return 0
}

// steps reads a series that is reported at the ends of steps; the last one of the
// degradation may end within the grid that is not quite over, as the last one
// before it does.
func (r *reader) steps(s telemetry.Series, c column) Stat {
	if r.during {
		r.values = append(r.values[:0], r.src.Steps.Values(s, r.span.From.Add(r.src.Grid), r.span.To.Add(r.src.Grid))...)
	} else {
		r.values = append(r.values[:0], r.src.Steps.Last(s, r.span.To, c.usual(s.Entity.Kind))...)
	}
	sum := 0.0
	for _, v := range r.values {
		sum += v
	}
	out := r.stat(c)
	if c.nowAndThen(s.Entity.Kind) && out.Seen > 0 {
		out.Mean = float32(sum / float64(out.Seen))
	}
	return out
}

// nowAndThen reports whether a metric is what a job's steps hold now and then, a
// checkpoint or a wait: its mean counts, as that of the steps themselves does,
// not its median.
func (c column) nowAndThen(k telemetry.Kind) bool {
	return k == telemetry.Job && c.metric.Unit == "seconds"
}

// usual is how many steps represent the time before.
func (c column) usual(k telemetry.Kind) int {
	if c.nowAndThen(k) {
		return usualSteps
	}
	return beforeSteps
}

// stat sums up r.values, which it reorders.
func (r *reader) stat(c column) Stat {
	n := len(r.values)
	if n == 0 {
		return Stat{}
	}
	least, most, sum := math.Inf(1), math.Inf(-1), 0.0
	for _, v := range r.values {
		if v < least {
			least = v
		}
		if v > most {
			most = v
		}
		sum += v
	}
	out := Stat{Seen: int32(n), Mean: float32(sum / float64(n)), Least: float32(least), Most: float32(most), Run: 1}
	if n == 1 {
		out.Err = nan()
	}
	if least == most {
		return out
	}
	out.Err = float32(standardError(r.values, sum/float64(n)))
	if c.bits != 0 || r.during && !c.metric.PerStep {
		return out
	}
	out.Run = float32(run(r.values, sum/float64(n)))
	if !r.during && c.steady() || c.metric.PerStep {
		out.Mean = float32(stats.Median(r.values))
	}
	if out.Mean != 0 {
		out.Spread = float32(math.Abs(float64(out.Err) * math.Sqrt(float64(n)) / float64(out.Mean)))
	}
	if !r.during {
		out.Err = float32(float64(out.Err) * math.Sqrt(float64(out.Run)))
	}
	return out
}

// mostAlike bounds the autocorrelation of samples: a trend has one of nearly 1.
const mostAlike = 0.8

// run is how many samples in a row count as one: (1+r)/(1-r) of the autocorrelation r
// from each to the next (Bayley and Hammersley 1946), less its standard error, so that
// samples that are independent are not taken for alike.
func run(values []float64, mean float64) float64 {
	var squares, products float64
	for i, v := range values {
		squares += float64((v - mean) * (v - mean))
		if i > 0 {
			products += float64((v - mean) * (values[i-1] - mean))
		}
	}
	r := min(max(0, products/squares-1/math.Sqrt(float64(len(values)))), mostAlike)
	return (1 + r) / (1 - r)
}

// standardError is that of the mean of values, of which there are two or more.
func standardError(values []float64, mean float64) float64 {
	var squares float64
	for _, v := range values {
		squares += float64((v - mean) * (v - mean))
	}
	n := float64(len(values))
	return math.Sqrt(squares / n / (n - 1))
}

// at returns what column c of entity i was; false where it was not seen.
func (sh *Sheet) at(i int32, c int) (Stat, bool) {
	if sh == nil || c < 0 || c >= len(sh.rows[i]) || sh.rows[i][c].Seen == 0 {
		return Stat{}, false
	}
	return sh.rows[i][c], true
}
