package attribute

import (
	"fmt"

	"github.com/quintet-dc/quintet/telemetry"
)

// Window is the interval of a report: the last cells of the ledger that hold its
// length, the running one included.
type Window struct {
	from, to telemetry.Time // grids in (from, to]
	days     bool
}

// The lengths a window may have.
const (
	UsualWindow   = telemetry.Duration(24 * 3600e9)
	LongestWindow = (dayCells - 1) * dayCell
)

// Last returns the window of a length that ends at now. Up to a day it begins at
// a full ten minutes, beyond at midnight (UTC): what is kept is not finer.
func Last(length telemetry.Duration, now telemetry.Time) (Window, error) {
	if length <= 0 || length > LongestWindow {
		return Window{}, fmt.Errorf("window %v: want more than 0 and at most %v", length, LongestWindow)
	}
	cell := fineCell
	if length > fineCells*fineCell {
		cell = dayCell
	}
	from := max(now.Add(-length), 0)
	return Window{from: from - from%telemetry.Time(cell), to: now, days: cell == dayCell}, nil
}

// From is when the window begins.
func (w Window) From() telemetry.Time { return w.from }

// To is when the window ends.
func (w Window) To() telemetry.Time { return w.to }

// cells returns the first and the last cell in the window.
func (w Window) cells() (first, last int64) {
	cell := fineCell
	if w.days {
		cell = dayCell
	}
	return int64(w.from) / int64(cell), cellOf(w.to, cell)
}
