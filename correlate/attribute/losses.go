package attribute

import (
	"cmp"
	"slices"
	"time"

	"github.com/quintet-dc/quintet/telemetry"
)

// Losses is what was lost in a window, and to what. Amounts are GPU-seconds. MFU
// lost is the part of the peak of what was available: the loss times the job's
// utilisation before, over the GPU-seconds available; nil where no utilisation was
// reported, or it is not known what was available.
type Losses struct {
	From      telemetry.Time `json:"from"`
	To        telemetry.Time `json:"to"`
	Available *float64       `json:"available_gpu_seconds"` // of all jobs; nil where it is not known where any runs
	Lost      float64        `json:"gpu_seconds_lost"`
	MFULost   *float64       `json:"mfu_lost"`
	Jobs      []JobLoss      `json:"jobs"`    // most first
	Causes    []CauseLoss    `json:"causes"`  // most first
	Domains   []DomainLoss   `json:"domains"` // all five, software first
	Unknown   DomainlessLoss `json:"unknown"` // whose root is not known
	Days      []DayLoss      `json:"days"`    // all that are kept, newest first, whatever the window
	Truncated bool           `json:"truncated,omitempty"`
}

// JobLoss is what one job lost, and by what.
type JobLoss struct {
	Job       telemetry.Entity `json:"job"`
	Available *float64         `json:"available_gpu_seconds"`
	Lost      float64          `json:"gpu_seconds_lost"`
	MFULost   *float64         `json:"mfu_lost"`
	Causes    []ShareLoss      `json:"causes"` // most first
}

// ShareLoss is a cause's part of a job's loss.
type ShareLoss struct {
	Root      telemetry.Entity  `json:"root"`
	Signature string            `json:"signature"`
	Domain    *telemetry.Domain `json:"domain"`
	Lost      float64           `json:"gpu_seconds_lost"`
	Share     float64           `json:"share"` // of the job's loss
}

// CauseLoss is what one cause cost all jobs.
type CauseLoss struct {
	Root      telemetry.Entity   `json:"root"`
	Signature string             `json:"signature"`
	Domain    *telemetry.Domain  `json:"domain"` // nil where the root is not known
	Lost      float64            `json:"gpu_seconds_lost"`
	MFULost   *float64           `json:"mfu_lost"` // of all jobs' peak
	Jobs      []telemetry.Entity `json:"jobs"`
}

// DomainLoss is what began in one domain.
type DomainLoss struct {
	Domain telemetry.Domain `json:"domain"`
	DomainlessLoss
}

// DomainlessLoss is an amount lost.
type DomainlessLoss struct {
	Lost    float64  `json:"gpu_seconds_lost"`
	MFULost *float64 `json:"mfu_lost"`
}

// DayLoss is what was lost on one day (UTC).
type DayLoss struct {
	Day     string       `json:"day"` // 2026-11-21
	Lost    float64      `json:"gpu_seconds_lost"`
	MFULost *float64     `json:"mfu_lost"`
	Domains []DomainLoss `json:"domains"`
	Unknown float64      `json:"unknown_gpu_seconds_lost"`
}

// maxListed bounds the jobs and the causes of a report.
const maxListed = 1000

// sum gathers rows.
type sum struct{ lost, peak, rated float64 }

func (s *sum) add(r *Row) {
	s.lost += r.Lost
	s.peak += r.Peak
	s.rated += r.Rated
}

// mfu is the part of the peak of available GPU-seconds that was lost.
func (s sum) mfu(available float64) *float64 {
	if !(s.rated > 0) || !(available > 0) {
		return nil
	}
	m := s.peak / available
	return &m
}

// Losses returns the losses in a window from the closed accounts and the open ones.
// A zero job means all jobs. had is what was available.
func (l *Ledger) Losses(w Window, job telemetry.Entity, open []Open, had *Usage) Losses {
	fine, days := l.with(open)
	rows := fine.rows
	if w.days {
		rows = days.rows
	}
	first, last := w.cells()
	var in []Row
	for _, r := range rows {
		if r.Cell >= first && r.Cell <= last && (job.IsZero() || r.Job == job) {
			in = append(in, r)
		}
	}
	out := Losses{From: w.from, To: w.to}
	each, all := had.byJob(w), 0.0
	for _, j := range each {
		if !j.job.IsZero() && (job.IsZero() || j.job == job) {
			all += j.tally.Whole
		}
	}
	out.Available = known(all)
	total, domains := byDomain(in, all)
	out.Lost, out.MFULost = total.lost, total.mfu(all)
	out.Domains, out.Unknown = domains[1:], domains[0].DomainlessLoss
	out.Jobs = jobLosses(in, each)
	out.Causes = causeLosses(in, all)
	out.Days = dayLosses(days.rows, job, had)
	if len(out.Jobs) > maxListed || len(out.Causes) > maxListed {
		out.Jobs, out.Causes, out.Truncated = out.Jobs[:min(len(out.Jobs), maxListed)], out.Causes[:min(len(out.Causes), maxListed)], true
	}
	return out
}

