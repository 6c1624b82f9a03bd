package serve

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/pipeline/notify/match"
	"github.com/quintet-dc/quintet/pipeline/notify/silence"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	maxSilenceBody = 64 << 10
	// previewed is how far back a preview looks, and maxPreview how much it lists.
	previewed  = 7 * 24 * time.Hour
	maxPreview = 200
)

// silenceView is a silence in its current state.
type silenceView struct {
	silence.Silence
	State string `json:"state"`
	// Changes is when the state changes next; null where it never does.
	Changes *telemetry.Time `json:"changes"`
	Mutes   []string        `json:"mutes"` // open incidents that it holds back now
}

func (s *server) silenceView(x silence.Silence) silenceView {
	now := stamp(s.now())
	out := silenceView{Silence: x, State: x.State(now), Mutes: []string{}}
	if at, ok := x.Change(now); ok {
		out.Changes = &at
	}
	if out.State != silence.Active {
		return out
	}
	all, _ := s.ledger.list()
	for _, k := range all {
		if k.state == explain.StateOpen && x.Matchers.Match(s.above.Within(k.facts, k.root)) && len(out.Mutes) < maxPreview {
			out.Mutes = append(out.Mutes, k.id)
		}
	}
	return out
}

// silenceList is the answer to GET /api/v1/silences.
type silenceList struct {
	Silences []silenceView `json:"silences"`
	Next     string        `json:"next,omitempty"` // the cursor of what comes behind
}

// listSilences answers GET /api/v1/silences.
func (s *server) listSilences(r *http.Request) (any, error) {
	q := parameters(r, "state", "limit", "cursor")
	want, limit, from := q.text("state"), q.number("limit", maxPart, 1, maxPart), q.cursor()
	if !slices.Contains([]string{"", "all", silence.Active, silence.Pending, silence.Expired}, want) {
		q.fail("state", "want active, pending, expired or all")
	}
	if q.err != nil {
		return nil, q.err
	}
	if !s.silences.Known() {
		return nil, unavailable("the silences are still being read")
	}
	all := []silenceView{}
	for _, x := range s.silences.List() {
		if v := s.silenceView(x); want == "" || want == "all" || want == v.State {
			all = append(all, v)
		}
	}
	p := pageOf(all, func(v silenceView) string { return v.ID }, from, limit)
	return silenceList{p.items, p.next}, nil
}

// putSilence answers POST /api/v1/silences.
func (s *server) putSilence(r *http.Request) (any, error) {
	x, err := s.readSilence(r)
	if err != nil {
		return nil, err
	}
	before := s.silenceBefore(x.ID)
	kept, err := s.silences.Put(r.Context(), x, stamp(s.now()))
	if err != nil {
		return nil, silenceProblem(err)
	}
	noteChange(r, before, kept)
	return s.silenceView(kept), nil
}

// expireSilence answers POST /api/v1/silences/{id}/expire.
func (s *server) expireSilence(r *http.Request) (any, error) {
	by, err := askedBy(r)
	if err != nil {
		return nil, err
	}
	before := s.silenceBefore(r.PathValue("id"))
	kept, err := s.silences.Expire(r.Context(), r.PathValue("id"), by, stamp(s.now()))
	if err != nil {
		return nil, silenceProblem(err)
	}
	noteChange(r, before, kept)
	return s.silenceView(kept), nil
}

// silenceBefore returns a silence as it is before a change; nil where there is none.
func (s *server) silenceBefore(id string) any {
	all := s.silences.List()
	if i := slices.IndexFunc(all, func(x silence.Silence) bool { return x.ID == id }); i >= 0 {
		return all[i]
	}
	return nil
}

// silenceBody is the body of a request that states a silence.
type silenceBody struct {
	ID       string `json:"id"`
	Matchers []struct {
		Name  string `json:"name"`
		Op    string `json:"op"`
		Value string `json:"value"`
	} `json:"matchers"`
	Start     telemetry.Time   `json:"start"`
	End       *telemetry.Time  `json:"end"`
	Windows   []silence.Window `json:"windows"`
	CreatedBy string           `json:"created_by"`
	Comment   string           `json:"comment"`
}

