package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/quintet-dc/quintet/telemetry"
)

// The metrics whose values are lengths of time that follow one another, so
// that each moves its clock on by itself.
const (
	jobStep  telemetry.MetricName = "job_step_seconds"
	rankStep telemetry.MetricName = "rank_step_seconds"
)

// load reads "[but] EVERY ENTITY METRIC [KEY=VALUE]… SERIES".
func (p *parser) load(line int, w []string) {
	but := w[0] == "but"
	if but {
		w = w[1:]
	}
	if len(w) < 4 {
		p.fail(line, "a load: want EVERY ENTITY METRIC SERIES")
		return
	}
	every, err := clock(w[0])
	if err != nil || every <= 0 {
		p.fail(line, "EVERY %q: want a length of time", w[0])
		return
	}
	l := p.series(line, w[1:], but)
	if l == nil {
		return
	}
	l.every = every
	switch {
	case l.metric != nil && l.metric.PerStep:
		p.fail(line, "%s is of a job's step: it belongs into the section steps", l.series.Metric)
	case !l.clock.IsZero():
		p.fail(line, "of=: only a step has a job's clock")
	default:
		p.keep(&p.s.loads, l)
	}
}

// step reads "[but] ENTITY METRIC [KEY=VALUE]… SERIES".
func (p *parser) step(line int, w []string) {
	but := w[0] == "but"
	if but {
		w = w[1:]
	}
	if len(w) < 3 {
		p.fail(line, "steps: want ENTITY METRIC SERIES")
		return
	}
	l := p.series(line, w, but)
	switch {
	case l == nil:
		return
	case l.metric == nil || !l.metric.PerStep:
		p.fail(line, "%s is not of a job's step: it belongs into the section load", l.series.Metric)
		return
	case l.clock.IsZero() && l.series.Metric != jobStep && l.series.Metric != rankStep:
		l.clock = l.series.Entity
		if l.clock.Kind == telemetry.Rank {
			l.clock = telemetry.Entity{Kind: telemetry.Job, Name: l.clock.Prefix()}
		}
	}
	p.keep(&p.s.steps, l)
}

// series reads "ENTITY METRIC [KEY=VALUE]… SERIES"; nil after an error. With
// but it replaces the series as it was stated before.
func (p *parser) series(line int, w []string, but bool) *load {
	l := &load{line: line}
	var err error
	if l.series.Entity, err = telemetry.ParseEntity(w[0]); err != nil {
		p.fail(line, "%v", err)
		return nil
	}
	l.series.Metric = telemetry.MetricName(w[1])
	undeclared := false
	i := 2
	for ; i < len(w) && strings.Contains(w[i], "="); i++ {
		k, v, _ := strings.Cut(w[i], "=")
		if k == "undeclared" {
			undeclared = v == "yes"
		} else {
			err = l.option(k, v)
		}
		if err != nil {
			p.fail(line, "%s: %v", k, err)
			return nil
		}
	}
	m, ok := p.cat.Lookup(l.series.Metric)
	switch first, twice := p.seen[l.series]; {
	case twice && !but:
		p.fail(line, "%s is stated in line %d too (\"but\" before it replaces that)", l.series, first.line)
		return nil
	case but && !twice:
		p.fail(line, "but: %s is not stated before", l.series)
		return nil
	case !ok && !undeclared:
		p.fail(line, "unknown metric %q (undeclared=yes before its values states it all the same)", l.series.Metric)
		return nil
	case len(p.seen) == MaxSeries && !twice:
		p.fail(line, "more than %d series", MaxSeries)
		return nil
	}
	l.metric = m
	if l.terms, err = parseSeries(w[i:]); err != nil {
		p.fail(line, "%s: %v", l.series, err)
		return nil
	}
	return l
}

// keep appends a series, or puts it in the place of the one it replaces. A
// series is in one section only, so the list is the same.
func (p *parser) keep(ls *[]*load, l *load) {
	if old := p.seen[l.series]; old != nil {
		*old = *l
		return
	}
	p.seen[l.series] = l
	*ls = append(*ls, l)
}

// option reads one KEY=VALUE before a series.
func (l *load) option(k, v string) (err error) {
	switch k {
	case "from":
		l.from, err = clock(v)
	case "late":
		l.late, err = clock(v)
	case "source":
		if l.source = v; v == "" || strings.Contains(v, "|") {
			err = fmt.Errorf("want a name without '|'")
		}
	case "bits":
		l.bits, err = strconv.Atoi(v)
		if err != nil || l.bits < 4 || l.bits > 48 {
			err = fmt.Errorf("want 4 to 48")
		}
	case "of":
		l.clock, err = telemetry.ParseEntity(v)
	case "class":
		l.class, err = lateness(v)
	default:
		err = fmt.Errorf("unknown; want from, late, source, class, bits, of or undeclared")
	}
	return err
}

func lateness(s string) (telemetry.LatenessClass, error) {
	for i, n := range [telemetry.LatenessClasses]string{"prompt", "delayed", "slow", "batch"} {
		if n == s {
			return telemetry.LatenessClass(i), nil
		}
	}
	return 0, fmt.Errorf("%q: want prompt, delayed, slow or batch", s)
}

