// Package standard lists the kinds of importers that come with the program.
//
// The list, and the table in docs/import.md, are generated from the folders beside it
// that have a kind.go: a new importer is a new folder, and `make generate`. It never
// describes an importer itself.
package standard

//go:generate go test . -run TestTheListIsCurrent -update
//go:generate go test . -run TestTheDocIsCurrent -update
