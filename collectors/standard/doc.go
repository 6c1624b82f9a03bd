// Package standard lists the kinds of collectors that come with the program.
//
// The list is generated from the folders beside it that have a function Kind: a new
// collector is a new folder, and `make generate`. It never describes a collector
// itself.
package standard

//go:generate go test . -run TestTheListIsCurrent -update