// finish checks what only the whole file shows and moves everything to the
// story's start.
func (p *parser) finish() {
	s := p.s
	if err := s.Site.Validate(); err != nil {
		p.fail(1, "%v", err)
		return
	}
	if s.Start <= 0 || s.Start%telemetry.Time(s.Site.Grid) != 0 {
		p.fail(1, "start %v: want a time after 1970 that is a whole number of grids of %v", s.Start, s.Site.Grid)
		return
	}
	p.clocks()
	p.lasts()
	if len(p.errs) > 0 {
		return
	}
	if p.bound(); len(p.errs) > 0 {
		return
	}
	for i := range s.Edges {
		e := &s.Edges[i]
		if e.Start != 0 {
			e.Start += s.Start
		}
		if e.End != 0 {
			e.End += s.Start
		}
	}
	for i := range s.Events {
		s.Events[i].At += s.Start
	}
	if err := s.arrange(); err != nil {
		p.fail(1, "%v", err)
	}
}

// clocks finds whose steps make the instants, and checks that what follows a
// job's steps finds them.
func (p *parser) clocks() {
	p.s.clocks = map[telemetry.Entity]*load{}
	for _, l := range p.s.steps {
		if l.clock.IsZero() && p.s.clocks[l.series.Entity] == nil {
			p.s.clocks[l.series.Entity] = l
		}
	}
	if len(p.s.clocks) > maxClocks {
		p.fail(1, "%d jobs and ranks with steps of their own, at most %d", len(p.s.clocks), maxClocks)
	}
	for _, l := range p.s.steps {
		if !l.clock.IsZero() && p.s.clocks[l.clock] == nil {
			p.fail(l.line, "%s: no steps of %s (%s) are stated; of=JOB names the job it follows", l.series, l.clock, jobStep)
		}
	}
}

// lasts finds how long the story is where the file does not say.
func (p *parser) lasts() {
	s := p.s
	if p.length {
		return
	}
	for _, l := range s.loads {
		n, exact := length(l.terms)
		if exact && n <= MaxSamples {
			s.Length = max(s.Length, l.from+telemetry.Duration(min(int64(n), int64(MaxLength/l.every)+1))*l.every)
		}
	}
	for _, l := range s.steps {
		if _, exact := length(l.terms); exact && l.clock.IsZero() {
			for at := range s.ends(l, MaxLength) {
				s.Length = max(s.Length, at)
			}
		}
	}
	for _, e := range s.Events {
		s.Length = max(s.Length, telemetry.Duration(e.At))
	}
	if s.Length == 0 || s.Length > MaxLength {
		p.fail(1, "the scenario lasts %v: say \"for TIME\" in the section site", s.Length)
	}
}

// bound refuses a story that would fill memory.
func (p *parser) bound() {
	s := p.s
	if s.Length > MaxLength {
		p.fail(1, "the scenario lasts %v, at most %v", s.Length, MaxLength)
		return
	}
	if grids := int64(s.Length / s.Site.Grid); grids > 1_000_000 {
		p.fail(1, "%d grids of %v, at most a million", grids, s.Site.Grid)
	}
	total := int64(0)
	slices.SortStableFunc(s.steps, func(a, b *load) int { // clocks first
		return cmp.Compare(depthOf(a), depthOf(b))
	})
	for _, l := range slices.Concat(s.loads, s.steps) {
		p.countInstants(l)
		n, exact := length(l.terms)
		if exact {
			total += int64(min(l.count, n))
		} else {
			total += int64(l.count)
		}
		if total > MaxSamples {
			p.fail(l.line, "more than %d samples up to here", MaxSamples)
			return
		}
	}
}

func depthOf(l *load) int {
	if l.clock.IsZero() {
		return 0
	}
	return 1
}

// countInstants finds how many instants a series' stream has.
func (p *parser) countInstants(l *load) {
	s := p.s
	switch {
	case l.every > 0 && l.from < s.Length:
		l.count = int((s.Length-l.from-1)/l.every) + 1
	case l.every > 0:
	case !l.clock.IsZero():
		l.count = s.clocks[l.clock].count
	default:
		for range s.ends(l, s.Length) {
			l.count++
		}
		if l.count >= maxSteps {
			p.fail(l.line, "%s: more than %d steps", l.series, maxSteps)
		}
	}
}

// maxSteps bounds the steps of one job in a story, and maxClocks how many jobs
// and ranks have steps of their own length.
const (
	maxSteps  = 100_000
	maxClocks = 1000
)

// ends yields the end of each step of a clock, up to an end, with its value.
// A step that takes no time or less ends the story of that job.
func (s *Scenario) ends(l *load, end telemetry.Duration) func(yield func(telemetry.Duration, value) bool) {
	return func(yield func(telemetry.Duration, value) bool) {
		at, last := l.from, telemetry.Duration(0)
		v := s.play(l)
		for range maxSteps {
			x, ok := v.next()
			if !ok {
				return
			}
			if x.state == telemetry.Present {
				last = telemetry.Duration(min(x.v, MaxLength.Seconds()) * 1e9)
			}
			if last <= 0 {
				return
			}
			if at += last; at > end || !yield(at, x) {
				return
			}
		}
	}
}
