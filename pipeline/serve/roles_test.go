package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/quintet-dc/quintet/pipeline/access"
)

// trail is an audit log in memory.
type trail struct {
	mu      sync.Mutex
	entries [][]byte
}

func (t *trail) Keep(_ context.Context, data []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.entries = append(t.entries, data)
	return nil
}

func (t *trail) Recent(_ context.Context, before uint64, limit int, fn func(uint64, []byte) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, e := range slices.Backward(t.entries) {
		if n := uint64(i + 1); limit > 0 && (before == 0 || n < before) {
			limit--
			if err := fn(n, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// bearers are users of every role, each with a token "token of ROLE ".
func bearers(t *testing.T) (out []access.User) {
	t.Helper()
	for _, role := range []access.Role{access.Viewer, access.Operator, access.Admin, access.Push} {
		path := filepath.Join(t.TempDir(), string(role))
		if err := os.WriteFile(path, []byte("the token of a "+string(role)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		out = append(out, access.User{Name: "a " + string(role), TokenFile: path, Role: role})
	}
	return out
}

// TestRolesLimitRoutes: what each role is answered, for every kind of route.
func TestRolesLimitRoutes(t *testing.T) {
	took := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }
	r := run(t, told(), Config{Access: access.Config{Users: bearers(t)}, Trail: &trail{}, Reload: func(context.Context) error { return nil },
		Push: map[string]http.HandlerFunc{"/api/v1/events": took}})
	r.until("notes", func() bool { _, why := r.server.notes.bucket.Open(); return why == nil })
	r.until("silences", r.server.silences.Known)
	const silence = `{"matchers":[{"name":"severity","value":"warning"}],"end":"2026-11-22T00:00:00Z","comment":"c"}`
	for _, c := range []struct {
		method, path, body string
		allowed            string
	}{
		{"GET", "/api/v1/jobs", "", "viewer operator admin"},
		{"GET", "/", "", "viewer operator admin"},
		{"GET", "/metrics", "", "viewer operator admin"},
		{"GET", "/api/v1/audit", "", "viewer operator admin"},
		{"POST", "/api/v1/silences/preview", silence, "viewer operator admin"},
		{"POST", "/api/v1/silences", silence, "operator admin"},
		{"POST", "/api/v1/incidents/inc-0000000000000002/acknowledge", "{}", "operator admin"},
		{"POST", "/api/v1/incidents/inc-0000000000000002/verdict", `{"verdict":"right"}`, "operator admin"},
		{"POST", "/api/v1/incidents/inc-0000000000000002/assign", `{"to":"x"}`, "operator admin"},
		{"POST", "/api/v1/incidents/inc-0000000000000002/done", `{"action":"drain node:n1"}`, "operator admin"},
		{"POST", "/api/v1/silences/x/expire", "{}", "operator admin"},
		{"POST", "/api/v1/notifications/x/retry", "{}", "operator admin"},
		{"POST", "/-/reload", "", "admin"},
		{"POST", "/api/v1/events", "{}", "admin push"},
		{"POST", "/api/v1/write", "", "admin push"},
	} {
		for _, role := range []string{"viewer", "operator", "admin", "push"} {
			resp, body := r.request(c.method, c.path, c.body, "Authorization: Bearer the token of a "+role)
			if got, want := resp.StatusCode != http.StatusForbidden, slices.Contains(strings.Fields(c.allowed), role); got != want || resp.StatusCode == http.StatusUnauthorized {
				t.Errorf("%s %s as %s: %d %s", c.method, c.path, role, resp.StatusCode, body)
			}
		}
	}
	if n := r.server.count.refused("role").Get(); n == 0 {
		t.Error("refusals are not counted")
	}
}

// TestEveryPostStatesItsRight: a route that changes something and states no right
// would be for admins only, which might go unnoticed until it is needed at night.
func TestEveryPostStatesItsRight(t *testing.T) {
	s, err := newServer(t.Context(), Config{Bus: newSite(), Incidents: newSite(), Replay: http.NotFoundHandler(), Faults: oneFault{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range s.routes() {
		if r.post != nil && r.right == access.Administer && r.path != "/-/reload" {
			t.Errorf("%s: states no right", r.path)
		}
	}
}

// TestAuditKeepsWhoChangedWhat with what was there before.
func TestAuditKeepsWhoChangedWhat(t *testing.T) {
	kept := &trail{}
	r := run(t, told(), Config{Access: access.Config{Users: bearers(t)}, Trail: kept})
	r.until("notes", func() bool { _, why := r.server.notes.bucket.Open(); return why == nil })
	const operator, viewer = "Authorization: Bearer the token of a operator", "Authorization: Bearer the token of a viewer"
	const path = "/api/v1/incidents/inc-0000000000000002/assign"
	for _, body := range []string{`{"to":"ann"}`, `{"to":"ben"}`, `{"to":""}`} { // the last is refused
		r.request(http.MethodPost, path, body, operator)
	}
	r.request(http.MethodPost, path, `{"to":"eve"}`, viewer)
	resp, body := r.get("/api/v1/audit?limit=10", viewer)
	var out struct {
		Changes []struct {
			Sequence uint64
			Change   struct {
				User, Role, With, From, Path string
				Before, After                *personNote
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &out); err != nil || resp.StatusCode != 200 {
		t.Fatalf("%d %v %s", resp.StatusCode, err, body)
	}
	if len(out.Changes) != 2 {
		t.Fatalf("%d changes: %s", len(out.Changes), body)
	}
	c := out.Changes[0].Change
	if c.User != "a operator" || c.Role != "operator" || c.With != "token" || !strings.HasPrefix(c.From, "127.0.0.1:") || c.Path != path ||
		c.Before == nil || c.Before.To != "ann" || c.After == nil || c.After.To != "ben" {
		t.Errorf("%s", body)
	}
	if first := out.Changes[1].Change; first.Before != nil {
		t.Errorf("nothing was there before: %s", body)
	}
	if _, body := r.get("/api/v1/audit?before=2", viewer); strings.Count(body, `"sequence"`) != 1 {
		t.Errorf("before 2: %s", body)
	}
}

// TestThrottledLoginsAnswer429 with when to try again.
func TestThrottledLoginsAnswer429(t *testing.T) {
	r := run(t, told(), Config{Access: access.Config{Users: bearers(t)}})
	var resp *http.Response
	for range 6 {
		resp, _ = r.get("/api/v1/jobs", "Authorization: Bearer a guess")
	}
	if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") == "" {
		t.Errorf("the sixth guess: %d", resp.StatusCode)
	}
	if n := r.server.count.refused("throttled").Get(); n != 1 {
		t.Errorf("%d counted", n)
	}
}

// TestTrustedProxyNamesTheUser, and no other client does.
func TestTrustedProxyNamesTheUser(t *testing.T) {
	c := access.Config{Proxy: access.Proxy{Header: "X-Remote-User", From: []netip.Prefix{netip.MustParsePrefix("192.0.2.9/32")}}, Roles: map[string]access.Role{"ann": access.Operator}}
	site := told()
	s, err := newServer(t.Context(), Config{Bus: site, Incidents: site, Access: c})
	if err != nil {
		t.Fatal(err)
	}
	h := s.handler(false)
	for _, x := range []struct {
		from, path string
		want       int
	}{
		{"192.0.2.9:4000", "/api/v1/audit", http.StatusNotImplemented},
		{"192.0.2.9:4000", "/-/reload", http.StatusForbidden},
		{"192.0.2.8:4000", "/api/v1/audit", http.StatusUnauthorized},
	} {
		method := http.MethodGet
		if x.path == "/-/reload" {
			method = http.MethodPost
		}
		req := httptest.NewRequest(method, x.path, nil)
		req.RemoteAddr = x.from
		req.Header.Set("X-Remote-User", "ann")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		if w.Code != x.want {
			t.Errorf("%s from %s: %d %s", x.path, x.from, w.Code, w.Body)
		}
	}
}
