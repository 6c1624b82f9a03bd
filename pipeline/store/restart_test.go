package store

import (
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/telemetry"
)

// copied copies the files of a history that is in use, which is what a kill of
// its process leaves.
func copied(t *testing.T, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "history")
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(from, path)
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		if rel == "lock" {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// recording is a log of three sources for some minutes: one that reports every
// second, one every ten, and one that is late now and then.
func recording(t *testing.T, r *rand.Rand) *site {
	s := newSite(t, Config{})
	fast, slow, late := watts("a", time.Second, "n1/0", "n1/1"), watts("b", 10*time.Second, "n2/0"), watts("c", time.Second, "n3/0")
	late.Class = telemetry.Delayed
	s.state(fast)
	s.state(slow)
	s.state(late)
	for i := range 150 {
		at := seconds(float64(i))
		second := float64(r.IntN(5000)) / 10
		if r.IntN(10) == 0 {
			second = math.NaN()
		}
		s.say(fast, at, float64(i), second)
		if i%10 == 7 {
			s.say(slow, at, float64(i))
		}
		if r.IntN(3) > 0 {
			behind := 10 * r.IntN(3)
			s.say(late, at.Add(-telemetry.Duration(behind)*1e9), float64(1000+i-behind))
		}
		s.tick(at)
	}
	return s
}

// TestKilled: whenever the process is killed, and however often, the next one gives
// the same result from the log as one that was not killed: nothing is missing and
// nothing is there twice.
func TestKilled(t *testing.T) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 2))
		lives := recording(t, r)
		want := map[string]string{}
		for name, samples := range lives.read() {
			want[name] = told(samples)
		}
		s := newSite(t, Config{})
		s.log = lives.log
		for kills, i := 0, 0; i < len(s.log); i++ {
			s.give(s.log[i])
			if s.log[i].Record.Kind == telemetry.TickRecord && r.IntN(12) == 0 {
				if err := s.feed.place().write(s.dir); err != nil {
					t.Fatal(err)
				}
			}
			if kills < 4 && r.IntN(len(s.log)/5) == 0 {
				kills++
				s.dir = copied(t, s.dir)
				p, err := readPlace(s.dir)
				if err != nil {
					t.Fatal(err)
				}
				s.open(Config{})
				for _, e := range s.log[:p.Position] {
					s.feed.prime(e)
				}
				i = int(p.Position) - 1
			}
		}
		s.want(want)
	}
}

// TestRetention: samples older than the retention are dropped, block by block.
func TestRetention(t *testing.T) {
	s := newSite(t, Config{Retain: 4 * time.Hour})
	x := watts("n1", time.Minute, "n1/0")
	s.state(x)
	const hours = 14
	for minute := range hours * 60 {
		s.say(x, seconds(float64(60*minute)), float64(minute))
		s.tick(seconds(float64(60 * minute)))
	}
	s.feed.commit()
	if err := s.db.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.db.Compact(t.Context()); err != nil { // sees the blocks of the first
		t.Fatal(err)
	}
	samples := s.read()["gpu:n1/0 gpu_power_watts"]
	oldest := time.Duration(samples[0].at) * time.Millisecond
	if kept := hours*time.Hour - oldest; kept < 4*time.Hour || kept > 8*time.Hour {
		t.Errorf("%v are kept, want 4 h and no more than two blocks beside", kept)
	}
	if n := len(samples); n < 4*60 {
		t.Errorf("%d samples are left", n)
	}
}
