package outbox

import (
	"github.com/quintet-dc/quintet/pipeline/outbox/thin"
	"github.com/quintet-dc/quintet/telemetry"
)

// eventShare is the part of what is thinned that events may take: a quarter.
const eventShare = 4

// tapeOf is a tape of entries in memory.
type tapeOf []thin.Entry

// Len implements thin.Tape.
func (t tapeOf) Len() int { return len(t) }

// Entry implements thin.Tape.
func (t tapeOf) Entry(i int) (thin.Entry, error) { return t[i], nil }

func tapeOfChunks(chunks []*chunk) tapeOf {
	var t tapeOf
	for _, c := range chunks {
		for e := range c.entries() {
			t = append(t, e)
		}
	}
	return t
}

// relieve makes room for so many bytes by thinning the oldest half of memory: the
// last resort when Run cannot keep up. o.mu is held. It reports whether there is
// room then.
func (o *Outbox) relieve(need int) bool {
	fits := func() bool { return o.memory()+need <= o.cfg.MemoryBytes }
	older := min(o.cfg.MemoryBytes/2, o.queue.memory-1)
	chunks, _ := o.queue.detach(older)
	o.queue.attach(o.thinChunks(chunks, bytesOf(chunks)/2, o.renewals.record))
	if !fits() { // the memory of Run leaves less than that
		chunks, _ = o.queue.detach(o.queue.memory)
		room := o.cfg.MemoryBytes - o.memory() - need
		o.queue.attach(o.thinChunks(chunks, room/4*3, o.renewals.record)) // chunks are not filled to the end
	}
	return fits()
}

// bytesOf returns how many bytes the entries of chunks take.
func bytesOf(chunks []*chunk) (n int) {
	for _, c := range chunks {
		n += len(c.buf) - c.read
	}
	return n
}

// thinChunks thins entries until they take no more than so many bytes, coarser with
// each try, and drops the oldest if that is not enough.
func (o *Outbox) thinChunks(chunks []*chunk, keep int, schemas func(telemetry.Fingerprint) []byte) []*chunk {
	for level := max(1, int(o.level.Load())-1); ; level++ {
		p := thin.Pass{Level: min(level, thin.TopLevel), Events: max(keep, 0) / eventShare, Largest: o.largest,
			Schemas: schemas, Catalogue: o.catalogue}
		if level > thin.TopLevel {
			p.Shed, p.Keep = true, max(keep, 1)
		}
		out := queue{chunkBytes: o.queue.chunkBytes}
		gone, err := thin.Run(tapeOfChunks(chunks), p, func(e thin.Entry) error {
			out.push(e)
			return nil
		})
		if err != nil { // memory can be read, so this does not happen
			o.account.remove(byFullness, thin.Removal{Others: uint64(len(tapeOfChunks(chunks)))})
			return nil
		}
		o.account.passed(gone)
		chunks = out.chunks
		if bytesOf(chunks) <= keep || level > thin.TopLevel {
			o.level.Store(int32(level))
			return chunks
		}
	}
}

// relieve makes room in memory before Emit has to: from three quarters on, the
// oldest go to disk, or are thinned where there is none. A log that takes records
// right now makes room itself.
func (c *carrier) relieve(busy bool) {
	o := c.o
	for busy || c.failures > 0 {
		share := o.cfg.MemoryBytes / 4
		disk := c.disk.usable()
		if !disk {
			share *= 2
		}
		o.mu.Lock()
		if o.memory() <= o.soft() || !disk && c.failures == 0 {
			o.mu.Unlock()
			return
		}
		chunks, used := o.queue.detach(share)
		o.moving += used
		o.mu.Unlock()
		left := c.disk.append(chunks)
		if len(left) > 0 {
			left = o.thinChunks(left, bytesOf(left)/2, o.schemaRecord)
		}
		o.giveBack(left, used)
		if len(left) > 0 || len(chunks) == 0 {
			return
		}
	}
}

// giveBack ends what began with detaching stored bytes: the rest goes before the
// oldest in memory.
func (o *Outbox) giveBack(left []*chunk, used int) {
	o.mu.Lock()
	o.moving -= used
	o.queue.attach(left)
	o.account.memory.Store(int64(o.memory()))
	o.mu.Unlock()
}

// spillAll writes memory to disk, as far as that works.
func (c *carrier) spillAll() {
	o := c.o
	o.mu.Lock()
	chunks, used := o.queue.detach(o.queue.memory)
	o.moving += used
	o.mu.Unlock()
	if len(chunks) == 1 && chunks[0].empty() {
		chunks = nil
	}
	o.giveBack(c.disk.append(chunks), used)
}

// shelve stores unsent records where the next start finds them: the batch before
// the records on disk, memory behind them. Without a disk they stay in memory.
func (c *carrier) shelve() {
	kept := queue{chunkBytes: c.o.queue.chunkBytes}
	tried := 0
	for i, it := range c.batch.items {
		if thin.KindOf(c.batch.record(i)) == telemetry.FrameRecord {
			tried++
		}
		if !it.renewal && !c.batch.fromSpill {
			kept.push(thin.Entry{Record: c.batch.record(i), Thinned: it.thinned})
		}
	}
	taken := len(c.batch.buf)
	c.batch.reset()
	c.disk.retry()
	c.disk.rewind()
	c.o.shift(taken, 0)
	if left := c.disk.putBack(kept.chunks); len(left) > 0 {
		c.o.giveBack(left, 0)
	} else {
		c.disk.retain(tried) // the log may have it, and knows it by its form
	}
	c.spillAll()
	c.disk.rewind()
	c.disk.sync()
}

// Close writes the rest to the spill and unlocks its directory. It waits for Run to
// end. Records that are emitted afterwards, and those that no disk takes, are
// counted as lost.
func (o *Outbox) Close() error {
	o.owner.Lock()
	defer o.owner.Unlock()
	o.mu.Lock()
	o.ended = true
	o.mu.Unlock()
	o.carrier.shelve()
	o.mu.Lock()
	for _, e := range tapeOfChunks(o.queue.chunks) {
		o.account.remove(byEnd, thin.Count(e.Record, o.renewals.record))
	}
	o.queue.detach(o.queue.memory)
	o.mu.Unlock()
	return o.carrier.disk.close()
}
