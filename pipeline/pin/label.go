package pin

import (
	"encoding/json"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// Opinion is the feedback on an incident's answer, as stored in the bucket of
// notes.
type Opinion struct {
	Verdict string `json:"verdict"` // right, partly or wrong
	// Entity and Signature are the right answer instead, if given; the signature
	// "none" means that there was no fault at all.
	Entity    telemetry.Entity `json:"entity,omitzero"`
	Signature string           `json:"signature,omitempty"`
}

// None is the signature of an incident that should not have been opened.
const None = "none"

// truth is a truth file (docs/format-bundle.md) with the one fault that an incident was
// about. Unknown keys are tolerated by its readers.
type truth struct {
	Class  string  `json:"class"`
	Faults []fault `json:"faults"`
	// Incident and Verdict are the source of the label.
	Incident string `json:"incident"`
	Verdict  string `json:"verdict"`
}

type fault struct {
	Signature string             `json:"signature"`
	Entity    telemetry.Entity   `json:"entity"`
	Domain    telemetry.Domain   `json:"domain,omitzero"`
	Expect    string             `json:"expect"`
	Onset     int64              `json:"onset_ns"`
	End       *int64             `json:"end_ns"`
	Jobs      []telemetry.Entity `json:"jobs"`
}

// label returns the label that follows from an opinion on an incident; nil if none
// does: "wrong" alone does not give the right answer.
func label(in *explain.Incident, o Opinion) []byte {
	t := truth{Class: "own", Faults: []fault{}, Incident: in.ID, Verdict: o.Verdict}
	f := fault{Signature: in.Root.Signature, Entity: in.Root.Entity, Domain: in.Root.Domain, Expect: in.Kind, Onset: int64(in.Onset.Earliest), Jobs: []telemetry.Entity{}}
	for _, j := range in.Impact.Jobs {
		f.Jobs = append(f.Jobs, j.Job)
	}
	if in.Resolved != nil {
		end := int64(*in.Resolved)
		f.End = &end
	}
	switch {
	case o.Signature == None:
	case o.Signature != "" && !o.Entity.IsZero():
		f.Signature, f.Entity = o.Signature, o.Entity
		if f.Signature != in.Root.Signature {
			f.Domain = 0
		}
		t.Faults = append(t.Faults, f)
	case o.Verdict == "right":
		t.Faults = append(t.Faults, f)
	default:
		return nil
	}
	b, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return nil
	}
	return append(b, '\n')
}
