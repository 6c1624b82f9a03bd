package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Severity describes how bad a problem is.
type Severity uint8

// The severities: an Error makes a set unusable, a Warning does not.
const (
	Error Severity = iota + 1
	Warning
)

// String returns "error" or "warning".
func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// Problem is something wrong with a file. Line and Column count from 1; both
// are 0 where a whole file or folder is meant.
type Problem struct {
	File         string
	Line, Column int
	Severity     Severity
	Text         string
}

// String returns "file:line:column: text", with "warning: " before the text of
// a warning.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	b.WriteString(": ")
	if p.Severity == Warning {
		b.WriteString("warning: ")
	}
	b.WriteString(p.Text)
	return b.String()
}

func (p Problem) compare(o Problem) int {
	return cmp.Or(cmp.Compare(p.File, o.File), cmp.Compare(p.Line, o.Line), cmp.Compare(p.Column, o.Column),
		cmp.Compare(p.Severity, o.Severity), cmp.Compare(p.Text, o.Text))
}

// Problems are the errors that Load found. It is an error.
type Problems []Problem

// Error returns one problem per line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// errors returns the problems that are no warnings.
func (ps Problems) errors() Problems {
	return slices.DeleteFunc(slices.Clone(ps), func(p Problem) bool { return p.Severity != Error })
}
