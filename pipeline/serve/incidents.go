package serve

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/recorder"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	usualIncidents = 1000
	maxRevisions   = 1000
)

// ready answers 503 until the incidents that were there at the start are read.
func (s *server) ready(h handler) handler {
	return func(r *http.Request) (any, error) {
		if !s.ledger.current() {
			return nil, unavailable(errReplaying.Error())
		}
		return h(r)
	}
}

// incidentList is the answer to GET /api/v1/incidents; an incident is encoded
// already when it is answered with.
type incidentList[I any] struct {
	Incidents []I                 `json:"incidents"`
	Notes     map[string]noteView `json:"notes"`
	Last      string              `json:"last_event_id"`
	Truncated bool                `json:"truncated,omitempty"`
	Next      string              `json:"next,omitempty"` // the cursor of what comes behind
}

// revisionList is the answer to GET /api/v1/incidents/{id}/revisions.
type revisionList[I any] struct {
	Revisions []I    `json:"revisions"`
	Next      string `json:"next,omitempty"` // the cursor of what comes behind
}

// incidents answers GET /api/v1/incidents.
func (s *server) incidents(r *http.Request) (any, error) {
	q := parameters(r, "state", "job", "since", "limit", "cursor")
	f := filter{state: q.text("state"), job: strings.TrimPrefix(q.text("job"), "job:"), since: q.instant("since")}
	limit, from := q.number("limit", usualIncidents, 1, maxIncidents), q.cursor()
	if !slices.Contains([]string{"", "all", explain.StateOpen, explain.StateResolved}, f.state) {
		q.fail("state", "want open, resolved or all")
	}
	if q.err != nil {
		return nil, q.err
	}
	all, head := s.ledger.list()
	live := s.live.incidents(r.Context())
	out := incidentList[json.RawMessage]{Incidents: []json.RawMessage{}, Notes: map[string]noteView{}, Last: strconv.FormatUint(head, 10)}
	all = slices.DeleteFunc(slices.Clone(all), func(k *kept) bool { return !f.takes(k) })
	p := pageOf(all, func(k *kept) string { return k.id }, from, limit)
	out.Next, out.Truncated = p.next, p.next != ""
	for _, k := range p.items {
		x := s.notes.of(k.id)
		if v := s.noteView(k, x); x != (note{}) || len(v.SilencedBy) > 0 {
			out.Notes[k.id] = v
		}
		out.Incidents = append(out.Incidents, withVerdict(newest(k, live), x))
	}
	return out, nil
}

// filter selects incidents; empty fields select all.
type filter struct {
	state string
	job   string
	since telemetry.Time
}

func (f filter) takes(k *kept) bool {
	degrades := func(j telemetry.Entity) bool { return j.Name == f.job }
	return (f.state == "" || f.state == "all" || f.state == k.state) && k.updated >= f.since && (f.job == "" || slices.ContainsFunc(k.jobs, degrades))
}

// incident answers GET /api/v1/incidents/{id}.
func (s *server) incident(r *http.Request) (any, error) {
	k, err := s.asked(r)
	if err != nil {
		return nil, err
	}
	return raw(withVerdict(newest(k, s.live.incidents(r.Context())), s.notes.of(k.id))), nil
}

// asked finds the incident of a request that has no parameters.
func (s *server) asked(r *http.Request) (*kept, error) {
	if q := parameters(r); q.err != nil {
		return nil, q.err
	}
	return s.named(r)
}

// named finds the incident of a request's path.
func (s *server) named(r *http.Request) (*kept, error) {
	if k, ok := s.ledger.get(r.PathValue("id")); ok {
		return k, nil
	}
	return nil, &problem{status: http.StatusNotFound, field: "id", text: "no such incident"}
}

