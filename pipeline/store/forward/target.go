package forward

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/collectors/dial"
)

// requestTimeout is the timeout of a request.
const requestTimeout = 30 * time.Second

// Target is one receiver. Every secret is in a file, which is read again for
// each request.
type Target struct {
	Name string // in metrics; made from the rest if empty
	URL  string
	// BasicAuth or Authorization are the credentials of the writer.
	BasicAuth     dial.BasicAuth
	Authorization dial.Authorization
	TLS           dial.TLS
	Headers       map[string]string
	// Version is the protocol's: 1 (all receivers support it) or 2.
	Version int
}

// ours are the headers that the protocol sets.
var ours = []string{"Authorization", "Content-Encoding", "Content-Length", "Content-Type", "Host", "User-Agent", "X-Prometheus-Remote-Write-Version"}

// Validate returns an error if t is invalid. It does not read files.
func (t *Target) Validate() error {
	u, err := url.Parse(t.URL)
	switch {
	case err != nil:
		return fmt.Errorf("url: %w", err)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("url: %q: want http or https and a host", t.URL)
	case u.User != nil:
		return errors.New("url: user not supported: use basic_auth")
	case t.Version < 0 || t.Version > 2:
		return fmt.Errorf("version: %d: want 1 or 2", t.Version)
	case t.BasicAuth.Any() && t.Authorization.CredentialsFile != "":
		return errors.New("basic_auth and authorization: mutually exclusive")
	}
	for name := range t.Headers {
		if slices.ContainsFunc(ours, func(o string) bool { return strings.EqualFold(o, name) }) {
			return fmt.Errorf("headers: %s: set by the protocol", name)
		}
	}
	return errors.Join(t.BasicAuth.Validate(), t.TLS.Validate())
}

// name returns the name in metrics.
func (t *Target) name() string {
	if t.Name != "" {
		return t.Name
	}
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%v", *t)))[:6]
}

// client returns an HTTP client that follows no redirect: a password is for the
// configured receiver. It fails if a file of TLS cannot be read.
func (t *Target) client(dial func(ctx context.Context, network, address string) (net.Conn, error)) (*http.Client, error) {
	secure, err := t.TLS.Config()
	if err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	transport := &http.Transport{DialContext: dial, TLSClientConfig: secure, ForceAttemptHTTP2: true, HTTP2: http2(), MaxIdleConnsPerHost: shards,
		IdleConnTimeout: 5 * time.Minute, TLSHandshakeTimeout: 10 * time.Second, MaxResponseHeaderBytes: 64 << 10}
	return &http.Client{Transport: transport, Timeout: requestTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, nil
}

func http2() *http.HTTP2Config { return dial.HTTP2(requestTimeout) }
