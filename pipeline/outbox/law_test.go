package outbox

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quintet-dc/quintet/telemetry"
)

// The law of a counter, whatever the log and the disk do: what arrives of it is
// part of what was measured, in that order, at rising times; it falls only where
// it fell at its source; and its last value arrives, so that no increase is lost.
//
// The transport delays, drops, cuts off and repeats; the disk is a faultyDisk. One
// seed decides everything: QUINTET_FAULT_SEED=17 runs that seed alone, and
// QUINTET_FAULT_SEEDS=1000 so many.
func TestACounterArrivesInOrderAndWithItsLastValue(t *testing.T) {
	from, to := faultSeeds(t)
	for _, c := range []struct {
		name string
		law  law
	}{
		{"no disk", law{}},
		{"a disk that fails", law{disk: true}},
		{"and ends and starts of the process", law{disk: true, restarts: true}},
		{"and power cuts and flipped bytes", law{disk: true, restarts: true, damage: true}},
	} {
		for seed := from; seed < to; seed++ {
			t.Run(fmt.Sprintf("%s/%d", c.name, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := c.law
					l.run(t, seed)
				})
			})
		}
	}
}

// faultSeeds is which seeds are run.
func faultSeeds(t *testing.T) (from, to uint64) {
	read := func(name string, usual uint64) uint64 {
		s := os.Getenv(name)
		if s == "" {
			return usual
		}
		n, err := strconv.ParseUint(s, 10, 32)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return n
	}
	if os.Getenv("QUINTET_FAULT_SEED") != "" {
		from = read("QUINTET_FAULT_SEED", 0)
		return from, from + 1
	}
	return 0, read("QUINTET_FAULT_SEEDS", 4)
}

// law is one run of it: what may happen, and what it happens to.
type law struct {
	disk, restarts, damage bool

	t     *testing.T
	cfg   Config
	rand  *rand.Rand
	log   *fakeLog
	files *faultyDisk
	box   *running
	plant *plant
}

// run emits through cuts of the log, trouble with the disk, floods and drains, and
// holds what arrived against the law.
func (l *law) run(t *testing.T, seed uint64) {
	l.t, l.rand, l.log, l.files = t, rand.New(rand.NewPCG(seed, 11)), newFakeLog(seed), newFaultyDisk(seed)
	l.cfg = Config{MemoryBytes: minMemory, SpillBytes: minSpill, Bus: l.log, Files: l.files}
	if l.disk {
		l.cfg.Dir = t.TempDir() // the lock's
	}
	l.box = start(t, l.cfg)
	l.plant = newPlant(t, seed, 3, 60, l.box.Emit)
	moods := []mood{moodStores, moodStores, moodAway, moodAway, moodPartly, moodHangs}
	if !l.restarts { // of what a log denied that it has, the next process knows nothing
		moods = append(moods, moodLies)
	}
	for range 14 {
		l.log.set(moods[l.rand.IntN(len(moods))])
		if l.disk {
			l.files.trouble = trouble(l.rand.IntN(int(troubles)))
		}
		l.emit(l.rand.IntN(120))
		switch {
		case l.damage && l.rand.IntN(3) == 0:
			l.powerCut()
		case l.damage && l.rand.IntN(3) == 0:
			l.files.flip()
		case l.restarts && l.rand.IntN(3) == 0:
			l.restart()
		}
	}
	l.finish()
}

// emit lets so many seconds pass.
func (l *law) emit(seconds int) {
	for range seconds {
		for i := range l.plant.feeds {
			for range 1 + l.rand.IntN(3)/2*l.rand.IntN(4) { // now and then several within a moment
				l.plant.sweep(i, now())
				advance(10 * time.Millisecond)
			}
		}
		advance(time.Second)
	}
}

// restart ends the process and starts another. What no disk takes at the end is
// lost, and counted.
func (l *law) restart() {
	l.files.trouble = diskWorks
	l.box.close()
	if n, safe := len(l.files.names), len(l.files.kept()); n != safe {
		l.t.Errorf("after the end of a process %d of %d files survive a power cut", safe, n)
	}
	l.box = start(l.t, l.cfg)
	l.plant.restart(l.box.Emit)
}

// powerCut ends the process with its disk: what was synced and not sent is sent by
// the next process.
func (l *law) powerCut() {
	safe := l.files.kept()
	l.files.powerCut()
	l.log.set(moodAway)
	l.box.stop()
	_ = l.box.Close() // the disk is off
	l.files.on()
	l.log.set(moodStores)
	want := framesIn(l.t, l.t.TempDir(), asFiles(safe))
	l.box = start(l.t, l.cfg)
	l.plant.restart(l.box.Emit)
	advance(time.Minute)
	for _, b := range l.log.stored {
		delete(want, string(b))
	}
	if len(want) > 0 {
		l.t.Errorf("%d frames were synced before a power cut and never arrive", len(want))
	}
}

