package redfish

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/dial"
)

// Bounds of what a service may answer.
const (
	maxBody    = 4 << 20
	maxHeader  = 64 << 10
	maxRetry   = 5 * time.Minute // Retry-After beyond this is not believed
	loginFirst = 10 * time.Second
	loginMost  = 15 * time.Minute
)

// client asks one service. All but authorise is used by one goroutine at a
// time: one request is in flight.
type client struct {
	base     string
	http     *http.Client
	opened   *opened
	cfg      *Config
	clock    func() time.Time
	sessions string // where sessions are made

	mu       sync.Mutex
	token    string
	location string // of the session
	basic    basic

	noSessions time.Time // until then the service is taken for one without sessions

	loginAt time.Time // not before
	refused time.Duration
	locked  time.Duration // how long after the first refusal
	again   time.Duration // how soon a stream that ended is asked for
}

// errRedirect means that a service redirects to another host.
var errRedirect = errors.New("a redirect to another host is not followed")

func newClient(c *Config, g dial.Guard) (*client, error) {
	t, err := c.TLS.Config()
	if err != nil {
		return nil, err
	}
	open := &opened{dial: g.DialContext, conns: map[net.Conn]bool{}}
	return &client{base: c.Address, opened: open, cfg: c, clock: time.Now, again: streamFirst, locked: loginFirst, sessions: root + "/SessionService/Sessions", http: &http.Client{
		Transport: &http.Transport{DialContext: open.connect, TLSClientConfig: t, MaxConnsPerHost: 2, MaxIdleConns: 2,
			IdleConnTimeout: time.Minute, TLSHandshakeTimeout: 30 * time.Second, MaxResponseHeaderBytes: maxHeader},
		CheckRedirect: func(to *http.Request, via []*http.Request) error {
			if len(via) > 3 || to.URL.Hostname() != via[0].URL.Hostname() || to.URL.Scheme != "https" && via[0].URL.Scheme == "https" {
				return fmt.Errorf("%w: %s", errRedirect, to.URL.Host)
			}
			return nil
		},
	}}, nil
}

// answer is what came of a request.
type answer struct {
	doc      map[string]any
	same     bool // nothing has changed since the ETag
	etag     string
	reason   collectors.Reason // why there is no document; "" there is one
	err      error
	away     bool          // the service as a whole did not answer
	timeout  bool          // it took too long
	wait     time.Duration // it asks for a pause
	date     time.Time     // the service's own time, zero if not stated
	received time.Time
	took     time.Duration
}

func failed(why collectors.Reason, format string, args ...any) answer {
	return answer{reason: why, err: fmt.Errorf(format, args...)}
}

// get requests a page. It logs in where that is needed.
func (c *client) get(ctx context.Context, target, etag string, timeout time.Duration) answer {
	began := c.clock()
	if target != root+"/" {
		if a := c.login(ctx, timeout); a.err != nil {
			a.received, a.took = c.clock(), c.clock().Sub(began)
			return a
		}
	}
	a, status := c.once(ctx, target, etag, timeout)
	if status == http.StatusUnauthorized && c.renewable() {
		// The session has ended, or the password has changed: retry once.
		if b := c.login(ctx, timeout); b.err != nil {
			a = b
		} else {
			a, status = c.once(ctx, target, etag, timeout)
		}
	}
	if c.usesBasic() {
		a = c.judgeBasic(a, status)
	}
	a.received, a.took = c.clock(), c.clock().Sub(began)
	return a
}

