package explain

import (
	"github.com/quintet-dc/quintet/correlate/attribute"
	"github.com/quintet-dc/quintet/correlate/fabric"
	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/telemetry"
)

// Evidence is everything seen of one degraded job, from which candidates are listed
// and measured. Slices are in identity order.
type Evidence struct {
	Job         telemetry.Entity
	GPUs        int
	Nodes       []telemetry.Entity
	Degradation *jobs.Degradation
	// Progress is what is compared of a job that reports no steps, in words; "" of others.
	Progress string
	// MFUBefore and MFUNow are the job's own reports; nil where it made none.
	MFUBefore, MFUNow *float64

	// Onset finds when a series first rose above a level, from a little before
	// the given onset on; false where it did not or is not kept. May be nil.
	Onset func(s telemetry.Series, level float64, near telemetry.Interval) (telemetry.Interval, bool)

	// Measured returns the mean of a series between two times, in its own unit, and
	// the standard error of that mean, NaN of a single sample; false where nothing of
	// it is kept. May be nil.
	Measured func(s telemetry.Series, from, to telemetry.Time) (mean, err float64, ok bool)

	// SeriesOf returns the series of a slot of the map of links. May be nil.
	SeriesOf func(slot int) telemetry.Series

	// From is the begin of the span that Degradation is compared with, and To the end of
	// what was seen of it.
	From, To telemetry.Time

	// Events lists what happened to the entities given, by time. May be nil.
	Events func(of []telemetry.Entity) []Related

	// Fell is Onset for a series that fell below a level.
	Fell func(s telemetry.Series, level float64, near telemetry.Interval) (telemetry.Interval, bool)

	// Late returns by how many usual steps the evidence for an answer certainly began
	// after the degradation, and whether that counts against it. May be nil.
	Late func(a *Answer) (by float64, counts bool)

	// ClockOff reports whether the times of a series are off by more than a second.
	// May be nil.
	ClockOff func(s telemetry.Series) bool

	// Missing lists what the log lost in that time, or since.
	Missing []Missing

	// Fabric is nil where no end of a link is known to belong to the job.
	Fabric *FabricEvidence
	// Symptoms is nil where nothing was read beyond the fabric and the steps.
	Symptoms Symptoms
	// Others are the other jobs, with the nodes they run on.
	Others []Other
	// Hosts are when each of the job's nodes is ready to send.
	Hosts []HostEvidence
	// Ranks are the job's ranks that report their compute time.
	Ranks []RankEvidence
	// Saves is what checkpoints take beyond their usual time, in seconds a step;
	// nil where it is not known what they usually take.
	Saves *float64
	// Saving is how many seconds a usual checkpoint of the job takes; 0 where none was
	// seen.
	Saving float64
	// ReportedWork is the work per step that the job reports, tokens or else model FLOPs,
	// now over before, with its standard error; 0 where it reports neither.
	ReportedWork, ReportedErr float64
	// First is the member that failed or fell behind first; nil where that is not
	// certain of any.
	First *First
	// Suspects are all that "unknown" may point to, the strongest suspects first.
	Suspects []Suspect
	// Answers are the likeliest, at most Wide, once it was judged.
	Answers []Answer
}

// Missing is an interval of which the log lost entries.
type Missing struct {
	Site     telemetry.Entity
	From, To telemetry.Time // the ticks before and after
	Entries  uint64
}

// Suspect is an entity that shows an anomaly, with or without a signature.
type Suspect struct {
	Entity   telemetry.Entity
	Metric   telemetry.MetricName // what shows it; "" where that is the walk of waiting
	Domain   telemetry.Domain     // of the metric
	Weight   float64              // how strong the evidence is, 0 to 1
	Accounts float64              // what part of the job's loss it explains, 0 to 1
}

// unnamed is the log-odds that a suspect with full evidence, which accounts for all
// of the loss, gives to an answer without a signature: what explains less than that
// is no match.
const unnamed = 3.0

