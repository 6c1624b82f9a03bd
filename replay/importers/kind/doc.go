// Package kind describes kinds of importers. A kind is a value with all that the rest
// of the program knows about an importer: its command, what it reads, what a trace of
// it cannot have, and its flags and arguments.
//
// It owns the description and nothing else. It never imports an importer: each
// importer's folder has a function Kind, and replay/importers/standard lists them.
package kind

import (
	"context"

	"github.com/quintet-dc/quintet/replay/bundle"
)

// Kind describes one kind of importer.
type Kind struct {
	// Name is the command: quintet import NAME.
	Name string
	// Doc is one sentence about what is made of what; it is the command's help.
	Doc string
	// Reads is what is read, and Limits what a trace of it cannot have; both are
	// shown in the documentation.
	Reads, Limits string
	// New returns the flags and arguments of a command, with their zero values.
	New func() Settings
}

// Settings is a pointer to a struct whose tags are flags and arguments, as those of
// commands are: help, placeholder, default, arg. Output and Force are the command's.
type Settings interface {
	// Validate returns an error that names the flag or argument that is invalid. It is
	// called before Read.
	Validate() error
	// Read reads the source and returns what was found there, checked. The error names
	// the source. Warnings of the bundle are shown to the user.
	Read(ctx context.Context, e Environment) (*bundle.Bundle, error)
}

// Environment is what a command offers to all importers.
type Environment struct {
	// Warn prints a line about what is left out.
	Warn func(format string, args ...any)
	// Progress shows the part in [0, 1] of the work that is done.
	Progress func(done float64)
}
