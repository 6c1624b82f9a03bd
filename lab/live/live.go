package live

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/quintet-dc/quintet/lab/board"
	"github.com/quintet-dc/quintet/lab/cases"
	"github.com/quintet-dc/quintet/lab/sim/fault"
	"github.com/quintet-dc/quintet/telemetry"
)

// Site is a simulated site that runs.
type Site struct {
	board *board.Board

	mu   sync.Mutex
	live *cases.Live
	last time.Time // of the second that passed last
}

// New sets up the site of a size and seed. Its devices have answers: some
// seconds have passed.
func New(gpus int, seed uint64, now time.Time) (*Site, error) {
	live, err := cases.NewLive(gpus, seed, telemetry.Time(now.Add(-settled*time.Second).UnixNano()))
	if err != nil {
		return nil, fmt.Errorf("live site: %w", err)
	}
	s := &Site{board: board.New(), live: live, last: now}
	if err := live.Begin(s.board.Take); err != nil {
		return nil, fmt.Errorf("live site: %w", err)
	}
	for range settled {
		if err := live.Step(s.board.Take); err != nil {
			return nil, fmt.Errorf("live site: %w", err)
		}
	}
	return s, nil
}

// settled is how many seconds have passed before anyone asks: every device has
// been read, the slowest once in 30 s.
const settled = 40

// Board states what the site's devices would answer.
func (s *Site) Board() *board.Board { return s.board }

// Run lets time pass until ctx is done.
func (s *Site) Run(ctx context.Context) error {
	t := time.NewTicker(100 * time.Millisecond)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-t.C:
			if err := s.Advance(now); err != nil {
				return err
			}
		}
	}
}

// behind is how many seconds are made up at most; what a machine that slept has
// missed stays missed.
const behind = 60

// Advance lets time pass up to now, for callers with a clock of their own.
func (s *Site) Advance(now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := 0; now.Sub(s.last) >= time.Second; n++ {
		s.last = s.last.Add(time.Second)
		if n >= behind {
			continue
		}
		if err := s.live.Step(s.board.Take); err != nil {
			return fmt.Errorf("live site: %w", err)
		}
	}
	return nil
}

// Strike has a fault begin now, at an entity or where the seed determines, for so
// long.
func (s *Site) Strike(name string, at telemetry.Entity, lasts time.Duration) (fault.Fault, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live.Strike(name, at, lasts.Seconds())
}

// Places lists where a kind of fault would degrade a job; none where the site has
// no place for it.
func (s *Site) Places(name string) []telemetry.Entity {
	k := fault.Find(name)
	if k == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []telemetry.Entity
	for job := range s.live.Scene().Jobs {
		out = append(out, k.Eligible(s.live.Scene(), job)...)
	}
	return out
}

// Answer is what counts as right of a fault that was struck.
func (s *Site) Answer(f fault.Fault) (fault.Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live.Scene().Answer(f)
}

// Struck lists the faults that were struck, in order.
func (s *Site) Struck() []fault.Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live.Struck()
}
