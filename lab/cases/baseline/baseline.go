package baseline

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/quintet-dc/quintet/correlate/stats"
	"github.com/quintet-dc/quintet/telemetry"
)

// The methods.
const (
	MaxZ       = "max z"
	MedianIQR  = "median/IQR"
	FirstOnset = "first onset"
)

// Ranking is a method's answer: entities, the likeliest first.
type Ranking struct {
	Method   string             `json:"method"`
	Entities []telemetry.Entity `json:"entities"`
	Domains  []telemetry.Domain `json:"domains"`
}

const (
	before = 120 * telemetry.Duration(1e9) // of the past that is learned from
	last   = 60 * telemetry.Duration(1e9)  // of the fault that medians are taken over
	far    = 5.0                           // standard deviations that make an onset
	kept   = 10                            // entities of an answer
)

// Watcher reads a log and ranks its entities at the end.
type Watcher struct {
	onset, end telemetry.Time
	catalogue  *telemetry.Catalogue
	schemas    map[telemetry.Fingerprint]*block
	decoder    telemetry.Decoder
	frame      telemetry.Frame
	order      []*block
}

// block is the series of one schema.
type block struct {
	schema *telemetry.Schema
	class  []*telemetry.Metric // by column; nil is not looked at
	series []series
}

// series is what is known of one.
type series struct {
	word        uint64
	at          telemetry.Time
	known       bool
	past, after []float32
	learned     bool
	mean, sd    float64
	median, iqr float64
	most        float64 // of |z| during the fault
	first       telemetry.Time
}

// Watch returns a watcher of a log in which something began and ended.
func Watch(onset, end telemetry.Time) *Watcher {
	return &Watcher{onset: onset, end: end, catalogue: telemetry.DefaultCatalogue(), schemas: map[telemetry.Fingerprint]*block{}}
}

// Observe takes the next record.
func (w *Watcher) Observe(r *telemetry.Record) error {
	switch r.Kind {
	case telemetry.SchemaRecord:
		w.learn(r.Schema)
	case telemetry.FrameRecord:
		return w.read(r.Frame)
	}
	return nil
}

func (w *Watcher) learn(sc *telemetry.Schema) {
	b := &block{schema: sc, class: make([]*telemetry.Metric, len(sc.Columns))}
	looked := false
	for c := range sc.Columns {
		m, ok := w.catalogue.Lookup(sc.Columns[c].Metric)
		if ok && !m.PerStep && len(m.Detectors) > 0 {
			b.class[c], looked = m, true
		}
	}
	if k := sc.Entities[0].Kind; !looked || k == telemetry.Job || k == telemetry.Rank {
		return
	}
	b.series = make([]series, sc.Len())
	w.schemas[sc.Fingerprint()] = b
	w.order = append(w.order, b)
}

func (w *Watcher) read(raw telemetry.EncodedFrame) error {
	h, err := raw.Header()
	if err != nil {
		return fmt.Errorf("baseline: %w", err)
	}
	b := w.schemas[h.Fingerprint]
	if b == nil || h.First < w.onset.Add(-before) || h.First >= w.end {
		return nil
	}
	if err := w.decoder.Decode(raw, b.schema, &w.frame); err != nil {
		return fmt.Errorf("baseline: %w", err)
	}
	n := len(b.schema.Entities)
	for k := range w.frame.Instants {
		at := w.frame.Time(k)
		for i := range b.series {
			m := b.class[i/n]
			if m == nil || w.frame.State(k*len(b.series)+i) != telemetry.Present {
				continue
			}
			b.series[i].take(w, m, &b.schema.Columns[i/n], w.frame.Words[k*len(b.series)+i], at)
		}
	}
	return nil
}

// take adds a sample: of a counter its rate since the one before.
func (s *series) take(w *Watcher, m *telemetry.Metric, c *telemetry.Column, word uint64, at telemetry.Time) {
	v := c.Float(word)
	if m.Type == telemetry.Counter {
		old, since, known := s.word, at.Sub(s.at).Seconds(), s.known
		s.word, s.at, s.known = word, at, true
		if !known || since <= 0 || word < old {
			return
		}
		v = (c.Float(word) - c.Float(old)) / since
	}
	if at < w.onset {
		s.past = append(s.past, float32(v))
		return
	}
	s.learn(m)
	z := math.Abs(v-s.mean) / s.sd
	s.most = max(s.most, z)
	if z > far && s.first == 0 {
		s.first = at
	}
	if at >= w.end.Add(-last) {
		s.after = append(s.after, float32(v))
	}
}

// learn takes the measure of the past, once. What never moved gets a spread of
// a hundredth of its value, or of the least that counts.
func (s *series) learn(m *telemetry.Metric) {
	if s.learned {
		return
	}
	s.learned = true
	least := 1e-3
	if m.Type == telemetry.Counter && m.Unit != "seconds" || m.Unit == "bytes" {
		least = 1
	}
	if len(s.past) == 0 {
		s.sd, s.iqr = math.Inf(1), math.Inf(1)
		return
	}
	xs := make([]float64, len(s.past))
	for i, x := range s.past {
		xs[i] = float64(x)
		s.mean += float64(x)
	}
	s.mean /= float64(len(xs))
	for _, x := range xs {
		s.sd += (x - s.mean) * (x - s.mean)
	}
	least = max(least, 0.01*math.Abs(s.mean))
	s.sd = max(math.Sqrt(s.sd/float64(len(xs))), least)
	s.iqr = max(stats.Quantile(xs, 0.75)-stats.Quantile(xs, 0.25), least)
	s.median = stats.Median(xs)
	s.past = nil
}

// suspect is an entity and its strongest series by one method.
type suspect struct {
	entity telemetry.Entity
	domain telemetry.Domain
	score  float64
}

// Rank gives the answer of each method.
func (w *Watcher) Rank() []Ranking {
	return []Ranking{
		w.rank(MaxZ, func(s *series) float64 { return s.most }),
		w.rank(MedianIQR, (*series).shift),
		w.rank(FirstOnset, func(s *series) float64 {
			if s.first == 0 {
				return 0
			}
			return 1 / (1 + s.first.Sub(w.onset).Seconds())
		}),
	}
}

func (s *series) shift() float64 {
	if len(s.after) == 0 || !s.learned {
		return 0
	}
	xs := make([]float64, len(s.after))
	for i, x := range s.after {
		xs[i] = float64(x)
	}
	return math.Abs(stats.Median(xs)-s.median) / s.iqr
}

func (w *Watcher) rank(method string, score func(*series) float64) Ranking {
	best := map[telemetry.Entity]suspect{}
	for _, b := range w.order {
		n := len(b.schema.Entities)
		for i := range b.series {
			m := b.class[i/n]
			if m == nil {
				continue
			}
			e := b.schema.Entities[i%n]
			if x := score(&b.series[i]); x > best[e].score {
				best[e] = suspect{e, m.Domain, x}
			}
		}
	}
	all := make([]suspect, 0, len(best))
	for _, s := range best {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b suspect) int {
		return cmp.Or(cmp.Compare(b.score, a.score), a.entity.Compare(b.entity))
	})
	r := Ranking{Method: method}
	for _, s := range all[:min(kept, len(all))] {
		r.Entities, r.Domains = append(r.Entities, s.entity), append(r.Domains, s.domain)
	}
	return r
}
