package explain

import "github.com/quintet-dc/quintet/telemetry"

// Behaviour that no healthy network shows makes links and switches suspects even
// without a signature: waiting goes round in a loop, all links of a switch are
// down, bytes go in and never come out.

// oddity is a measure that is absent up to none and certain from full on, and how
// strong a suspect it makes of the candidate that shows it.
type oddity struct {
	of                    Measure
	none, full, suspicion float64
}

// oddities lists them in order: measures that are behind others come first.
func oddities() []oddity {
	return []oddity{
		{PeersDown, 0.3, 0.9, 0.9},
		{Circling, 0.02, 0.1, 0.8},
		{LinkDamage, 1e-6, 1e-4, 0.7},
		{LinkLeak, noLeak, 1e-3, 0.7},
		{StoppedReporting, 0.3, 0.9, 0.5},
	}
}

const (
	// oddDrops is the dropped packets a second that are fully an anomaly, more so
	// where most are dropped.
	oddDrops   = 200.0
	dropWeight = 0.4
	// disorder is an anomaly where no link loses more than this part of what is
	// sent: else it is what a receiver sees of the loss.
	noLeak, noDamage = 1e-4, 1e-5
	disorderWeight   = 0.4
)

// Anomalies lists the candidates that show such an anomaly. A switch whose links are gone
// accounts for what the job lost by as many.
func Anomalies(cands []Candidate) []Suspect {
	var out []Suspect
	for i := range cands {
		if s := cands[i].Values.anomaly(); s > 0 {
			out = append(out, Suspect{Entity: cands[i].Entity, Domain: telemetry.Network, Weight: s, Accounts: cands[i].Values[PeersDown]})
		}
	}
	return out
}

func (v Values) anomaly() float64 {
	worst := 0.0
	for _, o := range oddities() {
		if x, seen := v[o.of]; seen {
			worst = max(worst, float64(o.suspicion*rising(x, o.none, o.full)))
		}
	}
	if here, seen := v[DropsHere]; seen {
		worst = max(worst, float64(dropWeight*float64(rising(v[SwitchDrops], 0, oddDrops)*here)))
	}
	if part, seen := v[DisorderPart]; seen && v[WorstLeak] < noLeak && v[WorstDamage] < noDamage {
		worst = max(worst, float64(disorderWeight*rising(part, 0.05, 0.4)))
	}
	return worst
}
