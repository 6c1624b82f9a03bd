package score

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// Expect states what a fault should become.
type Expect string

// The expectations. A truth file that states none means ExpectIncident.
const (
	ExpectIncident Expect = "incident" // it degrades a job: an incident must report it
	ExpectRisk     Expect = "risk"     // it degrades no job yet: a risk must report it
	ExpectBenign   Expect = "benign"   // a change of the work: no fault may be named for it
)

// Truth is what really happened in a run: truth.json (docs/format-bundle.md). No faults
// means a healthy run.
type Truth struct {
	Class string `json:"class"`
	// JudgedJobs limits the judgement: incidents on other jobs count neither
	// way. Empty means every job.
	JudgedJobs []telemetry.Entity `json:"judged_jobs,omitempty"`
	Faults     []Fault            `json:"faults"`
	// Unknown lists the keys of the file that this reader does not know, as
	// "key" or "faults[0].key". They are tolerated: a labeller may add his own.
	Unknown []string `json:"-"`
}

// Fault is one fault of a run. Its times are on the recording's own clock.
type Fault struct {
	Signature        string
	AcceptSignatures []string // other signatures that count as right
	Entity           telemetry.Entity
	Accept           []telemetry.Entity // other entities that count as right; nothing inside them does
	Victims          []telemetry.Entity // entities that must not be named
	Domain           telemetry.Domain   // zero if not stated: then it is not judged
	Expect           Expect
	Onset            telemetry.Time
	End              telemetry.Time // zero: it lasts to the end of the recording
	Degraded         telemetry.Time // when the job first felt it; zero if not stated
	Jobs             []telemetry.Entity
	// Slowdown is the mean length of the steps that overlap the fault over the
	// mean of those before it; zero if not stated.
	Slowdown float64
	// StepsInFault is how many steps overlap the fault, by the labeller's
	// count; zero if not stated.
	StepsInFault int
}

// faultFile is a Fault as its file writes it.
type faultFile struct {
	Signature        string             `json:"signature"`
	AcceptSignatures []string           `json:"accept_signatures"`
	Entity           telemetry.Entity   `json:"entity"`
	Accept           []telemetry.Entity `json:"accept"`
	Victims          []telemetry.Entity `json:"victims,omitempty"`
	Domain           telemetry.Domain   `json:"domain,omitempty"`
	Expect           Expect             `json:"expect"`
	OnsetNS          *int64             `json:"onset_ns"`
	EndNS            *int64             `json:"end_ns"`
	DegradedNS       *int64             `json:"hurt_ns"`
	Jobs             []telemetry.Entity `json:"jobs"`
	Slowdown         *float64           `json:"slowdown"`
	StepsInFault     int                `json:"steps_in_fault,omitempty"`
}

