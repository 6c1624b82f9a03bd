package correlate

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// incidentID is the permanent name of an incident: a hash over the site, what
// triggered it, the first affected job or risk entity, and the grid that opened it.
// Two engines over the same log produce the same name.
func incidentID(site, trigger string, subject telemetry.Entity, opened telemetry.Time) string {
	h := sha256.Sum256([]byte(site + "\x00" + trigger + "\x00" + subject.String() + "\x00" + opened.String()))
	return "inc-" + hex.EncodeToString(h[:8])
}

// byTimeJobID orders revisions (I3).
func byTimeJobID(a, b explain.Incident) int {
	if c := cmp.Compare(a.Updated, b.Updated); c != 0 {
		return c
	}
	if c := a.Subject().Compare(b.Subject()); c != 0 {
		return c
	}
	return cmp.Compare(a.ID, b.ID)
}
