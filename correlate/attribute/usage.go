package attribute

import (
	"cmp"
	"slices"

	"github.com/quintet-dc/quintet/correlate/snapshot"
	"github.com/quintet-dc/quintet/telemetry"
)

// maxUses bounds the rows of a usage's cells of one length; beyond it the
// oldest are forgotten.
const maxUses = 65536

// use is where a job's GPU-seconds went in one cell.
type use struct {
	cell  int64
	job   telemetry.Entity
	tally Tally
}

func (u *use) compare(cell int64, job telemetry.Entity) int {
	return cmp.Or(cmp.Compare(u.cell, cell), u.job.Compare(job))
}

// Usage keeps where the GPU-seconds of each job went: by ten minutes for a day,
// and by day (UTC) for a month.
type Usage struct{ fine, days []use }

// Add files what a job did in the grids (from, to], in equal parts where that
// spans cells; what GPUs without one did under the zero job.
func (u *Usage) Add(job telemetry.Entity, from, to telemetry.Time, t *Tally) {
	if to <= from {
		return
	}
	oldest := cellOf(to, fineCell) - fineCells
	u.fine = trimmed(file(u.fine, lattice{fineCell, oldest}, span{job, from, to}, t), oldest)
	oldest = cellOf(to, dayCell) - dayCells + 1
	u.days = trimmed(file(u.days, lattice{dayCell, oldest}, span{job, from, to}, t), oldest)
}

type span struct {
	job      telemetry.Entity
	from, to telemetry.Time
}

// lattice is the cells of one length that are kept.
type lattice struct {
	length telemetry.Duration
	oldest int64
}

func file(uses []use, in lattice, s span, t *Tally) []use {
	length := int64(in.length)
	for cell := max(cellOf(s.from+1, in.length), in.oldest); cell <= cellOf(s.to, in.length); cell++ {
		begin, end := telemetry.Time(cell*length), telemetry.Time((cell+1)*length)
		part := float64(min(end, s.to)-max(begin, s.from)) / float64(s.to-s.from)
		i, ok := slices.BinarySearchFunc(uses, s, func(a use, b span) int { return a.compare(cell, b.job) })
		if !ok {
			uses = slices.Insert(uses, i, use{cell: cell, job: s.job})
		}
		uses[i].tally.add(t, part)
	}
	return uses
}

func trimmed(uses []use, oldest int64) []use {
	n := 0
	for n < len(uses) && (uses[n].cell < oldest || len(uses)-n > maxUses) {
		n++
	}
	return slices.Delete(uses, 0, n)
}

// Tally returns where a job's GPU-seconds went in a window; those of all jobs
// and of the GPUs without one for the zero job.
func (u *Usage) Tally(w Window, job telemetry.Entity) Tally {
	uses := u.fine
	if w.days {
		uses = u.days
	}
	first, last := w.cells()
	return total(uses, first, last, job)
}

// jobTally is where a job's GPU-seconds went.
type jobTally struct {
	job   telemetry.Entity
	tally Tally
}

// byJob returns the tallies of a window, in identity order of job.
func (u *Usage) byJob(w Window) []jobTally {
	uses := u.fine
	if w.days {
		uses = u.days
	}
	first, last := w.cells()
	var out []jobTally
	for i := range uses {
		x := &uses[i]
		if x.cell < first || x.cell > last {
			continue
		}
		at, ok := slices.BinarySearchFunc(out, x.job, func(t jobTally, job telemetry.Entity) int { return t.job.Compare(job) })
		if !ok {
			out = slices.Insert(out, at, jobTally{job: x.job})
		}
		out[at].tally.add(&x.tally, 1)
	}
	return out
}

func total(uses []use, first, last int64, job telemetry.Entity) Tally {
	var t Tally
	for i := range uses {
		x := &uses[i]
		if x.cell >= first && x.cell <= last && (job.IsZero() || x.job == job) {
			t.add(&x.tally, 1)
		}
	}
	return t
}

// on returns the GPU-seconds a job had on a day; those of all jobs for the zero
// job.
func (u *Usage) on(day int64, job telemetry.Entity) float64 {
	t := total(u.days, day, day, job)
	return t.Whole - t.outside()
}

// Snapshot writes or restores the usage.
func (u *Usage) Snapshot(k *snapshot.Codec) {
	for _, s := range []*[]use{&u.fine, &u.days} {
		snapshot.List(k, s, 32+16*int(parts), func(k *snapshot.Codec, x *use) {
			k.I64(&x.cell)
			k.Entity(&x.job)
			x.tally.snapshot(k)
		})
	}
}
