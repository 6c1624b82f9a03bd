package outbox

import (
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/outbox/thin"
	"github.com/quintet-dc/quintet/telemetry"
)

// item is one record of a batch.
type item struct {
	from, to int // in the batch's bytes
	thinned  bool
	renewal  bool // comes from neither memory nor spill
}

// batch is the oldest records, which are being sent. It stays until all of it is
// known to be stored, so records that were sent once are never thinned.
type batch struct {
	buf       []byte
	items     []item
	fromSpill bool

	// Of one attempt: schemas precede the frames that need them.
	messages []bus.Message
	of       []int // the item of each message, or none
}

func (b *batch) reset() {
	b.buf, b.items, b.fromSpill = b.buf[:0], b.items[:0], false
}

func (b *batch) empty() bool { return len(b.items) == 0 }

// add copies a record; false means that the batch is full. The first record always
// has room.
func (b *batch) add(e thin.Entry, limit int) bool {
	if len(b.items) > 0 && (len(b.buf)+len(e.Record) > limit || len(b.items) >= batchRecords) {
		return false
	}
	from := len(b.buf)
	b.buf = append(b.buf, e.Record...)
	b.items = append(b.items, item{from: from, to: len(b.buf), thinned: e.Thinned})
	return true
}

func (b *batch) record(i int) []byte {
	it := b.items[i]
	return b.buf[it.from:it.to:it.to]
}

// tracked counts the records among the first n that memory or the spill had.
func (b *batch) tracked(n int) (count int) {
	for _, it := range b.items[:n] {
		if !it.renewal {
			count++
		}
	}
	return count
}

// drop removes the first n records.
func (b *batch) drop(n int) {
	b.items = b.items[:copy(b.items, b.items[n:])]
	if len(b.items) == 0 {
		b.reset()
	}
}

// prepare makes the messages of an attempt at a time: a schema that was not sent
// for as long as renew precedes the frame that needs it.
func (c *carrier) prepare(now telemetry.Time) {
	b := &c.batch
	b.messages, b.of = b.messages[:0], b.of[:0]
	fresh := map[telemetry.Fingerprint]bool(nil)
	for i := range b.items {
		record := b.record(i)
		switch thin.KindOf(record) {
		case telemetry.SchemaRecord:
			fp := thin.SchemaPrint(record)
			c.remember(fp, record)
			fresh = with(fresh, fp)
		case telemetry.FrameRecord:
			if fp := thin.FramePrint(record); !fresh[fp] && !c.saidSince(fp, now) {
				c.addSchema(fp)
				fresh = with(fresh, fp)
			}
		}
		c.message(i, record)
	}
}

func with(m map[telemetry.Fingerprint]bool, fp telemetry.Fingerprint) map[telemetry.Fingerprint]bool {
	if m == nil {
		m = map[telemetry.Fingerprint]bool{}
	}
	m[fp] = true
	return m
}

// message adds the message of item i.
func (c *carrier) message(i int, record []byte) {
	b := &c.batch
	m, err := c.o.cfg.Bus.Message(c.o.cfg.Collector, record)
	if err != nil { // it goes with the others, so that it is counted in its turn
		m = bus.Message{Data: record}
	}
	if m.ID != "" && b.items[i].thinned {
		m.ID += thinnedID // the frames it replaces may be known by theirs
	}
	b.messages = append(b.messages, m)
	b.of = append(b.of, i)
}

// thinnedID is the suffix of the id of a frame that replaces several.
const thinnedID = "/thinned"

// addSchema adds the schema of a frame before it.
func (c *carrier) addSchema(fp telemetry.Fingerprint) {
	record := c.schema(fp)
	if record == nil {
		c.o.account.unknownSchema.Inc()
		return
	}
	m, err := c.o.cfg.Bus.Message(c.o.cfg.Collector, record)
	if err != nil {
		return
	}
	c.batch.messages = append(c.batch.messages, m)
	c.batch.of = append(c.batch.of, none)
	c.o.account.renewedSchemas.Inc()
}

// none is the item of a message that is of no item.
const none = -1
