package engine

import (
	"strings"
	"testing"
)

// TestSlicerPassesAPanicOn: a panic in one slice is the caller's, who can contain it; in
// a goroutine of its own it would end the process.
func TestSlicerPassesAPanicOn(t *testing.T) {
	defer func() {
		err, ok := recover().(error)
		if !ok || !strings.Contains(err.Error(), "a defect") {
			t.Errorf("recovered %v", err)
		}
	}()
	slicer(4).each(100, func(slice, _, _ int) {
		if slice == 2 {
			panic("a defect")
		}
	})
	t.Error("the panic was lost")
}