// Unnamed returns the answer without a signature that the evidence allows.
func (e *Evidence) Unnamed() Unnamed {
	out := Unnamed{At: e.Suspects}
	if len(e.Suspects) > 0 {
		out.Score = float64(float64(unnamed*e.Suspects[0].Weight) * e.Suspects[0].Accounts)
	}
	return out
}

// suspected returns the suspect of an entity; the zero value where it is none.
func (e *Evidence) suspected(x telemetry.Entity) Suspect {
	for _, s := range e.Suspects {
		if s.Entity == x {
			return s
		}
	}
	return Suspect{}
}

// Other is another job on the same fabric.
type Other struct {
	Job telemetry.Entity
	// Since is the grid in which it was first seen to run; zero if it was there
	// from the beginning.
	Since telemetry.Time
	Nodes []telemetry.Entity
	// Rose is when what it sends rose from before the degradation to during it; zero
	// where it did not, or was not seen to.
	Rose telemetry.Interval
	// Flat is until when during the degradation it certainly sent no more than before;
	// zero where it is not known.
	Flat telemetry.Time
	// Usual is what its ends did before a degradation of its own that lasted into the
	// baseline; nil where it had none.
	Usual *fabric.Readings
}

// FabricEvidence is what the links did during the degradation and before it.
type FabricEvidence struct {
	Now, Before *fabric.Readings
	Blame       *fabric.Blame
	OnPath      []bool
	// Events are those of links that go down and come back, by the end that reports
	// them, by time: from a little before the degradation on.
	Events map[telemetry.Entity][]telemetry.Event
}

// HostEvidence is how late one of the job's nodes is, in seconds; the Has fields
// report what was seen.
type HostEvidence struct {
	Node                      telemetry.Entity
	Rank                      telemetry.Entity // the latest rank on it, zero if unknown
	HasCompute, HasLag        bool
	ComputeNow, ComputeBefore float64
	// Late is by how many seconds the latest rank's own time in a step is longer than it was:
	// the step without what the rank waits for the others and without the time for which
	// data moves.
	HasLate bool
	Late    float64
	// Lag is by how much later the NIC that is certainly the latest sends than it
	// did, against the job's other NICs, with its standard error.
	Lag       fabric.Lag
	HasWander bool
	// Wander is by how much, in the mean over steps, the latest of the node's ranks
	// exceeds the one that is late by most in the mean.
	Wander float64
}

// Loss is what the degradation costs the job.
func (e *Evidence) Loss() attribute.Loss { return attribute.Of(e.Degradation, e.GPUs) }

// leastShare keeps an explained fraction finite for a loss of zero.
const leastShare = 0.01

// LostShare returns the share of its time that the job loses, at least a
// hundredth.
func (e *Evidence) LostShare() float64 { return max(e.Loss().Share, leastShare) }

// began is when a fact began, as far as it can be seen: the job's own onset
// where it cannot.
func (e *Evidence) began(f fact) (telemetry.Interval, bool) {
	if f.at.Latest != 0 {
		return f.at, true
	}
	if f.level == 0 {
		f.level, f.falls = e.levelOf(f.series(), e.Degradation.Onset.Latest)
	}
	look := e.Onset
	if f.falls {
		look = e.Fell
	}
	if f.level > 0 && look != nil {
		if at, ok := look(f.series(), f.level, e.Degradation.Onset); ok {
			return at, true
		}
	}
	return e.Degradation.Onset, false
}

// levelOf returns the value beyond which a series has changed, a quarter of the
// difference because what is found halfway began earlier, and whether beyond means
// below. What it is now is its mean since a time. The level is 0 where the series has not
// certainly changed.
func (e *Evidence) levelOf(s telemetry.Series, since telemetry.Time) (level float64, falls bool) {
	if e.Measured == nil {
		return 0, false
	}
	before, errBefore, ok := e.Measured(s, e.From, e.Degradation.Onset.Earliest)
	now, errNow, okNow := e.Measured(s, since, e.To)
	by := now - before
	if !ok || !okNow || !(max(by, -by) > float64(3*max(errBefore, errNow))) {
		return 0, false
	}
	return before + by/4, by < 0
}
