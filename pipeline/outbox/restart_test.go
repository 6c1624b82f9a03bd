package outbox

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quintet-dc/quintet/pipeline/outbox/spill"
	"github.com/quintet-dc/quintet/pipeline/outbox/thin"
	"github.com/quintet-dc/quintet/telemetry"
)

// What a process could not send before it ended is the first thing that the next
// one sends, and nothing is missing.
func TestTheNextProcessSendsWhatIsLeft(t *testing.T) {
	for _, c := range []struct {
		name   string
		memory int
		mood   mood
	}{
		{"from memory", 4 << 20, moodAway},
		{"from the spill", 64 << 10, moodAway},
		{"while an attempt hangs", 64 << 10, moodHangs},
		{"with a log that lies", 4 << 20, moodLies},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := newFakeLog(1)
				cfg := Config{Bus: log, Dir: t.TempDir(), MemoryBytes: c.memory}
				o := start(t, cfg)
				p := newPlant(t, 1, 3, 60, o.Emit)
				advance(time.Second)
				log.set(c.mood)
				for k := range 300 {
					p.sweep(k%3, now())
					p.event(0, now())
					advance(time.Second)
				}
				began := now()
				o.close()
				if took := now().Sub(began); took > 6*time.Second {
					t.Errorf("it took %v to end", took)
				}
				if n := removedOf(o.Outbox, "samples") + removedOf(o.Outbox, "events"); n > 0 {
					t.Errorf("%d removed", n)
				}
				log.forgetIDs()
				log.stored = log.stored[:0:0]
				log.set(moodStores)

				o = start(t, cfg)
				p.to = o.Emit
				advance(time.Second)
				if n := len(read(t, log.stored, false).events); n != 300 {
					t.Errorf("%d events of 300", n)
				}
				if n := onDisk(t, cfg.Dir); n != 0 {
					t.Errorf("%d bytes are left on disk", n)
				}
				o.close()
			})
		})
	}
}

// A kill leaves what was spilled. It may be sent twice, but it is sent.
func TestAKillLosesNothingThatWasSpilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(1)
		cfg := Config{Bus: log, Dir: t.TempDir(), MemoryBytes: 64 << 10}
		o := start(t, cfg)
		p := newPlant(t, 1, 3, 120, o.Emit)
		log.set(moodAway)
		for k := range 900 {
			p.sweep(k%3, now())
			advance(time.Second)
		}
		killed := t.TempDir() // what a kill would leave: the files as they are
		if err := os.CopyFS(killed, os.DirFS(cfg.Dir)); err != nil {
			t.Fatal(err)
		}
		o.close()

		cfg.Dir = killed
		log.set(moodStores)
		o = start(t, cfg)
		advance(time.Second)
		o.close()
		if n := read(t, log.stored, false).frames; n < 500 {
			t.Errorf("%d frames", n)
		}
	})
}

// The oldest come first, wherever they were during repeated outages of the log: in
// the batch, on disk, in memory.
func TestOrderSurvivesEndsAndStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(1)
		cfg := Config{Bus: log, Dir: t.TempDir(), MemoryBytes: 64 << 10}
		o := start(t, cfg)
		p := newPlant(t, 1, 3, 120, o.Emit)
		moods := []mood{moodAway, moodPartly, moodStores, moodAway, moodLies, moodPartly}
		for round := range 12 {
			log.set(moods[round%len(moods)])
			for k := range 150 {
				p.sweep(k%3, now())
				advance(time.Second)
			}
			o.close()
			o = start(t, cfg)
			p.restart(o.Emit)
		}
		log.set(moodStores)
		advance(time.Minute)
		o.close()
		in, out := read(t, p.records, false), read(t, log.stored, false)
		if len(in.samples) != len(out.samples) {
			t.Errorf("%d samples of %d", len(out.samples), len(in.samples))
		}
	})
}

// A record that was sent may be in the log, which identifies it by its form. The
// end of a process leaves it in that form, however little room there is on disk for
// the rest.
func TestWhatWasTriedKeepsItsForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(1)
		log.set(moodLies)
		cfg := Config{Bus: log, Dir: t.TempDir(), MemoryBytes: minMemory, SpillBytes: minSpill}
		o := start(t, cfg)
		p := newPlant(t, 1, 3, 120, o.Emit)
		thinned := uint64(0)
		for range 40 {
			for k := range 80 { // as much as memory holds: the end spills it
				p.sweep(k%3, now())
				advance(time.Second)
			}
			o.close()
			thinned += o.removed(byThinning, "samples")
			kept := framesOnDisk(t, cfg.Dir)
			for _, b := range log.stored {
				if thin.KindOf(b) == telemetry.FrameRecord && !kept[string(b)] {
					t.Fatal("a frame that was tried is no longer what it was")
				}
			}
			log.forgetIDs()
			log.stored = nil
			o = start(t, cfg)
			p.restart(o.Emit)
		}
		o.close()
		if thinned == 0 {
			t.Error("nothing was thinned")
		}
	})
}

