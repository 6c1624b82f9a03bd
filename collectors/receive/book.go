package receive

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/telemetry"
)

// idle is how long a job must not have reported before it makes room for another.
const idle = time.Hour

// The columns of a job's and of a rank's source, in the order of their words.
const (
	jobStep = iota
	jobCount
	jobTokens
	jobCheckpoint
	jobDataWait
	jobMFU
	jobColumns
)

const (
	rankStep = iota
	rankCompute
	rankWait
	rankTransfer
	rankColumns
)

// book is the sources of the jobs that report. It is safe for concurrent use.
type book struct {
	cfg Config

	mu          sync.Mutex
	jobs        map[string]*job
	ranks       int    // of all jobs
	incarnation uint64 // the last one given out
}

// job is a job that reports: its own source and those of its ranks.
type job struct {
	entity   telemetry.Entity
	own      *source
	ranks    map[int64]*source
	reported telemetry.Time // when it last reported, by our clock
}

// source is a feed with room for one frame.
type source struct {
	feed   *collectors.Feed
	words  []uint64
	states []telemetry.State
	any    bool // something was set
}

func newBook(c Config) book { return book{cfg: c, jobs: map[string]*job{}} }

// renew forgets every job: the current listener has received none.
func (b *book) renew() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.jobs, b.ranks = map[string]*job{}, 0
}

// forget drops a job that is over.
func (b *book) forget(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop(name)
}

func (b *book) drop(name string) {
	if j := b.jobs[name]; j != nil {
		b.ranks -= len(j.ranks)
		delete(b.jobs, name)
	}
}

// room ensures that there is room for the new job or rank of a report. Jobs that
// have not reported for long make it.
func (b *book) room(r *report) bool {
	j := b.jobs[r.job]
	newRank := r.speaksForRank() && (j == nil || j.ranks[r.rank] == nil)
	enough := func() bool {
		return (j != nil || len(b.jobs) < b.cfg.MaxJobs) && (!newRank || b.ranks < b.cfg.MaxRanks)
	}
	if enough() {
		return true
	}
	for name, other := range b.jobs {
		if other != j && r.now.Sub(other.reported) > idle {
			b.drop(name)
		}
	}
	return enough()
}

// emit states a report. It fails, with nothing emitted, where there is no room.
func (b *book) emit(r *report, sink collectors.Sink) (receipt, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.room(r) {
		return receipt{}, &fault{status: http.StatusTooManyRequests, field: "job", err: errFull}
	}
	j, known := b.jobs[r.job]
	if !known {
		j = &job{entity: telemetry.Entity{Kind: telemetry.Job, Name: r.job}, ranks: map[int64]*source{}}
	}
	e := emission{report: r, sink: sink}
	if err := b.open(j, &e); err != nil {
		return receipt{}, err
	}
	b.jobs[r.job], j.reported = j, r.now
	if !known {
		e.started(j)
	}
	for i := range r.steps {
		if err := e.step(j, &r.steps[i], i == len(r.steps)-1); err != nil {
			return receipt{}, err
		}
	}
	e.emitReason(j)
	e.out.Steps = len(r.steps)
	return e.out, nil
}

// open makes the sources that a report needs and states their schemas.
func (b *book) open(j *job, e *emission) error {
	if e.report.speaksForJob() && j.own == nil {
		s, err := b.source(e, jobSchema(j.entity))
		if err != nil {
			return err
		}
		j.own = s
	}
	if e.report.speaksForRank() && j.ranks[e.report.rank] == nil {
		s, err := b.source(e, rankSchema(j.entity, e.report.rank))
		if err != nil {
			return err
		}
		j.ranks[e.report.rank] = s
		b.ranks++
	}
	return nil
}

func (b *book) source(e *emission, s *telemetry.Schema) (*source, error) {
	b.incarnation = max(b.incarnation+1, uint64(e.report.now))
	f, err := collectors.NewFeed(s, b.incarnation)
	if err != nil {
		return nil, &fault{field: "job", err: err}
	}
	e.sink.Emit(f.Schema())
	return &source{feed: f, words: make([]uint64, s.Len()), states: make([]telemetry.State, s.Len())}, nil
}

// speaksForJob reports whether the job's step is stated: rank 0 states it, and
// who names no rank.
func (r *report) speaksForJob() bool { return r.rank == 0 }

// speaksForRank reports whether a rank's own share is stated.
func (r *report) speaksForRank() bool {
	if r.ranked {
		return true
	}
	for i := range r.steps {
		if s := &r.steps[i]; s.compute != nil || s.wait != nil || s.moves != nil {
			return true
		}
	}
	return false
}

