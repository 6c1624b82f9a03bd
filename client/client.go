package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
)

// MaxAnswer bounds what is read of one answer that is JSON, in bytes. 10,000
// incidents with long chains stay well below it.
const MaxAnswer = 64 << 20

// maxProblem bounds what is read of an answer that is an error, in bytes.
const maxProblem = 64 << 10

// Client asks one server.
type Client struct {
	base      *url.URL
	http      *http.Client
	authorize func(*http.Request) error
}

// Option sets something of a Client.
type Option func(*Client)

// WithHTTP has requests sent through h; without it, http.DefaultClient. A timeout
// of h ends streams, too.
func WithHTTP(h *http.Client) Option { return func(c *Client) { c.http = h } }

// WithAuthorization has f called for each request before it is sent, so that a
// password or a token may be read again whenever it has changed:
//
//	client.WithAuthorization(func(r *http.Request) error {
//		token, err := os.ReadFile("/etc/quintet/token")
//		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
//		return err
//	})
func WithAuthorization(f func(*http.Request) error) Option {
	return func(c *Client) { c.authorize = f }
}

// New returns a client of the server at base, such as http://127.0.0.1:8420 or
// https://proxy.example/quintet. It sends nothing.
func New(base string, options ...Option) (*Client, error) {
	u, err := url.Parse(strings.TrimSpace(base))
	if err != nil {
		return nil, fmt.Errorf("quintet: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, fmt.Errorf("quintet: URL %q: want http://host:port or https://host:port, without user, query or fragment", u.Redacted())
	}
	c := &Client{base: u, http: http.DefaultClient, authorize: func(*http.Request) error { return nil }}
	for _, o := range options {
		o(c)
	}
	return c, nil
}

// Error is an answer that is not a success.
type Error struct {
	Method string
	Path   string
	Status int
	// Detail is what the server states, empty where the answer is no JSON: a
	// proxy's page. Field is the parameter or key that is wrong, if it is one.
	Detail string
	Field  string
}

// Error returns one line with method, path, status and what the server states.
func (e *Error) Error() string {
	text := fmt.Sprintf("quintet: %s %s: %d %s", e.Method, e.Path, e.Status, http.StatusText(e.Status))
	if e.Field != "" {
		text += ": " + e.Field
	}
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// FormatError is an answer that cannot be one of Quintet's: the URL is that of
// another server, or a proxy has answered.
type FormatError struct {
	Path  string
	Cause error
}

// Error returns one line with the path and the cause.
func (e *FormatError) Error() string {
	return fmt.Sprintf("quintet: answer of %s: %v", e.Path, e.Cause)
}

// Unwrap returns the cause.
func (e *FormatError) Unwrap() error { return e.Cause }

// Body is what is sent where the API takes other programs' formats.
type Body struct {
	ContentType string
	Content     io.Reader
}

// set puts a parameter into a query, unless it has its zero value.
func set[T comparable](q url.Values, name string, value T) {
	if zero := *new(T); value != zero {
		q.Set(name, fmt.Sprint(value))
	}
}

// setGiven puts a parameter into a query, unless it is nil.
func setGiven[T any](q url.Values, name string, value *T) {
	if value != nil {
		q.Set(name, fmt.Sprint(*value))
	}
}

// open sends a request and returns the body of a success.
func (c *Client) open(ctx context.Context, method, path string, query url.Values, body any) (io.ReadCloser, error) {
	resp, err := c.send(ctx, method, path, query, body, nil)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// call sends a request and decodes the answer into out.
func (c *Client) call(ctx context.Context, method, path string, query url.Values, body, out any) error {
	resp, err := c.send(ctx, method, path, query, body, nil)
	if err != nil {
		return err
	}
	defer drain(resp.Body)
	if kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return &FormatError{path, fmt.Errorf("media type %q, want application/json", resp.Header.Get("Content-Type"))}
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, MaxAnswer+1))
	switch {
	case err != nil:
		return fmt.Errorf("quintet: %s %s: %w", method, path, err)
	case len(text) > MaxAnswer:
		return &FormatError{path, fmt.Errorf("longer than %d MiB", MaxAnswer>>20)}
	}
	if err := json.Unmarshal(text, out); err != nil {
		return &FormatError{path, err}
	}
	return nil
}

// send sends a request and turns whatever is not a success into an error.
func (c *Client) send(ctx context.Context, method, path string, query url.Values, body any, header http.Header) (*http.Response, error) {
	content, kind, err := encode(body)
	if err != nil {
		return nil, fmt.Errorf("quintet: %s %s: %w", method, path, err)
	}
	target := strings.TrimSuffix(c.base.String(), "/") + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, target, content)
	if err != nil {
		return nil, fmt.Errorf("quintet: %w", err)
	}
	for k, v := range header {
		req.Header[k] = v
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	if err := c.authorize(req); err != nil {
		return nil, fmt.Errorf("quintet: authorization: %w", err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) { // the address is known, and it may hold what is not to be logged
			err = u.Err
		}
		return nil, fmt.Errorf("quintet: %s %s: %w", method, path, err)
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer drain(resp.Body)
	out := &Error{Method: method, Path: path, Status: resp.StatusCode}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	if err != nil {
		return nil, out // the status is known
	}
	var problem Details
	if json.Unmarshal(text, &problem) == nil {
		out.Detail, out.Field = problem.Detail, problem.Field
	}
	return nil, out
}

// encode returns a body and its media type.
func encode(body any) (io.Reader, string, error) {
	switch b := body.(type) {
	case nil:
		return nil, "", nil
	case Body:
		return b.Content, b.ContentType, nil
	}
	text, err := json.Marshal(body)
	return bytes.NewReader(text), "application/json", err
}

// drain lets the connection be used again.
func drain(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, maxProblem)
	_ = body.Close()
}
