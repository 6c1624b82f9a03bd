package engine

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/engine/grants"
	"github.com/quintet-dc/quintet/telemetry"
)

// snapshotMagic begins every snapshot; the odd bytes catch transfers that
// change line ends.
const snapshotMagic = "QSNAP\r\n\x1a"

// snapshotVersion is that of the envelope, not of the engine.
const snapshotVersion = 4

// Why a snapshot is refused. The caller starts cold, at the oldest record.
var (
	ErrSnapshotDamaged = errors.New("damaged")
	ErrSnapshotEngine  = errors.New("another engine version")
	ErrSnapshotRules   = errors.New("other rules")
)

// castagnoli returns the table of CRC-32C; the standard library makes it once.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// Snapshot returns the state after the last record applied.
func (r *Runner) Snapshot() ([]byte, error) {
	out := []byte(snapshotMagic)
	out = binary.LittleEndian.AppendUint32(out, snapshotVersion)
	out = appendString(out, []byte(r.identity.version))
	out = appendString(out, []byte(r.identity.rules))
	out = binary.LittleEndian.AppendUint64(out, r.position)
	out = binary.LittleEndian.AppendUint64(out, uint64(r.tick))
	out = append(out, r.digest[:]...)
	latest := r.Incidents()
	out = binary.LittleEndian.AppendUint32(out, uint32(len(latest)))
	for i := range latest {
		b, err := Canonical(&latest[i])
		if err != nil {
			return nil, fmt.Errorf("snapshot: %w", err)
		}
		out = appendString(out, b)
	}
	reign, err := json.Marshal(r.reign)
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	out = appendString(out, reign)
	body := r.machine.Snapshot()
	if uint64(len(body)) > math.MaxUint32 {
		return nil, fmt.Errorf("snapshot: state of %d bytes does not fit", len(body))
	}
	out = appendString(out, body)
	gate, err := r.gate.Snapshot()
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	if gate != nil { // a recording has none, and its snapshots are as they were
		out = appendString(out, gate)
	}
	r.saved, r.due = r.tick, false
	return seal(out), nil
}

// seal appends the checksum of everything before it.
func seal(b []byte) []byte {
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli()))
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
	gate      []byte // of grants; nil where there is none
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
	if !bytes.HasPrefix(b, []byte(snapshotMagic)) {
		return nil, fmt.Errorf("%w: it does not begin as a snapshot does", ErrSnapshotDamaged)
	}
	end := len(b) - crc32.Size
	if end < len(snapshotMagic) || crc32.Checksum(b[:end], castagnoli()) != binary.LittleEndian.Uint32(b[end:]) {
		return nil, fmt.Errorf("%w: wrong checksum, %d bytes", ErrSnapshotDamaged, len(b))
	}
	c := cutter{rest: b[len(snapshotMagic):end]}
	if v := c.u32(); v != snapshotVersion {
		return nil, fmt.Errorf("%w: snapshot format %d, want %d", ErrSnapshotEngine, v, snapshotVersion)
	}
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
	e.body = c.string()
	if len(c.rest) > 0 {
		e.gate = c.string()
	}
	if c.failed || len(c.rest) > 0 {
		return nil, fmt.Errorf("%w: its parts do not add up to its length", ErrSnapshotDamaged)
	}
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
