package jobs

import (
	"maps"
	"slices"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/book"
	"github.com/quintet-dc/quintet/telemetry"
)

// sizes states, list by list, how many places each job has and how often it was
// restarted.
type sizes struct {
	cfg  book.Config
	book *book.Book
}

func newSizes(c Config) *sizes {
	cfg := book.Config{Collector: sourceName, Target: plain(c.Name), Cadence: c.Every}
	return &sizes{cfg, book.New(cfg)}
}

// emit states the jobs that run. The book is replaced when most of its series are
// of jobs that are gone.
func (s *sizes) emit(r *report, t *tracker) error {
	if s.book.Series() > 4*len(t.known)+1024 {
		s.book = book.New(s.cfg)
	}
	for _, k := range slices.Sorted(maps.Keys(t.known)) {
		w := t.known[k]
		for _, x := range [...]struct {
			name telemetry.MetricName
			n    int
		}{{"job_places", len(w.spots)}, {"job_restarts_total", w.restarts}} {
			c, ok := s.book.Cell(w.job, telemetry.Column{Metric: x.name, Type: telemetry.Uint})
			if !ok {
				r.drop(collectors.OverLimit, 1)
				continue
			}
			s.book.Set(c, uint64(max(0, x.n)))
		}
	}
	return r.emit(s.book, r.now)
}