func jobSchema(j telemetry.Entity) *telemetry.Schema {
	return &telemetry.Schema{
		Source:   telemetry.Source{Collector: collector, Target: target(j.Name), Part: "job"},
		Entities: []telemetry.Entity{j},
		Columns: []telemetry.Column{jobStep: {Metric: "job_step_seconds", Type: telemetry.Float}, jobCount: {Metric: "job_step_count", Type: telemetry.Uint},
			jobTokens: {Metric: "job_tokens_per_second", Type: telemetry.Float}, jobCheckpoint: {Metric: "job_checkpoint_seconds", Type: telemetry.Float},
			jobDataWait: {Metric: "job_data_wait_seconds", Type: telemetry.Float}, jobMFU: {Metric: "job_mfu_ratio", Type: telemetry.Float}},
	}
}

func rankSchema(j telemetry.Entity, rank int64) *telemetry.Schema {
	n := strconv.FormatInt(rank, 10)
	return &telemetry.Schema{
		Source:   telemetry.Source{Collector: collector, Target: target(j.Name), Part: "rank." + n},
		Entities: []telemetry.Entity{{Kind: telemetry.Rank, Name: j.Name + "/" + n}},
		Columns: []telemetry.Column{rankStep: {Metric: "rank_step_seconds", Type: telemetry.Float},
			rankCompute: {Metric: "rank_compute_seconds", Type: telemetry.Float}, rankWait: {Metric: "rank_comm_wait_seconds", Type: telemetry.Float},
			rankTransfer: {Metric: "rank_comm_transfer_seconds", Type: telemetry.Float}},
	}
}

// target writes a job as a source's target, which has no bar.
func target(job string) string { return strings.ReplaceAll(job, "|", "%7C") }

// emission is one report on its way out.
type emission struct {
	report *report
	sink   collectors.Sink
	out    receipt
	// excused is the last of the report that was no training, nor a checkpoint.
	excused *step
}

// started reports a job seen for the first time: it has run at least since its
// first report began.
func (e *emission) started(j *job) {
	text := "first report"
	if n := e.report.steps[0].number; n > 0 {
		text = fmt.Sprintf("first report, at step %d", n)
	}
	e.event(j, e.report.steps[0].began(), telemetry.EventJobStarted, text)
}

// step emits one entry; last means that it is the newest of its report.
func (e *emission) step(j *job, s *step, last bool) error {
	if e.report.speaksForJob() {
		e.jobStep(j, s)
		if err := e.frame(j.own, s, last); err != nil {
			return err
		}
	}
	if k := j.ranks[e.report.rank]; k != nil && s.phase == train {
		if e.report.ranked {
			k.set(rankStep, &s.seconds)
		}
		k.set(rankCompute, s.compute)
		k.set(rankWait, s.wait)
		k.set(rankTransfer, s.moves)
		return e.frame(k, s, last)
	}
	return nil
}

// jobStep sets an entry's values of the job, and emits its events.
func (e *emission) jobStep(j *job, s *step) {
	switch s.phase {
	case train:
		j.own.set(jobStep, &s.seconds)
		j.own.set(jobDataWait, s.input)
		j.own.set(jobMFU, s.mfu)
		j.own.set(jobCheckpoint, s.save)
		if s.counted {
			j.own.words[jobCount], j.own.states[jobCount] = uint64(s.count), telemetry.Present
		}
		if s.tokens != nil {
			rate := *s.tokens / s.seconds
			j.own.set(jobTokens, &rate)
		}
	case checkpoint:
		j.own.set(jobCheckpoint, &s.seconds)
		e.event(j, s.began(), telemetry.EventCheckpointStarted, "")
		e.event(j, s.end, telemetry.EventCheckpointEnded, "")
	default:
		e.excused = s
	}
}

// emitReason reports to the engine that the step in progress contains something other
// than training (expected activity). The engine knows checkpoints as the only
// reason for that.
func (e *emission) emitReason(j *job) {
	if s := e.excused; s != nil {
		e.event(j, s.end, telemetry.EventCheckpointEnded, "phase "+string(s.phase))
	}
}

func (e *emission) event(j *job, at telemetry.Time, name telemetry.EventName, text string) {
	e.sink.Emit(&telemetry.Record{Kind: telemetry.EventRecord, Event: &telemetry.Event{
		Entity: j.entity, At: at, Received: e.report.now, Name: name, Text: text,
		Source: telemetry.Source{Collector: collector, Target: target(j.entity.Name), Part: "job"}}})
	e.out.Events++
}

// set puts a value where there is one.
func (s *source) set(column int, v *float64) {
	if v != nil {
		s.words[column], s.states[column], s.any = math.Float64bits(*v), telemetry.Present, true
	}
}

// frame emits what was set, if anything, at the step's end. Only the newest of a
// report has the time at which it was received: the others waited for it, so that
// their delay shows nothing about the sender's clock.
func (e *emission) frame(s *source, st *step, last bool) error {
	if !s.any {
		return nil
	}
	at := telemetry.Instant{Source: st.end}
	if last {
		at.Received = e.report.now
	}
	r, err := s.feed.Frame(at, s.words, s.states)
	for i := range s.states {
		if s.states[i] == telemetry.Present {
			e.out.Samples++
		}
	}
	clear(s.words)
	clear(s.states)
	s.any = false
	if err != nil {
		return err
	}
	e.sink.Emit(r)
	return nil
}
