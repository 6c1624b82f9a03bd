package cli

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// listener is a service manager's end.
func listener(t *testing.T, name string) *net.UnixConn {
	t.Helper()
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func heard(t *testing.T, c *net.UnixConn) string {
	t.Helper()
	b := make([]byte, 512)
	if err := c.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	n, err := c.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(b[:n])
}

func environment(socket, watchdog string) func(string) string {
	return func(name string) string {
		return map[string]string{"NOTIFY_SOCKET": socket, "WATCHDOG_USEC": watchdog}[name]
	}
}

// TestTheManagerHears: a process that listens is ready, and sends watchdog
// notifications while its page answers; one whose page fails sends none.
func TestTheManagerHears(t *testing.T) {
	for _, secure := range []bool{false, true} {
		sound := make(chan bool, 1)
		sound <- true
		page := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ok := <-sound
			sound <- ok
			if !ok || r.URL.Path != "/-/healthy" {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}))
		if page.Start(); secure {
			page.Close()
			page = httptest.NewTLSServer(page.Config.Handler)
		}
		t.Cleanup(page.Close)
		socket := filepath.Join(t.TempDir(), "n")
		c := listener(t, socket)
		said := &bytes.Buffer{}
		sh := &Shell{Ctx: t.Context(), Out: said, Err: said}
		m := NewManager(environment(socket, "30000000"))
		m.Listens(sh, page.Listener.Addr(), secure)
		if got := heard(t, c); !strings.HasPrefix(got, "READY=1\nSTATUS=the page is at 127.0.0.1:") {
			t.Errorf("heard %q", got)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { m.Watch(ctx, sh); close(ended) }()
		if got := heard(t, c); got != "WATCHDOG=1" {
			t.Errorf("heard %q", got)
		}
		stop()
		<-ended
		<-sound
		sound <- false
		if err := m.alive(t.Context()); err == nil || !strings.Contains(err.Error(), "503") {
			t.Errorf("a page that answers 503: %v", err)
		}
		page.Close()
		if m.alive(t.Context()) == nil {
			t.Error("a page that does not answer lives")
		}
	}
}

// TestTheAbstractSocket: systemd's own is in the abstract namespace on some
// machines.
func TestTheAbstractSocket(t *testing.T) {
	name := "quintet-test-" + filepath.Base(t.TempDir()) + time.Now().Format("150405.000000000")
	c := listener(t, "\x00"+name)
	said := &bytes.Buffer{}
	NewManager(environment("@"+name, "")).Notify(&Shell{Ctx: t.Context(), Out: said, Err: said}, "STOPPING=1")
	if got := heard(t, c); got != "STOPPING=1" || said.Len() > 0 {
		t.Errorf("heard %q, said %q", got, said)
	}
}

// TestNobodyListens: without a manager nothing is sent and nothing watched; one
// that is gone is a warning.
func TestNobodyListens(t *testing.T) {
	said := &bytes.Buffer{}
	sh := &Shell{Ctx: t.Context(), Out: said, Err: said}
	m := NewManager(environment("", "30000000"))
	m.Notify(sh, "READY=1")
	m.Watch(t.Context(), sh) // returns at once
	if said.Len() > 0 {
		t.Errorf("said %q", said)
	}
	NewManager(environment(filepath.Join(t.TempDir(), "gone"), "")).Notify(sh, "READY=1")
	if !strings.Contains(said.String(), "does not take READY=1") {
		t.Errorf("said %q", said)
	}
}
