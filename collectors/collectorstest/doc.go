// Package collectorstest is the conformance suite of collectors: what each must
// do whatever it reads, and an ear for tests of what one says.
//
// It owns the checks of the contract in package collectors. It knows no device:
// who tests a collector says how its source is made, taken away and spoilt.
package collectorstest
