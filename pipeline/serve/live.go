package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/replica"
)

const (
	askTimeout = 3 * time.Second
	// freshFor is how long an answer about the open incidents is as good as new.
	freshFor = time.Second
)

// engineGone is the error if no engine answers.
func engineGone() *problem {
	return unavailable("no engine answers: none runs, or it has not caught up with the log")
}

// engineLate is a request to the engine that timed out.
func engineLate() *problem {
	return &problem{status: http.StatusGatewayTimeout, text: "ask the engine: timed out", again: askTimeout}
}

// ask asks the engine and maps its errors to HTTP.
func ask(ctx context.Context, a Asker, what string, req []byte) (raw, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	b, err := a.Ask(ctx, what, req)
	var answered *bus.AnswerError
	switch {
	case err == nil:
	case errors.Is(err, bus.ErrNoResponders):
		return nil, engineGone()
	case errors.Is(err, bus.ErrUnreachable):
		return nil, unavailable(errDisconnected.Error())
	case errors.As(err, &answered):
		return nil, &problem{status: http.StatusBadGateway, text: "the engine: " + answered.Text}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return nil, engineLate()
	default:
		return nil, unavailable("the engine cannot be asked: " + err.Error())
	}
	var out bytes.Buffer
	if err := json.Compact(&out, b); err != nil {
		return nil, &problem{status: http.StatusBadGateway, text: "the engine's answer is not JSON"}
	}
	return raw(out.Bytes()), nil
}

// refreshed is an open incident as the engine sees it now.
type refreshed struct {
	revision int
	data     json.RawMessage
}

// questions asks the engine for many readers. Readers that ask the same thing at
// the same time share one request. The request has a context of its own, so a
// reader that disconnects ends only its own waiting.
type questions struct {
	asker   Asker
	closing context.Context // of the server: ends requests to the engine
	flights singleflight.Group
}

// ask returns the engine's answer, or an error once ctx is done.
func (q *questions) ask(ctx context.Context, what string, req []byte) (raw, error) {
	answer := q.flights.DoChan(what+"\x00"+string(req), func() (any, error) {
		return ask(q.closing, q.asker, what, req)
	})
	select {
	case a := <-answer:
		b, _ := a.Val.(raw) // nil with an error
		return b, a.Err
	case <-ctx.Done():
		return nil, engineLate()
	}
}

// askAbout is ask with a question that is sent as JSON.
func (q *questions) askAbout(ctx context.Context, what string, question any) (raw, error) {
	req, err := json.Marshal(question)
	if err != nil {
		return nil, err
	}
	return q.ask(ctx, what, req)
}

// live keeps the engine's last answer about the open incidents for freshFor, so
// that many readers cost one request.
type live struct {
	questions *questions
	now       func() time.Time

	mu     sync.Mutex // guards what follows; never held while asking
	asked  time.Time
	latest map[string]refreshed
}

// incidents returns the open incidents by id; none where the engine does not
// answer, so that readers get the published revisions.
func (l *live) incidents(ctx context.Context) map[string]refreshed {
	l.mu.Lock()
	latest, fresh := l.latest, l.latest != nil && l.now().Sub(l.asked) < freshFor
	l.mu.Unlock()
	if fresh {
		return latest
	}
	b, err := l.questions.ask(ctx, replica.AskIncidents, nil)
	if ctx.Err() != nil {
		return nil // one reader's impatience does not affect others
	}
	latest = map[string]refreshed{}
	if err == nil {
		latest = parseLive(b)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.latest, l.asked = latest, l.now()
	return latest
}

// parseLive reads {"incidents":[…]}. Elements that are not incidents are left out.
func parseLive(b []byte) map[string]refreshed {
	out := map[string]refreshed{}
	var list struct {
		Incidents []json.RawMessage `json:"incidents"`
	}
	if json.Unmarshal(b, &list) != nil {
		return out
	}
	for _, data := range list.Incidents {
		var in struct {
			ID       string `json:"id"`
			State    string `json:"state"`
			Revision int    `json:"revision"`
		}
		if json.Unmarshal(data, &in) == nil && in.State == explain.StateOpen {
			out[in.ID] = refreshed{in.Revision, data}
		}
	}
	return out
}

// newest is an incident's JSON with what the engine knows since its revision.
func newest(k *kept, live map[string]refreshed) []byte {
	if now, ok := live[k.id]; ok && k.state == explain.StateOpen && now.revision >= k.revision {
		return now.data
	}
	return k.data
}
