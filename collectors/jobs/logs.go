package jobs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/book"
	"github.com/quintet-dc/quintet/telemetry"
)

// mostLogs is how many files are followed unless the entry sets another number:
// each is kept open.
const mostLogs = 256

// logs follows the logs of trainers.
type logs struct {
	cfg    Config
	zone   *time.Location
	most   int
	files  map[string]*logFile
	before bool // files that come now are new, and read from their beginning
}

// logFile is one log and the job that writes it.
type logFile struct {
	tail tail
	job  *logJob
	old  bool // its present round began with what was there before
}

func openLogs(c Config, zone *time.Location) *logs {
	return &logs{cfg: c, zone: zone, most: min(c.MaxJobs, mostLogs), files: map[string]*logFile{}}
}

func (l *logs) close() {
	for _, f := range l.files { // order-independent: each is closed
		f.tail.close()
	}
}

// read reads what has been written to every log since the last round.
func (l *logs) read(ctx context.Context, r *report) error {
	paths, err := matched(l.cfg.Paths)
	if err != nil {
		return err
	}
	for p, f := range l.files { // order-independent: each is closed by itself
		if !slices.Contains(paths, p) {
			f.tail.close()
			delete(l.files, p)
		}
	}
	read := 0
	var failed error
	for _, p := range paths {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		f, err := l.file(p, r)
		if err == nil && f != nil {
			if err = l.follow(f, r); err == nil {
				read++
			}
		}
		switch {
		case err == nil:
		case errors.Is(err, errUnsound):
			return err
		case errors.Is(err, fs.ErrPermission):
			r.drop(collectors.Denied, 1)
		case errors.Is(err, fs.ErrNotExist):
			r.drop(collectors.Vanished, 1)
		default:
			r.drop(collectors.Unreadable, 1)
		}
		if err != nil {
			failed = err
		}
	}
	l.before = true
	switch {
	case read > 0:
		return nil
	case failed != nil:
		return failed
	case len(paths) == 0:
		return fmt.Errorf("%v: %w", l.cfg.Paths, fs.ErrNotExist)
	}
	return nil
}

// file returns the log at a path, nil where there is no room for one more.
func (l *logs) file(path string, r *report) (*logFile, error) {
	f := l.files[path]
	if f != nil {
		return f, nil
	}
	if len(l.files) >= l.most {
		r.drop(collectors.OverLimit, 1)
		return nil, nil
	}
	base := filepath.Base(path)
	name, _, _ := strings.Cut(base, ".")
	f = &logFile{tail: tail{path: path}, job: newLogJob(l.cfg, jobEntity(l.cfg.Job, "{file}", name))}
	if err := f.job.entity.Validate(); err != nil {
		r.drop(collectors.Malformed, 1)
		return nil, nil
	}
	f.old = l.cfg.Whole && !l.before
	if err := f.tail.open(l.before || l.cfg.Whole); err != nil {
		return nil, err
	}
	l.files[path] = f
	return f, nil
}

// follow reads what has come to one log.
func (l *logs) follow(f *logFile, r *report) error {
	var failed error
	undated := -1
	var found []logLine
	take := func(line []byte) {
		x, ok := readLine(line, l.zone)
		if !ok {
			return
		}
		if x.step >= 0 && x.at.IsZero() {
			undated = len(found)
		}
		found = append(found, x)
	}
	err := f.tail.read(r.drop, take)
	for i := range found {
		x := &found[i]
		if x.at.IsZero() && i != undated && x.step >= 0 {
			r.drop(collectors.Unknown, 1) // several came at once: the time of each is unknown
			f.job.pass(x)
			continue
		}
		if e := f.job.take(r, x, f.old); e != nil && failed == nil {
			failed = e
		}
	}
	f.old = false
	if failed != nil {
		return failed
	}
	return err
}

// logJob is a job as its log shows it.
type logJob struct {
	cfg      Config
	entity   telemetry.Entity
	book     *book.Book
	began    bool
	step     int64          // reported last
	end      telemetry.Time // of it
	consumed float64        // tokens by then
	phase    string
}

func newLogJob(c Config, x telemetry.Entity) *logJob {
	return &logJob{cfg: c, entity: x, phase: phaseTrain,
		book: book.New(book.Config{Collector: sourceName, Target: plain(c.Name), Part: plain(x.Name)})}
}

