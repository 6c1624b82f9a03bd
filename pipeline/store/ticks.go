package store

import (
	"context"
	"math"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"

	"github.com/quintet-dc/quintet/telemetry"
)

// forgotten is after how long a schema that is neither renewed nor used is dropped;
// schemas are renewed more often than that.
const forgotten = telemetry.Duration(2 * 3600e9)

// ticked moves the feed's time: slots that no source may still fill are written,
// streams without data become stale, and the additional series are renewed.
func (f *feed) ticked(at telemetry.Time) {
	before := f.tick
	f.tick = at
	f.limit = max(f.limit, at)
	now := millis(at)
	live := f.live[:0]
	for _, st := range f.live {
		end := (st.slot + 1) * f.cadence
		if st.from != 0 && now >= end+f.cfg.Lateness[st.schema.Class].Milliseconds() {
			f.flush(st)
		}
		if st.last != never && now-st.last > st.silence(f.cfg.Cadence, f.cfg.Lateness) {
			f.flush(st)
			f.sleep(st)
			continue
		}
		live = append(live, st)
	}
	clear(f.live[len(live):])
	f.live = live
	if slot := floor(now, f.cadence); before == 0 || slot > floor(millis(before), f.cadence) {
		f.renew(slot * f.cadence)
	}
	f.commit()
}

// sleep marks the series of a stream that became stale, and gives up its cells.
func (f *feed) sleep(st *stream) {
	at := st.last + st.silence(f.cfg.Cadence, f.cfg.Lateness)
	for i := range st.cells {
		c := &st.cells[i]
		s := c.series
		if s == nil {
			continue
		}
		name := st.schema.Series(i)
		// What another schema of the same source has stated since lives on.
		if s.owner == st {
			f.write(s, name, at, math.Float64frombits(value.StaleNaN))
		}
		if s.cells--; s.cells == 0 {
			delete(f.series, name)
		}
	}
	f.cells -= len(st.cells)
	st.cells, st.slot, st.from = nil, never, 0
	if f.current[st.origin] == st {
		delete(f.current, st.origin)
	}
}

// renew writes the additional series.
func (f *feed) renew(at int64) {
	for _, x := range f.extras {
		x.write(at, func(l labels.Labels, v float64) {
			if f.app == nil {
				f.app = f.db.Appender(context.Background())
			}
			_, err := f.app.Append(storage.SeriesRef(0), l, at, v)
			f.countWrite(&series{}, 0, v, err)
		})
	}
	if f.begun == 0 {
		f.begun = f.tick
	}
	if f.tick.Sub(f.begun) > 2*recent { // every active source has reported
		f.last = nil
	}
	for key, st := range f.streams {
		switch {
		case st.stated == 0: // stated before the first tick
			st.stated = f.tick
		case st.cells == nil && f.tick.Sub(st.stated) > forgotten:
			delete(f.streams, key)
			f.stated -= st.schema.Len()
		}
	}
}
