// Package book lays out readings that come in any order, of series that are
// found as one goes, as the schemas and frames of one source.
//
// It owns which part a series belongs to, so that one stays in its part for as
// long as the collector runs. It must never know a device, nor change a number.
package book
