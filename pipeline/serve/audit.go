package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/quintet-dc/quintet/pipeline/access"
	"github.com/quintet-dc/quintet/telemetry"
)

// Trail keeps people's changes; bus.Trail is one.
type Trail interface {
	// Keep stores an entry behind all others.
	Keep(ctx context.Context, data []byte) error
	// Recent hands over at most limit entries, the newest first, which are older than
	// the one with sequence before, or the newest of all where that is 0.
	Recent(ctx context.Context, before uint64, limit int, fn func(sequence uint64, data []byte) error) error
}

// The bounds of an answer about changes, and how long keeping one may take.
const (
	usualChanges = 50
	maxChanges   = 500
	trailTimeout = 4 * time.Second
)

// change is one entry of the trail.
type change struct {
	At     telemetry.Time `json:"at"`
	User   string         `json:"user"` // empty where nobody has to log in
	Role   access.Role    `json:"role,omitempty"`
	With   string         `json:"with,omitempty"` // password, token or proxy
	From   string         `json:"from"`           // address
	Method string         `json:"method"`
	Path   string         `json:"path"`
	// Before and After are what the request changed; null where that was not there.
	Before any `json:"before"`
	After  any `json:"after"`
}

// changeKey is where a request carries the change that it makes.
type changeKey struct{}

// noteChange records the change of a request.
func noteChange(r *http.Request, before, after any) {
	if c, ok := r.Context().Value(changeKey{}).(*change); ok {
		c.Before, c.After = before, after
	}
}

// audited keeps what h changes, where it changes something.
func (s *server) audited(x route, h http.HandlerFunc) http.HandlerFunc {
	if s.cfg.Trail == nil || x.right != access.Operate && x.right != access.Administer {
		return h
	}
	return func(w http.ResponseWriter, r *http.Request) {
		who := principalOf(r)
		c := &change{At: stamp(s.now()), User: who.Name, Role: who.Role, With: who.With, From: r.RemoteAddr, Method: r.Method, Path: r.URL.Path}
		answered := &coded{ResponseWriter: w, status: http.StatusOK}
		h(answered, r.WithContext(context.WithValue(r.Context(), changeKey{}, c)))
		if answered.status < http.StatusMultipleChoices {
			s.keepChange(r.Context(), c)
		}
	}
}

// keepChange stores a change, even if its client has disconnected.
func (s *server) keepChange(ctx context.Context, c *change) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), trailTimeout)
	defer cancel()
	data, err := json.Marshal(c)
	if err == nil {
		err = s.cfg.Trail.Keep(ctx, data)
	}
	s.cfg.Logger.Info("a change was made", "user", c.User, "from", c.From, "path", c.Path)
	if err != nil {
		s.count.auditFailures.Inc()
		s.cfg.Logger.Error("a change is not in the audit log", "user", c.User, "from", c.From, "path", c.Path, "error", err)
	}
}

// keptChange is an entry of the trail in an answer.
type keptChange struct {
	Sequence uint64          `json:"sequence"`
	Change   json.RawMessage `json:"change"`
}

// changeList is the answer to GET /api/v1/audit.
type changeList struct {
	Changes []keptChange `json:"changes"`
	Next    string       `json:"next,omitempty"` // the cursor of what is older
}

// audit answers GET /api/v1/audit.
func (s *server) audit(r *http.Request) (any, error) {
	q := parameters(r, "limit", "before", "cursor")
	limit, before := q.number("limit", usualChanges, 1, maxChanges), q.number("before", 0, 0, 1<<53)
	if from := q.cursor(); from.done > 0 {
		before = from.done
	}
	if q.err != nil {
		return nil, q.err
	}
	if s.cfg.Trail == nil {
		return nil, &problem{status: http.StatusNotImplemented, text: "audit: not kept by this process"}
	}
	ctx, cancel := context.WithTimeout(r.Context(), trailTimeout)
	defer cancel()
	out := changeList{Changes: []keptChange{}}
	err := s.cfg.Trail.Recent(ctx, uint64(before), limit, func(sequence uint64, data []byte) error {
		if !json.Valid(data) {
			data = []byte("null")
		}
		out.Changes = append(out.Changes, keptChange{sequence, data})
		return nil
	})
	if err != nil {
		return nil, unavailable("audit: " + err.Error())
	}
	if len(out.Changes) == limit && out.Changes[limit-1].Sequence > 1 {
		out.Next = spot{"", int(out.Changes[limit-1].Sequence)}.cursor()
	}
	return out, nil
}
