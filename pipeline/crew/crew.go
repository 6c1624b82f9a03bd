// Package crew runs the parts of a process in stages and stops them in order. It
// knows nothing of what the parts do.
package crew

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// Crew runs parts in stages and stops them stage by stage: collectors first, the
// servers of answers last, so that accepted data is delivered.
//
// A part runs until its context is done. A part that ends with an error before that
// ends the crew; one that ends without an error has done its work.
type Crew struct {
	timeout time.Duration // for each stage to stop
	stages  []*stage
	failed  chan error
}

// stage is the parts that stop together.
type stage struct {
	ctx  context.Context
	stop context.CancelFunc
	done sync.WaitGroup

	mu   sync.Mutex
	left map[string]bool // parts that have not stopped
}

// New returns a crew of n stages, each of which may take up to timeout to stop.
// Their contexts keep the values of ctx but not its end: Wait stops them in order.
func New(ctx context.Context, n int, timeout time.Duration) *Crew {
	c := &Crew{timeout: timeout, failed: make(chan error, 1)}
	for range n {
		s := &stage{left: map[string]bool{}}
		s.ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
		c.stages = append(c.stages, s)
	}
	return c
}

// Start runs a part in a stage.
func (c *Crew) Start(at int, name string, run func(ctx context.Context) error) {
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
		default: // the first error is returned
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

// Wait waits until ctx is done or a part has failed, stops the stages in order
// and returns the first error.
func (c *Crew) Wait(ctx context.Context) error {
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

// settle waits until a stage has stopped. Its error names what did not stop in time.
func (c *Crew) settle(s *stage) error {
	stopped := make(chan struct{})
	go func() {
		s.done.Wait()
		close(stopped)
	}()
	late := time.NewTimer(c.timeout)
	defer late.Stop()
	select {
	case <-stopped:
		return nil
	case <-late.C:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Errorf("stop: %v did not stop within %s", slices.Sorted(maps.Keys(s.left)), c.timeout)
}
