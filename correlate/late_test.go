package correlate

import (
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// A case keeps how late the evidence for an answer is when the window has forgotten it;
// what goes and comes again began when it first did.
func TestACaseKnowsWhatBeganLater(t *testing.T) {
	var l lateAnswers
	at := func(entity, signature string) place {
		return place{telemetry.Entity{Kind: telemetry.GPU, Name: entity}, signature}
	}
	for i, c := range []struct {
		of   place
		by   float64
		seen bool
		want float64
	}{
		{at("n1/0", "power-cap"), 0, false, 0},
		{at("n1/0", "power-cap"), 5, true, 5},
		{at("n1/0", "power-cap"), 0, false, 5},
		{at("n0/0", "power-cap"), 0, false, 0},
		{at("n1/0", "gpu-slow"), 0, false, 0},
		{at("n1/0", "gpu-slow"), 0, true, 0},
		{at("n1/0", "gpu-slow"), 9, true, 0},
		{at("n1/0", "power-cap"), 7, true, 5},
	} {
		if got := l.note(c.of, c.by, c.seen); got != c.want {
			t.Errorf("note %d, of %v: %v, want %v", i, c.of, got, c.want)
		}
	}
}

// A job that was slower before what is sure to degrade another one began is not degraded
// by that, though it lists it; one that became slower at about that time may be.
func TestNoIncidentTakesUpWhatWasSlowerBefore(t *testing.T) {
	at := func(seconds int64) telemetry.Interval {
		return telemetry.Interval{Earliest: telemetry.Time(seconds * 1e9), Latest: telemetry.Time((seconds + 5) * 1e9)}
	}
	storage := telemetry.Entity{Kind: telemetry.Storage, Name: "scratch"}
	slow := &explain.Incident{Onset: at(200), Root: explain.Root{Entity: storage, Signature: "storage-slow", Domain: telemetry.Software, Confidence: 0.99, Onset: at(200)}}
	for before, want := range map[int64]bool{20: false, 160: false, 170: true, 190: true, 260: true} {
		vague := &explain.Incident{Onset: at(before), Root: explain.Root{Signature: explain.Unknown, Domain: telemetry.Network, Confidence: 0.3},
			Alternatives: []explain.Alternative{{Entity: storage, Signature: "storage-slow", Confidence: 0.2}}}
		if got := new(caseBook).maybeOne(slow, vague); got != want {
			t.Errorf("slower since %d s, storage since 200 s: %v, want %v", before, got, want)
		}
	}
}
