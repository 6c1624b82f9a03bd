package engine

import (
	"bytes"

	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// Snapshotted is what a snapshot says of itself.
type Snapshotted struct {
	Engine, Rules string // version and digest
	Position      uint64
	Tick          telemetry.Time
	Incidents     []explain.Incident // the newest revision of each
}

// Moved returns a snapshot as it would be in another log: in one that holds the
// tick at which it was taken at the given position. State is kept by identity, so
// nothing else in it depends on where its log had it.
func Moved(snapshot []byte, position uint64) ([]byte, Snapshotted, error) {
	e, err := parseSnapshot(snapshot)
	if err != nil {
		return nil, Snapshotted{}, fmt.Errorf("move snapshot: %w", err)
	}
	out := bytes.Clone(snapshot[:len(snapshot)-crc32.Size])
	at := len(snapshotMagic) + 4 + 4 + len(e.version) + 4 + len(e.rules)
	binary.LittleEndian.PutUint64(out[at:], position)
	return seal(out), Snapshotted{Engine: e.version, Rules: e.rules, Position: position, Tick: e.tick, Incidents: e.incidents}, nil
}
