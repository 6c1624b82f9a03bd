package config

import "fmt"

// Problem is one thing that is wrong, or doubtful, about a file, and where.
// Line and Column are zero where the whole file is meant.
type Problem struct {
	Path         string
	Line, Column int
	Text         string
	Doubt        bool // a warning: nothing keeps the file from being used
}

// Error implements error.
func (p Problem) Error() string { return p.String() }

func (p Problem) String() string {
	where := p.Path
	if p.Line > 0 {
		where = fmt.Sprintf("%s:%d:%d", p.Path, p.Line, p.Column)
	}
	if p.Doubt {
		return fmt.Sprintf("warning: %s: %s", where, p.Text)
	}
	return where + ": " + p.Text
}
