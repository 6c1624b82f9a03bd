// Package collectorstest is the conformance suite of collectors: what each must
// do whatever it reads.
//
// It owns the checks of the contract in package collectors. It knows no device.
package collectorstest
