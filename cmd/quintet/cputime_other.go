//go:build !unix

package main

// processorSeconds returns the processor time that this process has used; ok is
// false where it cannot be measured.
func processorSeconds() (s float64, ok bool) { return 0, false }
