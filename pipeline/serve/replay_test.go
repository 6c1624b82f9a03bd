package serve

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// Replay controls exist only where a recording is played, and only there does the
// status report it.
func TestReplayIsThereWhereSomethingIsPlayed(t *testing.T) {
	plain := run(t, newSite(), Config{})
	if resp, _ := plain.get("/api/v1/replay"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("without a recording: %s", resp.Status)
	}
	if _, body := plain.get("/api/v1/status"); strings.Contains(body, `"replay"`) {
		t.Errorf("without a recording the status is %s", body)
	}
	played := run(t, newSite(), Config{Replay: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Method) })})
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		if resp, body := played.request(method, "/api/v1/replay", "{}"); resp.StatusCode != http.StatusOK || body != method {
			t.Errorf("%s: %s %q", method, resp.Status, body)
		}
	}
	if resp, _ := played.request(http.MethodPost, "/api/v1/replay", "{}", "Origin: https://attacker.example"); resp.StatusCode != http.StatusForbidden {
		t.Errorf("a page from elsewhere steers it: %s", resp.Status)
	}
	if _, body := played.get("/api/v1/status"); !strings.Contains(body, `"replay":true`) {
		t.Errorf("the status is %s", body)
	}
}

// What assistants are answered with asks the API behind the guard, which they
// have passed.
func TestAssistantsAskBehindTheGuard(t *testing.T) {
	s := run(t, newSite(), Config{Assist: func(api http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Method, r.URL.Path, r.Host = http.MethodGet, "/api/v1/incidents", ""
			api.ServeHTTP(w, r)
		})
	}})
	if resp, body := s.request(http.MethodPost, "/mcp", "{}"); resp.StatusCode != http.StatusOK || !strings.Contains(body, `"incidents"`) {
		t.Errorf("%s %s", resp.Status, body)
	}
	if resp, _ := s.request(http.MethodPost, "/mcp", "{}", "Host: attacker.example"); resp.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("under another name: %s", resp.Status)
	}
	if resp, _ := s.get("/mcp"); resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET: %s", resp.Status)
	}
}
