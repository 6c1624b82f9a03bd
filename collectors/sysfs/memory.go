package sysfs

import (
	"github.com/quintet-dc/quintet/telemetry"
)

// memory is what is known of a port from before, also across a new plan: the
// device may have been away, or have another name now.
type memory struct {
	entity   telemetry.Entity
	state    portState
	fast     bool // it has shown a rate that is not SDR's
	settings map[string]string
}

// portState is the state of a port in words.
type portState struct {
	known, up         bool
	logical, physical string
}

// maxMemories bounds what is remembered; past it the past is forgotten.
const maxMemories = 4096

// memories are those of the ports and interfaces of one host, by identity.
type memories struct{ all map[string]*memory }

// of returns the memory of a port, under its present name.
func (ms *memories) of(p *port, e telemetry.Entity) *memory { return ms.get(p.identity(), e) }

func (ms *memories) get(identity string, e telemetry.Entity) *memory {
	if ms.all == nil || len(ms.all) > maxMemories {
		ms.all = map[string]*memory{}
	}
	m := ms.all[identity]
	if m == nil {
		m = &memory{entity: e, settings: map[string]string{}}
		ms.all[identity] = m
	}
	return m
}