// revisions answers GET /api/v1/incidents/{id}/revisions: they are read back
// from the stream, where they lie between the first and the newest one.
func (s *server) revisions(r *http.Request) (any, error) {
	q := parameters(r, "limit", "cursor")
	limit, from := q.number("limit", maxRevisions, 1, maxRevisions), q.cursor()
	if q.err != nil {
		return nil, q.err
	}
	k, err := s.named(r)
	if err != nil {
		return nil, err
	}
	select {
	case s.reading <- struct{}{}:
		defer func() { <-s.reading }()
	default:
		return nil, busy("as many revisions are read as may be at a time")
	}
	ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
	defer cancel()
	out := revisionList[json.RawMessage]{Revisions: []json.RawMessage{}}
	at := max(k.first-1, uint64(from.done)) // a position in the stream
	err = s.cfg.Incidents.Follow(ctx, at, func(rev bus.Revision) error {
		if rev.ID == k.id && len(out.Revisions) == limit {
			out.Next = spot{k.id, int(at)}.cursor()
			return errEnough
		}
		if at = rev.Sequence; rev.ID == k.id {
			out.Revisions = append(out.Revisions, rev.Data)
		}
		if rev.Sequence >= k.last {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, unavailable("the revisions cannot be read: " + err.Error())
	}
	return out, nil
}

// errEnough ends the reading of a stream.
var errEnough = errors.New("enough")

func busy(text string) *problem {
	return &problem{status: http.StatusTooManyRequests, text: text, again: time.Second}
}

// curves answers GET /api/v1/incidents/{id}/curves.
func (s *server) curves(r *http.Request) (any, error) {
	q := parameters(r, "since")
	since := q.instant("since")
	if q.err != nil {
		return nil, q.err
	}
	k, err := s.named(r)
	if err != nil {
		return nil, err
	}
	if s.cfg.Curves == nil {
		return nil, &problem{status: http.StatusNotImplemented, text: "curves: no log in this process"}
	}
	var in explain.Incident
	if err := json.Unmarshal(newest(k, s.live.incidents(r.Context())), &in); err != nil {
		return nil, err
	}
	p, err := s.cfg.Curves.Curves(r.Context(), &in, since)
	switch {
	case errors.Is(err, recorder.ErrForgotten):
		return nil, &problem{status: http.StatusGone, text: "the log no longer holds the time of this incident"}
	case errors.Is(err, recorder.ErrBusy):
		return nil, busy("other incidents are being drawn")
	case errors.Is(err, context.DeadlineExceeded):
		return nil, unavailable("reading the log takes long: what was read is kept, ask again")
	case err != nil:
		return nil, err
	}
	return p, nil
}

// noted answers GET /api/v1/incidents/{id}/notes.
func (s *server) noted(r *http.Request) (any, error) {
	k, err := s.asked(r)
	if err != nil {
		return nil, err
	}
	return s.noteView(k, s.notes.of(k.id)), nil
}

// maintenanceOf precedes the entity whose maintenance mutes messages.
const maintenanceOf = "maintenance of "

// noteView adds to a note why an open incident's messages are withheld now.
func (s *server) noteView(k *kept, x note) noteView {
	v := noteView{note: x, SilencedBy: []string{}}
	if k.state == explain.StateOpen {
		v.SilencedBy = append(v.SilencedBy, s.silences.Muting(s.above.Within(k.facts, k.root), stamp(s.now()))...)
		if of, is := s.above.Maintained(k.root); is {
			v.SilencedBy = append(v.SilencedBy, maintenanceOf+of.String())
		}
	}
	return v
}

// assign answers POST /api/v1/incidents/{id}/assign.
func (s *server) assign(r *http.Request) (any, error) {
	k, err := s.asked(r)
	if err != nil {
		return nil, err
	}
	a, err := readAssignment(r.Body)
	if err != nil {
		return nil, err
	}
	return s.amend(r, k, personNote{By: a.By, Text: a.Text}, func(x *note, by *personNote) {
		if x.Assigned = nil; a.To != nil {
			by.To, x.Assigned = *a.To, by
		}
	}, func(x note) any { return x.Assigned })
}

// acknowledge answers POST /api/v1/incidents/{id}/acknowledge.
func (s *server) acknowledge(r *http.Request) (any, error) {
	return s.storeOpinion(r, false, func(x *note, _ *opinion, by *personNote) { x.Acknowledged = by })
}

// judge answers POST /api/v1/incidents/{id}/verdict.
func (s *server) judge(r *http.Request) (any, error) {
	return s.storeOpinion(r, true, func(x *note, o *opinion, by *personNote) {
		if x.Verdict = nil; o.verdict != "" {
			by.Verdict, by.Entity, by.Signature = o.verdict, o.Entity, o.Signature
			x.Verdict = by
		}
	})
}

// storeOpinion stores an opinion of an incident.
func (s *server) storeOpinion(r *http.Request, verdict bool, set func(*note, *opinion, *personNote)) (any, error) {
	k, err := s.asked(r)
	if err != nil {
		return nil, err
	}
	o, err := readOpinion(r.Body, verdict)
	if err != nil {
		return nil, err
	}
	return s.amend(r, k, personNote{By: o.By, Text: o.Text}, func(x *note, by *personNote) { set(x, &o, by) }, func(x note) any { return x })
}

// amend changes the note on an incident, and files a part of it in the audit log. A logged-in
// user cannot act for another.
func (s *server) amend(r *http.Request, k *kept, by personNote, set func(*note, *personNote), part func(note) any) (any, error) {
	by.At = stamp(s.now())
	if user := userOf(r); user != "" {
		by.By = user
	}
	var before note
	x, err := s.notes.change(r.Context(), k.id, func(x *note) {
		before = *x
		set(x, &by)
	})
	noteChange(r, part(before), part(x))
	return s.noteView(k, x), err
}
