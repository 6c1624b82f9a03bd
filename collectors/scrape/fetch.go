package scrape

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/dial"
)

// What is asked for: Prometheus' own text where there is a choice, because some
// exporters rename counters (_total) for OpenMetrics; never protobuf.
const accept = "text/plain;version=0.0.4;q=0.8,application/openmetrics-text;version=1.0.0;q=0.5,*/*;q=0.1"

var (
	errRedirect = errors.New("redirect refused: use the final URL")
	errStatus   = errors.New("no page")
	errDenied   = errors.New("permission denied")
)

// fetcher gets one target's page. It is used by one goroutine.
type fetcher struct {
	cfg    Config
	target target
	client *http.Client
	body   bytes.Buffer
}

// fetch returns the page and its form. The page stays the fetcher's until the
// next one. A page that is too long is cut behind its last whole line.
func (f *fetcher) fetch(ctx context.Context, dropped map[collectors.Reason]int) ([]byte, string, error) {
	ctx, cancel := context.WithTimeout(ctx, f.target.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.target.url, http.NoBody)
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("Accept", accept)
	req.Header.Set("User-Agent", "quintet")
	if err := dial.Authorize(req, f.cfg.BasicAuth, f.cfg.Authorization); err != nil {
		return nil, "", err
	}
	resp, err := f.client.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = resp.Body.Close() }() // it was only read
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, "", fmt.Errorf("%w: %s", errDenied, resp.Status)
	default:
		return nil, "", fmt.Errorf("%w: %s", errStatus, resp.Status)
	}
	f.body.Reset()
	n, err := io.Copy(&f.body, io.LimitReader(resp.Body, int64(f.cfg.MaxBody)+1))
	if err != nil && n == 0 {
		return nil, "", err
	}
	page := f.body.Bytes()
	switch {
	case n > int64(f.cfg.MaxBody):
		dropped[collectors.OverLimit]++
		page = wholeLines(page)
	case err != nil: // it broke off: what came is true
		dropped[collectors.Unreadable]++
		page = wholeLines(page)
	}
	return page, resp.Header.Get("Content-Type"), nil
}

// wholeLines cuts off what follows the last end of a line.
func wholeLines(b []byte) []byte { return b[:bytes.LastIndexByte(b, '\n')+1] }
