package correlate

import (
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// maxNested is how deep entities are nested: nvlink, gpu, node, rack,
// row, hall, site.
const maxNested = 8

// containedIn reports whether an entity is one of those in a list, which is in identity
// order, or is contained in one.
func (e *sight) containedIn(x telemetry.Entity, in []telemetry.Entity) bool {
	for range maxNested {
		if _, ok := slices.BinarySearchFunc(in, x, telemetry.Entity.Compare); ok {
			return true
		}
		up, ok := e.graph.Container(x)
		if !ok {
			return false
		}
		x = up
	}
	return false
}
