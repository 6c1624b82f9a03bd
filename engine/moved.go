package engine

import (
	"fmt"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// Snapshotted is what a snapshot states of itself.
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
	e.position = position
	out, err := e.pack(len(snapshot), func(sink func([]byte)) { sink(e.body) })
	if err != nil {
		return nil, Snapshotted{}, fmt.Errorf("move snapshot: %w", err)
	}
	return out, Snapshotted{Engine: e.version, Rules: e.rules, Position: position, Tick: e.tick, Incidents: e.incidents}, nil
}
