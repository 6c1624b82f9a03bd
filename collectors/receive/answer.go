package receive

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/quintet-dc/quintet/collectors"
)

// receipt is the result of a request. It is the body of 202.
type receipt struct {
	Steps   int `json:"steps,omitempty"`
	Edges   int `json:"edges,omitempty"`
	Events  int `json:"events,omitempty"`
	Samples int `json:"samples,omitempty"`
}

// read is how much was emitted.
func (r receipt) read() int { return r.Samples + r.Edges + r.Events }

// fault is the reason a request is refused: where in it, and the status of the
// response.
type fault struct {
	status int    // 400 where it is zero
	field  string // "steps[3].end"; empty where it concerns the whole
	err    error
}

// Error implements error.
func (f *fault) Error() string {
	if f.field == "" {
		return f.err.Error()
	}
	return f.field + ": " + f.err.Error()
}

// Unwrap returns the cause.
func (f *fault) Unwrap() error { return f.err }

// reason is under which the refusal is counted.
func (f *fault) reason() collectors.Reason {
	switch f.status {
	case http.StatusRequestEntityTooLarge, http.StatusTooManyRequests:
		return collectors.OverLimit
	case http.StatusUnsupportedMediaType:
		return collectors.Unsupported
	}
	return collectors.Malformed
}

func faultf(field, format string, args ...any) *fault {
	return &fault{field: field, err: fmt.Errorf(format, args...)}
}

// faultOf returns err as a fault: 413 for a body that is too long.
func faultOf(err error) *fault {
	f := &fault{err: err}
	errors.As(err, &f)
	var long *http.MaxBytesError
	if errors.As(err, &long) {
		return &fault{status: http.StatusRequestEntityTooLarge, err: fmt.Errorf("the body is longer than %d bytes", long.Limit)}
	}
	return f
}

// details are problem details (RFC 9457). Our own members are last: field is the
// key that is wrong, and error is what detail is, for senders written before there
// was a detail.
type details struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Field  string `json:"field"`
	Error  string `json:"error"`
}

// answerFault writes a refusal as problem details.
func answerFault(w http.ResponseWriter, f *fault) {
	status := f.status
	switch status {
	case 0:
		status = http.StatusBadRequest
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		w.Header().Set("Retry-After", "5")
	}
	w.Header().Set("Content-Type", "application/problem+json")
	answer(w, status, details{"about:blank", http.StatusText(status), status, f.err.Error(), f.field, f.err.Error()})
}

func answer(w http.ResponseWriter, status int, body any) {
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	// The client may be gone; what was accepted is accepted all the same.
	_ = enc.Encode(body)
}