// MarshalJSON writes the fault as a truth file does.
func (f Fault) MarshalJSON() ([]byte, error) {
	w := faultFile{
		Signature: f.Signature, AcceptSignatures: orEmpty(f.AcceptSignatures), Entity: f.Entity, Accept: orEmpty(f.Accept),
		Victims: f.Victims, Domain: f.Domain, Expect: f.Expect, Jobs: orEmpty(f.Jobs), StepsInFault: f.StepsInFault,
		OnsetNS: (*int64)(&f.Onset), EndNS: stated(int64(f.End)), DegradedNS: stated(int64(f.Degraded)), Slowdown: stated(f.Slowdown),
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads the fault of a truth file; it does not validate.
func (f *Fault) UnmarshalJSON(b []byte) error {
	w := faultFile{Expect: ExpectIncident}
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	if w.OnsetNS == nil {
		return errors.New("onset_ns: missing")
	}
	*f = Fault{
		Signature: w.Signature, AcceptSignatures: w.AcceptSignatures, Entity: w.Entity, Accept: w.Accept, Victims: w.Victims,
		Domain: w.Domain, Expect: w.Expect, Onset: telemetry.Time(*w.OnsetNS), End: telemetry.Time(orZero(w.EndNS)),
		Degraded: telemetry.Time(orZero(w.DegradedNS)), Jobs: w.Jobs, Slowdown: orZero(w.Slowdown), StepsInFault: w.StepsInFault,
	}
	return nil
}

// ParseTruth reads a truth file. Its errors name the line, or the fault and
// field, and what was wanted there.
func ParseTruth(b []byte) (Truth, error) {
	var t Truth
	d := json.NewDecoder(bytes.NewReader(b))
	if err := d.Decode(&t); err != nil {
		return Truth{}, fmt.Errorf("read truth: %w", located(b, d, err))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Truth{}, fmt.Errorf("read truth: line %d: text after the end of the object", lineAt(b, d.InputOffset()))
	}
	t.Unknown = unknownKeys(b)
	if err := t.Validate(); err != nil {
		return Truth{}, fmt.Errorf("read truth: %w", err)
	}
	return t, nil
}

// Validate reports what is wrong with t: a job that is not a job, or a fault that
// cannot be judged.
func (t *Truth) Validate() error {
	for _, j := range t.JudgedJobs {
		if j.Kind != telemetry.Job {
			return fmt.Errorf("judged_jobs: %q is not a job", j)
		}
	}
	for i := range t.Faults {
		if err := t.validateFault(&t.Faults[i]); err != nil {
			return fmt.Errorf("faults[%d]: %w", i, err)
		}
	}
	return nil
}

func (t *Truth) validateFault(f *Fault) error {
	switch {
	case f.Signature == "":
		return errors.New("signature: empty")
	case f.Entity.IsZero():
		return errors.New("entity: empty")
	case f.Expect != ExpectIncident && f.Expect != ExpectRisk && f.Expect != ExpectBenign:
		return fmt.Errorf("expect %q: want incident, risk or benign", f.Expect)
	case f.Onset < 0 || f.End < 0 || f.Degraded < 0:
		return errors.New("onset_ns, end_ns, hurt_ns: negative")
	case f.End != 0 && f.End <= f.Onset:
		return fmt.Errorf("end_ns %d: not after onset_ns %d", int64(f.End), int64(f.Onset))
	case f.Slowdown < 0 || math.IsNaN(f.Slowdown) || math.IsInf(f.Slowdown, 0):
		return fmt.Errorf("slowdown %v: want a ratio", f.Slowdown)
	case f.Expect != ExpectRisk && len(f.Jobs) == 0 && len(t.JudgedJobs) == 0:
		return errors.New("jobs: empty, and no judged_jobs either")
	}
	for _, j := range f.Jobs {
		if j.Kind != telemetry.Job {
			return fmt.Errorf("jobs: %q is not a job", j)
		}
	}
	return nil
}

// jobsOf returns the jobs that a fault degrades: its own, else the judged ones.
func (t *Truth) jobsOf(f *Fault) []telemetry.Entity {
	if len(f.Jobs) > 0 {
		return f.Jobs
	}
	return t.JudgedJobs
}

// judges reports whether an answer about these jobs is judged.
func (t *Truth) judges(jobs []telemetry.Entity) bool {
	return len(t.JudgedJobs) == 0 || intersects(t.JudgedJobs, jobs)
}

// rightEntity reports whether e is the fault's entity or an accepted other:
// nothing contained in them counts.
func (f *Fault) rightEntity(e telemetry.Entity) bool {
	return e == f.Entity || slices.Contains(f.Accept, e)
}

// rightSignature reports whether s is the fault's signature or an accepted
// other.
func (f *Fault) rightSignature(s string) bool {
	return s == f.Signature || slices.Contains(f.AcceptSignatures, s)
}

// unknownKeys lists the keys of a well-formed truth file that no field reads.
func unknownKeys(b []byte) []string {
	var top map[string]json.RawMessage
	var out []string
	if json.Unmarshal(b, &top) != nil {
		return nil
	}
	for k := range top {
		if k != "class" && k != "judged_jobs" && k != "faults" {
			out = append(out, k)
		}
	}
	var faults []map[string]json.RawMessage
	if json.Unmarshal(top["faults"], &faults) == nil {
		for i, f := range faults {
			for k := range f {
				if !faultKey(k) {
					out = append(out, fmt.Sprintf("faults[%d].%s", i, k))
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

func faultKey(k string) bool {
	switch k {
	case "signature", "accept_signatures", "entity", "accept", "victims", "domain", "expect",
		"onset_ns", "end_ns", "hurt_ns", "jobs", "slowdown", "steps_in_fault":
		return true
	}
	return false
}

// located adds the line to a decoding error, where the decoder knows it.
func located(b []byte, d *json.Decoder, err error) error {
	at := d.InputOffset()
	var syntax *json.SyntaxError
	var typed *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		at = syntax.Offset
	case errors.As(err, &typed) && typed.Offset > at:
		at = typed.Offset
	}
	return fmt.Errorf("line %d: %w", lineAt(b, at), err)
}

func lineAt(b []byte, offset int64) int {
	n := min(max(offset, 0), int64(len(b)))
	return 1 + bytes.Count(b[:n], []byte{'\n'})
}

func intersects(a, b []telemetry.Entity) bool {
	return slices.ContainsFunc(a, func(e telemetry.Entity) bool { return slices.Contains(b, e) })
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func orZero[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// stated returns nil for a zero, which our truth fields use for "not stated".
func stated[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