func (c *client) once(ctx context.Context, target, etag string, timeout time.Duration) (answer, int) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+target, nil)
	if err != nil {
		return failed(collectors.Malformed, "%s: %w", target, err), 0
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("OData-Version", "4.0")
	if etag != "" {
		req.Header.Set("If-None-Match", etag)
	}
	c.authorise(req)
	resp, err := c.http.Do(req)
	if err != nil {
		return c.failure(err), 0
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotModified && etag != "" {
		return answer{same: true, etag: etag}, resp.StatusCode
	}
	if resp.StatusCode != http.StatusOK {
		a := c.status(resp)
		a.err = fmt.Errorf("%s: %w", target, a.err)
		return a, resp.StatusCode
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	switch {
	case len(body) > maxBody:
		return failed(collectors.OverLimit, "%s: an answer of more than %d bytes", target, maxBody), resp.StatusCode
	case err != nil && errors.Is(err, io.ErrUnexpectedEOF):
		return failed(collectors.Malformed, "%s: cut off after %d bytes", target, len(body)), resp.StatusCode
	case err != nil:
		return c.failure(err), resp.StatusCode
	}
	doc, err := parse(body)
	if err != nil {
		return failed(collectors.Malformed, "%s: %w", target, err), resp.StatusCode
	}
	date, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		date = time.Time{}
	}
	return answer{doc: doc, etag: resp.Header.Get("ETag"), date: date}, resp.StatusCode
}

// failure returns the answer for an error of the connection.
func (c *client) failure(err error) answer {
	a := answer{reason: collectors.Unreadable, err: err, away: true}
	var refused *dial.RefusedError
	switch {
	case errors.Is(err, errRedirect):
		a.reason, a.away = collectors.Refused, false
	case errors.As(err, &refused):
		a.reason = collectors.Refused
	case errors.Is(err, context.DeadlineExceeded):
		a.timeout = true
	}
	return a
}

// status returns the answer for a response without a page.
func (c *client) status(resp *http.Response) answer {
	a := failed(collectors.Unreadable, "status %d", resp.StatusCode)
	switch code := resp.StatusCode; {
	case code == http.StatusNotFound || code == http.StatusGone:
		a.reason = collectors.Vanished
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		a.reason = collectors.Denied
	case code == http.StatusMethodNotAllowed || code == http.StatusNotImplemented:
		a.reason = collectors.Unsupported
	case code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable:
		a.reason = collectors.Skipped
		a.wait = c.retryAfter(resp.Header.Get("Retry-After"))
	}
	return a
}

func (c *client) retryAfter(s string) time.Duration {
	wait, ok := dial.RetryAfter(s, c.clock())
	if !ok {
		wait = loginFirst
	}
	return min(wait, maxRetry)
}

// authorise adds to a request who one is.
func (c *client) authorise(req *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.token != "":
		req.Header.Set("X-Auth-Token", c.token)
	case c.basic.password != "":
		req.SetBasicAuth(c.basic.user, c.basic.password)
	}
}

// forget drops the session that the service no longer knows; false where there
// was none.
func (c *client) forget() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	had := c.token != ""
	c.token, c.location = "", ""
	return had
}

func (c *client) authorised() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cfg.Auth == None || c.token != "" || c.basic.password != "" && c.clock().Sub(c.basic.read) < basicFor
}

// login ensures that requests are authenticated. After a refusal it waits, longer
// from time to time: a service locks out a client that asks too often.
func (c *client) login(ctx context.Context, timeout time.Duration) answer {
	if c.authorised() {
		return answer{}
	}
	if wait := c.loginAt.Sub(c.clock()); wait > 0 {
		a := failed(collectors.Denied, "the last login was refused; the next is in %s", wait.Round(time.Second))
		a.away, a.wait = true, wait
		return a
	}
	user, password, err := c.cfg.BasicAuth.Read()
	if err != nil {
		return answer{reason: collectors.Unreadable, err: err, away: true}
	}
	if c.cfg.Auth == Basic || c.clock().Before(c.noSessions) {
		c.useBasic(user, password)
		return answer{}
	}
	return c.session(ctx, user, password, min(loginTimeoutRatio*max(timeout, c.cfg.Timeout), maxTimeout))
}

// loginTimeoutRatio is the ratio of the timeout of a login to that of a page: a
// controller creates the session even after the client has given up, and has few of
// them.
const loginTimeoutRatio = 5

