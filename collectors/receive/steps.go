package receive

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/telemetry"
)

// Limits of a report. They keep out what is certainly wrong, not what is odd.
const (
	maxSeconds = 1e9 // what correlate/jobs takes for a length
	maxCount   = 1e6
	maxTokens  = 1e18
	maxRank    = 1<<31 - 1
)

// ahead is how far beyond our clock an instant may be: the engine refuses later
// ones, with all that came with them.
const ahead = 5 * time.Minute

// phase is what a job did in the time that is reported.
type phase string

// The phases. An empty one is train.
const (
	train      phase = "train"
	eval       phase = "eval"
	checkpoint phase = "checkpoint"
	starting   phase = "init"
)

// step is one entry of a report.
type step struct {
	at      int // its place in the request
	number  int64
	end     telemetry.Time
	seconds float64 // the mean of one step
	count   int64
	counted bool // count was stated
	phase   phase
	tokens  *float64 // of one step
	mfu     *float64 // model FLOP/s utilisation, by the sender's own count
	compute *float64
	wait    *float64
	moves   *float64 // moving data in collectives
	input   *float64 // waiting for input
	save    *float64 // writing a checkpoint that it waits for
}

// began is when the first of its steps began.
func (s *step) began() telemetry.Time {
	return s.end.Add(-telemetry.Duration(min(s.seconds*float64(s.count), maxSeconds) * 1e9))
}

// report is a request of steps that was found right.
type report struct {
	job    string
	rank   int64
	ranked bool // a rank was stated
	steps  []step
	now    telemetry.Time
}

// report reads POST /api/v1/jobs/{job}/steps. The steps come out by
// their ends.
func (d *document) report(now telemetry.Time) (*report, error) {
	r := &report{now: now}
	var rank *int64
	err := d.object("", false, fields{
		"rank": d.integer(&rank, 0, maxRank),
		"steps": func(place string) error {
			return d.array(place, false, func(place string, i int) error {
				if i >= maxSteps {
					return &fault{status: 413, field: "steps", err: fmt.Errorf("more than %d in one request", maxSteps)}
				}
				s, err := d.step(place, now)
				s.at = i
				r.steps = append(r.steps, s)
				return err
			})
		}})
	if err != nil {
		return nil, err
	}
	if len(r.steps) == 0 {
		return nil, faultf("steps", "missing or empty")
	}
	if rank != nil {
		r.rank, r.ranked = *rank, true
	}
	return r, r.arrange()
}

// arrange orders the steps and refuses two of one end: they would be one sample.
func (r *report) arrange() error {
	slices.SortStableFunc(r.steps, func(a, b step) int { return cmp.Compare(a.end, b.end) })
	for i := 1; i < len(r.steps); i++ {
		if a, b := &r.steps[i-1], &r.steps[i]; a.end == b.end {
			return faultf(fmt.Sprintf("steps[%d].end", b.at), "%s is the end of steps[%d], too", b.end, a.at)
		}
	}
	return nil
}

func (d *document) step(place string, now telemetry.Time) (step, error) {
	var number, count *int64
	var seconds *float64
	var name string
	s := step{count: 1, phase: train}
	err := d.object(place, false, fields{
		"step": d.integer(&number, 0, 1<<62), "end": d.instant(&s.end), "seconds": d.number(&seconds, 0, maxSeconds),
		"count": d.integer(&count, 1, maxCount), "tokens": d.number(&s.tokens, 0, maxTokens), "mfu": d.number(&s.mfu, 0, 1), "phase": d.text(&name),
		"compute_seconds": d.number(&s.compute, 0, maxSeconds), "wait_seconds": d.number(&s.wait, 0, maxSeconds),
		"transfer_seconds": d.number(&s.moves, 0, maxSeconds), "data_wait_seconds": d.number(&s.input, 0, maxSeconds), "checkpoint_seconds": d.number(&s.save, 0, maxSeconds)})
	switch {
	case err != nil:
		return s, err
	case s.end == 0:
		return s, faultf(under(place, "end"), "missing")
	case seconds == nil:
		return s, faultf(under(place, "seconds"), "missing")
	case *seconds == 0:
		return s, faultf(under(place, "seconds"), "a step takes some time")
	}
	if err := soon(s.end, now); err != nil {
		return s, &fault{field: under(place, "end"), err: err}
	}
	s.seconds = *seconds
	if number != nil {
		s.number = *number
	}
	if count != nil {
		s.count, s.counted = *count, true
	}
	if name != "" {
		s.phase = phase(name)
	}
	switch s.phase {
	case train, eval, checkpoint, starting:
	default:
		return s, faultf(under(place, "phase"), "%.40q: want train, eval, checkpoint or init", name)
	}
	if s.began() <= 0 {
		return s, faultf(under(place, "seconds"), "the step would have begun before 1970")
	}
	return s, nil
}

// soon refuses an instant that a clock cannot be off by.
func soon(at, now telemetry.Time) error {
	if at > now.Add(ahead) {
		return fmt.Errorf("%s is more than %v ahead of the clock here, %s", at, ahead, now)
	}
	return nil
}

// emit implements accepted.
func (r *report) emit(recv *Receiver, sink collectors.Sink) (receipt, error) {
	return recv.book.emit(r, sink)
}

// jobName makes the path's job an entity's name.
func jobName(s string) (string, error) {
	e := telemetry.Entity{Kind: telemetry.Job, Name: telemetry.NamePart(s)}
	if err := e.Validate(); err != nil {
		return "", &fault{field: "job", err: err}
	}
	// A rank's name is longer, and a source's target may not hold a bar.
	if len(e.Name) > telemetry.MaxNameBytes-11 {
		return "", &fault{field: "job", err: fmt.Errorf("a name of %d bytes, at most %d", len(e.Name), telemetry.MaxNameBytes-11)}
	}
	return e.Name, nil
}

var errFull = errors.New("more jobs or ranks report than are kept: try again later")
