package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/replica"
)

const (
	askPatience = 3 * time.Second
	// freshFor is how long an answer about the open incidents is as good as new.
	freshFor = time.Second
)

// engineGone is said where no engine answers.
func engineGone() *problem {
	return unavailable("no engine answers: none runs, or it has not caught up with the log")
}

// ask asks the engine and says in HTTP's words why there is no answer.
func ask(ctx context.Context, a Asker, what string, req []byte) (raw, error) {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	b, err := a.Ask(ctx, what, req)
	var told *bus.AnswerError
	switch {
	case err == nil:
	case errors.Is(err, bus.ErrNobody):
		return nil, engineGone()
	case errors.Is(err, bus.ErrUnreachable):
		return nil, unavailable(errDisconnected.Error())
	case errors.As(err, &told):
		return nil, &problem{status: http.StatusBadGateway, text: "the engine: " + told.Text}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return nil, &problem{status: http.StatusGatewayTimeout, text: "the engine does not answer in time", again: askPatience}
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

// live keeps the engine's last answer about the open incidents for a moment, so
// that many who look cost one question.
type live struct {
	asker Asker
	now   func() time.Time

	mu     sync.Mutex // held while asking: whoever comes meanwhile gets the answer, too
	asked  time.Time
	latest map[string]refreshed
}

// incidents returns the open incidents by id. An engine that does not answer
// leaves the published revisions to speak for themselves.
func (l *live) incidents(ctx context.Context) map[string]refreshed {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := l.now(); l.latest == nil || now.Sub(l.asked) >= freshFor {
		l.latest = map[string]refreshed{}
		if b, err := ask(ctx, l.asker, replica.AskIncidents, nil); err == nil {
			l.latest = parseLive(b)
		}
		l.asked = now
	}
	return l.latest
}

// parseLive reads {"incidents":[…]}. What is no incident is left out.
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