// pass records a step that is not reported.
func (j *logJob) pass(x *logLine) { j.step, j.began, j.consumed, j.end = x.step, true, x.consumed, 0 }

// near is how far a log's clock may be off for the time of a line that was just
// written to be used.
const near = time.Minute

// when is the instant of a line: its own where that can be.
func (j *logJob) when(r *report, x *logLine, old bool) telemetry.Time {
	if x.at.IsZero() {
		return r.now
	}
	at := telemetry.Time(x.at.UnixNano())
	if off := r.now.Sub(at); off < -near || !old && off > near || at <= 0 {
		r.drop(collectors.Stale, 1) // its time, not the line: see zone
		return r.now
	}
	return at
}

// take emits what a line reports.
func (j *logJob) take(r *report, x *logLine, old bool) error {
	at := j.when(r, x, old)
	if x.step < 0 {
		j.happened(r, x, at)
		return nil
	}
	switch {
	case j.began && x.step == j.step:
		r.drop(collectors.Duplicate, 1) // every rank may print it
		return nil
	case j.end != 0 && at <= j.end:
		r.drop(collectors.Stale, 1)
		return nil
	}
	count := int64(1)
	if j.began && x.step > j.step {
		count = x.step - j.step
	}
	if math.IsNaN(x.seconds) && j.end != 0 && x.step > j.step {
		x.seconds = at.Sub(j.end).Seconds() / float64(count)
	}
	consumed := j.consumed
	rising := j.began && x.step > j.step
	j.began, j.step, j.end, j.consumed = true, x.step, at, x.consumed
	j.enter(r, phaseTrain, at)
	j.set("job_step_seconds", x.seconds)
	if count > 1 && !math.IsNaN(x.seconds) {
		j.set("job_step_count", float64(count))
	}
	j.set("job_mfu_ratio", j.utilisation(x))
	j.set("job_tokens_per_second", j.tokens(x, (x.consumed-consumed)/float64(count), rising))
	return r.emit(j.book, at)
}

// set stores a number; NaN is none.
func (j *logJob) set(m telemetry.MetricName, v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		return
	}
	if c, ok := j.book.Cell(j.entity, telemetry.Column{Metric: m, Type: telemetry.Float}); ok {
		j.book.SetFloat(c, v)
	}
}

// utilisation is the value in the log, or its throughput as a fraction of the peak
// that the entry states.
func (j *logJob) utilisation(x *logLine) float64 {
	if math.IsNaN(x.mfu) && j.cfg.Peak > 0 {
		return x.tflops / float64(j.cfg.Peak)
	}
	return x.mfu
}

// tokens returns the tokens a second of all devices: reported for one device,
// counted, or samples of a known length.
func (j *logJob) tokens(x *logLine, trained float64, rising bool) float64 {
	switch {
	case !math.IsNaN(x.tokens) && j.cfg.Devices > 0:
		return x.tokens * float64(j.cfg.Devices)
	case !math.IsNaN(trained) && rising:
		return trained / x.seconds
	case j.cfg.Sequence > 0:
		return x.samples * float64(j.cfg.Sequence) / x.seconds
	}
	return math.NaN()
}

// happened emits the event of a line that is not a step.
func (j *logJob) happened(r *report, x *logLine, at telemetry.Time) {
	if x.event != eventPhase {
		j.event(r, x.event, at, "")
		return
	}
	if x.eventText == phaseTrain && j.phase == phaseTrain && j.end != 0 {
		j.enter(r, phaseEval, j.end) // it reports only that an evaluation is over
	}
	j.enter(r, x.eventText, at)
}

// enter emits an event when a job enters another phase.
func (j *logJob) enter(r *report, phase string, at telemetry.Time) {
	if phase == j.phase {
		return
	}
	j.phase = phase
	j.event(r, eventPhase, at, phase)
}

func (j *logJob) event(r *report, name telemetry.EventName, at telemetry.Time, text string) {
	r.event(telemetry.Event{Entity: j.entity, At: at, Name: name, Text: text, Source: telemetry.Source{Collector: sourceName, Target: plain(j.cfg.Name), Part: "events"}})
}
