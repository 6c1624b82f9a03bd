package notifytest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"
)

// Request is a request that a Server received.
type Request struct {
	Path   string
	Header http.Header
	Body   []byte
}

// Server is a far end over HTTP with configurable behaviour.
type Server struct {
	*httptest.Server
	// Success is the status with which it accepts messages.
	Success int

	mu       sync.Mutex
	way      Way
	received []Request
	leave    chan struct{} // closed when handlers that hang may go
}

// NewServer starts a Server that accepts.
func NewServer(t testing.TB, success int) *Server {
	s := &Server{Success: success, way: Accepts, leave: make(chan struct{})}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() { close(s.leave); s.Close() })
	return s
}

// Behave sets how it responds to messages.
func (s *Server) Behave(w Way) bool {
	if w == Absent {
		_ = s.Listener.Close() // it is gone either way
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.way = w
	return true
}

// Requests lists the received requests, in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.received...)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	way := s.way
	s.received = append(s.received, Request{r.URL.Path, r.Header.Clone(), body})
	s.mu.Unlock()
	switch way {
	case Refuses:
		http.Error(w, "not\r\nnow", http.StatusInternalServerError)
	case Throttles:
		w.Header().Set("Retry-After", strconv.Itoa(int(Wish/time.Second)))
		w.WriteHeader(http.StatusTooManyRequests)
	case Redirects:
		http.Redirect(w, r, "/elsewhere?secret=1", http.StatusPermanentRedirect)
	case Hangs:
		<-s.leave
	case BreaksOff:
		if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
			_ = c.Close()
		}
	case Leaves:
		w.WriteHeader(http.StatusGone)
	default:
		w.WriteHeader(s.Success)
	}
}
