package outbox

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quintet-dc/quintet/telemetry"
)

// The law of a counter, whatever the log and the disk do: what arrives of it is
// part of what was measured, in that order, at rising times; it falls only where
// it fell at its source; and its last value arrives, so that no increase is lost.
func TestACounterArrivesInOrderAndWithItsLastValue(t *testing.T) {
	for _, c := range []struct {
		name     string
		disk     bool
		restarts bool
	}{
		{"no disk", false, false},
		{"a disk that fills and empties", true, false},
		{"and ends and starts of the process", true, true},
	} {
		for seed := range uint64(4) {
			t.Run(fmt.Sprintf("%s/%d", c.name, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					cfg := Config{MemoryBytes: minMemory, SpillBytes: minSpill}
					if c.disk {
						cfg.Dir = t.TempDir()
					}
					lawful(t, cfg, seed, c.restarts)
				})
			})
		}
	}
}

// lawful emits through cuts of the log, a disk that is full at times, floods and
// drains, and holds what arrived against the law.
func lawful(t *testing.T, cfg Config, seed uint64, restarts bool) {
	r, log := rand.New(rand.NewPCG(seed, 11)), newFakeLog(seed)
	cfg.Bus = log
	o := start(t, cfg)
	p := newPlant(t, seed, 3, 60, o.Emit)
	moods := []mood{moodStores, moodStores, moodAway, moodAway, moodPartly, moodHangs}
	if !restarts { // of what a log denied that it has, the next process knows nothing
		moods = append(moods, moodLies)
	}
	for range 14 {
		log.set(moods[r.IntN(len(moods))])
		if cfg.Dir != "" {
			fillDisk(t, cfg.Dir, r.IntN(2) == 0)
		}
		for range r.IntN(120) {
			for i := range p.feeds {
				for range 1 + r.IntN(3)/2*r.IntN(4) { // now and then several within a moment
					p.sweep(i, now())
					advance(10 * time.Millisecond)
				}
			}
			advance(time.Second)
		}
		if restarts && r.IntN(3) == 0 {
			fillDisk(t, cfg.Dir, false) // what no disk takes at the end is lost, and counted
			o.close()
			o = start(t, cfg)
			p.restart(o.Emit)
		}
	}
	if cfg.Dir != "" {
		fillDisk(t, cfg.Dir, false)
	}
	log.set(moodStores)
	advance(time.Minute)
	o.close()
	thinned := o.removed(byThinning, "samples")
	if !restarts && thinned == 0 {
		t.Error("nothing was thinned: the law was not put to the test")
	}
	p.judge(log.stored)
	t.Logf("thinned %d of %d samples; %d disk errors", thinned, o.account.emitted.Get()*60, o.account.diskErrors.Get())
}

// fillDisk makes every new segment of a spill one that takes nothing, or ends
// that. What is being written goes on.
func fillDisk(t *testing.T, dir string, full bool) {
	t.Helper()
	for n := range uint64(64) {
		path := filepath.Join(dir, fmt.Sprintf("%016x.spill", uint64(1)<<40+n<<16))
		is, err := os.Lstat(path)
		switch {
		case full && err != nil:
			if err := os.Symlink("/dev/full", path); err != nil {
				t.Fatal(err)
			}
		case !full && err == nil && is.Mode()&os.ModeSymlink != 0:
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// arrived is one sample as it stands in a list of records.
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

// unlawful says which law a counter's arrival breaks; "" if none.
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
