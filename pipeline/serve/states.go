package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/quintet-dc/quintet/pipeline/replica"
	"github.com/quintet-dc/quintet/pipeline/status"
)

// states queries the engine's state once a second, while at least one client
// watches.
type states struct {
	questions *questions
	live      *live
	notes     *notebook
	noEngine  *absence
	health    func(context.Context, polled) status.Site

	mu      sync.Mutex
	looking int
	woken   chan struct{} // closed when somebody begins to look
	data    []byte        // the newest state; nil before the first
	changed chan struct{} // closed when there is a newer one
}

func newStates(s *server) *states {
	return &states{questions: s.questions, live: s.live, notes: s.notes, noEngine: s.noEngine,
		health: func(ctx context.Context, p polled) status.Site { return status.OfSite(s.facts(ctx, p)) }, woken: make(chan struct{}), changed: make(chan struct{})}
}

// look registers a watcher, until the function it returns is called.
func (s *states) look() (leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.looking++; s.looking == 1 {
		close(s.woken)
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.looking--; s.looking == 0 {
			s.woken, s.data = make(chan struct{}), nil // nobody saw it grow old
		}
	}
}

// newest returns the newest state and a channel that is closed when there is a
// newer one.
func (s *states) newest() ([]byte, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.data, s.changed
}

// run asks until ctx is done.
func (s *states) run(ctx context.Context) {
	for {
		s.mu.Lock()
		woken := s.woken
		s.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-woken:
		}
		began := time.Now()
		state := s.compose(ctx)
		if ctx.Err() != nil {
			return // what could not be asked any more is no state of the site
		}
		s.put(state)
		rest := time.NewTimer(freshFor - min(time.Since(began), freshFor/2))
		select {
		case <-ctx.Done():
		case <-rest.C:
		}
		rest.Stop()
	}
}

func (s *states) put(data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.looking == 0 || bytes.Equal(data, s.data) {
		return
	}
	s.data = data
	close(s.changed)
	s.changed = make(chan struct{})
}

// compose queries the current state. If the engine does not answer, the state is
// unknown, with the reason.
func (s *states) compose(ctx context.Context) []byte {
	var jobs struct {
		Jobs  json.RawMessage `json:"jobs"`
		Fleet json.RawMessage `json:"fleet"`
	}
	var answered struct {
		Tick   json.RawMessage  `json:"tick"`
		Alarms json.RawMessage  `json:"alarms"`
		Speed  float64          `json:"speed"`
		Log    replica.LogState `json:"log"`
	}
	var wg sync.WaitGroup
	var jobsErr, statusErr, reachErr error
	var reach replica.Reach
	var open map[string]refreshed
	wg.Go(func() { jobsErr = askInto(ctx, s.questions, replica.AskJobs, &jobs) })
	wg.Go(func() { statusErr = askInto(ctx, s.questions, replica.AskStatus, &answered) })
	wg.Go(func() { reachErr = askInto(ctx, s.questions, replica.AskReach, &reach) })
	wg.Go(func() { open = s.live.incidents(ctx) })
	wg.Wait()
	out := struct {
		Tick      json.RawMessage   `json:"tick"`
		Jobs      json.RawMessage   `json:"jobs"`
		Fleet     json.RawMessage   `json:"fleet"`
		Incidents []json.RawMessage `json:"incidents"`
		Alarms    json.RawMessage   `json:"alarms"`
		Health    status.Site       `json:"health"`
	}{orNull(answered.Tick, "null"), orNull(jobs.Jobs, "[]"), orNull(jobs.Fleet, "null"), []json.RawMessage{}, orNull(answered.Alarms, "[]"), status.Site{}}
	for _, id := range slices.Sorted(maps.Keys(open)) {
		out.Incidents = append(out.Incidents, withVerdict(open[id].data, s.notes.of(id)))
	}
	if err := cmp.Or(statusErr, jobsErr); err != nil {
		out.Alarms, _ = json.Marshal([]replica.Alarm{s.noEngine.alarm(time.Now(), err)}) // text and a time
	} else {
		s.noEngine.over()
	}
	p := polled{reach: reach, status: replica.Status{Speed: answered.Speed, Log: answered.Log}, err: cmp.Or(statusErr, jobsErr, reachErr)}
	if p.err == nil {
		p.err = cmp.Or(json.Unmarshal(out.Tick, &p.status.Tick), json.Unmarshal(out.Jobs, &p.jobs), json.Unmarshal(orNull(answered.Alarms, "[]"), &p.status.Alarms))
	}
	out.Health = s.health(ctx, p)
	b, err := json.Marshal(out)
	if err != nil {
		return []byte(`{"tick":null,"jobs":[],"fleet":null,"incidents":[],"alarms":[]}`)
	}
	return b
}

func askInto(ctx context.Context, q *questions, what string, into any) error {
	b, err := q.ask(ctx, what, nil)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, into)
}

func orNull(b json.RawMessage, otherwise string) json.RawMessage {
	if len(b) == 0 {
		return json.RawMessage(otherwise)
	}
	return b
}
