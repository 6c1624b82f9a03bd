package outbox

import (
	"errors"
	"time"

	"github.com/quintet-dc/quintet/pipeline/outbox/spill"
	"github.com/quintet-dc/quintet/pipeline/outbox/thin"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	// diskRest is how long the disk is left alone after it failed.
	diskRest = 30 * time.Second
	// maxReadErrors is how often in a row the spill may fail to be read before
	// what cannot be read is given up.
	maxReadErrors = 5
)

// disk is the spill and what to do when it fails. Without a directory it is
// always empty and takes nothing.
type disk struct {
	o     *Outbox
	spill *spill.Spill
	down  bool
	until time.Time // when to try again
	reads int       // failed in a row
	level int       // of the last thinning
}

// openDisk opens the spill, if there is to be one.
func (c *carrier) openDisk() error { return c.disk.open() }

func (d *disk) open() error {
	if d.o.cfg.Dir == "" || d.spill != nil {
		return nil
	}
	s, err := spill.Open(d.o.cfg.Dir, d.o.cfg.Files, min(maxSegment, d.o.cfg.SpillBytes/spillShare), d.o.schemaRecord)
	if err != nil {
		d.failed(err)
		return err
	}
	d.spill = s
	d.gauge()
	if n := s.Bytes(); n > 0 {
		d.o.cfg.Logger.Info("an earlier process left records; they are sent first", "bytes", n)
	}
	return nil
}

// failed counts a disk error and logs the first.
func (d *disk) failed(err error) {
	d.o.account.diskErrors.Inc()
	if !d.down {
		d.o.cfg.Logger.Error("records cannot be spilled; memory is thinned instead", "error", err)
	}
	d.down, d.until = true, time.Now().Add(diskRest)
}

// usable reports whether the disk takes records, as far as we know.
func (d *disk) usable() bool {
	if d.o.cfg.Dir == "" || d.down && time.Now().Before(d.until) {
		return false
	}
	return d.open() == nil
}

// retry has the disk asked now, however lately it failed: where a process ends
// there is no later.
func (d *disk) retry() { d.until = time.Time{} }

func (d *disk) worked() {
	if d.down {
		d.o.cfg.Logger.Info("records can be spilled again")
	}
	d.down = false
}

// gauge updates the figures of the spill on disk.
func (d *disk) gauge() {
	if d.spill == nil {
		return
	}
	if n := d.spill.Damaged(); n > 0 {
		d.o.account.damaged.AddInt64(n)
		d.o.cfg.Logger.Warn("spilled records cannot be read", "bytes", n)
	}
	d.o.account.spilled.Store(d.spill.Bytes())
}

func (d *disk) empty() bool { return d.spill == nil || d.spill.Empty() }

// hand hands out the oldest records.
func (d *disk) hand(fn func(thin.Entry) bool) error {
	if d.empty() {
		return nil
	}
	defer d.gauge()
	err := d.spill.Hand(fn)
	if err == nil {
		d.reads = 0
		return nil
	}
	d.failed(err)
	if d.reads++; d.reads >= maxReadErrors {
		d.reads = 0
		d.spill.Abandon()
	}
	return err
}

// ack marks the oldest n records handed out as stored.
func (d *disk) ack(n int) {
	if err := d.spill.Ack(n); err != nil {
		d.failed(err)
	}
	if d.spill.Empty() {
		d.level = 0
	}
	d.gauge()
}

func (d *disk) rewind() {
	if d.spill != nil {
		d.spill.Rewind()
	}
}

// retain protects the oldest n frames from thinning, until rewind: it reads them
// without sending them.
func (d *disk) retain(n int) {
	_ = d.hand(func(e thin.Entry) bool {
		if thin.KindOf(e.Record) == telemetry.FrameRecord {
			n--
		}
		return n >= 0
	}) // an error is counted there
}

// append writes chunks behind the records on disk and returns those that it could
// not write.
func (d *disk) append(chunks []*chunk) []*chunk {
	if len(chunks) == 0 || !d.usable() {
		return chunks
	}
	defer d.gauge()
	for i, c := range chunks {
		if err := d.spill.Append(c.entries()); err != nil {
			d.failed(err)
			return chunks[i:]
		}
		d.worked()
		if err := d.bound(); err != nil {
			d.failed(err)
			return chunks[i+1:]
		}
	}
	return nil
}

// putBack writes chunks before the records on disk, all or none.
func (d *disk) putBack(chunks []*chunk) []*chunk {
	if len(chunks) == 0 || !d.usable() {
		return chunks
	}
	defer d.gauge()
	if err := d.spill.PutBack(func(yield func(thin.Entry) bool) {
		for _, c := range chunks {
			for e := range c.entries() {
				if !yield(e) {
					return
				}
			}
		}
	}); err != nil {
		d.failed(err)
		return chunks
	}
	return nil
}

// bound thins the spill when it takes two thirds of its bound: the third that is
// thinned is on disk twice for a while. It gets coarser with each try, and drops
// the oldest if that is not enough.
func (d *disk) bound() error {
	high := d.o.cfg.SpillBytes / 3 * 2
	low := high / 4 * 3
	if d.spill.Bytes() <= high {
		return nil
	}
	defer d.gauge()
	for level := max(1, d.level-1); d.spill.Bytes() > low; level++ {
		p := thin.Pass{Level: min(level, thin.TopLevel), Events: int(high / 2 / eventShare), Largest: d.o.largest,
			Shed: level > thin.TopLevel, Catalogue: d.o.catalogue}
		before := d.spill.Bytes()
		gone, err := d.spill.Thin(high/2, p)
		d.o.account.passed(gone)
		if err != nil {
			return err
		}
		d.level = min(level, thin.TopLevel)
		if p.Shed && d.spill.Bytes() >= before {
			return errFull
		}
	}
	return nil
}

var errFull = errors.New("spill: full, and nothing in it can be given up")

// sync makes the records on disk durable.
func (d *disk) sync() {
	if d.spill == nil {
		return
	}
	if err := d.spill.Sync(); err != nil {
		d.failed(err)
	}
}

// close lets the directory go.
func (d *disk) close() error {
	if d.spill == nil {
		return nil
	}
	s := d.spill
	d.spill = nil
	return s.Close()
}
