package outbox

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/telemetry"
)

// An outbox is what collectors emit into, and the bus what it sends to.
var (
	_ collectors.Emitter = (*Outbox)(nil)
	_ Bus                = (*bus.Bus)(nil)
)

func TestManyEmitAtOnce(t *testing.T) {
	log := newFakeLog(1)
	o := start(t, Config{Bus: log, MemoryBytes: 1 << 20, Dir: t.TempDir()})
	var all sync.WaitGroup
	var mu sync.Mutex
	var plants []*plant
	for g := range 8 {
		all.Go(func() {
			p := &plant{t: t, to: o.Emit}
			s := schemaOf(g, 60)
			f, err := collectors.NewFeed(s, 1)
			if err != nil {
				t.Error(err)
				return
			}
			p.emit(f.Schema())
			words := make([]uint64, s.Len())
			for k := range 300 {
				r, err := f.Frame(telemetry.Instant{Source: telemetry.Time(k + 1)}, words, nil)
				if err != nil {
					t.Error(err)
					return
				}
				p.emit(r)
			}
			mu.Lock()
			plants = append(plants, p)
			mu.Unlock()
		})
	}
	all.Wait()
	o.close()
	if c := read(t, log.stored, false); c.frames != 8*300 || removedOf(o.Outbox, "samples") != 0 {
		t.Errorf("%d frames of %d", c.frames, 8*300)
	}
}

func TestARecordThatIsRefusedHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(1)
		o := start(t, Config{Bus: log})
		p := newPlant(t, 1, 1, 12, o.Emit)
		advance(time.Second)
		tries := 0
		log.mu.Lock()
		log.mood = func() mood {
			if tries++; tries <= 3 {
				return moodRefuses
			}
			return moodStores
		}
		log.mu.Unlock()
		for range 10 {
			p.event(0, now())
		}
		advance(time.Second)
		o.close()
		if got := len(read(t, log.stored, false).events); got != 7 || o.removed(byLog, "events") != 3 {
			t.Errorf("%d events stored, %d refused", got, o.removed(byLog, "events"))
		}
	})
}

// removed is one counter of removals.
func (r *running) removed(why reason, what string) uint64 {
	return r.account.set.GetOrCreateCounter(fmt.Sprintf("quintet_outbox_removed_%s_total{reason=%q}", what, why)).Get()
}

// A log that refuses everything has a fault of its own (a permission, say): only
// the first few are dropped.
func TestALogThatRefusesEverythingIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(1)
		o := start(t, Config{Bus: log})
		log.set(moodRefuses)
		p := newPlant(t, 1, 1, 12, o.Emit)
		for range 100 {
			p.event(0, now())
		}
		advance(time.Minute)
		log.set(moodStores)
		advance(10 * time.Second)
		o.close()
		got := len(read(t, log.stored, true).events)
		if lost := o.removed(byLog, "events"); lost == 0 || lost > 2*maxRefused || got+int(lost) != 100 {
			t.Errorf("%d events stored, %d refused", got, lost)
		}
	})
}

func TestWhatIsNoRecordIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(1)
		o := start(t, Config{Bus: log, MemoryBytes: 64 << 10})
		for _, r := range []*telemetry.Record{
			nil, {}, {Kind: 99}, {Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: 1}}, {Kind: telemetry.EdgeRecord},
			{Kind: telemetry.EdgeRecord, Edge: &telemetry.Edge{}}, {Kind: telemetry.SchemaRecord}, {Kind: telemetry.EventRecord},
			{Kind: telemetry.FrameRecord}, {Kind: telemetry.FrameRecord, Frame: telemetry.EncodedFrame("not a frame")},
		} {
			o.Emit(r)
		}
		if n := o.removed(byForm, "records") + o.removed(byForm, "frames") + o.removed(byForm, "events"); n != 10 {
			t.Errorf("%d counted of 10", n)
		}
		o.Emit(&telemetry.Record{Kind: telemetry.ConfigRecord, Config: telemetry.NewConfig("jobs", 1, make([]byte, 40<<10))})
		if n := o.removed(bySize, "records"); n != 1 {
			t.Errorf("%d too large", n)
		}
		o.close()
		o.Emit(&telemetry.Record{Kind: telemetry.ConfigRecord, Config: telemetry.NewConfig("jobs", 1, nil)})
		if n := o.removed(byEnd, "records"); n != 1 {
			t.Errorf("%d emitted after the end", n)
		}
	})
}

