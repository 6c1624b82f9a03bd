package snapshot

import "github.com/quintet-dc/quintet/telemetry"

// Entity writes or reads an entity.
func (c *Codec) Entity(e *telemetry.Entity) {
	c.String((*string)(&e.Kind))
	c.String(&e.Name)
}

// Interval writes or reads an interval.
func (c *Codec) Interval(i *telemetry.Interval) {
	c.Time(&i.Earliest)
	c.Time(&i.Latest)
}
