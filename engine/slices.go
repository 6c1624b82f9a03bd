package engine

import (
	"fmt"
	"runtime/debug"
	"sync"
)

// slicer runs work cut into slices, side by side.
type slicer int

// each calls fn for the parts of [0, n), at most one call for each slice
// number below the slicer's, and returns when all have returned. fn must touch
// nothing that two parts share. What the cut is must not show in any result
// (I8). Where one panics, each panics.
func (s slicer) each(n int, fn func(slice, lo, hi int)) {
	parts := min(int(s), n)
	if parts <= 1 {
		if n > 0 {
			fn(0, 0, n)
		}
		return
	}
	var wg sync.WaitGroup
	var once sync.Once
	var fault error
	for i := range parts {
		wg.Go(func() {
			defer func() { // in the caller's goroutine it can be contained
				if p := recover(); p != nil {
					once.Do(func() { fault = fmt.Errorf("%v\n%s", p, debug.Stack()) })
				}
			}()
			fn(i, i*n/parts, (i+1)*n/parts)
		})
	}
	wg.Wait()
	if fault != nil {
		panic(fault)
	}
}
