package webhook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/quintet-dc/quintet/pipeline/notify"
)

// Webhook is a receiver that is told by HTTP requests. It is a notify.Notifier.
type Webhook struct {
	c      Config
	keys   []key // of Config.Secret
	client *http.Client
}

// New makes a webhook. It reads the files of c.TLS, and c.SecretFile only to
// find out early whether it can be used.
func New(c Config) (*Webhook, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("webhook: %w", err)
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	transport, err := c.transport()
	if err != nil {
		return nil, fmt.Errorf("webhook: %w", err)
	}
	w := &Webhook{c: c, client: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	if c.Secret != "" {
		if w.keys, err = parseSecrets(c.Secret); err != nil {
			return nil, fmt.Errorf("webhook: secret: %w", err)
		}
	}
	if c.SecretFile != "" {
		if _, err := readSecrets(c.SecretFile); err != nil {
			return nil, fmt.Errorf("webhook: %w", err)
		}
	}
	return w, nil
}

// Fingerprint implements notify.Notifier: address, headers and where the secret
// comes from, not readable.
func (w *Webhook) Fingerprint() string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %q", w.c.URL, w.c.Secret, w.c.SecretFile, w.c.TLS)
	for _, name := range slices.Sorted(maps.Keys(w.c.Headers)) {
		fmt.Fprintf(h, " %q %q", name, w.c.Headers[name])
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Notify implements notify.Notifier: one request.
func (w *Webhook) Notify(ctx context.Context, m *notify.Message) notify.Answer {
	ctx, cancel := context.WithTimeout(ctx, w.c.Timeout)
	defer cancel()
	var reached atomic.Bool // a connection was there: from here on it may have been heard
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { reached.Store(true) }})
	req, err := w.request(ctx, m)
	if err != nil {
		return notify.Answer{Verdict: notify.Refused, Reason: err.Error()}
	}
	resp, err := w.client.Do(req)
	if err != nil {
		a := notify.Answer{Verdict: notify.Refused, Reason: reason(err)}
		if reached.Load() {
			a.Verdict = notify.Silent
		}
		return a
	}
	defer resp.Body.Close()
	return w.read(resp, cancel)
}

// request makes the signed request of one attempt.
func (w *Webhook) request(ctx context.Context, m *notify.Message) (*http.Request, error) {
	keys := w.keys
	if w.c.SecretFile != "" {
		var err error
		if keys, err = readSecrets(w.c.SecretFile); err != nil {
			return nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.c.URL, bytes.NewReader(m.Body))
	if err != nil {
		return nil, errors.New("the request cannot be made: " + reason(err))
	}
	for name, value := range w.c.Headers {
		req.Header.Set(name, value)
	}
	now := w.c.Now().Unix()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "quintet/"+cmp.Or(w.c.Version, "unknown"))
	req.Header.Set("Webhook-Id", m.ID)
	req.Header.Set("Webhook-Timestamp", strconv.FormatInt(now, 10))
	if len(keys) > 0 {
		req.Header.Set("Webhook-Signature", sign(keys, m.ID, now, m.Body))
	}
	return req, nil
}

// What is read of an answer's body, for the reason of a refusal. The status has
// come by then, and it is the answer: a body that hangs changes nothing.
const (
	maxExcerpt    = 200
	excerptWithin = time.Second
)

// read says what a response means.
func (w *Webhook) read(resp *http.Response, cancel func()) notify.Answer {
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
	a.After = retryAfter(resp.Header.Get("Retry-After"), w.c.Now())
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

// oneLine is a foreign text as it may stand in a log.
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

// retryAfter reads a Retry-After header: seconds or a date. What cannot be read,
// or lies in the past, is no wish.
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if value == "" {
		return 0
	}
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return max(0, at.Sub(now))
}
