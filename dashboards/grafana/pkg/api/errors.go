package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
)

// Refused is an answer with a status other than 200.
type Refused struct {
	Path   string
	Status int
	Text   string // what the server said, if it is one of ours
	Field  string // the parameter that it speaks of
}

// Error describes what was refused and what to do about it.
func (e *Refused) Error() string {
	said := e.Text
	if said == "" {
		said = http.StatusText(e.Status)
	}
	if e.Field != "" {
		said = e.Field + ": " + said
	}
	switch e.Status {
	case http.StatusUnauthorized:
		return fmt.Sprintf("Quintet wants another user or password (401): %s", said)
	case http.StatusForbidden:
		return fmt.Sprintf("Quintet does not let this data source ask (403): %s", said)
	}
	return fmt.Sprintf("Quintet answers %d to %s: %s", e.Status, e.Path, said)
}

// Unreachable is a question without an answer.
type Unreachable struct {
	Path  string
	Cause error
}

// Error describes why there was no response.
func (e *Unreachable) Error() string {
	if e.TimedOut() {
		return fmt.Sprintf("Quintet does not answer %s in time", e.Path)
	}
	return fmt.Sprintf("Quintet cannot be reached: %s", e.Cause)
}

// Unwrap gives the cause.
func (e *Unreachable) Unwrap() error { return e.Cause }

// TimedOut is whether it only took too long.
func (e *Unreachable) TimedOut() bool {
	var n net.Error
	return errors.Is(e.Cause, context.DeadlineExceeded) || errors.As(e.Cause, &n) && n.Timeout()
}

// Garbage is an answer that cannot be Quintet's.
type Garbage struct {
	Path string
	Why  string
}

// Error describes what is wrong with the response.
func (e *Garbage) Error() string {
	return fmt.Sprintf("the answer to %s is not Quintet's: %s (is the URL that of a Quintet server?)", e.Path, e.Why)
}
