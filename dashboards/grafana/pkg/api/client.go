package api

import (
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

// maxAnswer bounds the bytes read of one response body: 10,000 incidents with long
// chains stay well below it.
const maxAnswer = 64 << 20

// maxProblem bounds the bytes read of an error response.
const maxProblem = 64 << 10

// Client asks one server. It may be used by many goroutines.
type Client struct {
	base   *url.URL
	ask    *http.Client
	follow *http.Client
}

// New makes a client of the server at base. Requests use ask, with its timeout; the
// stream, which does not end, uses follow, which must not have one.
func New(base string, ask, follow *http.Client) (*Client, error) {
	base = strings.TrimSpace(base)
	if base == "" {
		return nil, errors.New("no URL of a Quintet server is set")
	}
	u, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("the URL of the Quintet server: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("the URL of the Quintet server: %q: want http://host:port or https://host:port", base)
	}
	if u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, fmt.Errorf("the URL of the Quintet server: want neither a query, nor a fragment, nor a user in it")
	}
	return &Client{base: u, ask: ask, follow: follow}, nil
}

// Page is the address of a view of Quintet's own page, such as "incidents/…".
func (c *Client) Page(view ...string) string { return c.base.JoinPath(view...).String() }

// get asks for a path under /api/v1 and decodes the answer.
func (c *Client) get(ctx context.Context, path []string, params url.Values, into any) error {
	resp, err := c.send(ctx, c.ask, path, params, nil)
	if err != nil {
		return err
	}
	defer drain(resp.Body)
	where := resp.Request.URL.Path
	if kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return &Garbage{Path: where, Why: fmt.Sprintf("it is of type %q, not JSON", resp.Header.Get("Content-Type"))}
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return &Unreachable{Path: where, Cause: err}
	case len(body) > maxAnswer:
		return &Garbage{Path: where, Why: fmt.Sprintf("it is longer than %d MiB", maxAnswer>>20)}
	}
	if err := json.Unmarshal(body, into); err != nil {
		return &Garbage{Path: where, Why: err.Error()}
	}
	return nil
}

// send asks, and turns whatever is not 200 into an error.
func (c *Client) send(ctx context.Context, via *http.Client, path []string, params url.Values, header http.Header) (*http.Response, error) {
	segments := append([]string{"api", "v1"}, path...)
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	u := c.base.JoinPath(segments...)
	u.RawQuery = params.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	for k, v := range header {
		req.Header[k] = v
	}
	resp, err := via.Do(req)
	if err != nil {
		return nil, &Unreachable{Path: u.Path, Cause: bare(err)}
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer drain(resp.Body)
	return nil, refusal(resp)
}

// bare removes the method and the URL from an error of net/http: this package's
// errors contain them.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// refusal reads why a server did not answer with 200.
func refusal(resp *http.Response) error {
	out := &Refused{Path: resp.Request.URL.Path, Status: resp.StatusCode}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	if err != nil {
		return out
	}
	var said struct {
		Error string `json:"error"`
		Field string `json:"field"`
	}
	// A body that is not JSON is a proxy's page: the status is enough.
	if json.Unmarshal(body, &said) == nil {
		out.Text, out.Field = said.Error, said.Field
	}
	return out
}

// drain lets the connection be used again.
func drain(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, maxProblem)
	_ = body.Close()
}
