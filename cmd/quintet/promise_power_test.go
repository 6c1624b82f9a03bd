package main

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/replay/play"
	"github.com/quintet-dc/quintet/telemetry"
)

// TestPowerLoss cuts the power of the host of the log: its files end where the last
// sync left them, which is simulated by what they were sync_interval before. What
// is lost is what was stored within that interval and no more; a source that
// continues from what the log holds loses nothing at all, and nothing is published
// that the log does not support.
func TestPowerLoss(t *testing.T) {
	s := newSite(t, 7)
	store := s.startStore()
	s.enrolled()
	store.kill()
	for i := range 3 {
		s.powerCut(i)
	}
	s.startStore()
	log := s.connect(s.log)
	s.startEngine("engine.yaml")
	if err := s.recording(s.ctx, log, s.goOn(log)); err != nil {
		t.Fatal(err)
	}
	want := s.settled(log)
	s.await("the receiver hears the newest revisions", func() bool { return s.receiver.complete(want) })
}

// goOn is how a player goes on with what the log holds.
func (s *site) goOn(log *bus.Bus) play.Config {
	s.t.Helper()
	last, _, err := log.LastTick(s.ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	return play.Config{From: 100e9, Speed: 8, State: s.state, Last: last, Begun: func(st play.State) error { s.state = &st; return nil }}
}

// powerCut lets the site run for a while and cuts its power.
func (s *site) powerCut(i int) {
	s.t.Helper()
	store, log := s.startStore(), s.connect(s.log)
	if err := log.Create(s.ctx); err != nil {
		s.t.Fatal(err)
	}
	running, stop := context.WithCancel(s.ctx)
	var parts sync.WaitGroup
	disk := newDisk(s.path("data"))
	seen := map[uint64]telemetry.Time{}
	parts.Go(func() { disk.watch(running) })
	parts.Go(func() {
		_ = log.Follow(running, 0, func(e bus.Entry) error {
			seen[e.Position] = e.Stored
			return nil
		})
	})
	c := s.goOn(log)
	parts.Go(func() { _ = s.recording(running, log, c) })
	engine := s.startEngine("engine.yaml")
	pause(running, 6*time.Second+time.Duration(s.random.Int64N(int64(2*time.Second))))
	at := time.Now()
	store.kill()
	engine.kill()
	stop()
	parts.Wait()
	log.Close()
	lost, asOf := disk.cutBack(s.t, at.Add(-time.Second))

	store, log = s.startStore(), s.connect(s.log)
	_, last, err := log.Bounds(s.ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	gone := 0
	for position, stored := range seen {
		if position <= last {
			continue
		}
		gone++
		if age := asOf.Sub(time.Unix(0, int64(stored))); age > writeLate {
			s.t.Errorf("cut %d: entry %d is lost though it was stored %s before the last sync", i, position, age)
		}
	}
	s.t.Logf("cut %d: %d bytes cut off, %d of %d entries lost", i, lost, gone, len(seen))
	log.Close()
	store.kill()
}

// disk remembers how long the files below a folder were, and when.
type disk struct {
	root string
	past []diskState
}

type diskState struct {
	at    time.Time
	sizes map[string]int64
}

const (
	// lookAtDisk is how often.
	lookAtDisk = 50 * time.Millisecond
	// writeLate is how long the server may hold an entry before it writes it.
	writeLate = 200 * time.Millisecond
)

func newDisk(root string) *disk { return &disk{root: root} }

func (d *disk) watch(ctx context.Context) {
	for ctx.Err() == nil {
		d.past = append(d.past, diskState{time.Now(), d.look()})
		pause(ctx, lookAtDisk)
	}
}

func (d *disk) look() map[string]int64 {
	sizes := map[string]int64{}
	_ = filepath.WalkDir(d.root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil // files come and go
		}
		if info, err := e.Info(); err == nil {
			sizes[path] = info.Size()
		}
		return nil
	})
	return sizes
}

// cutBack makes every file end where it did when the disk was last looked at by
// an instant, and returns how many bytes that took away, and when that was.
func (d *disk) cutBack(t testing.TB, by time.Time) (lost int64, asOf time.Time) {
	t.Helper()
	then := map[string]int64{}
	for _, s := range d.past {
		if !s.at.After(by) {
			then, asOf = maps.Clone(s.sizes), s.at
		}
	}
	for path, size := range d.look() {
		was, there := then[path]
		switch {
		case !there:
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		case was < size:
			if err := os.Truncate(path, was); err != nil {
				t.Fatal(err)
			}
		default:
			continue
		}
		lost += size - was
	}
	return lost, asOf
}
