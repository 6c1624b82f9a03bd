package jobs

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/dial"
)

// once reads one round of an entry.
func once(t *testing.T, c Config) (*report, error) {
	t.Helper()
	col, err := New(c, dial.Guard{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := col.open()
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	r := newReport(listen(t), time.Now())
	return r, s.read(t.Context(), r)
}

// TestAnswersThatAreNone: each is counted for what it is.
func TestAnswersThatAreNone(t *testing.T) {
	for what, x := range map[string]struct {
		answer http.HandlerFunc
		want   collectors.Reason
		err    error
	}{
		"denied": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, collectors.Denied, errDenied},
		"down":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, collectors.Unreadable, errStatus},
		"elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://example.org", http.StatusFound)
		}, collectors.Unreadable, errRedirect},
		"other": {func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "<html>") }, collectors.Malformed, errForm},
		"too long": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprint(w, `{"jobs":[`+strings.Repeat(`{"job_id":1},`, 1000))
		}, collectors.OverLimit, errTooLong},
		"too old": {http.NotFound, collectors.Unsupported, errAbsent},
	} {
		srv := httptest.NewServer(x.answer)
		r, err := once(t, Config{Type: typeSlurm, URL: srv.URL, MaxBody: 2000})
		srv.Close()
		if !errors.Is(err, x.err) || r.dropped[x.want] != 1 {
			t.Errorf("%s: %v, dropped %v; want %v, %s", what, err, r.dropped, x.err, x.want)
		}
	}
	r, err := once(t, Config{Type: typeSlurm, URL: "http://192.0.2.1:6820"})
	var refused *dial.RefusedError
	if !errors.As(err, &refused) || r.dropped[collectors.Refused] != 1 {
		t.Errorf("beyond loopback: %v, dropped %v", err, r.dropped)
	}
}

// TestVersions: the newest that the server has is found, over a socket of the
// host, and looked for again when an upgrade has dropped it.
func TestVersions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	has, asked := "v0.0.40", []string{}
	srv := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header.Get("X-SLURM-USER-TOKEN"))
		if !strings.HasPrefix(r.URL.Path, "/slurm/"+has+"/") {
			http.NotFound(w, r)
			return
		}
		_, _ = fmt.Fprint(w, `{"jobs":[],"nodes":[]}`)
	})}}
	srv.Start()
	defer srv.Close()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("SLURM_JWT=abc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := openSlurm(Config{Type: typeSlurm, URL: "unix://" + path, Authorization: dial.Authorization{CredentialsFile: token}}.withDefaults(), dial.Guard{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	for _, want := range []struct{ has, err string }{{"v0.0.40", ""}, {"v0.0.42", "endpoint not found"}, {"v0.0.42", ""}} {
		has = want.has
		err := s.read(t.Context(), newReport(listen(t), time.Now()))
		if (err == nil) != (want.err == "") || err != nil && !strings.Contains(err.Error(), want.err) {
			t.Errorf("%s: %v", want.has, err)
		}
	}
	if n := len(asked); n != 5+2+1+3+2 || asked[0] != "abc" {
		t.Errorf("%d requests, with %q", n, asked)
	}
}

// TestOnce: one round, of a log what it holds.
func TestOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.log")
	if err := os.WriteFile(path, []byte("[2024-08-21 10:19:42] iteration 4/ 25000 | elapsed time per iteration (ms): 2500.0 |\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := New(Config{Type: typeLog, Paths: []string{path}, Zone: "UTC"}, dial.Guard{})
	if err != nil {
		t.Fatal(err)
	}
	e := listen(t)
	if err := c.Once(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if got, want := e.golden(), "2024-08-21T10:19:42Z job:run job_step_seconds 2.5\n"; got != want || len(e.Sweeps) != 1 {
		t.Errorf("%s want %s", got, want)
	}
	if c, err = New(Config{Type: typeLog, Paths: []string{path + ".none"}}, dial.Guard{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Once(t.Context(), e); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of a log that is not there: %v", err)
	}
}