// finish ends all trouble and judges.
func (l *law) finish() {
	l.files.trouble = diskWorks
	l.log.set(moodStores)
	advance(time.Minute)
	l.emit(8) // after damage the last values are these
	l.box.close()
	thinned := l.box.removed(byThinning, "samples")
	if !l.disk && thinned == 0 {
		l.t.Error("nothing was thinned: the law was not put to the test")
	}
	l.plant.judge(l.log.stored)
	l.t.Logf("thinned %d of %d samples; %d disk errors; injected: %v", thinned, l.box.account.emitted.Get()*60, l.box.account.diskErrors.Get(), l.files.counts)
}

// arrived is one sample in a list of records.
type arrived struct {
	at   telemetry.Time
	word uint64
}

// inOrder lists the samples of every series of a plant as they come.
func inOrder(t *testing.T, records [][]byte) map[seriesKey][]arrived {
	t.Helper()
	out := map[seriesKey][]arrived{}
	schemas := map[telemetry.Fingerprint]*telemetry.Schema{}
	var dec telemetry.Decoder
	var f telemetry.Frame
	for i, b := range records {
		r, err := telemetry.ParseRecord(b)
		if err != nil {
			t.Fatalf("record %d: %v", i, err)
		}
		if r.Kind == telemetry.SchemaRecord {
			schemas[r.Schema.Fingerprint()] = r.Schema
			continue
		}
		if r.Kind != telemetry.FrameRecord {
			continue
		}
		h, err := r.Frame.Header()
		if err != nil {
			t.Fatalf("record %d: %v", i, err)
		}
		s := schemas[h.Fingerprint]
		if s == nil {
			t.Fatalf("record %d: a frame before its schema", i)
		}
		if s.Source.Collector == "outbox" {
			continue
		}
		if err := dec.Decode(r.Frame, s, &f); err != nil {
			t.Fatalf("record %d: %v", i, err)
		}
		for j, w := range f.Words {
			if f.States == nil || f.States[j] == telemetry.Present {
				k := seriesKey{f.Fingerprint, j % s.Len()}
				out[k] = append(out[k], arrived{f.Time(j / s.Len()), w})
			}
		}
	}
	return out
}

// judge holds the counters in the log against those that were emitted.
func (p *plant) judge(stored [][]byte) {
	t := p.t
	t.Helper()
	in, out := inOrder(t, p.records), inOrder(t, stored)
	counters, wrong := 0, 0
	for key, want := range in {
		if p.kind(key) != telemetry.Counter {
			continue
		}
		counters++
		if why := unlawful(want, out[key], p.column(key).Type); why != "" {
			if wrong++; wrong <= 3 {
				t.Errorf("series %d of %s: %s", key.position, key.schema, why)
			}
		}
	}
	if counters == 0 || wrong > 0 {
		t.Errorf("%d counters, %d of them unlawful", counters, wrong)
	}
}

// unlawful returns which law a counter's arrival breaks; "" if none.
func unlawful(want, got []arrived, ty telemetry.ValueType) string {
	at := 0
	for i, g := range got {
		if i > 0 && g.at <= got[i-1].at {
			return fmt.Sprintf("%v arrives behind %v", g, got[i-1])
		}
		from := at
		for at < len(want) && want[at].word != g.word {
			at++
		}
		if at == len(want) {
			return fmt.Sprintf("%v is not measured behind number %d, %v", g, from, want[max(0, from-1)])
		}
		if i > 0 && less(ty, g.word, got[i-1].word) && !fallsWithin(want[max(0, from-1):at+1], ty) {
			return fmt.Sprintf("falls to %v from %v, and fell nowhere at its source", g, got[i-1])
		}
		at++
	}
	last := want[len(want)-1]
	if len(got) == 0 || got[len(got)-1].word != last.word {
		return fmt.Sprintf("its last value, %v, is not there: %v", last, got[max(0, len(got)-1):])
	}
	return ""
}

// fallsWithin reports whether a source's own numbers fall somewhere.
func fallsWithin(want []arrived, ty telemetry.ValueType) bool {
	for i := 1; i < len(want); i++ {
		if less(ty, want[i].word, want[i-1].word) {
			return true
		}
	}
	return false
}
