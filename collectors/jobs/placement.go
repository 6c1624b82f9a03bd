package jobs

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/telemetry"
)

// phase is the state of a job in its scheduler.
type phase uint8

// The phases.
const (
	waiting phase = iota
	running
	failed
	ended
)

// spot is a place that a job runs on, the GPU where it is known, else the node.
type spot struct {
	on   telemetry.Entity
	rank int // -1 where it is not known
}

// work is a job as its scheduler lists it.
type work struct {
	key      string // what the scheduler knows it by
	job      telemetry.Entity
	phase    phase
	start    telemetry.Time // of its present run; zero if it has none
	end      telemetry.Time // of its last run; zero if it has none
	restarts int
	text     string // how it ended
	note     string // how it came to start
	spots    []spot
}

// tracker follows jobs from one list to the next, and states what changes.
type tracker struct {
	source string // of the edges
	target string
	max    int
	known  map[string]*work // those that run
	names  map[telemetry.Entity]string
	seen   map[string]bool
	later  bool // a list was read before
}

func newTracker(source, target string, most int) *tracker {
	return &tracker{source: source, target: target, max: most, known: map[string]*work{}, names: map[telemetry.Entity]string{}, seen: map[string]bool{}}
}

// fresh is how long ago a job of the first list may have started for its start to
// be reported.
const fresh = time.Minute

// note takes one job of a list.
func (t *tracker) note(r *report, w work) {
	h := t.known[w.key]
	switch {
	case w.phase == running && h == nil:
		t.begin(r, w)
	case w.phase == running:
		t.seen[w.key] = true
		t.goOn(r, h, w)
	case h != nil:
		t.stop(r, h, w)
	}
}

// begin records a job that did not run in the list before.
func (t *tracker) begin(r *report, w work) {
	if _, taken := t.names[w.job]; taken {
		r.drop(collectors.Duplicate, 1)
		return
	}
	if len(t.known) >= t.max {
		r.drop(collectors.OverLimit, 1)
		return
	}
	unknown := w.start <= 0 || w.start > r.now.Add(time.Minute)
	if unknown || w.start > r.now { // it runs: its clock is ahead of ours
		w.start = r.now
	}
	t.known[w.key], t.names[w.job], t.seen[w.key] = &w, w.key, true
	for _, s := range w.spots {
		t.state(r, &w, s, w.start, 0)
	}
	if !t.later && (unknown || r.now.Sub(w.start) > fresh) {
		return
	}
	name, text := telemetry.EventJobStarted, w.note
	if w.restarts > 0 {
		name, text = telemetry.EventJobRestarted, "restart "+strconv.Itoa(w.restarts)
	}
	t.happen(r, w.job, name, w.start, text)
}

// goOn records a job that still runs, or runs again, or elsewhere.
func (t *tracker) goOn(r *report, h *work, w work) {
	if w.job != h.job {
		t.stop(r, h, work{key: w.key, phase: ended, text: "renamed"})
		t.begin(r, w)
		return
	}
	if w.restarts > h.restarts || w.start > h.start && w.start <= r.now.Add(time.Minute) {
		if w.start <= h.start || w.start > r.now {
			w.start = r.now // it was started anew in its place
		}
		for _, s := range h.spots {
			t.state(r, h, s, h.start, w.start)
		}
		*h = w
		for _, s := range h.spots {
			t.state(r, h, s, h.start, 0)
		}
		t.happen(r, h.job, telemetry.EventJobRestarted, h.start, "restart "+strconv.Itoa(w.restarts))
		return
	}
	if slices.Equal(h.spots, w.spots) {
		return
	}
	for _, s := range h.spots {
		if !slices.Contains(w.spots, s) {
			t.state(r, h, s, h.start, r.now)
		}
	}
	for _, s := range w.spots {
		if !slices.Contains(h.spots, s) {
			t.state(r, h, s, h.start, 0)
		}
	}
	h.spots = w.spots
}

// stop records a job that no longer runs.
func (t *tracker) stop(r *report, h *work, w work) {
	at := w.end
	if at < h.start || at > r.now {
		at = r.now
	}
	for _, s := range h.spots {
		t.state(r, h, s, h.start, at)
	}
	name := telemetry.EventJobFailed
	if w.phase == ended {
		name = telemetry.EventJobEnded
	}
	t.happen(r, h.job, name, at, w.text)
	delete(t.known, h.key)
	delete(t.names, h.job)
}

// finish is called when a list was read to its end: what ran and is not in it
// has ended.
func (t *tracker) finish(r *report) {
	for _, k := range slices.Sorted(maps.Keys(t.known)) {
		if !t.seen[k] {
			t.stop(r, t.known[k], work{phase: ended, text: "no longer listed"})
		}
	}
	t.later = true
	clear(t.seen)
}

// state states where a job runs, from when, and until when.
func (t *tracker) state(r *report, w *work, s spot, from, to telemetry.Time) {
	e := telemetry.Edge{From: w.job, To: s.on, Relation: telemetry.Runs, Start: from, End: to, Source: t.source}
	if s.rank >= 0 {
		e.Attrs = []telemetry.Attr{{Key: "rank", Value: strconv.Itoa(s.rank)}}
	}
	r.edge(e)
}

func (t *tracker) happen(r *report, x telemetry.Entity, name telemetry.EventName, at telemetry.Time, text string) {
	r.event(telemetry.Event{Entity: x, At: at, Name: name, Text: text, Source: telemetry.Source{Collector: sourceName, Target: plain(t.target), Part: "events"}})
}
