package attribute

import (
	"cmp"
	"slices"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// maxRows bounds the rows of a sheet. Beyond it the oldest cells keep only one
// row a domain.
const maxRows = 16384

// Row is what one cause cost one job in one cell of time. A row without a job
// represents those of a cell that is no longer kept apart.
type Row struct {
	Cell  int64
	Job   telemetry.Entity
	Cause Cause
	Lost  float64 // GPU-seconds
	// Peak is Lost times the job's utilisation before, and Rated the part of
	// Lost for which that was known.
	Peak, Rated float64
	// Links are those of the incident that cost most.
	Links []Coupling
	most  float64 // what it cost
}

func (r *Row) compare(o *Row) int {
	return cmp.Or(cmp.Compare(r.Cell, o.Cell), r.Job.Compare(o.Job), r.Cause.Compare(o.Cause))
}

// take adds another row of the same cell, job and cause.
func (r *Row) take(o *Row) {
	if o.most > r.most {
		r.Links, r.most = o.Links, o.most
	}
	r.Lost += o.Lost
	r.Peak += o.Peak
	r.Rated += o.Rated
}

// sheet is the rows of cells of one length, ordered by cell, job and cause.
type sheet struct{ rows []Row }

// merge adds rows; those of one cell, job and cause become one.
func (s *sheet) merge(rows []Row) {
	s.rows = append(s.rows, rows...)
	slices.SortStableFunc(s.rows, func(a, b Row) int { return a.compare(&b) })
	n := 0
	for i := range s.rows {
		if n > 0 && s.rows[n-1].compare(&s.rows[i]) == 0 {
			s.rows[n-1].take(&s.rows[i])
			continue
		}
		s.rows[n] = s.rows[i]
		n++
	}
	s.rows = s.rows[:n]
}

// trim forgets cells before oldest, and condenses old ones beyond maxRows.
func (s *sheet) trim(oldest int64) {
	n := 0
	for n < len(s.rows) && s.rows[n].Cell < oldest {
		n++
	}
	s.rows = slices.Delete(s.rows, 0, n)
	for at := 0; len(s.rows) > maxRows && at < len(s.rows); {
		end := at
		for end < len(s.rows) && s.rows[end].Cell == s.rows[at].Cell {
			end++
		}
		short := condense(s.rows[at:end])
		s.rows = slices.Replace(s.rows, at, end, short...)
		at += len(short)
	}
}

// condense returns one row a domain for the rows of one cell.
func condense(rows []Row) []Row {
	var out sheet
	for i := range rows {
		r := &rows[i]
		r.Job, r.Cause, r.Links, r.most = telemetry.Entity{}, Cause{Domain: r.Cause.Domain}, nil, 0
	}
	out.merge(rows)
	return out.rows
}

func (s *sheet) snapshot(k *snapshot.Codec) {
	snapshot.List(k, &s.rows, 56, func(k *snapshot.Codec, r *Row) {
		k.I64(&r.Cell)
		k.Entity(&r.Job)
		r.Cause.snapshot(k)
		k.F64(&r.Lost)
		k.F64(&r.Peak)
		k.F64(&r.Rated)
		snapshot.List(k, &r.Links, 10, func(k *snapshot.Codec, c *Coupling) { c.snapshot(k) })
		k.F64(&r.most)
	})
}

// Ledger keeps what closed accounts have cost: by ten minutes for a day, and by
// day (UTC) for a month.
type Ledger struct{ fine, days sheet }

// Close enters an account that is over. now is the newest grid.
func (l *Ledger) Close(job telemetry.Entity, a *Account, now telemetry.Time) {
	fine, days := a.rows(job)
	l.fine.merge(fine)
	l.days.merge(days)
	l.fine.trim(cellOf(now, fineCell) - fineCells)
	l.days.trim(cellOf(now, dayCell) - dayCells + 1)
}

// rows returns the account's rows, by cell.
func (a *Account) rows(job telemetry.Entity) (fine, days []Row) {
	if a.empty() {
		return nil, nil
	}
	add := func(to *[]Row) func(int64, float64) {
		return func(cell int64, lost float64) {
			r := Row{Cell: cell, Job: job, Cause: a.Cause, Lost: lost, Links: a.Links, most: a.last}
			if a.MFU >= 0 {
				r.Peak, r.Rated = float64(lost*a.MFU), lost
			}
			*to = append(*to, r)
		}
	}
	a.fine.each(add(&fine))
	a.days.each(add(&days))
	return fine, days
}

// Open is an account that is not closed, and whose.
type Open struct {
	Job     telemetry.Entity
	Account *Account
}

// with returns the rows of both sheets with those of open accounts.
func (l *Ledger) with(open []Open) (fine, days sheet) {
	fine.rows, days.rows = slices.Clone(l.fine.rows), slices.Clone(l.days.rows)
	var f, d []Row
	for _, o := range open {
		a, b := o.Account.rows(o.Job)
		f, d = append(f, a...), append(d, b...)
	}
	fine.merge(f)
	days.merge(d)
	return fine, days
}

// Snapshot writes or restores the ledger.
func (l *Ledger) Snapshot(k *snapshot.Codec) {
	l.fine.snapshot(k)
	l.days.snapshot(k)
}