// framesOnDisk returns the frames in a spill that no process holds open.
func framesOnDisk(t *testing.T, dir string) map[string]bool {
	t.Helper()
	return framesIn(t, dir, nil)
}

// framesIn are those in files, the machine's if nil.
func framesIn(t *testing.T, dir string, files spill.Files) map[string]bool {
	t.Helper()
	s, err := spill.Open(dir, files, minSpill, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	err = s.Hand(func(e thin.Entry) bool {
		if thin.KindOf(e.Record) == telemetry.FrameRecord {
			out[string(e.Record)] = true
		}
		return true
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	return out
}

// restart states everything again, as collectors do at the start of a process.
func (p *plant) restart(emit func(*telemetry.Record)) {
	p.to = emit
	for _, f := range p.feeds {
		p.emit(f.Schema())
	}
}

func TestTwoProcessesDoNotShareADirectory(t *testing.T) {
	cfg := Config{Collector: "h1", Bus: newFakeLog(1), Dir: t.TempDir()}
	o, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(cfg); !errors.Is(err, spill.ErrLocked) || !strings.Contains(err.Error(), cfg.Dir) {
		t.Errorf("%v, want ErrLocked and the directory", err)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
	o, err = New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}

// Without a disk, or with one that fails, memory is thinned: it is logged once,
// counted each time, and everything removed is accounted for.
func TestTroubleWithTheDisk(t *testing.T) {
	for _, how := range []string{"no directory", "a file in its place", "full", "gone"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := newFakeLog(1)
				var logged strings.Builder
				cfg := Config{Bus: log, MemoryBytes: 64 << 10, Logger: slog.New(slog.NewTextHandler(&logged, nil))}
				if how != "no directory" {
					cfg.Dir = filepath.Join(t.TempDir(), "spill")
				}
				if how == "a file in its place" {
					if err := os.WriteFile(cfg.Dir, nil, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				o := start(t, cfg)
				spoil(t, how, cfg.Dir)
				p := newPlant(t, 1, 2, 120, o.Emit)
				log.set(moodAway)
				for k := range 1200 {
					p.sweep(k%2, now())
					advance(time.Second)
					o.checkBounds("")
				}
				log.set(moodStores)
				advance(time.Minute)
				o.stop()
				p.compare(o.Outbox, log)
				errs, lines := o.account.diskErrors.Get(), strings.Count(logged.String(), "cannot be spilled")
				if how == "no directory" && errs != 0 || how != "no directory" && (errs == 0 || lines != 1) {
					t.Errorf("%d errors counted, %d logged", errs, lines)
				}
				if removedOf(o.Outbox, "samples") == 0 {
					t.Error("nothing was thinned")
				}
				_ = o.Close()
			})
		})
	}
}

// spoil makes a disk fail that worked at the start.
func spoil(t *testing.T, how, dir string) {
	switch how {
	case "full":
		if _, err := os.Stat("/dev/full"); err != nil {
			t.Skip("there is no /dev/full")
		}
		if err := os.Symlink("/dev/full", filepath.Join(dir, fmt.Sprintf("%016x.spill", uint64(1)<<40))); err != nil {
			t.Fatal(err)
		}
	case "gone":
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
}

func TestADiskThatWorksAgainIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFakeLog(1)
		log.set(moodAway)
		cfg := Config{Bus: log, MemoryBytes: 64 << 10, Dir: filepath.Join(t.TempDir(), "spill")}
		if err := os.WriteFile(cfg.Dir, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		o := start(t, cfg)
		p := newPlant(t, 1, 2, 120, o.Emit)
		for k := range 600 {
			if k == 300 {
				if err := os.Remove(cfg.Dir); err != nil {
					t.Fatal(err)
				}
			}
			p.sweep(k%2, now())
			advance(time.Second)
		}
		if o.account.spilled.Load() == 0 {
			t.Error("nothing was spilled")
		}
		log.set(moodStores)
		advance(time.Minute)
		o.close()
		p.compare(o.Outbox, log)
	})
}
