package trainer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/quintet-dc/quintet/lab/board"
	"github.com/quintet-dc/quintet/telemetry"
)

// Config states where reports go.
type Config struct {
	// URL is where Quintet listens: http://127.0.0.1:8420.
	URL string
	// Scheduled is true where a scheduler reports when jobs start, fail and end:
	// only what it does not know is reported.
	Scheduled bool
}

// Fleet is the trainers of a site's jobs.
type Fleet struct {
	board     *board.Board
	url       string
	client    http.Client
	scheduled bool
	reported  map[telemetry.Entity]telemetry.Time // of each job and rank, the step reported last
	models    map[telemetry.Entity]bool           // jobs whose model was reported
	refused   atomic.Uint64
}

// New returns the trainers of a site.
func New(b *board.Board, c Config) *Fleet {
	return &Fleet{board: b, url: strings.TrimSuffix(c.URL, "/"), scheduled: c.Scheduled, client: http.Client{Timeout: 2 * time.Second}, reported: map[telemetry.Entity]telemetry.Time{},
		models: map[telemetry.Entity]bool{}}
}

// Refused is how many reports could not be delivered.
func (f *Fleet) Refused() uint64 { return f.refused.Load() }

// Run reports what ends until ctx is done.
func (f *Fleet) Run(ctx context.Context) error {
	_, next := f.board.Events(1 << 62) // what was before nobody reports any more
	for f.board.Wait(ctx) == nil {
		var events []telemetry.Event
		events, next = f.board.Events(next)
		f.events(ctx, events)
		for _, j := range f.board.Entities(telemetry.Job) {
			f.steps(ctx, j)
		}
	}
	return nil
}

// entry is one step of a report (POST /api/v1/jobs/{job}/steps).
type entry struct {
	End     string   `json:"end"`
	Seconds float64  `json:"seconds"`
	Tokens  *float64 `json:"tokens,omitempty"`
	MFU     *float64 `json:"mfu,omitempty"`
	Compute *float64 `json:"compute_seconds,omitempty"`
	Wait    *float64 `json:"wait_seconds,omitempty"`
	Moves   *float64 `json:"transfer_seconds,omitempty"`
	Input   *float64 `json:"data_wait_seconds,omitempty"`
	Save    *float64 `json:"checkpoint_seconds,omitempty"`
}

type report struct {
	Rank  *int    `json:"rank,omitempty"`
	Steps []entry `json:"steps"`
}

// steps reports a job's latest step, if it was not yet: for the job with what it
// waited for, and for each rank how long it computed, waited and moved data.
func (f *Fleet) steps(ctx context.Context, j telemetry.Entity) {
	s, ok := f.fresh(j, "job_step_seconds")
	if !ok {
		return
	}
	one := entry{End: stamp(s.At), Seconds: s.Float(), MFU: f.part(j, "job_mfu_ratio"), Input: f.part(j, "job_data_wait_seconds"), Save: f.part(j, "job_checkpoint_seconds")}
	if t, ok := f.board.Read(j, "job_tokens_per_second"); ok && !t.Gap {
		tokens := t.Float() * s.Float()
		one.Tokens = &tokens
	}
	f.post(ctx, "/api/v1/jobs/"+url.PathEscape(j.Name)+"/steps", report{Steps: []entry{one}})
	f.model(ctx, j, s.At)
	for _, r := range f.ranks(j) {
		c, ok := f.fresh(r, "rank_compute_seconds")
		if !ok {
			continue
		}
		x := entry{End: stamp(c.At), Seconds: s.Float(), Compute: f.part(r, "rank_compute_seconds"), Wait: f.part(r, "rank_comm_wait_seconds"), Moves: f.part(r, "rank_comm_transfer_seconds")}
		n, err := strconv.Atoi(r.Name[len(j.Name)+1:])
		if err != nil {
			continue
		}
		f.post(ctx, "/api/v1/jobs/"+url.PathEscape(j.Name)+"/steps", report{Rank: &n, Steps: []entry{x}})
	}
}

// part is a further value of a step besides its length; nil where it is unknown.
func (f *Fleet) part(x telemetry.Entity, m telemetry.MetricName) *float64 {
	r, ok := f.board.Read(x, m)
	if !ok || r.Gap {
		return nil
	}
	v := r.Float()
	return &v
}

func (f *Fleet) ranks(j telemetry.Entity) []telemetry.Entity {
	all := f.board.Entities(telemetry.Rank)
	return slices.DeleteFunc(all, func(r telemetry.Entity) bool { return r.Prefix() != j.Name })
}

// fresh returns a reading that was not reported yet.
func (f *Fleet) fresh(x telemetry.Entity, m telemetry.MetricName) (board.Reading, bool) {
	r, ok := f.board.Read(x, m)
	if !ok || r.Gap || r.At <= f.reported[x] {
		return r, false
	}
	f.reported[x] = r.At
	return r, true
}

// events reports what a scheduler and a trainer report about a job.
func (f *Fleet) events(ctx context.Context, events []telemetry.Event) {
	type event struct {
		Entity telemetry.Entity    `json:"entity"`
		Time   string              `json:"time"`
		Name   telemetry.EventName `json:"name"`
		Text   string              `json:"text,omitempty"`
	}
	var out []event
	for _, e := range events {
		if e.Entity.Kind == telemetry.Job && !(f.scheduled && ofScheduler(e.Name)) {
			out = append(out, event{e.Entity, stamp(e.At), e.Name, e.Text})
		}
	}
	if len(out) > 0 {
		f.post(ctx, "/api/v1/events", out)
	}
}

// ofScheduler reports whether a scheduler reports an event of a job.
func ofScheduler(n telemetry.EventName) bool {
	switch n {
	case telemetry.EventJobStarted, telemetry.EventJobFailed, telemetry.EventJobRestarted, telemetry.EventJobEnded:
		return true
	}
	return false
}

func (f *Fleet) post(ctx context.Context, path string, body any) {
	if err := f.try(ctx, path, body); err != nil && ctx.Err() == nil {
		f.refused.Add(1)
	}
}

func (f *Fleet) try(ctx context.Context, path string, body any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url+path, bytes.NewReader(b))
	if err != nil {
		return err
	}
	q.Header.Set("Content-Type", "application/json")
	a, err := f.client.Do(q)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(a.Body, 1<<12))
	if a.StatusCode != http.StatusAccepted {
		return fmt.Errorf("%s: %s: %s", path, a.Status, text)
	}
	return nil
}

func stamp(t telemetry.Time) string { return time.Unix(0, int64(t)).UTC().Format(time.RFC3339Nano) }
