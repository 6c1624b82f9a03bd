package post

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/pipeline/notify"
)

// Client sends requests. It may be used from several goroutines.
type Client struct {
	c    Config
	http *http.Client
}

// New makes a client. It reads the files of c.TLS.
func New(c Config) (*Client, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	if c.Now == nil {
		c.Now = time.Now
	}
	transport, err := c.transport()
	if err != nil {
		return nil, err
	}
	return &Client{c: c, http: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}, nil
}

// Now is the client's clock.
func (c *Client) Now() time.Time { return c.c.Now() }

// Request is an HTTP request to send.
type Request struct {
	URL         string
	ContentType string
	Header      map[string]string // in addition to the configured ones
	Body        []byte
}

// JSON writes a body. It leaves the characters of HTML as they are.
func JSON(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return out.Bytes(), err
}

// Send posts a request once and returns the outcome.
func (c *Client) Send(ctx context.Context, r Request) notify.Answer {
	ctx, cancel := context.WithTimeout(ctx, c.c.Timeout)
	defer cancel()
	var reached atomic.Bool // a connection was there: from here on the request may have been received
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { reached.Store(true) }})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		return notify.Answer{Verdict: notify.Refused, Reason: "the request cannot be made: " + reason(err)}
	}
	for name, value := range c.c.Headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("Content-Type", cmp.Or(r.ContentType, "application/json"))
	req.Header.Set("User-Agent", "quintet/"+cmp.Or(c.c.Version, "unknown"))
	for name, value := range r.Header {
		req.Header.Set(name, value)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		a := notify.Answer{Verdict: notify.Refused, Reason: reason(err)}
		if reached.Load() {
			a.Verdict = notify.NoAnswer
		}
		return a
	}
	defer resp.Body.Close()
	return c.read(resp, cancel)
}

// Limits for reading a response body, for the reason of a refusal. The status has
// arrived by then, and it is the answer: a body that hangs changes nothing.
const (
	maxExcerpt    = 200
	excerptWithin = time.Second
)

// read interprets a response.
func (c *Client) read(resp *http.Response, cancel func()) notify.Answer {
	a := notify.Answer{Status: resp.StatusCode}
	switch {
	case resp.StatusCode/100 == 2:
		a.Verdict = notify.Taken
		return a
	case resp.StatusCode == http.StatusGone:
		a.Verdict, a.Reason = notify.Gone, "it answered 410 Gone"
		return a
	}
	a.Verdict = notify.Refused
	a.After, _ = dial.RetryAfter(resp.Header.Get("Retry-After"), c.c.Now())
	if to := resp.Header.Get("Location"); resp.StatusCode/100 == 3 && to != "" {
		a.Reason = fmt.Sprintf("it answered %d, which redirects to %s: redirects are not followed, configure the new address", resp.StatusCode, where(resp, to))
		return a
	}
	a.Reason = fmt.Sprintf("it answered %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	stop := time.AfterFunc(excerptWithin, cancel)
	defer stop.Stop()
	b, _ := io.ReadAll(io.LimitReader(resp.Body, maxExcerpt))
	if text := oneLine(string(b)); text != "" {
		a.Reason += ": " + text
	}
	return a
}

// where names the host and path of a redirect; its query may be secret.
func where(resp *http.Response, to string) string {
	u, err := resp.Request.URL.Parse(to)
	if err != nil {
		return "an address that cannot be read"
	}
	return oneLine((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String())
}

// reason is an error of a request without its URL, which may hold a secret.
func reason(err error) string {
	var u *url.Error
	for errors.As(err, &u) {
		if errors.Is(err, context.DeadlineExceeded) {
			return "no answer in time"
		}
		err = u.Err
	}
	return oneLine(err.Error())
}

// oneLine makes a foreign text safe for a log.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, " "))
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxExcerpt {
		s = strings.ToValidUTF8(s[:maxExcerpt], "")
	}
	return s
}
