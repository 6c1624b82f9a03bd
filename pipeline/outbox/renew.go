package outbox

import (
	"slices"

	"github.com/quintet-dc/quintet/pipeline/outbox/thin"
	"github.com/quintet-dc/quintet/telemetry"
)

// saidSince reports whether the log got a schema less than Renew before now, so
// that it cannot have aged out of it.
func (c *carrier) saidSince(fp telemetry.Fingerprint, now telemetry.Time) bool {
	at, ok := c.stated[fp]
	return ok && now.Sub(at) < c.o.cfg.Renew
}

// schema returns the record of a schema, nil if there is none.
func (c *carrier) schema(fp telemetry.Fingerprint) []byte {
	if record := c.o.schemaRecord(fp); record != nil {
		return record
	}
	return c.inherited[fp]
}

func (o *Outbox) schemaRecord(fp telemetry.Fingerprint) []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.renewals.record(fp)
}

// remember keeps a schema that this process did not emit: its frames come from an
// earlier process's spill.
func (c *carrier) remember(fp telemetry.Fingerprint, record []byte) {
	if len(c.inherited) < maxInherited && c.inherited[fp] == nil && c.o.schemaRecord(fp) == nil {
		c.inherited[fp] = slices.Clone(record)
	}
}

// renew adds renewals to the batch, up to so many bytes. It adds none while the log
// is unreachable: they would only pile up.
func (c *carrier) renew(limit int) {
	if c.failures > 0 {
		return
	}
	now := c.now()
	if c.renewDue {
		c.renewDue = false
		c.listRenewals(now)
	}
	var scratch []byte
	for len(c.schemas) > 0 && c.again(c.schema(c.schemas[0]), limit) {
		c.schemas = c.schemas[1:]
		c.o.account.renewedSchemas.Inc()
	}
	for len(c.schemas) == 0 && len(c.edges) > 0 {
		c.o.mu.Lock()
		scratch = c.o.renewals.renewEdge(scratch[:0], c.edges[0], now)
		c.o.mu.Unlock()
		if !c.again(scratch, limit) {
			return
		}
		c.edges = c.edges[1:]
		c.o.account.renewedEdges.Inc()
	}
}

// again adds a renewal, and returns false if the batch has no room; an empty one
// needs none.
func (c *carrier) again(record []byte, limit int) bool {
	if len(record) == 0 {
		return true
	}
	if !c.batch.add(thin.Entry{Record: record}, limit) || len(c.batch.items) > batchRecords/2 {
		return false
	}
	c.batch.items[len(c.batch.items)-1].renewal = true
	return true
}

// listRenewals lists the records to renew: the newest schema of every source and
// every open edge. A schema that was never sent is in transit, unless nothing is.
func (c *carrier) listRenewals(now telemetry.Time) {
	idle := c.disk.empty()
	c.o.mu.Lock()
	idle = idle && c.o.queue.empty()
	c.edges = c.o.renewals.openEdges(idle)
	fps := c.o.renewals.current()
	c.o.mu.Unlock()
	c.schemas = slices.DeleteFunc(fps, func(fp telemetry.Fingerprint) bool {
		_, stated := c.stated[fp]
		return !stated && !idle || c.saidSince(fp, now)
	})
	for fp := range c.stated { // of sources that are gone, or stated again by now
		if !c.saidSince(fp, now) && c.o.schemaRecord(fp) == nil {
			delete(c.stated, fp)
		}
	}
}
