package serve

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/quintet-dc/quintet/telemetry"
)

// problem is why a request has no answer: the content of the error response.
type problem struct {
	status int
	field  string
	text   string
	again  time.Duration // when it may be tried again; 0 if that is of no use
}

// Error implements error.
func (p *problem) Error() string { return p.text }

func bad(field, text string) *problem {
	return &problem{status: http.StatusBadRequest, field: field, text: text}
}

func unavailable(text string) *problem {
	return &problem{status: http.StatusServiceUnavailable, text: text, again: 2 * time.Second}
}

// handler answers a request with a body, or an error.
type handler func(r *http.Request) (any, error)

// raw is a body that is JSON already.
type raw []byte

// compressFrom is how long a body must be to be compressed.
const compressFrom = 1 << 10

// reply writes answers; it lends out compressors.
type reply struct {
	gzips sync.Pool
}

// json answers with what h returns.
func (p *reply) json(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := h(r)
		if err != nil {
			p.problem(w, r, err)
			return
		}
		p.send(w, r, http.StatusOK, body)
	}
}

// problem answers with an error as problem details.
func (p *reply) problem(w http.ResponseWriter, r *http.Request, err error) {
	var is *problem
	if !errors.As(err, &is) {
		is = &problem{status: http.StatusInternalServerError, text: err.Error()}
	}
	if is.again > 0 {
		w.Header().Set("Retry-After", seconds(is.again))
	}
	p.send(w, r, is.status, detailsOf(is))
}

// details are problem details (RFC 9457), with the members of our own last: field
// is the parameter or key that is wrong, and error is what detail is, for clients
// written before there was a detail.
type details struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Field  string `json:"field"`
	Error  string `json:"error"`
}

func detailsOf(p *problem) details {
	return details{"about:blank", http.StatusText(p.status), p.status, p.text, p.field, p.text}
}

func seconds(d time.Duration) string { return strconv.Itoa(int(math.Ceil(d.Seconds()))) }

// send writes a body as JSON.
func (p *reply) send(w http.ResponseWriter, r *http.Request, status int, body any) {
	b, ok := body.(raw)
	if !ok {
		var buf bytes.Buffer
		enc := json.NewEncoder(&buf)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(body); err != nil {
			status, body = http.StatusInternalServerError, detailsOf(&problem{status: http.StatusInternalServerError, text: "the answer cannot be written"})
			buf.Reset()
			_ = enc.Encode(body) // strings and a number can be
		}
		b = buf.Bytes()
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	if _, ok := body.(details); ok {
		h.Set("Content-Type", "application/problem+json")
	}
	h.Set("Cache-Control", "no-store")
	p.write(w, r, status, b)
}

// write writes a body, compressed where that is wanted and worth it.
func (p *reply) write(w http.ResponseWriter, r *http.Request, status int, b []byte) {
	h := w.Header()
	h.Add("Vary", "Accept-Encoding")
	if len(b) <= compressFrom || !acceptsGzip(r) {
		w.WriteHeader(status)
		_, _ = w.Write(b) // whoever asked may be gone
		return
	}
	h.Set("Content-Encoding", "gzip")
	w.WriteHeader(status)
	z, ok := p.gzips.Get().(*gzip.Writer)
	if !ok {
		z, _ = gzip.NewWriterLevel(nil, gzip.BestSpeed) // a known level
	}
	defer p.gzips.Put(z)
	z.Reset(w)
	_, _ = z.Write(b)
	_ = z.Close()
}

// acceptsGzip reads Accept-Encoding: gzip or everything, unless with q=0.
func acceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, q, _ := strings.Cut(strings.TrimSpace(part), ";")
		if name = strings.TrimSpace(name); name != "gzip" && name != "*" {
			continue
		}
		q = strings.ReplaceAll(q, " ", "")
		return q != "q=0" && q != "q=0.0" && q != "q=0.00" && q != "q=0.000"
	}
	return false
}

// query reads the parameters of a request: each at most once, none unknown.
type query struct {
	values map[string][]string
	err    *problem
}

func parameters(r *http.Request, known ...string) *query {
	q := &query{values: r.URL.Query()}
	for name, vs := range q.values {
		switch {
		case !slices.Contains(known, name):
			q.fail(name, "unknown parameter")
		case len(vs) > 1:
			q.fail(name, "stated twice")
		}
	}
	return q
}

// fail keeps the first problem, by the name of its parameter.
func (q *query) fail(name, text string) {
	if q.err == nil || name < q.err.field {
		q.err = bad(name, text)
	}
}

func (q *query) text(name string) string {
	if vs := q.values[name]; len(vs) > 0 {
		return vs[0]
	}
	return ""
}

// instant reads an RFC 3339 time, zero where there is none.
func (q *query) instant(name string) (t telemetry.Time) {
	if s := q.text(name); s != "" {
		if err := t.UnmarshalText([]byte(s)); err != nil || t <= 0 {
			q.fail(name, "want a time as 2026-11-21T09:30:00Z (RFC 3339)")
			return 0
		}
	}
	return t
}

// number reads a whole number within [low, high]; usual where there is none.
func (q *query) number(name string, usual, low, high int) int {
	s := q.text(name)
	if s == "" {
		return usual
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < low || n > high {
		q.fail(name, fmt.Sprintf("want a whole number from %d to %d", low, high))
		return usual
	}
	return n
}