// readSilence reads a silence strictly. A logged-in user cannot act for another.
func (s *server) readSilence(r *http.Request) (silence.Silence, error) {
	var in silenceBody
	if q := parameters(r); q.err != nil {
		return silence.Silence{}, q.err
	}
	if _, err := readStrict(r.Body, maxSilenceBody, &in); err != nil {
		return silence.Silence{}, err
	}
	if user := userOf(r); user != "" {
		in.CreatedBy = user
	}
	if len(in.Matchers) > match.MaxMatchers {
		return silence.Silence{}, bad("matchers", fmt.Sprintf("more than %d", match.MaxMatchers))
	}
	var ms match.Matchers
	for i, m := range in.Matchers {
		one, err := match.New(m.Name, cmp.Or(m.Op, match.Equal), m.Value)
		if err != nil {
			return silence.Silence{}, bad(fmt.Sprintf("matchers[%d]", i), err.Error())
		}
		ms = append(ms, one)
	}
	return silence.Silence{ID: in.ID, Matchers: ms, Start: in.Start, End: in.End, Windows: in.Windows, CreatedBy: in.CreatedBy, Comment: in.Comment}, nil
}

// silenceProblem maps the error of a change to a silence to HTTP.
func silenceProblem(err error) error {
	var wrong *silence.Problem
	switch {
	case errors.As(err, &wrong):
		return bad(wrong.Field, wrong.Text)
	case errors.Is(err, silence.ErrUnknown):
		return &problem{status: http.StatusNotFound, field: "id", text: err.Error()}
	case errors.Is(err, silence.ErrFull):
		return &problem{status: http.StatusConflict, text: err.Error()}
	}
	return unavailable("the silence was not kept: " + err.Error())
}

// previewItem is an incident that a silence would mean.
type previewItem struct {
	ID       string           `json:"id"`
	Title    string           `json:"title"`
	State    string           `json:"state"`
	Kind     string           `json:"kind"`
	Severity string           `json:"severity"`
	Root     telemetry.Entity `json:"root"`
	Opened   telemetry.Time   `json:"opened"`
	// InWindow reports whether it opened within the silence's windows.
	InWindow bool `json:"in_window"`
}

// preview is the answer to POST /api/v1/silences/preview.
type preview struct {
	Active   bool          `json:"active"` // now, if it were kept as it is
	Open     []previewItem `json:"open"`
	Recent   []previewItem `json:"recent"`
	Matched  int           `json:"matched"`
	Of       int           `json:"of"` // incidents that were looked at
	MoreThan bool          `json:"truncated,omitempty"`
}

// previewSilence answers POST /api/v1/silences/preview: which open incidents the
// silence means, and which of the last seven days it would have meant.
func (s *server) previewSilence(r *http.Request) (any, error) {
	x, err := s.readSilence(r)
	if err != nil {
		return nil, err
	}
	now := stamp(s.now())
	if x.Start == 0 {
		x.Start = now
	}
	x.ID, x.CreatedBy, x.Comment = "", orSomebody(x.CreatedBy), orSomebody(x.Comment)
	if x.End == nil && len(x.Windows) == 0 {
		forever := max(x.Start, now).Add(time.Hour)
		x.End = &forever
	}
	if err := x.Validate(); err != nil {
		return nil, silenceProblem(err)
	}
	out := preview{Active: x.State(now) == silence.Active, Open: []previewItem{}, Recent: []previewItem{}}
	recurring := silence.Silence{Windows: x.Windows}
	all, _ := s.ledger.list()
	for _, k := range all {
		open := k.state == explain.StateOpen
		if !open && k.updated < now.Add(-previewed) {
			continue
		}
		out.Of++
		facts := k.facts
		if open { // for what is over, only names show where its root was
			facts = s.above.Within(facts, k.root)
		}
		if !x.Matchers.Match(facts) {
			continue
		}
		out.Matched++
		into := &out.Recent
		if open {
			into = &out.Open
		}
		if len(*into) == maxPreview {
			out.MoreThan = true
			continue
		}
		*into = append(*into, previewItem{ID: k.id, Title: k.title, State: k.state, Kind: k.facts.Get(match.Kind), Severity: k.facts.Get(match.Severity),
			Root: k.root, Opened: k.opened, InWindow: recurring.State(k.opened) == silence.Active})
	}
	return out, nil
}

func orSomebody(s string) string {
	if s == "" {
		return "somebody"
	}
	return s
}

// askedBy returns the author of a request without other content: the user who is
// logged in, else the name in the body.
func askedBy(r *http.Request) (string, error) {
	if q := parameters(r); q.err != nil {
		return "", q.err
	}
	o, err := readOpinion(r.Body, false)
	if err != nil {
		return "", err
	}
	return cmp.Or(userOf(r), o.By), nil
}
