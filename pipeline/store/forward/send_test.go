package forward

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestPostBoundsRetryAfter: a receiver that asks for thirty years is asked again
// after maxAfter.
func TestPostBoundsRetryAfter(t *testing.T) {
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "1000000000")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer receiver.Close()
	s := &sender{target: Target{URL: receiver.URL}, http: receiver.Client()}
	_, err := s.post(t.Context(), nil, 0)
	var again retryError
	if !errors.As(err, &again) || again.after != maxAfter {
		t.Errorf("%v, again after %v, want %v", err, again.after, maxAfter)
	}
}
