package jobs

import (
	"cmp"
	"math"
	"slices"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// A job that serves requests makes no steps. It is degraded when its tokens or its
// first token take clearly longer than they did at a comparable load, or when
// requests queue that used not to. A higher load is no fault as long as the job
// keeps up.

// Served is what a serving job reports of a moment; NaN where it does not.
type Served struct {
	ITL    float64 // seconds from token to token, median
	TTFT   float64 // seconds to the first token, median
	Tokens float64 // a second
	Queue  float64 // requests that wait
	Cache  float64 // part of the key-value cache in use
}

const (
	// ServedEvery is the interval of one judgement of a serving job.
	ServedEvery = telemetry.Duration(5e9)
	// servedPast judgements are kept to compare with, an hour; servedLeast are
	// needed, and servedNear of them, the nearest in load, are compared with.
	servedPast, servedLeast, servedNear = 720, 12, 24
	// servedWider is how far beyond the loads seen one may be to be compared, and
	// servedGrows the power of the load by which a latency may grow on the way
	// there: requests wait for each other the longer the less room is left.
	servedWider, servedGrows = 1.15, 2
	// servedFloor is the least deviation, as part of the latency, and servedMore
	// how much longer, as part of it, is no noise.
	servedFloor, servedMore = 0.03, 0.10
	// servedClear times as long is certain at once.
	servedClear = 2.0
	// queueLeast requests waiting, and queueTimes as many as ever before, are a
	// queue; cacheFull of the cache in use is all of it.
	queueLeast, queueTimes, cacheFull = 4, 3, 0.97
	// servedBad measures that are beyond the usual in judgements in a row, of which one
	// judgement gives at most servedOnce, begin a degradation, and servedGood judgements
	// in a row end it.
	servedBad, servedOnce, servedGood = 3, 2, 6
	// servedMost bounds a latency over the expected one.
	servedMost = 100
	// A judgement z deviations longer, of at most servedClip, adds z less servedSlack to the
	// cumulative sum of its latency; the job is slow when that passes servedAlarm and
	// they are longer by servedMore in the mean. What is usual is known from servedNear
	// moments only.
	servedClip, servedAlarm, servedSlack = 3, 10, 1
	// servedDoubts judgements that are longer, though not by enough, are the new usual.
	servedDoubts = 64
)

// The measures of a degradation.
const (
	MeasureStep telemetry.MetricName = "job_step_seconds"
	MeasureITL  telemetry.MetricName = "job_itl_seconds_p50"
	MeasureTTFT telemetry.MetricName = "job_ttft_seconds_p50"
)

// service is how a job has served.
type service struct {
	past []Served // well, the oldest first
	// filling is the sum of what was reported since from, and how often each was
	// reported.
	filling Served
	counts  [5]int
	from    telemetry.Time
	good    int     // judgements in a row
	doubts  []doubt // those since all sums were zero and none was bad, the oldest first
	// itl and ttft are the cumulative sums of the latencies against the expected ones.
	itl, ttft float64
}

// doubt is one judgement that may be of a degradation, from an instant on.
type doubt struct {
	itl, ttft verdict
	from      telemetry.Time
	moment    Served
	beyond    int // how many of its measures were beyond the usual
}

// verdict is a latency and what was expected of it, in seconds, with the deviation of
// one moment.
type verdict struct{ now, expected, sigma float64 }

// sum returns the cumulative sum after a verdict.
func (v verdict) sum(before float64) float64 {
	if !(v.sigma > 0) || !(v.now >= 0) {
		return before
	}
	return max(0, before+min((v.now-v.expected)/v.sigma, servedClip)-servedSlack)
}

func (v verdict) ratio() float64 {
	if !(v.expected > 0) || !(v.now >= 0) {
		return 1
	}
	return min(v.now/v.expected, servedMost)
}

func (x *Served) fields() [5]*float64 {
	return [...]*float64{&x.ITL, &x.TTFT, &x.Tokens, &x.Queue, &x.Cache}
}

// ObserveServed takes what a serving job reports in grid g.
func (b *Book) ObserveServed(job telemetry.Entity, g telemetry.Time, x Served) {
	j := b.know(job)
	if j == nil {
		return
	}
	if j.service == nil {
		j.service = &service{from: g}
	}
	s := j.service
	into := s.filling.fields()
	for i, v := range x.fields() {
		if !math.IsNaN(*v) && !math.IsInf(*v, 0) && *v >= 0 {
			*into[i] += *v
			s.counts[i]++
		}
	}
	if j.good.Started == 0 {
		j.good.Started = g
	}
	j.LastEnd, j.ended, j.good.Ended = g, false, 0
}

// Serves reports whether the job serves requests.
func (j *Job) Serves() bool { return j.service != nil }

// mean returns the mean of what was reported since the last judgement, and empties
// it.
func (s *service) mean(g telemetry.Time) Served {
	out := s.filling
	for i, v := range out.fields() {
		if s.counts[i] == 0 {
			*v = math.NaN()
		} else {
			*v /= float64(s.counts[i])
		}
	}
	s.filling, s.counts, s.from = Served{}, [5]int{}, g
	return out
}

// closeServed judges a serving job at the end of grid g.
func (j *Job) closeServed(g telemetry.Time) Change {
	s := j.service
	if g.Sub(s.from) < ServedEvery || j.ended {
		return None
	}
	from := s.from
	counted := s.counts != [5]int{}
	now := s.mean(g)
	if !counted {
		return None // blind, not stalled
	}
	if h := j.Degradation; h != nil && h.Since != 0 {
		return j.servesAgain(g, now)
	}
	j.Steps++
	j.Last = now.ITL
	j.remember(Step{End: g, Seconds: now.ITL, Even: now.ITL})
	d, known := s.judge(now)
	if !known {
		s.file(now)
		return None
	}
	span := float64(g-from) / 1e9
	if j.Degradation != nil {
		return j.servingDegraded(g, d, now, span)
	}
	d.from, d.moment = from, now
	if s.doubt(d) {
		j.beginServed(g, span)
		return Began
	}
	if d.beyond == 0 {
		j.good.step(span)
	}
	return None
}

// doubt takes a judgement, and reports whether those in doubt are a degradation: the
// last ones are bad each, or all of them are longer together. Those that came to
// nothing are usual.
func (s *service) doubt(d doubt) bool {
	// Where the load is not reported it may be what made a moment longer.
	if s.doubts = append(s.doubts, d); len(s.past) >= servedNear && !math.IsNaN(d.moment.Tokens) {
		s.itl, s.ttft = d.itl.sum(s.itl), d.ttft.sum(s.ttft)
	}
	since, beyond := len(s.doubts), 0
	for since > 0 && s.doubts[since-1].beyond > 0 {
		since--
		beyond += min(s.doubts[since].beyond, servedOnce)
	}
	switch {
	case beyond >= servedBad:
		s.doubts = s.doubts[since:]
		return true
	case s.itl >= servedAlarm && s.longer(MeasureITL), s.ttft >= servedAlarm && s.longer(MeasureTTFT):
		return true
	case beyond == 0 && s.itl == 0 && s.ttft == 0, len(s.doubts) >= servedDoubts:
		for _, d := range s.doubts {
			s.file(d.moment)
		}
		s.clearDoubts()
	}
	return false
}

// longer reports whether a latency was longer in the mean of those in doubt.
func (s *service) longer(m telemetry.MetricName) bool { return s.ratio(m) >= 1+servedMore }

// ratio is how many times as long as expected a latency was in the mean of those in
// doubt.
func (s *service) ratio(m telemetry.MetricName) float64 {
	sum := 0.0
	for _, d := range s.doubts {
		sum += d.of(m).ratio()
	}
	return sum / float64(len(s.doubts))
}

func (s *service) clearDoubts() { s.itl, s.ttft, s.doubts = 0, 0, s.doubts[:0] }

// servesAgain looks at a job that failed: what it reports while it answers no
// requests is not judged.
func (j *Job) servesAgain(g telemetry.Time, now Served) Change {
	h := j.Degradation
	if now.Tokens > 0 && g.Sub(h.Since) > ServedEvery {
		h.Lost, h.Overdue, h.Since = h.Lost+float64(g.Sub(h.Since)-ServedEvery)/1e9, 0, 0
		h.tailSteps = calmAfter
		return Ended
	}
	h.Overdue = float64(g-h.Since) / 1e9
	if h.State != h.reported {
		h.reported = h.State
		return Turned
	}
	return None
}

func (s *service) file(x Served) {
	if len(s.past) == servedPast {
		s.past = append(s.past[:0], s.past[1:]...)
	}
	s.past = append(s.past, x)
}

// judge compares a moment with the past; known is false where there is too little
// of it or too little was reported.
func (s *service) judge(x Served) (d doubt, known bool) {
	if len(s.past) < servedLeast {
		return d, false
	}
	near, comparable := s.comparable(x.Tokens)
	itl, itlSigma := usualOf(near, func(x Served) float64 { return x.ITL })
	ttft, ttftSigma := usualOf(near, func(x Served) float64 { return x.TTFT })
	more := beyond(near, x.Tokens)
	d = doubt{itl: verdict{x.ITL, float64(itl * more), float64(itlSigma * more)}, ttft: verdict{x.TTFT, float64(ttft * more), float64(ttftSigma * more)}}
	saturated := s.saturated(x)
	for _, beyond := range []bool{saturated, d.itl.slow(), d.ttft.slow()} {
		// Where the load is beyond all that was seen latencies count only where requests
		// queue as well.
		if beyond && (saturated || comparable) {
			d.beyond++
		}
	}
	return d, true
}

// slow reports whether a latency is longer for certain.
func (v verdict) slow() bool {
	return v.now > v.expected+max(float64(servedMore*v.expected), float64(4*v.sigma)) || v.ratio() > servedClear
}

// comparable returns the past moments nearest in load; false where none is.
func (s *service) comparable(tokens float64) ([]Served, bool) {
	if math.IsNaN(tokens) {
		return s.past[max(0, len(s.past)-servedNear):], true
	}
	by := slices.Clone(s.past)
	most := 0.0
	for _, x := range by {
		if !math.IsNaN(x.Tokens) {
			most = max(most, x.Tokens)
		}
	}
	far := func(x Served) float64 {
		if math.IsNaN(x.Tokens) {
			return math.Inf(1)
		}
		return abs(x.Tokens - tokens)
	}
	slices.SortStableFunc(by, func(a, b Served) int { return cmp.Compare(far(a), far(b)) })
	return by[:min(len(by), servedNear)], most == 0 || tokens <= float64(servedWider*most)
}

// beyond is how many times as long as in the moments nearest in load a latency may
// be at a load of so many tokens a second, which is beyond most of them; 1 where it
// is among them.
func beyond(near []Served, tokens float64) float64 {
	usual, _ := usualOf(near, func(x Served) float64 { return x.Tokens })
	if !(usual > 0) || !(tokens > usual) {
		return 1
	}
	return stats.Pow(tokens/usual, servedGrows)
}

// usualOf is the median of a latency and its robust deviation.
func usualOf(near []Served, of func(Served) float64) (median, sigma float64) {
	var xs []float64
	for _, x := range near {
		if v := of(x); !math.IsNaN(v) {
			xs = append(xs, v)
		}
	}
	if len(xs) == 0 {
		return 0, 0
	}
	median, mad := stats.MAD(xs)
	return median, max(float64(stats.Consistency*mad), float64(servedFloor*median))
}

// saturated reports whether requests queue or the cache is full as never before.
func (s *service) saturated(x Served) bool {
	queue, cache := 0.0, 0.0
	for _, p := range s.past {
		if !math.IsNaN(p.Queue) {
			queue = max(queue, p.Queue)
		}
		if !math.IsNaN(p.Cache) {
			cache = max(cache, p.Cache)
		}
	}
	return x.Queue > max(queueLeast, float64(queueTimes*queue)) || x.Cache >= cacheFull && cache < cacheFull
}

// beginServed opens the degradation of the bad judgements so far.
func (j *Job) beginServed(g telemetry.Time, span float64) {
	s := j.service
	every := float64(ServedEvery) / 1e9
	first := s.doubts[0].from
	h := &Degradation{State: Slow, reported: Slow, Opened: g, Usual: every, LastSlow: g,
		Onset: telemetry.Interval{Earliest: first, Latest: first.Add(ServedEvery)}}
	// The latency that grew more is the measure.
	h.Measure = MeasureITL
	if s.ratio(MeasureTTFT) > s.ratio(MeasureITL) {
		h.Measure = MeasureTTFT
	}
	h.line = 0.5 + s.ratio(h.Measure)/2
	for _, d := range s.doubts {
		h.served(d.of(h.Measure), span)
	}
	last := s.doubts[len(s.doubts)-1].of(h.Measure)
	h.Expected, h.Before = last.expected, last.expected
	j.Degradation = h
	s.good = 0
	s.clearDoubts()
}

func (d doubt) of(m telemetry.MetricName) verdict {
	if m == MeasureTTFT {
		return d.ttft
	}
	return d.itl
}

// served counts one bad judgement of so many seconds: of each second, the part
// that the latency grew by is lost.
func (h *Degradation) served(v verdict, span float64) {
	h.Steps++
	h.Sum += v.now
	h.Lost += float64(span * (1 - 1/max(v.ratio(), 1)))
}

// servingDegraded continues a degradation.
func (j *Job) servingDegraded(g telemetry.Time, d doubt, now Served, span float64) Change {
	s, h := j.service, j.Degradation
	if v := d.of(h.Measure); d.beyond > 0 || v.ratio() > h.line {
		s.good, h.LastSlow = 0, g
		h.served(v, span)
		if v.expected > 0 {
			h.Expected = v.expected
		}
	} else if s.good++; s.good >= servedGood {
		s.good = 0
		h.tailSteps = calmAfter
		return Ended
	}
	// It answers no requests though there are some.
	state := Slow
	if now.Tokens == 0 && now.Queue > 0 {
		state = Stalled
	}
	h.State = state
	if h.State != h.reported {
		h.reported = h.State
		return Turned
	}
	return None
}

func (s *service) snapshot(c *snapshot.Codec) {
	code := func(c *snapshot.Codec, x *Served) {
		for _, v := range x.fields() {
			c.F64(v)
		}
	}
	snapshot.List(c, &s.past, 40, code)
	code(c, &s.filling)
	for i := range s.counts {
		c.Int(&s.counts[i])
	}
	c.Time(&s.from)
	c.Int(&s.good)
	c.F64(&s.itl)
	c.F64(&s.ttft)
	snapshot.List(c, &s.doubts, 96, func(c *snapshot.Codec, d *doubt) {
		for _, v := range []*float64{&d.itl.now, &d.itl.expected, &d.itl.sigma, &d.ttft.now, &d.ttft.expected, &d.ttft.sigma} {
			c.F64(v)
		}
		c.Time(&d.from)
		code(c, &d.moment)
		c.Int(&d.beyond)
	})
}