// Whatever memory cannot hold and no thinning makes smaller is given up, the
// oldest first, and counted.
func TestMemoryIsBoundedWhateverIsEmitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(1)
		log.set(moodAway)
		o := start(t, Config{Bus: log, MemoryBytes: 64 << 10})
		p := newPlant(t, 1, 1, 6, o.Emit)
		for i := range 3000 {
			p.event(0, now())
			if i%3 == 0 {
				o.edge(edge(fmt.Sprint("nic", i), 1, now()))
			}
			if i%100 == 0 {
				p.sweep(0, now())
				advance(time.Second)
			}
			o.checkBounds("")
		}
		p.event(0, now())
		log.set(moodStores)
		advance(time.Minute)
		o.close()
		events := len(read(t, log.stored, false).events)
		if lost := o.removed(byFullness, "events"); events+int(lost) != 3001 || events == 0 {
			t.Errorf("%d events stored, %d dropped, of 3001", events, lost)
		}
		newest := p.records[len(p.records)-1]
		found := false
		for _, b := range log.stored {
			found = found || string(b) == string(newest)
		}
		if !found {
			t.Error("the newest event is not among them")
		}
	})
}

// When the process ends everything that the log takes within the time is sent.
func TestTheEndSendsWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(1)
		o, err := New(Config{Collector: "h1", Bus: log})
		if err != nil {
			t.Fatal(err)
		}
		p := newPlant(t, 1, 2, 60, o.Emit)
		for range 1000 {
			p.event(0, now())
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := o.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if n := len(read(t, log.stored, false).events); n != 1000 {
			t.Errorf("%d events of 1000", n)
		}
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Without a disk, what the log does not take before the end is lost, and counted
// sample by sample.
func TestWhatNobodyKeepsIsCountedAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(1)
		o := start(t, Config{Bus: log})
		p := newPlant(t, 1, 2, 60, o.Emit)
		advance(time.Second)
		log.set(moodAway)
		for k := range 20 {
			p.sweep(k%2, now())
			p.event(0, now())
			advance(time.Second / 4)
		}
		o.close()
		p.sweep(0, now())
		in := read(t, p.records, false)
		if n := o.removed(byEnd, "samples"); int(n) < len(in.samples) || int(n) > len(in.samples)+8 {
			t.Errorf("%d samples counted, %d emitted and a few of its own", n, len(in.samples))
		}
		if n := o.removed(byEnd, "events"); n != 20 {
			t.Errorf("%d events of 20", n)
		}
	})
}

func TestRunIsOnceAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := start(t, Config{Bus: newFakeLog(1)})
		synctest.Wait()
		if err := o.Run(t.Context()); err == nil {
			t.Error("it ran twice at once")
		}
		o.close()
		if err := o.Run(t.Context()); err == nil {
			t.Error("it ran after it was closed")
		}
	})
}

func TestWhatWasRemovedIsStatedAsSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(1)
		o := start(t, Config{Bus: log, MemoryBytes: 64 << 10})
		p := newPlant(t, 1, 2, 120, o.Emit)
		log.set(moodAway)
		for k := range 600 {
			p.sweep(k%2, now())
			advance(time.Second)
		}
		log.set(moodStores)
		advance(30 * time.Second)
		last := map[telemetry.MetricName]uint64{}
		s := o.carrier.report.schema
		var dec telemetry.Decoder
		for _, b := range log.stored {
			var f telemetry.Frame
			if r, err := telemetry.ParseRecord(b); err != nil || r.Kind != telemetry.FrameRecord || dec.Decode(r.Frame, s, &f) != nil {
				continue
			}
			for i, c := range s.Columns {
				last[c.Metric] = f.Words[len(f.Words)-s.Len()+i]
			}
		}
		if s.Entities[0].String() != "collector:h1" || last[metricThinnedSamples] != removedOf(o.Outbox, "samples") || last[metricThinnedSamples] == 0 {
			t.Errorf("%s states %v, %d samples were removed", s.Entities[0], last, removedOf(o.Outbox, "samples"))
		}
		o.close()
	})
}

func TestConfigIsChecked(t *testing.T) {
	log := newFakeLog(1)
	for _, c := range []Config{
		{Collector: "h1"}, {Bus: log}, {Collector: "a b", Bus: log}, {Collector: "h1", Bus: log, MemoryBytes: 1},
		{Collector: "h1", Bus: log, SpillBytes: 1}, {Collector: "h1", Bus: log, Renew: -1},
	} {
		if _, err := New(c); err == nil || !strings.HasPrefix(err.Error(), "outbox: ") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
