package post

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/pipeline/egress"
)

// Config configures how requests are sent.
type Config struct {
	Headers map[string]string // sent in addition to ours
	Timeout time.Duration     // of one request, answer included; 0 means 15 s
	TLS     dial.TLS
	Egress  egress.Guard     // where connections may go
	Version string           // of the program, for User-Agent
	Now     func() time.Time // nil: time.Now
}

const (
	defaultTimeout = 15 * time.Second
	maxTimeout     = 2 * time.Minute
)

// ours lists the headers that a configuration cannot set.
var ours = []string{"Content-Type", "Content-Length", "Transfer-Encoding", "Host", "User-Agent", "Connection"}

// Validate returns an error if c is invalid. It does not read files.
func (c Config) Validate() error {
	if c.Timeout < 0 || c.Timeout > maxTimeout {
		return fmt.Errorf("timeout: %v: want at most %v", c.Timeout, maxTimeout)
	}
	if err := c.TLS.Validate(); err != nil {
		return fmt.Errorf("tls: %w", err)
	}
	for name, value := range c.Headers {
		if err := header(name, value); err != nil {
			return fmt.Errorf("headers: %w", err)
		}
	}
	return nil
}

// Trust describes how connections are verified, for fingerprints: it changes only if
// that does.
func (c Config) Trust() string {
	t := c.TLS
	out := fmt.Sprintf("{%q %q %q %q}", t.CA, t.Cert, t.Key, t.ServerName)
	if t.Unverified {
		out += " unverified"
	}
	return out
}

// Fingerprint returns a digest of how a receiver is configured: of a format and its
// arguments, and of tables. It cannot be read back.
func Fingerprint(tables []map[string]string, format string, args ...any) string {
	h := sha256.New()
	fmt.Fprintf(h, format, args...)
	for _, t := range tables {
		for _, name := range slices.Sorted(maps.Keys(t)) {
			fmt.Fprintf(h, " %q %q", name, t[name])
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Address reads an address that requests may go to.
func Address(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("url: it cannot be read") // the error would show it, and what secret is in it
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, errors.New("url: want http:// or https:// and a host")
	}
	if u.Fragment != "" {
		return nil, errors.New("url: a fragment is never sent")
	}
	return u, nil
}

// header returns an error for an invalid configured header.
func header(name, value string) error {
	if slices.Contains(ours, textproto.CanonicalMIMEHeaderKey(name)) {
		return fmt.Errorf("%s is reserved", name)
	}
	token := func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r) }
	if name == "" || strings.ContainsFunc(name, token) {
		return fmt.Errorf("%.40q is no name of a header", name)
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return fmt.Errorf("%s: its value contains a control character", name)
	}
	return nil
}

// Loopback reports whether a host is this machine without a doubt.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// SecretOf reads the secret in the file that a key of the configuration names. Errors
// name the key.
func SecretOf(key, path string) (string, error) {
	if path == "" {
		return "", fmt.Errorf("%s: required", key)
	}
	text, err := dial.Secret(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", key, err)
	}
	return strings.TrimSpace(text), nil
}

// AddressOf reads the address in the file that a key of the configuration names, where
// the address is a secret. Errors name the key and never show it.
func AddressOf(key, path string) (string, error) {
	text, err := SecretOf(key, path)
	if err != nil {
		return "", err
	}
	if _, err := Address(text); err != nil {
		return "", fmt.Errorf("%s: %s: %w", key, path, err)
	}
	return text, nil
}

// transport makes connections: a new one for each request, so that none fails
// for having been idle too long, to where c.Egress allows, and through the
// environment's proxy, except to loopback.
func (c Config) transport() (*http.Transport, error) {
	t, err := c.TLS.Config()
	if err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	return &http.Transport{
		Proxy: c.Egress.Proxy, DialContext: c.Egress.DialContext, TLSClientConfig: t, ForceAttemptHTTP2: true,
		DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: 64 << 10,
	}, nil
}
