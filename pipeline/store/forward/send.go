package forward

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/collectors/dial"
)

const (
	// firstBackoff and maxBackoff bound the wait before a request is repeated.
	firstBackoff = 30 * time.Millisecond
	maxBackoff   = 5 * time.Second
	// maxAfter bounds what a receiver may ask for: it must not stop a queue for years.
	maxAfter = 5 * time.Minute
	// excerpt is how much of a refusal is logged, in bytes, and maxBody how much of
	// any response is read.
	excerpt = 256
	maxBody = 64 << 10
)

// sender sends requests to one receiver. It may be used from several goroutines.
type sender struct {
	target Target
	http   *http.Client
	agent  string
	counts counts
	logger *slog.Logger
}

// retryError is a failure after which the same request may succeed.
type retryError struct {
	error
	after time.Duration // that the receiver asks for; 0 if it does not
}

// send sends samples until the receiver has answered or ctx is done.
func (s *sender) send(ctx context.Context, e *encoder, samples []sample) {
	n := len(samples)
	defer s.counts.pending.Sub(float64(n))
	body, err := e.encode(samples)
	if err == nil {
		err = s.deliver(ctx, body, n)
	}
	if err == nil {
		s.counts.sent(samples)
		return
	}
	s.counts.failed.Add(float64(n))
	s.logger.Error("samples are not sent", "samples", n, "error", err)
}

// deliver posts a body, again with backoff where that may help.
func (s *sender) deliver(ctx context.Context, body []byte, samples int) error {
	backoff := firstBackoff
	for attempt := 0; ; attempt++ {
		began := time.Now()
		written, err := s.post(ctx, body, attempt)
		s.counts.attempted(samples, len(body), time.Since(began))
		var again retryError
		if !errors.As(err, &again) {
			return errors.Join(err, s.acknowledged(err, written, samples))
		}
		if attempt == 0 {
			s.logger.Warn("the request is repeated", "error", err)
		}
		wait := again.after
		if wait <= 0 {
			wait, backoff = backoff, min(2*backoff, maxBackoff)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("%w: last failure: %w", ctx.Err(), err)
		case <-timer.C:
			s.counts.retried.Add(float64(samples))
		}
	}
}

// acknowledged returns an error where a receiver of version 2 reports that it wrote
// fewer samples than were sent.
func (s *sender) acknowledged(err error, written, samples int) error {
	if err != nil || s.target.Version != 2 || written == samples {
		return nil
	}
	return fmt.Errorf("the receiver reports that it wrote %d of %d samples: it may not support version 2", written, samples)
}

// post sends a request once and returns how many samples a receiver of version 2
// wrote.
func (s *sender) post(ctx context.Context, body []byte, attempt int) (written int, err error) {
	r, err := s.request(ctx, body, attempt)
	if err != nil {
		return 0, err
	}
	resp, err := s.http.Do(r)
	if err != nil {
		return 0, retryError{err, 0}
	}
	defer func() {
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxBody)) // so that the connection is used again
		_ = resp.Body.Close()
	}()
	if resp.StatusCode/100 == 2 {
		written, _ = strconv.Atoi(resp.Header.Get("X-Prometheus-Remote-Write-Samples-Written"))
		return written, nil
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, excerpt))
	err = fmt.Errorf("%s: %s", resp.Status, strings.TrimSpace(string(text)))
	if resp.StatusCode/100 == 5 || resp.StatusCode == http.StatusTooManyRequests {
		after, _ := dial.RetryAfter(resp.Header.Get("Retry-After"), time.Now())
		return 0, retryError{err, min(after, maxAfter)}
	}
	return 0, err
}

// request makes a request. A secret that cannot be read now may be readable later.
func (s *sender) request(ctx context.Context, body []byte, attempt int) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.target.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, value := range s.target.Headers {
		r.Header.Set(name, value)
	}
	if err := dial.Authorize(r, s.target.BasicAuth, s.target.Authorization); err != nil {
		return nil, retryError{err, 0}
	}
	r.Header.Set("User-Agent", s.agent)
	r.Header.Set("Content-Encoding", "snappy")
	r.Header.Set("Content-Type", "application/x-protobuf")
	r.Header.Set("X-Prometheus-Remote-Write-Version", "0.1.0")
	if s.target.Version == 2 {
		r.Header.Set("Content-Type", "application/x-protobuf;proto=io.prometheus.write.v2.Request")
		r.Header.Set("X-Prometheus-Remote-Write-Version", "2.0.0")
	}
	if attempt > 0 {
		r.Header.Set("Retry-Attempt", strconv.Itoa(attempt))
	}
	return r, nil
}
