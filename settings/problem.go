package settings

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Problem is something wrong with a document. Line and Column count from 1.
type Problem struct {
	Line, Column int
	Text         string
}

// Error returns "line:column: text"; callers put the name of the file before it.
func (p *Problem) Error() string { return fmt.Sprintf("%d:%d: %s", p.Line, p.Column, p.Text) }

// KeyError is an error in the value of a key. A struct's Validate returns it, so that
// the problem has the place of the key.
type KeyError struct {
	Key string // relative to the struct; levels are separated by dots
	Err error
}

// Error implements error.
func (e *KeyError) Error() string { return e.Key + ": " + e.Err.Error() }

// Unwrap returns the error itself.
func (e *KeyError) Unwrap() error { return e.Err }

// Errorf returns a *KeyError for a key.
func Errorf(key, format string, args ...any) error {
	return &KeyError{key, fmt.Errorf(format, args...)}
}

// each calls fn for every error that err joins.
func each(err error, fn func(error)) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			each(e, fn)
		}
		return
	}
	if err != nil {
		fn(err)
	}
}

// Problems returns the problems that err joins; an error without a place has that of n.
func Problems(n *yaml.Node, err error) (out []*Problem) {
	each(err, func(e error) {
		var p *Problem
		if !errors.As(e, &p) {
			p = &Problem{Text: e.Error()}
			if n != nil {
				p.Line, p.Column = n.Line, n.Column
			}
		}
		out = append(out, p)
	})
	return out
}
