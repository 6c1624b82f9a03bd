package attribute

import "github.com/quintet-dc/quintet/telemetry"

// Budget is where a job's GPU-seconds, or those of the fleet, went in a window:
// from peak to achieved, in the order of removal. Parts that are known, the
// unexplained and the achieved add up to the whole.
type Budget struct {
	Job  *telemetry.Entity `json:"job"` // nil for the fleet
	From telemetry.Time    `json:"from"`
	To   telemetry.Time    `json:"to"`
	// Whole is the GPU-seconds there were: those of a job, or of all GPUs.
	Whole float64      `json:"gpu_seconds"`
	Parts []PartAmount `json:"parts"`
	// Unexplained is what no part takes: what cannot be observed, and what is
	// left over. Where the utilisation is not known, what was achieved is in it.
	Unexplained Amount   `json:"unexplained"`
	Achieved    *Amount  `json:"achieved"` // GPU-seconds of peak arithmetic
	MFU         MFU      `json:"mfu"`
	Step        *float64 `json:"step_seconds"`          // mean
	Expected    *float64 `json:"expected_step_seconds"` // by the job's own healthy past
	// Incidents is the loss to incidents, by the domain of their root: nil where
	// that is not known. It is included in the parts already, as far as those are
	// known.
	Incidents []DomainTaken `json:"incidents"`
}

// Amount is a number of GPU-seconds, and its share of the whole.
type Amount struct {
	GPUSeconds float64 `json:"gpu_seconds"`
	Share      float64 `json:"share"`
}

// DomainTaken is what the incidents took whose root is in a domain.
type DomainTaken struct {
	Domain *telemetry.Domain `json:"domain"`
	Lost   float64           `json:"gpu_seconds_lost"`
}

// PartAmount is what one part took.
type PartAmount struct {
	Part   string            `json:"part"`
	Domain *telemetry.Domain `json:"domain"` // nil where the part is not reported
	// GPUSeconds and Share are nil where the part cannot be observed.
	GPUSeconds *float64 `json:"gpu_seconds"`
	Share      *float64 `json:"share"`
	// Observed is the share of the whole for which the part could be determined.
	Observed float64 `json:"observed"`
}

// MFU is model FLOPs utilisation, 0 to 1.
type MFU struct {
	PaLM       *float64 `json:"palm"`       // by the PaLM convention
	Basis      string   `json:"basis"`      // "tokens", "converted", "reported", or "" where there is none
	Reported   *float64 `json:"reported"`   // as the job states it
	Convention string   `json:"convention"` // by which the job states it; "" where it is not reported
	Precision  string   `json:"precision"`
	Peak       *float64 `json:"peak_flops"`
}

// Described is what a job reports of itself in addition to its steps.
type Described struct {
	Model Model
	Basis string // of its utilisation
}

// budget returns the budget of a tally; that of the fleet for the zero job.
func (t *Tally) budget(w Window, job telemetry.Entity, d Described) Budget {
	b := Budget{From: w.from, To: w.to, Whole: t.Whole, Parts: []PartAmount{}, Incidents: []DomainTaken{}}
	if !job.IsZero() {
		b.Job = &job
	}
	left := t.Whole
	for _, p := range Parts() {
		if p.outside() && !job.IsZero() {
			continue
		}
		x := PartAmount{Part: p.String(), Observed: share(t.Seen[p], t.Whole)}
		if dom := p.Domain(); dom != 0 {
			x.Domain = &dom
		}
		if t.Seen[p] > 0 {
			amount, part := t.Taken[p], share(t.Taken[p], t.Whole)
			x.GPUSeconds, x.Share = &amount, &part
			left -= amount
		}
		b.Parts = append(b.Parts, x)
	}
	if t.Rated > 0 {
		b.Achieved = &Amount{t.Achieved, share(t.Achieved, t.Whole)}
		left -= t.Achieved
	}
	left = max(0, left) // a rounding error
	b.Unexplained = Amount{left, share(left, t.Whole)}
	b.MFU = t.mfu(d)
	if t.Steps > 0 {
		step, expected := t.Length/t.Steps, t.Expected/t.Steps
		b.Step, b.Expected = &step, &expected
	}
	return b
}

func share(x, whole float64) float64 {
	if !(whole > 0) {
		return 0
	}
	return x / whole
}

// mfu is the utilisation of what was there, GPUs without a job included.
func (t *Tally) mfu(d Described) MFU {
	m := MFU{Basis: d.Basis, Convention: d.Model.Convention, Precision: d.Model.Precision, Peak: known(d.Model.Peak)}
	rated := t.Rated + t.outside()
	if t.Rated > 0 {
		x := t.Achieved / rated
		m.PaLM = &x
	}
	if t.Reported > 0 {
		x := t.Reported / rated
		m.Reported = &x
	}
	return m
}

// Budgets is where the GPU-seconds of the fleet and of every job went.
type Budgets struct {
	Fleet     Budget   `json:"fleet"`
	Jobs      []Budget `json:"jobs"` // in identity order
	Truncated bool     `json:"truncated,omitempty"`
}

// Budgets reports on the fleet and on every job that had GPUs in a window, or
// on the fleet and one job. lost is what incidents took in the same window.
func (u *Usage) Budgets(w Window, job telemetry.Entity, lost *Losses, describe func(telemetry.Entity) Described) Budgets {
	fleet := u.Tally(w, telemetry.Entity{})
	out := Budgets{Fleet: fleet.budget(w, telemetry.Entity{}, Described{}), Jobs: []Budget{}}
	out.Fleet.Incidents = lost.byDomain()
	for _, t := range u.byJob(w) {
		if t.job.IsZero() || !job.IsZero() && t.job != job {
			continue
		}
		if len(out.Jobs) == maxListed {
			out.Truncated = true
			break
		}
		b := t.tally.budget(w, t.job, describe(t.job))
		for i := range lost.Jobs {
			if lost.Jobs[i].Job == t.job {
				b.Incidents = lost.Jobs[i].byDomain()
			}
		}
		out.Jobs = append(out.Jobs, b)
	}
	return out
}

// byDomain are the losses of all jobs, where there are any.
func (l *Losses) byDomain() []DomainTaken {
	out := []DomainTaken{}
	for _, d := range l.Domains {
		if d.Lost > 0 {
			out = append(out, DomainTaken{&d.Domain, d.Lost})
		}
	}
	if l.Unknown.Lost > 0 {
		out = append(out, DomainTaken{nil, l.Unknown.Lost})
	}
	return out
}

// byDomain are the losses of one job, where there are any.
func (j *JobLoss) byDomain() []DomainTaken {
	out := []DomainTaken{}
	for _, d := range telemetry.Domains() {
		x := DomainTaken{Domain: &d}
		for _, c := range j.Causes {
			if c.Domain != nil && *c.Domain == d {
				x.Lost += c.Lost
			}
		}
		if x.Lost > 0 {
			out = append(out, x)
		}
	}
	unknown := DomainTaken{}
	for _, c := range j.Causes {
		if c.Domain == nil {
			unknown.Lost += c.Lost
		}
	}
	if unknown.Lost > 0 {
		out = append(out, unknown)
	}
	return out
}
