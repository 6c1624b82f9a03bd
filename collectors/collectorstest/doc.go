// Package collectorstest is the conformance suite of collectors: what each must do
// whatever it reads, and an ear for tests of a collector's output.
//
// It owns the checks of the contract in package collectors. It knows no device: the
// test of a collector defines how its source is made, taken away and spoilt.
package collectorstest
