package explain

import "github.com/quintet-dc/quintet/telemetry"

// First is the first of a job's members that failed or fell behind, as far as
// that is certain.
type First struct {
	Entity telemetry.Entity // gpu, nic, node or rank
	Node   telemetry.Entity // that it is, is contained in or runs on
	At     telemetry.Interval
	Why    string
}

// Suspect returns the entity that an answer would name: the machine of a rank.
func (f *First) Suspect() telemetry.Entity {
	if f.Entity.Kind == telemetry.Rank && !f.Node.IsZero() {
		return f.Node
	}
	return f.Entity
}
