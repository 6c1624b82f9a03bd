package assist

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// API is the HTTP API as far as tools may use it: read-only.
type API interface {
	// Get writes the answer to GET path?q into w. An answer that is not 200 is a
	// *Refusal.
	Get(ctx context.Context, path string, q url.Values, w io.Writer) error
}

// Refusal is the API's error for a refused request.
type Refusal struct {
	Status int    `json:"-"`
	Field  string `json:"field"`
	Text   string `json:"error"`
}

// Error implements error.
func (r *Refusal) Error() string {
	if r.Field != "" {
		return fmt.Sprintf("%s: %s", r.Field, r.Text)
	}
	return r.Text
}

// errLong means that an answer is longer than its reader takes.
var errLong = errors.New("the answer is too long")

// errBroken means that an answer ended before its end.
var errBroken = errors.New("the answer was broken off")

// Inside is the API of a server in the same process, behind its guard: callers of
// the tools have passed that guard already.
func Inside(h http.Handler) API { return inside{h} }

type inside struct{ next http.Handler }

// Get implements API.
func (a inside) Get(ctx context.Context, path string, q url.Values, w io.Writer) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, path+"?"+q.Encode(), nil)
	if err != nil {
		return err
	}
	answer := &answer{header: http.Header{}, to: w, stop: cancel}
	defer func() {
		switch x := recover(); {
		case x == nil:
		case x == http.ErrAbortHandler: // how handlers break off
			err = cmp.Or(answer.err, errBroken)
		default:
			panic(x)
		}
	}()
	a.next.ServeHTTP(answer, r)
	switch {
	case answer.err != nil:
		return answer.err
	case answer.status > http.StatusOK:
		return answer.refusal()
	}
	return ctx.Err()
}

// answer is the receiving end of a handler in the same process.
type answer struct {
	header http.Header
	status int
	to     io.Writer
	body   bytes.Buffer // of a refusal
	err    error        // of to
	stop   func()
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

// Write implements http.ResponseWriter. A writer that accepts no more
// ends the request.
func (a *answer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	if a.status != http.StatusOK {
		if room := maxRefusal - a.body.Len(); room > 0 {
			a.body.Write(b[:min(len(b), room)])
		}
		return len(b), nil
	}
	n, err := a.to.Write(b)
	if err != nil {
		a.err = err
		a.stop()
	}
	return n, err
}

// Flush, SetReadDeadline and SetWriteDeadline are the methods that a handler of a
// long answer calls on its connection; here there is none.

// Flush implements http.Flusher.
func (a *answer) Flush() {}

// SetReadDeadline does nothing.
func (a *answer) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing.
func (a *answer) SetWriteDeadline(time.Time) error { return nil }

// maxRefusal is how much of a refusal is read.
const maxRefusal = 16 << 10

func (a *answer) refusal() error {
	r := &Refusal{}
	if json.Unmarshal(a.body.Bytes(), r) != nil || r.Text == "" {
		r.Text = http.StatusText(a.status)
	}
	r.Status = a.status
	return r
}

// bounded accepts so many bytes and no more.
type bounded struct {
	to   io.Writer
	left int64
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, errLong
	}
	return b.to.Write(p)
}

// maxFetched is how long an answer of the API may be that is read into memory.
const maxFetched = 32 << 20

// fetch reads an answer of the API into a value.
func fetch(ctx context.Context, a API, path string, q url.Values, into any) error {
	var b bytes.Buffer
	if err := a.Get(ctx, path, q, &bounded{&b, maxFetched}); err != nil {
		return err
	}
	d := json.NewDecoder(&b)
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("%s: the answer is not what it should be: %w", path, err)
	}
	return nil
}
