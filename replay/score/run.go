package score

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Options determine how Run replays bundles.
type Options struct {
	// Replay runs the engine over one bundle and returns its case. It is called
	// from Workers goroutines at once, never twice for one directory, and must
	// return when ctx is done. Required.
	Replay func(ctx context.Context, dir string) (Case, error)
	// Workers bounds the replays at once; 0 means 2.
	Workers int
	// Progress, if set, is called after each replay, one call at a time, in the
	// order in which they end.
	Progress func(done, total int, dir string)
	Settings Settings
}

// Run replays every bundle and scores the cases. The report does not depend on
// the number of workers nor on the order of dirs. A bundle that cannot be
// replayed is an error: a score over the rest would be another score. Run
// returns when every replay that it started has.
func Run(ctx context.Context, dirs []string, o Options) (Report, error) {
	if o.Replay == nil {
		return Report{}, errors.New("score: no replay given")
	}
	if len(dirs) == 0 {
		return Report{}, errors.New("score: no bundles")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cases, errs := make([]Case, len(dirs)), make([]error, len(dirs))
	var count progress
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(workersOr(o.Workers), len(dirs)) {
		workers.Go(func() {
			for i := range next {
				cases[i], errs[i] = replayOne(ctx, o.Replay, dirs[i])
				if errs[i] != nil {
					cancel()
					continue
				}
				count.add(o.Progress, len(dirs), dirs[i])
			}
		})
	}
	feed(ctx, next, len(dirs))
	workers.Wait()
	if err := first(ctx, errs); err != nil {
		return Report{}, err
	}
	return Judge(cases, o.Settings), nil
}

// feed hands out the work in order until all of it is out or ctx is done.
func feed(ctx context.Context, next chan<- int, n int) {
	defer close(next)
	for i := range n {
		select {
		case next <- i:
		case <-ctx.Done():
			return
		}
	}
}

func replayOne(ctx context.Context, replay func(context.Context, string) (Case, error), dir string) (Case, error) {
	if err := ctx.Err(); err != nil {
		return Case{}, err
	}
	c, err := replay(ctx, dir)
	if err != nil {
		return Case{}, fmt.Errorf("score: %s: %w", dir, err)
	}
	if c.Dir == "" {
		c.Dir = dir
	}
	return c, nil
}

// first picks the error to report: that of the earliest bundle which failed on
// its own account, rather than one that was stopped because of it.
func first(ctx context.Context, errs []error) error {
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

func workersOr(n int) int {
	if n <= 0 {
		return 2
	}
	return n
}

// progress counts replays that ended and serialises the calls that report it.
type progress struct {
	mu   sync.Mutex
	done int
}

func (p *progress) add(report func(done, total int, dir string), total int, dir string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	if report != nil {
		report(p.done, total, dir)
	}
}
