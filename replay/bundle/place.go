package bundle

import (
	"bytes"
	"errors"
	"fmt"
)

// place is where in which file something is stated.
type place struct {
	file string
	line int // from 1; 0 where it concerns the file as a whole
}

func (p place) String() string {
	if p.line == 0 {
		return p.file
	}
	return fmt.Sprintf("%s:%d", p.file, p.line)
}

// Error is something wrong in a bundle: the file, the line and the field.
type Error struct {
	File  string // base name
	Line  int    // from 1; 0 where it concerns the file as a whole
	Field string // the column or key; may be empty
	Err   error
}

// Error implements error: "file:line: field: what".
func (e *Error) Error() string {
	at := place{e.File, e.Line}.String()
	if e.Field != "" {
		at += ": " + e.Field
	}
	return at + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Bounds on what is reported about one bundle.
const (
	maxErrors   = 10
	maxWarnings = 50
)

// report gathers what is wrong and what is doubtful, up to a bound.
type report struct {
	errs     []error
	warnings []string
	unsaid   int // warnings beyond the bound
}

// fail notes an error and reports whether there are now too many to go on.
func (r *report) fail(at place, field string, err error) bool {
	r.errs = append(r.errs, &Error{File: at.file, Line: at.line, Field: field, Err: err})
	return len(r.errs) >= maxErrors
}

func (r *report) warn(at place, format string, args ...any) {
	if len(r.warnings) >= maxWarnings {
		r.unsaid++
		return
	}
	r.warnings = append(r.warnings, at.String()+": "+fmt.Sprintf(format, args...))
}

func (r *report) err() error { return errors.Join(r.errs...) }

// lineAt returns the line of an offset, after any white space and commas.
func lineAt(b []byte, offset int64) int {
	i := min(max(int(offset), 0), len(b))
	for i < len(b) && bytes.IndexByte([]byte(" \t\r\n,:"), b[i]) >= 0 {
		i++
	}
	return 1 + bytes.Count(b[:i], []byte{'\n'})
}
