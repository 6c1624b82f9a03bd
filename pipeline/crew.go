package pipeline

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// crew runs parts in stages and stops them stage by stage: what states facts
// first, what shows answers last, so that what was accepted goes through.
//
// A part runs until its context is done. One that ends with an error before
// that ends the crew; one that ends without has done its work.
type crew struct {
	patience time.Duration // for each stage to stop
	stages   []*stage
	failed   chan error
}

// stage is the parts that stop together.
type stage struct {
	ctx  context.Context
	stop context.CancelFunc
	done sync.WaitGroup

	mu   sync.Mutex
	left map[string]bool // parts that have not stopped
}

// newCrew returns a crew of n stages. Their contexts keep the values of ctx but
// not its end: Wait gives the order of that.
func newCrew(ctx context.Context, n int, patience time.Duration) *crew {
	c := &crew{patience: patience, failed: make(chan error, 1)}
	for range n {
		s := &stage{left: map[string]bool{}}
		s.ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
		c.stages = append(c.stages, s)
	}
	return c
}

// start runs a part in a stage.
func (c *crew) start(at int, name string, run func(ctx context.Context) error) {
	s := c.stages[at]
	s.mark(name, true)
	s.done.Go(func() {
		err := run(s.ctx)
		s.mark(name, false)
		if err == nil || s.ctx.Err() != nil && errors.Is(err, context.Canceled) {
			return
		}
		select {
		case c.failed <- fmt.Errorf("%s: %w", name, err):
		default: // the first error tells
		}
	})
}

func (s *stage) mark(name string, runs bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if runs {
		s.left[name] = true
	} else {
		delete(s.left, name)
	}
}

// wait waits until ctx is done or a part has failed, stops the stages in order
// and returns the first error.
func (c *crew) wait(ctx context.Context) error {
	var err error
	select {
	case <-ctx.Done():
	case err = <-c.failed:
	}
	for i, s := range c.stages {
		s.stop()
		if stuck := c.settle(s); stuck != nil {
			for _, later := range c.stages[i+1:] {
				later.stop()
			}
			return errors.Join(err, stuck)
		}
	}
	select {
	case late := <-c.failed:
		err = errors.Join(err, late)
	default:
	}
	return err
}

// settle waits until a stage has stopped; what does not stop in time is named.
func (c *crew) settle(s *stage) error {
	stopped := make(chan struct{})
	go func() {
		s.done.Wait()
		close(stopped)
	}()
	late := time.NewTimer(c.patience)
	defer late.Stop()
	select {
	case <-stopped:
		return nil
	case <-late.C:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Errorf("stop: %v did not stop within %s", keys(s.left), c.patience)
}
