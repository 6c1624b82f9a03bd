// Package standard lists the kinds of receivers that come with the program.
//
// The list is generated from the folders beside it that have a kind.go: a new kind is a
// new folder, and `make generate`. It never describes a kind itself.
package standard

//go:generate go test . -run TestTheListIsCurrent -update
