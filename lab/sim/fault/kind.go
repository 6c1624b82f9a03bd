package fault

import (
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// Expect is what a fault is expected to become, in the words of truth.json (docs/format-bundle.md).
type Expect string

// What truths state.
const (
	Incident Expect = "incident"
	Risk     Expect = "risk"
	Benign   Expect = "benign"
)

// Kind is the fault of one signature, or a benign look-alike.
type Kind struct {
	Name   string
	Domain string
	Expect Expect
	Stops  bool // a job that it degrades stalls or fails: there is no quiet case

	// Severity states what it means, "" where it means nothing. Loud and Quiet
	// are severities at which a training job of some 5 s a step can be expected
	// to lose more than 30 % and 5 to 10 %: where to begin a search, not what
	// will be measured. 0 where none is expected to. What has a loud one alone is a
	// fault only where it costs that much.
	Severity    string
	Loud, Quiet float64

	Variants []string   // what Fault.Variant chooses from; none where there is one
	Ramp     float64    // seconds in which it usually comes about
	Lag      [2]float64 // seconds from a severity that degrades to the first slow step, at least and at most, steps of 5 s

	// Alike names the signatures that are also right, because no metric
	// distinguishes them from what the lab does here.
	Alike []string

	before   bool // it writes before its onset too: what is to begin then does not run yet
	strike   []telemetry.Kind
	eligible func(s *Scene, job int) []telemetry.Entity
	write    func(w *writing)
}

func (k *Kind) strikes(e telemetry.Kind) bool { return slices.Contains(k.strike, e) }

// Eligible returns where the kind may be injected so that a job (its number) is
// degraded, or would be if it could: none where the scene has no such thing. The
// order depends on the scene alone.
func (k *Kind) Eligible(s *Scene, job int) []telemetry.Entity { return k.eligible(s, job) }

// Kinds returns every kind: network, computing, power, cooling, software, and
// what only looks like a fault.
func Kinds() []Kind {
	return slices.Concat(pathKinds(), qualityKinds(), settingKinds(), machineKinds(), powerKinds(), coolingKinds(), jobKinds(), benignKinds())
}

// Find returns the kind of a name, nil where there is none.
func Find(name string) *Kind {
	all := Kinds()
	for i := range all {
		if all[i].Name == name {
			return &all[i]
		}
	}
	return nil
}
