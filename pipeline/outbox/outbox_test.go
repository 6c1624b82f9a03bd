package outbox

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quintet-dc/quintet/telemetry"
)

// running is an outbox with its Run.
type running struct {
	*Outbox
	t    *testing.T
	stop func()
}

func start(t *testing.T, cfg Config) *running {
	t.Helper()
	cfg.Collector = "h1"
	o, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := &running{Outbox: o, t: t}
	r.run()
	return r
}

func (r *running) run() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	r.stop = func() {
		r.t.Helper()
		cancel()
		if err := <-done; err != nil {
			r.t.Error(err)
		}
	}
}

func (r *running) close() {
	r.t.Helper()
	r.stop()
	if err := r.Close(); err != nil {
		r.t.Error(err)
	}
}

// checkBounds holds memory and disk to what they may take.
func (r *running) checkBounds(dir string) {
	r.t.Helper()
	r.mu.Lock()
	held, limit := r.memory(), r.cfg.MemoryBytes
	r.mu.Unlock()
	if held > limit {
		r.t.Fatalf("%d bytes held in memory, at most %d", held, limit)
	}
	if n := onDisk(r.t, dir); n > r.cfg.SpillBytes {
		r.t.Fatalf("%d bytes lie on disk, at most %d", n, r.cfg.SpillBytes)
	}
}

func onDisk(t *testing.T, dir string) (n int64) {
	if dir == "" {
		return 0
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			n += info.Size()
		}
	}
	return n
}

func now() telemetry.Time { return telemetry.Time(time.Now().UnixNano()) }

// advance lets so much time pass in a bubble.
func advance(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestWhateverTheLogDoesNothingIsLostUncounted(t *testing.T) {
	for _, c := range []struct {
		name          string
		memory, steps int
		series        int
		spill         int64
		seeds         uint64
	}{
		{"memory alone", 64 << 10, 800, 60, 0, 3},
		{"memory with room", 4 << 20, 600, 60, 0, 3},
		{"small spill", 64 << 10, 900, 240, 1 << 20, 2},
		{"large spill", 64 << 10, 600, 60, 64 << 20, 3},
	} {
		for seed := range c.seeds {
			t.Run(fmt.Sprintf("%s/%d", c.name, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					cfg := Config{MemoryBytes: c.memory, SpillBytes: c.spill}
					if c.spill > 0 {
						cfg.Dir = t.TempDir()
					}
					wild(t, cfg, seed, c.steps, c.series)
				})
			})
		}
	}
}

// wild emits for a while into a log that changes its mood.
func wild(t *testing.T, cfg Config, seed uint64, steps, series int) {
	log := newFakeLog(seed)
	cfg.Bus = log
	o := start(t, cfg)
	p := newPlant(t, seed, 4, series, o.Emit)
	r := rand.New(rand.NewPCG(seed, 2))
	moods := []mood{moodStores, moodAway, moodAway, moodAway, moodPartly, moodLies, moodHangs}
	if seed%2 == 1 {
		moods = append(moods, moodHoles)
	}
	for step := range steps {
		if step%100 == 0 {
			log.set(moods[r.IntN(len(moods))])
		}
		for i := range p.feeds {
			p.sweep(i, now())
		}
		if r.IntN(5) == 0 {
			p.event(r.IntN(len(p.feeds)), now())
		}
		advance(time.Second)
		if step%7 == 0 {
			o.checkBounds(cfg.Dir)
		}
	}
	log.set(moodStores)
	advance(time.Minute)
	o.close()
	p.compare(o.Outbox, log)
	if t.Failed() {
		t.Log(metricsText(o.Outbox))
	}
	t.Logf("thinned %d of %d samples", removedOf(o.Outbox, "samples"), steps*4*series)
}
