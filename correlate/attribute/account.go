package attribute

import (
	"errors"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// Lengths of the cells in which losses are kept, and how many are.
const (
	fineCell  = telemetry.Duration(600e9)
	fineCells = 144 // a day
	dayCell   = telemetry.Duration(86400e9)
	dayCells  = 31
)

// cellOf numbers the cell that contains a grid that ends at t.
func cellOf(t telemetry.Time, length telemetry.Duration) int64 {
	return (int64(t) - 1) / int64(length)
}

// Account is what one incident costs one job, while it goes on. Its cause may
// change until it is closed: all of it moves to the new cause.
type Account struct {
	Cause Cause
	// Benign is set where nothing is wrong: nothing is lost by it.
	Benign bool
	Links  []Coupling
	// MFU is the job's utilisation before, 0 to 1; negative where it is not known.
	MFU float64

	seen float64 // GPU-seconds that the job's degradation had cost when last booked
	last float64 // GPU-seconds put down to this incident
	fine trail
	days trail
}

// Start starts the account at a degradation that has already cost lost GPU-seconds:
// they belong to others.
func (a *Account) Start(lost float64) { a.seen = lost }

// Book records that at t the degradation has cost lost GPU-seconds since it began,
// and that this incident explains the given share of what was added since the last
// call. Less than at the last call is a correction.
func (a *Account) Book(t telemetry.Time, lost, share float64) {
	a.last = max(0, a.last+float64(share*(lost-a.seen)))
	a.seen = lost
	a.fine.book(cellOf(t, fineCell), a.last, fineCells+1)
	a.days.book(cellOf(t, dayCell), a.last, dayCells)
}

// Again starts another degradation of the same job in the same incident.
func (a *Account) Again() { a.seen = 0 }

// Lost returns the GPU-seconds lost so far.
func (a *Account) Lost() float64 { return a.last }

// empty reports whether there is nothing to account for.
func (a *Account) empty() bool { return a.Benign || a.last <= 0 }

// trail is a sum as it was at the end of each cell: differences of its totals
// are what was booked in each, and add up to the last one exactly as stated.
type trail struct {
	cells  []int64
	totals []float64
	before float64 // the total before the first cell
}

func (s *trail) book(cell int64, total float64, keep int) {
	s.before = min(s.before, total)
	for i := range s.totals {
		s.totals[i] = min(s.totals[i], total)
	}
	if n := len(s.cells); n > 0 && s.cells[n-1] >= cell {
		s.totals[n-1] = total
		return
	}
	if len(s.cells) == keep {
		s.before = s.totals[0]
		copy(s.cells, s.cells[1:])
		copy(s.totals, s.totals[1:])
		s.cells, s.totals = s.cells[:keep-1], s.totals[:keep-1]
	}
	s.cells, s.totals = append(s.cells, cell), append(s.totals, total)
}

// each calls f with what was booked in each cell, the oldest first.
func (s *trail) each(f func(cell int64, amount float64)) {
	before := s.before
	for i, c := range s.cells {
		if d := s.totals[i] - before; d > 0 {
			f(c, d)
		}
		before = s.totals[i]
	}
}

var errTrail = errors.New("account: as many cells as totals wanted, rising")

func (s *trail) snapshot(k *snapshot.Codec) {
	k.I64s(&s.cells)
	k.F64s(&s.totals)
	k.F64(&s.before)
	if len(s.cells) != len(s.totals) {
		k.Fail(errTrail)
		*s = trail{}
	}
	for i := 1; i < len(s.cells); i++ {
		if s.cells[i] <= s.cells[i-1] {
			k.Fail(errTrail)
		}
	}
}

// Snapshot writes or restores the account.
func (a *Account) Snapshot(k *snapshot.Codec) {
	a.Cause.snapshot(k)
	k.Bool(&a.Benign)
	snapshot.List(k, &a.Links, 10, func(k *snapshot.Codec, c *Coupling) { c.snapshot(k) })
	k.F64(&a.MFU)
	k.F64(&a.seen)
	k.F64(&a.last)
	a.fine.snapshot(k)
	a.days.snapshot(k)
}
