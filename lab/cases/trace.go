package cases

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/quintet-dc/quintet/lab/sim/fault"
	"github.com/quintet-dc/quintet/lab/sim/measure"
	"github.com/quintet-dc/quintet/lab/sim/worlds"
	"github.com/quintet-dc/quintet/replay/score"
	"github.com/quintet-dc/quintet/replay/trace"
	"github.com/quintet-dc/quintet/telemetry"
)

// Recorded describes how a case is written as a trace.
type Recorded struct {
	Trace, Truth io.Writer
	// Entity is where the fault strikes; zero leaves it to the seed.
	Entity telemetry.Entity
	// Minutes the run lasts; 0 as long as the case needs.
	Minutes int
	Lean    bool   // all series of the lean set (measure.Lean), not only those that move
	Writer  string // program and version
	// Progress, if set, is called with the share of the run that is written.
	Progress func(part float64)
}

// WriteTrace plays a case into a trace, and the truth about it next to it. It is
// the very run that Run would score.
func WriteTrace(ctx context.Context, c Case, o Recorded) error {
	var m maker
	b, err := m.build(c)
	if err != nil {
		return err
	}
	if err := b.move(o.Entity); err != nil {
		return err
	}
	if err := m.tune(ctx, b); err != nil {
		return err
	}
	if err := b.apart(ctx); err != nil {
		return err
	}
	if o.Lean {
		b.set = measure.Lean
	}
	if o.Minutes > 0 {
		b.Until = b.stage.world().Jobs.Lead + 60*o.Minutes
	}
	if o.Minutes > 0 && len(b.Faults) > 0 {
		if b.healthy, _, err = m.shelf.of(b.stage).until(b.stage, b.Until); err != nil {
			return err
		}
	}
	w, err := trace.NewWriter(o.Trace, trace.Header{Site: b.site(), Writer: o.Writer})
	if err != nil {
		return err
	}
	position := uint64(0)
	h, err := b.play(ctx, func(r *telemetry.Record) error {
		position++
		if o.Progress != nil && r.Kind == telemetry.TickRecord {
			o.Progress(r.Tick.At.Sub(Start).Seconds() / float64(b.Until))
		}
		return w.Append(position, r)
	})
	if err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	truth := b.truth(h)
	if i := slices.IndexFunc(truth.Faults, harmless); i >= 0 && c.World != worlds.Standard {
		return b.none("%s degrades no job", truth.Faults[i].Signature)
	}
	return writeTruth(o.Truth, truth)
}

// harmless reports whether a fault that should be an incident degrades no job: on a
// site drawn at random such a case cannot be judged.
func harmless(f score.Fault) bool { return f.Expect == score.ExpectIncident && len(f.Jobs) == 0 }

func writeTruth(w io.Writer, t score.Truth) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	if err := e.Encode(&t); err != nil {
		return fmt.Errorf("write truth: %w", err)
	}
	return nil
}

// site is the name of the site of a build.
func (b *Build) site() string {
	if b.scene != nil {
		return b.scene.Site.Name
	}
	return "lab"
}

// move has the first fault strike elsewhere.
func (b *Build) move(e telemetry.Entity) error {
	if e.IsZero() {
		return nil
	}
	if len(b.Faults) == 0 {
		return fmt.Errorf("case %s: a healthy run has no fault at %s", b.Case.Name(), e)
	}
	b.Faults[0].Entity = e
	if _, err := fault.NewPlan(b.scene, b.Faults); err != nil {
		return fmt.Errorf("case %s: %w", b.Case.Name(), err)
	}
	return nil
}
