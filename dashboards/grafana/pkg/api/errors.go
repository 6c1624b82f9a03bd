package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/quintet-dc/quintet/client"
)

// Refused is an answer with a status other than 200.
type Refused struct {
	Path   string
	Status int
	Text   string // what the server answered, if it is one of ours
	Field  string // the parameter that it refers to
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
	Cause error
}

// Error describes why there was no response.
func (e *Unreachable) Error() string {
	if e.TimedOut() {
		return fmt.Sprintf("Quintet does not answer in time: %s", e.Cause)
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

// explained returns an answer, or its error as one of this package's.
func explained[T any](out *T, err error) (*T, error) {
	if err != nil {
		return nil, explain(err)
	}
	return out, nil
}

// explain turns an error of the client into one of this package's.
func explain(err error) error {
	var no *client.Error
	var garbage *client.FormatError
	switch {
	case errors.As(err, &no):
		return &Refused{Path: no.Path, Status: no.Status, Text: no.Detail, Field: no.Field}
	case errors.As(err, &garbage):
		return &Garbage{Path: garbage.Path, Why: garbage.Cause.Error()}
	}
	return &Unreachable{Cause: err}
}
