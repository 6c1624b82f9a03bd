package engine

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/engine/grants"
	"github.com/quintet-dc/quintet/telemetry"
)

// SnapshotEvery divides time, from its origin on: a snapshot is due at the first
// tick in each part, so that replicas take theirs at the same ticks.
const SnapshotEvery = telemetry.Duration(time.Minute)

// maxKept bounds the resolved incidents a runner remembers. Older ones are
// forgotten first; open ones are never forgotten.
const maxKept = 4096

// machine is what the runner drives: correlate's engine, or a fake.
type machine interface {
	// Step takes the next record and returns the incidents whose revision it
	// changed, in the order in which they are published. The slice is valid
	// until the next Step.
	Step(r *telemetry.Record) []explain.Incident
	// WarmStart gives it the incidents that others published, from the next tick on.
	WarmStart(open []explain.Incident)
	// Snapshot hands its state to sink piece by piece.
	Snapshot(sink func([]byte))
	Restore(body []byte) error
}

// identity states which engine and rules a snapshot belongs to.
type identity struct{ version, rules string }

// Runner feeds a log to the engine. It is owned by one goroutine; the work it
// cuts into slices runs on others only within a call.
type Runner struct {
	machine  machine
	identity identity

	position uint64
	started  bool           // a record was applied or a snapshot restored
	tick     telemetry.Time // of the newest tick that the engine took
	saved    telemetry.Time // the tick at which the last snapshot was taken
	due      bool
	size     int // about that of the next snapshot, in bytes
	digest   [sha256.Size]byte
	latest   map[string]*explain.Incident
	reign    Reign
	gate     *grants.Gate
}

func newRunner(m machine, id identity) *Runner {
	return &Runner{machine: m, identity: id, latest: map[string]*explain.Incident{}, gate: grants.NewGate()}
}

// Apply takes the record at a position of the log, which must be higher than the
// one before, and returns the incidents whose revision it changed, in the order in
// which they are published. They are the caller's to keep.
//
// A malformed record is not an error: the engine counts it.
//
// The publishing process is unknown, as in a recording, which holds no record that
// was refused.
func (r *Runner) Apply(position uint64, record *telemetry.Record) ([]explain.Incident, error) {
	changed, _, err := r.ApplyFrom(position, "", record)
	return changed, err
}

// ApplyFrom is Apply of a record that a process stated, by the name under which the
// log authenticated it. One that the process may not state changes nothing but the
// position; refused states why.
func (r *Runner) ApplyFrom(position uint64, process string, record *telemetry.Record) (changed []explain.Incident, refused grants.Reason, err error) {
	if r.started && position <= r.position {
		return nil, "", fmt.Errorf("apply record: position %d does not follow %d", position, r.position)
	}
	if empty(record) {
		return nil, "", fmt.Errorf("apply record: position %d: there is nothing in it", position)
	}
	r.position, r.started, r.due = position, true, false
	if refused = r.gate.Take(process, record); refused != "" {
		return nil, refused, nil
	}
	for _, in := range r.machine.Step(record) {
		changed = append(changed, keep(in))
		if err := r.publish(in.ID, keep(in)); err != nil {
			return nil, "", fmt.Errorf("apply record: position %d: %w", position, err)
		}
	}
	switch record.Kind {
	case telemetry.TickRecord:
		r.passed(record.Tick.At)
	case telemetry.ConfigRecord:
		r.claimed(record.Config)
	}
	return changed, "", nil
}

// Processes lists the processes that stated something, what they may state, and what
// was refused of them since this runner was made.
func (r *Runner) Processes() []grants.ProcessState { return r.gate.Processes() }

// Refused returns how many records were refused since this runner was made, by reason.
func (r *Runner) Refused() map[grants.Reason]uint64 { return r.gate.Refused() }

// empty reports whether the field that the record's kind names is not set,
// which no reader of a log lets through.
func empty(r *telemetry.Record) bool {
	if r == nil {
		return true
	}
	switch r.Kind {
	case telemetry.SchemaRecord:
		return r.Schema == nil
	case telemetry.EventRecord:
		return r.Event == nil
	case telemetry.EdgeRecord:
		return r.Edge == nil
	case telemetry.ConfigRecord:
		return r.Config == nil
	}
	return false
}

// passed records a tick, and whether a snapshot is due at it.
func (r *Runner) passed(at telemetry.Time) {
	if r.Leaps(at) {
		return
	}
	r.tick = max(r.tick, at)
	if r.saved == 0 {
		r.saved = r.tick // the first tick starts the minute
	}
	r.due = minute(r.tick) > minute(r.saved)
}

// Leaps reports whether the engine refuses a tick because it is too far ahead of the
// last one. The engine of a log that goes on from there takes no tick any more.
func (r *Runner) Leaps(at telemetry.Time) bool {
	return r.tick != 0 && at.Sub(r.tick) > correlate.MaxJump
}

func minute(t telemetry.Time) int64 { return int64(t) / int64(SnapshotEvery) }

// publish adds one revision to the digest and to the newest revisions.
func (r *Runner) publish(id string, in explain.Incident) error {
	b, err := Canonical(&in)
	if err != nil {
		return err
	}
	chain := append(r.digest[:], binary.LittleEndian.AppendUint32(nil, uint32(len(b)))...)
	r.digest = sha256.Sum256(append(chain, b...))
	r.latest[id] = &in
	r.forget()
	return nil
}

// forget drops the oldest resolved incidents beyond maxKept.
func (r *Runner) forget() {
	if len(r.latest) <= maxKept {
		return
	}
	for _, in := range r.Incidents() {
		if len(r.latest) <= maxKept*3/4 {
			return
		}
		if in.State == explain.StateResolved {
			delete(r.latest, in.ID)
		}
	}
}

// Canonical returns the bytes by which a revision is published, compared and
// digested: its JSON, on one line.
func Canonical(in *explain.Incident) ([]byte, error) {
	b, err := json.Marshal(in)
	if err != nil {
		return nil, fmt.Errorf("incident %s: %w", in.ID, err)
	}
	return b, nil
}

// Incidents returns the newest revision of each incident, ordered by opening,
// root entity and id.
func (r *Runner) Incidents() []explain.Incident {
	out := make([]explain.Incident, 0, len(r.latest))
	for _, id := range slices.Sorted(maps.Keys(r.latest)) {
		out = append(out, keep(*r.latest[id]))
	}
	slices.SortStableFunc(out, func(a, b explain.Incident) int {
		return cmp.Or(cmp.Compare(a.Opened, b.Opened), a.Root.Entity.Compare(b.Root.Entity))
	})
	return out
}

// Digest returns the digest of everything published so far, in hexadecimal.
func (r *Runner) Digest() string { return hex.EncodeToString(r.digest[:]) }

// Position returns that of the last record applied, and false before the first.
func (r *Runner) Position() (uint64, bool) { return r.position, r.started }

// SnapshotDue reports whether the last record was a tick in a later minute than
// the last snapshot.
func (r *Runner) SnapshotDue() bool { return r.due }
