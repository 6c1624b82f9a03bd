// Package mapping defines what other people's labelled series mean here: which
// entity the labels name, which metric the name is, and in what unit.
//
// It owns the mapping files (those that come with it are under files, users bring
// their own), exact conversion of units, quantiles of a histogram's interval, and
// the place of what no file knows. It must never fetch anything, know a transport,
// or guess a meaning that no file states.
package mapping
