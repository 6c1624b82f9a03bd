package cases

import (
	"context"
	"fmt"

	"github.com/quintet-dc/quintet/lab/sim/fault"
)

// searches bounds how many runs the search for a severity takes.
const searches = 10

// tune finds a severity at which each fault costs as much as the case requires, or
// returns why there is none. Faults without bands keep their severity. With two
// faults, each is tuned alone.
func (m *maker) tune(ctx context.Context, b *Build) error {
	if b.Case.Severity == Usual {
		return nil
	}
	for i := range b.Faults {
		if b.Kinds[i].Expect != fault.Incident || b.Kinds[i].Severity == "" {
			continue
		}
		if err := b.only(i).search(ctx); err != nil {
			return err
		}
	}
	return nil
}

// only is a build with one of its faults, which it shares.
func (b *Build) only(i int) *Build {
	one := *b
	one.Faults, one.Kinds, one.Degrades = b.Faults[i:i+1], b.Kinds[i:i+1], b.Degrades[i:i+1]
	return &one
}

// apart simulates each of several faults alone: what each of them does.
func (b *Build) apart(ctx context.Context) error {
	if len(b.Faults) < 2 || b.Case.Class == Soak {
		return nil
	}
	for i := range b.Faults {
		h, err := b.only(i).simulate(ctx)
		if err != nil {
			return err
		}
		b.alone = append(b.alone, h)
	}
	return nil
}

// band is the loss that a severity is to come to.
func (s Severity) band() (low, high float64) {
	if s == Quiet {
		return QuietFrom, QuietTo
	}
	return LoudAt, stalledLoss - 1
}

// search bisects the severity of a build's only fault, from its kind's hint,
// until the loss is within its band. The loss rises with the severity.
func (b *Build) search(ctx context.Context) error {
	low, high := b.Case.Severity.band()
	f := &b.Faults[0]
	least, most := 0.0, 1.0
	var below, above, highest float64
	for n := range searches {
		loss, err := b.loss(ctx)
		if err != nil {
			return err
		}
		highest = max(highest, loss)
		switch {
		case loss >= low && loss <= high:
			return nil
		case loss < low:
			least, below = f.Severity, loss
			if f.Severity >= 1 {
				return b.none("it costs %.1f %% at most", 100*highest)
			}
			f.Severity = b.next(least, most, n)
		default:
			most, above = f.Severity, loss
			f.Severity = (least + most) / 2
		}
	}
	if above >= stalledLoss {
		return b.none("it costs %.1f %%, or the job stalls", 100*below)
	}
	return b.none("it costs %.1f %% or %.1f %%, and nothing between", 100*below, 100*above)
}

// next is a severity between one that is too low and the least that was too
// high; while none was, the search goes up fast.
func (b *Build) next(least, most float64, n int) float64 {
	if most == 1 && n >= 2 {
		return 1
	}
	return (least + most) / 2
}

func (b *Build) none(format string, args ...any) error {
	return &NoCaseError{Case: b.Case, Why: fmt.Sprintf(format, args...)}
}

// loss simulates a build and returns the loss of the most degraded job.
func (b *Build) loss(ctx context.Context) (float64, error) {
	h, err := b.simulate(ctx)
	if err != nil {
		return 0, err
	}
	return worst(b.harms(h, 0)), nil
}

func worst(hs []harm) float64 {
	if len(hs) == 0 {
		return 0
	}
	return hs[0].loss
}
