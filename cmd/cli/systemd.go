package cli

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Manager is the service manager that started this process: systemd, by the
// protocol of sd_notify(3). Without one, nothing is sent.
type Manager struct {
	socket string        // "" where nobody listens
	every  time.Duration // how often it wants to hear that the process lives; 0 never

	mu    sync.Mutex
	where string // address of the page, once it listens
	tls   bool
}

// NewManager reads who listens from the environment.
func NewManager(env func(string) string) *Manager {
	m := &Manager{socket: env("NOTIFY_SOCKET")}
	if us, err := strconv.ParseInt(env("WATCHDOG_USEC"), 10, 64); err == nil && us > 0 {
		m.every = time.Duration(us) * time.Microsecond / 3
	}
	return m
}

// Notify sends a state: READY=1, STOPPING=1, WATCHDOG=1. A manager that does not
// take it is no reason to stop.
func (m *Manager) Notify(sh *Shell, state string) {
	if m.socket == "" {
		return
	}
	name := m.socket
	if strings.HasPrefix(name, "@") {
		name = "\x00" + name[1:] // in the abstract namespace
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err == nil {
		_, err = c.Write([]byte(state))
		err = firstOf(err, c.Close())
	}
	if err != nil {
		sh.Warn("the service manager does not take %s: %v", state, err)
	}
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Listens notifies the manager that the page accepts requests, and stores its
// address.
func (m *Manager) Listens(sh *Shell, a net.Addr, secure bool) {
	m.mu.Lock()
	m.where, m.tls = a.String(), secure
	m.mu.Unlock()
	m.Notify(sh, "READY=1\nSTATUS=the page is at "+a.String())
}

// Watch sends watchdog notifications to the manager until ctx is done: while the
// page answers, or always where the process has no page.
func (m *Manager) Watch(ctx context.Context, sh *Shell) {
	if m.socket == "" || m.every <= 0 {
		return
	}
	t := time.NewTicker(m.every)
	defer t.Stop()
	for {
		if err := m.alive(ctx); err == nil {
			m.Notify(sh, "WATCHDOG=1")
		} else if ctx.Err() == nil {
			sh.Warn("watchdog: %v", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// alive asks the page whether it answers. The certificate is our own: whom we
// ask is certain.
func (m *Manager) alive(ctx context.Context) error {
	m.mu.Lock()
	where, scheme := m.where, "http"
	if m.tls {
		scheme = "https"
	}
	m.mu.Unlock()
	if where == "" {
		return nil
	}
	if host, port, err := net.SplitHostPort(where); err == nil && net.ParseIP(host).IsUnspecified() {
		where = net.JoinHostPort("localhost", port)
	}
	ctx, done := context.WithTimeout(ctx, m.every)
	defer done()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+where+"/-/healthy", nil)
	if err != nil {
		return err
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
	answer, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the page answers %s", answer.Status)
	}
	return nil
}
