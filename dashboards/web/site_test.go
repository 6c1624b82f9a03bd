package web_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/dashboards/web"
	"github.com/quintet-dc/quintet/telemetry"
)

// site serves the page and answers as the API would, with the content of a
// scenario.
type site struct {
	*httptest.Server

	mu      sync.Mutex
	answers map[string]answer // by path
	refuse  bool              // the API is gone; the page's files are not
	streams map[chan string]struct{}
	seen    []object                    // what was asked that a scenario wants to know of
	refused []string                    // requests for what nobody serves
	sent    map[string]explain.Incident // by the stream
	without []telemetry.Domain          // of which there is no data
}

type answer struct {
	status int
	body   any
}

// policy is the policy that the server will send: nothing from other hosts, nothing
// inline.
const policy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

func newSite(t *testing.T, answers map[string]any) *site {
	s := &site{answers: map[string]answer{}, streams: map[chan string]struct{}{}, sent: map[string]explain.Incident{}}
	for path, body := range costs(t) { // unless the world says otherwise
		s.answers[path] = answer{http.StatusOK, body}
	}
	for path, body := range answers {
		s.answers[path] = answer{http.StatusOK, body}
	}
	files := http.FileServerFS(web.Files())
	mux := http.NewServeMux()
	mux.Handle("/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.page(w, r, files) }))
	mux.HandleFunc("/api/", s.api)
	mux.HandleFunc("/prometheus/", s.api)
	mux.HandleFunc("/api/v1/stream", s.stream)
	mux.HandleFunc("/control", s.control)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { s.drop(); s.Close() })
	return s
}

// page serves files, and index.html under the page's own addresses.
func (s *site) page(w http.ResponseWriter, r *http.Request, files http.Handler) {
	first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if slices.Contains([]string{"", "incidents", "fabric", "jobs", "power", "coverage", "silences", "alerts", "replay", "entity", "wall", "explore"}, first) {
		http.ServeFileFS(w, r, web.Files(), "index.html")
		return
	}
	if !strings.HasPrefix(r.URL.Path, "/app/") && r.URL.Path != "/style.css" && r.URL.Path != "/icon.svg" {
		s.mu.Lock()
		s.refused = append(s.refused, r.URL.Path)
		s.mu.Unlock()
	}
	files.ServeHTTP(w, r)
}

func (s *site) api(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.answers[r.URL.Path]
	switch {
	case s.refuse:
		a = answer{http.StatusServiceUnavailable, object{"error": "the test took the API away"}}
	case !ok:
		a = answer{http.StatusNotFound, object{"error": "no such thing: " + r.URL.Path}}
	}
	if asked, ok := a.body.(func(url.Values) any); ok { // what depends on the question
		a.body = asked(r.URL.Query())
		s.seen = append(s.seen, object{"asked": r.URL.Path, "query": r.URL.Query().Get("query")})
	}
	if r.URL.Path == "/api/v1/status" && a.status == http.StatusOK {
		a.body = s.withHealth(a.body)
	}
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			a = answer{http.StatusBadRequest, object{"error": err.Error()}}
		}
		s.seen = append(s.seen, object{"post": r.URL.Path, "body": string(body)})
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.status)
	if err := json.NewEncoder(w).Encode(a.body); err != nil {
		s.seen = append(s.seen, object{"error": err.Error()})
	}
}

// stream is the event stream: what a scenario sends, until it is cut.
func (s *site) stream(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if s.refuse {
		s.mu.Unlock()
		http.Error(w, "gone", http.StatusServiceUnavailable)
		return
	}
	events := make(chan string, 64)
	s.streams[events] = struct{}{}
	s.seen = append(s.seen, object{"stream": r.URL.String(), "last": r.Header.Get("Last-Event-ID")})
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, "retry: 150\n\n: hello\n\n")
	flush := http.NewResponseController(w)
	for {
		if err := flush.Flush(); err != nil {
			return
		}
		select {
		case event, ok := <-events:
			if !ok {
				return
			}
			fmt.Fprint(w, event)
		case <-r.Context().Done():
			s.mu.Lock()
			delete(s.streams, events)
			s.mu.Unlock()
			return
		}
	}
}

// drop cuts every stream.
func (s *site) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for events := range s.streams {
		close(events)
	}
	clear(s.streams)
}

// command is what a scenario asks of the site.
type command struct {
	Do     string // send, drop, refuse, accept, set, count
	Event  string // of send: incident or state
	ID     string
	Data   json.RawMessage
	Path   string // of set
	Status int
}

// control lets a scenario move the site.
func (s *site) control(w http.ResponseWriter, r *http.Request) {
	var c command
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if c.Do == "drop" {
		s.drop()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch c.Do {
	case "send":
		s.send(c)
	case "refuse":
		s.refuse = true
	case "accept":
		s.refuse = false
	case "set":
		s.answers[c.Path] = answer{c.Status, c.Data}
	}
	if err := json.NewEncoder(w).Encode(object{"streams": len(s.streams), "seen": s.seen, "refused": s.refused}); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

func (s *site) send(c command) {
	var state object
	switch {
	case c.Event == "incident":
		s.remember(c.Data)
	case c.Event == "state" && json.Unmarshal(c.Data, &state) == nil && state["health"] == nil:
		state["health"] = s.health()
		if b, err := json.Marshal(state); err == nil {
			c.Data = b
		}
	}
	event := fmt.Sprintf("event: %s\ndata: %s\n\n", c.Event, c.Data)
	if c.ID != "" {
		event = fmt.Sprintf("id: %s\n%s", c.ID, event)
	}
	for events := range s.streams {
		select {
		case events <- event:
		default: // the page does not read: it would be cut
		}
	}
}
