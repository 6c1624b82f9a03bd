package receive

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHTTPListener: a process without the web role takes every push protocol on a
// listener of its own, from senders with the token.
func TestHTTPListener(t *testing.T) {
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := open(t, Config{HTTP: Listener{Listen: "127.0.0.1:0"}})
	h := p.HTTP(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "quintet_up 1\n") }))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx, p.keeper) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error("Run:", err)
		}
	})
	base := "http://" + (<-h.bound).String()
	send := func(method, path, auth string) int {
		t.Helper()
		body := ""
		if method == http.MethodPost {
			body = `{"events":[{"entity":"node:n1","name":"config_changed","time":"2026-11-21T12:00:00Z"}]}`
		}
		req, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if auth != "" {
			req.Header.Set("Authorization", auth)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	for path, want := range map[string]int{"/-/healthy": 200, "/-/ready": 200, "/metrics": 200, "/api/v1/incidents": 404} {
		if got := send(http.MethodGet, path, ""); got != want {
			t.Errorf("GET %s: %d, want %d", path, got, want)
		}
	}
	if got := send(http.MethodPost, "/api/v1/events", ""); got != http.StatusAccepted {
		t.Errorf("POST /api/v1/events: %d", got)
	}
	for path := range p.Routes() {
		if got := send(http.MethodPost, strings.ReplaceAll(path, "{job}", "train"), ""); got == http.StatusNotFound || got == http.StatusNotImplemented {
			t.Errorf("POST %s: %d", path, got)
		}
	}
	h.cfg.Authorization.CredentialsFile = token // as over TLS, without which a token is refused
	for auth, want := range map[string]int{"": 401, "Bearer wrong": 401, "Basic c2VjcmV0": 401, "Bearer secret": 202} {
		if got := send(http.MethodPost, "/api/v1/events", auth); got != want {
			t.Errorf("authorization %q: %d, want %d", auth, got, want)
		}
	}
}