func known(x float64) *float64 {
	if !(x > 0) {
		return nil
	}
	return &x
}

// byDomain sums rows by domain: the first is of those whose root is not known.
func byDomain(rows []Row, available float64) (total sum, out []DomainLoss) {
	sums := make([]sum, 1+len(telemetry.Domains()))
	for i := range rows {
		total.add(&rows[i])
		sums[rows[i].Cause.Domain].add(&rows[i])
	}
	for d, s := range sums {
		out = append(out, DomainLoss{telemetry.Domain(d), DomainlessLoss{s.lost, s.mfu(available)}})
	}
	return total, out
}

// groups sorts rows so that those of a kind are contiguous, and calls f for each
// kind.
func groups(rows []Row, compare func(a, b *Row) int, f func([]Row)) {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b Row) int { return compare(&a, &b) })
	for at := 0; at < len(rows); {
		end := at + 1
		for end < len(rows) && compare(&rows[at], &rows[end]) == 0 {
			end++
		}
		f(rows[at:end])
		at = end
	}
}

func ofJob(a, b *Row) int   { return a.Job.Compare(b.Job) }
func ofCause(a, b *Row) int { return a.Cause.Compare(b.Cause) }
func ofCell(a, b *Row) int  { return cmp.Compare(a.Cell, b.Cell) }

func jobLosses(rows []Row, had []jobTally) []JobLoss {
	out := []JobLoss{}
	groups(rows, ofJob, func(of []Row) {
		if of[0].Job.IsZero() {
			return // no longer kept apart
		}
		available := 0.0
		if i, ok := slices.BinarySearchFunc(had, of[0].Job, func(t jobTally, job telemetry.Entity) int { return t.job.Compare(job) }); ok {
			available = had[i].tally.Whole
		}
		total, _ := byDomain(of, available)
		j := JobLoss{Job: of[0].Job, Available: known(available), Lost: total.lost, MFULost: total.mfu(available)}
		for _, c := range causeLosses(of, available) {
			j.Causes = append(j.Causes, ShareLoss{c.Root, c.Signature, c.Domain, c.Lost, c.Lost / total.lost})
		}
		out = append(out, j)
	})
	slices.SortStableFunc(out, func(a, b JobLoss) int { return cmp.Compare(b.Lost, a.Lost) })
	return out
}

func causeLosses(rows []Row, available float64) []CauseLoss {
	out := []CauseLoss{}
	groups(rows, ofCause, func(of []Row) {
		if of[0].Cause.Root.IsZero() {
			return // no longer kept apart
		}
		total, _ := byDomain(of, available)
		c := CauseLoss{Root: of[0].Cause.Root, Signature: of[0].Cause.Signature, Lost: total.lost, MFULost: total.mfu(available)}
		if d := of[0].Cause.Domain; d != 0 {
			c.Domain = &d
		}
		groups(of, ofJob, func(of []Row) { c.Jobs = append(c.Jobs, of[0].Job) })
		out = append(out, c)
	})
	slices.SortStableFunc(out, func(a, b CauseLoss) int { return cmp.Compare(b.Lost, a.Lost) })
	return out
}

func dayLosses(rows []Row, job telemetry.Entity, had *Usage) []DayLoss {
	out := []DayLoss{}
	var in []Row
	for _, r := range rows {
		if job.IsZero() || r.Job == job {
			in = append(in, r)
		}
	}
	groups(in, ofCell, func(of []Row) {
		day := of[0].Cell
		available := had.on(day, job)
		total, domains := byDomain(of, available)
		out = append(out, DayLoss{Day: date(day), Lost: total.lost, MFULost: total.mfu(available), Domains: domains[1:], Unknown: domains[0].Lost})
	})
	slices.Reverse(out)
	return out
}

// date writes the number of a day since 1970 as 2026-11-21.
func date(day int64) string {
	return telemetry.Time(day * int64(dayCell)).String()[:len(time.DateOnly)]
}
