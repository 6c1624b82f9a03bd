// Package collect is the command that runs collectors and nothing else, as
// quintet-collect and as quintet collect: the collectors that a configuration
// names, the process's name, and what its credentials allow.
package collect

//go:generate go test . -run TestTheReferenceIsCurrent -update