// session makes a session.
func (c *client) session(ctx context.Context, user, password string, timeout time.Duration) answer {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	body, err := json.Marshal(map[string]string{"UserName": user, "Password": password})
	if err != nil {
		return failed(collectors.Malformed, "login: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+c.sessions, bytes.NewReader(body))
	if err != nil {
		return failed(collectors.Malformed, "login: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("OData-Version", "4.0")
	resp, err := c.http.Do(req)
	if err != nil {
		a := c.failure(err)
		if a.timeout { // what it made of that takes a place until it forgets it
			c.backOff()
		}
		return a
	}
	defer resp.Body.Close()
	content, _ := io.ReadAll(io.LimitReader(resp.Body, maxHeader)) // its path is in the header as well
	token := resp.Header.Get("X-Auth-Token")
	switch {
	case resp.StatusCode/100 == 2 && token != "":
		c.mu.Lock()
		c.token, c.location, c.basic = token, c.place(resp.Header.Get("Location"), content), basic{}
		c.mu.Unlock()
		c.refused = 0
		return answer{}
	case resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusMethodNotAllowed || resp.StatusCode == http.StatusNotImplemented:
		// A service without sessions, or one that has only begun to start: it is
		// asked for a session again later.
		c.noSessions = c.clock().Add(sessionAgain)
		c.useBasic(user, password)
		return answer{}
	case resp.StatusCode == http.StatusServiceUnavailable || resp.StatusCode == http.StatusTooManyRequests:
		a := c.status(resp)
		a.err = fmt.Errorf("login: %w", a.err)
		return a
	}
	c.backOff()
	a := failed(collectors.Denied, "login of %s: status %d", user, resp.StatusCode)
	a.away = true
	return a
}

// backOff delays the next login, by more from time to time.
func (c *client) backOff() {
	c.refused = min(max(c.locked, 2*c.refused), loginMost)
	c.loginAt = c.clock().Add(c.refused)
}

// place is the path of a session: of the header, which may be a whole address,
// or of the document.
func (c *client) place(location string, body []byte) string {
	if u, err := url.Parse(location); err == nil && location != "" {
		location = u.Path
	}
	if _, ok := split(clean(location)); !ok || location == "" {
		doc, err := parse(body)
		if err != nil {
			return ""
		}
		location, _ = doc["@odata.id"].(string)
	}
	if _, ok := split(clean(location)); !ok {
		return ""
	}
	return location
}

// farewell is how long the end of a session may take.
const farewell = 500 * time.Millisecond

// logout ends the session, so that it takes none of the few places of a
// service. One that cannot be ended now is used again by the next run.
func (c *client) logout() {
	c.mu.Lock()
	token, location := c.token, c.location
	c.mu.Unlock()
	defer c.opened.closeAll()
	defer c.http.CloseIdleConnections()
	if token == "" || location == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, c.base+location, nil)
	if err != nil {
		return
	}
	c.authorise(req)
	resp, err := c.http.Do(req)
	if err != nil {
		return
	}
	resp.Body.Close()
	if resp.StatusCode/100 == 2 || resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusNotFound {
		c.forget()
	}
}

// opened knows the connections that are open, so that none is when Run returns.
type opened struct {
	dial func(ctx context.Context, network, address string) (net.Conn, error)

	mu     sync.Mutex
	closed bool // between runs
	conns  map[net.Conn]bool
}

// known is a connection that reports its closing.
type known struct {
	net.Conn
	of *opened
}

func (k *known) Close() error {
	k.of.mu.Lock()
	delete(k.of.conns, k)
	k.of.mu.Unlock()
	return k.Conn.Close()
}

func (o *opened) connect(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := o.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	k := &known{c, o}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		_ = c.Close() // it came about too late
		return nil, net.ErrClosed
	}
	o.conns[k] = true
	return k, nil
}

// reopen lets connections come about again.
func (o *opened) reopen() {
	o.mu.Lock()
	o.closed = false
	o.mu.Unlock()
}

func (o *opened) closeAll() {
	o.mu.Lock()
	o.closed = true
	conns := slices.Collect(maps.Keys(o.conns))
	o.mu.Unlock()
	for _, c := range conns {
		_ = c.Close() // it was only read
	}
}
