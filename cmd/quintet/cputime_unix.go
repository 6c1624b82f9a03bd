//go:build unix

package main

import "syscall"

// processorSeconds returns the processor time that this process has used; ok is
// false where it cannot be measured.
func processorSeconds() (s float64, ok bool) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, false
	}
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return seconds(u.Utime) + seconds(u.Stime), true
}
