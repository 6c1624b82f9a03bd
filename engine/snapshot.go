package engine

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/engine/grants"
	"github.com/quintet-dc/quintet/telemetry"
)

// Why a snapshot is refused. The caller starts cold, at the oldest record.
var (
	ErrSnapshotDamaged = errors.New("damaged")
	ErrSnapshotEngine  = errors.New("another engine version")
	ErrSnapshotRules   = errors.New("other rules")
)

// Snapshot returns the state after the last record applied, compressed.
func (r *Runner) Snapshot() ([]byte, error) {
	latest := r.Incidents()
	gate, err := r.gate.Snapshot()
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	e := envelope{identity: r.identity, position: r.position, tick: r.tick, digest: r.digest, incidents: latest, reign: r.reign, gate: gate}
	out, err := e.pack(r.size, r.machine.Snapshot)
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	r.size = len(out) + len(out)/8
	r.saved, r.due = r.tick, false
	return out, nil
}

// pack writes a snapshot of about size bytes, whose body writes itself.
func (e *envelope) pack(size int, body func(sink func([]byte))) ([]byte, error) {
	head, err := e.head()
	if err != nil {
		return nil, err
	}
	p, err := newPacker(size)
	if err != nil {
		return nil, err
	}
	p.write(head)
	body(p.write)
	return p.finish(), nil
}

// head is everything but the machine's state.
func (e *envelope) head() ([]byte, error) {
	out := appendString(nil, []byte(e.version))
	out = appendString(out, []byte(e.rules))
	out = binary.LittleEndian.AppendUint64(out, e.position)
	out = binary.LittleEndian.AppendUint64(out, uint64(e.tick))
	out = append(out, e.digest[:]...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(e.incidents)))
	for i := range e.incidents {
		b, err := Canonical(&e.incidents[i])
		if err != nil {
			return nil, err
		}
		out = appendString(out, b)
	}
	reign, err := json.Marshal(e.reign)
	if err != nil {
		return nil, err
	}
	return appendString(appendString(out, reign), e.gate), nil
}

// Restore puts the runner into the state of a snapshot and returns its
// position; the next record to apply is the one after it. After an error the
// runner is as it was, unless correlate refused its body: then it is not to be
// used.
func (r *Runner) Restore(snapshot []byte) (position uint64, err error) {
	e, err := parseSnapshot(snapshot)
	if err != nil {
		return 0, fmt.Errorf("restore snapshot: %w", err)
	}
	switch {
	case e.version != r.identity.version:
		return 0, fmt.Errorf("restore snapshot: %w: it is of %q, this is %q", ErrSnapshotEngine, e.version, r.identity.version)
	case e.rules != r.identity.rules:
		return 0, fmt.Errorf("restore snapshot: %w: digest %q, here %q", ErrSnapshotRules, e.rules, r.identity.rules)
	}
	gate, err := grants.Restore(e.gate)
	if err != nil {
		return 0, fmt.Errorf("restore snapshot: %w: %w", ErrSnapshotDamaged, err)
	}
	if err := r.machine.Restore(e.body); err != nil {
		return 0, fmt.Errorf("restore snapshot: %w: %w", ErrSnapshotDamaged, err)
	}
	r.position, r.started, r.tick, r.saved, r.due, r.digest = e.position, true, e.tick, e.tick, false, e.digest
	r.reign, r.gate = e.reign, gate
	r.latest = map[string]*explain.Incident{}
	for i := range e.incidents {
		r.latest[e.incidents[i].ID] = &e.incidents[i]
	}
	return r.position, nil
}

// envelope is a snapshot taken apart.
type envelope struct {
	identity
	position  uint64
	tick      telemetry.Time
	digest    [32]byte
	incidents []explain.Incident
	reign     Reign
	body      []byte
	gate      []byte // of grants; empty where there is none
}

// Gate returns the state of the grants in a snapshot.
func Gate(snapshot []byte) (*grants.Gate, error) {
	e, err := parseSnapshot(snapshot)
	if err != nil {
		return nil, fmt.Errorf("gate of a snapshot: %w", err)
	}
	return grants.Restore(e.gate)
}

func parseSnapshot(b []byte) (*envelope, error) {
	content, err := unpack(b)
	if err != nil {
		return nil, err
	}
	c := cutter{rest: content}
	e := &envelope{identity: identity{version: string(c.string()), rules: string(c.string())}, position: c.u64(), tick: telemetry.Time(c.u64())}
	copy(e.digest[:], c.bytes(len(e.digest)))
	for range c.u32() {
		if c.failed {
			break
		}
		var in explain.Incident
		if err := json.Unmarshal(c.string(), &in); err != nil && !c.failed {
			return nil, fmt.Errorf("%w: incident %d: %w", ErrSnapshotDamaged, len(e.incidents), err)
		}
		e.incidents = append(e.incidents, in)
	}
	if err := json.Unmarshal(c.string(), &e.reign); err != nil && !c.failed {
		return nil, fmt.Errorf("%w: claim in force: %w", ErrSnapshotDamaged, err)
	}
	e.gate = c.string()
	if c.failed {
		return nil, fmt.Errorf("%w: its parts do not add up to its length", ErrSnapshotDamaged)
	}
	e.body = c.rest
	return e, nil
}

func appendString(dst, s []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(dst, uint32(len(s))), s...)
}

// cutter cuts parts off the front of a snapshot. After it failed, parts are
// empty.
type cutter struct {
	rest   []byte
	failed bool
}

func (c *cutter) bytes(n int) []byte {
	if n < 0 || n > len(c.rest) {
		c.failed, c.rest = true, nil
		return nil
	}
	out := c.rest[:n]
	c.rest = c.rest[n:]
	return out
}

func (c *cutter) u32() uint32 {
	if b := c.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (c *cutter) u64() uint64 {
	if b := c.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (c *cutter) string() []byte { return c.bytes(int(c.u32())) }
