package main

import (
	"context"
	"errors"
	"sync"
)

// companions run concurrently with the service; when one fails, everything is to stop.
type companions struct {
	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup
	mu      sync.Mutex
	errs    []error
}

func startCompanions(ctx context.Context, stop context.CancelFunc) *companions {
	return &companions{ctx: ctx, stop: stop}
}

func (c *companions) start(run func(context.Context) error) {
	c.running.Go(func() {
		if err := run(c.ctx); err != nil {
			c.mu.Lock()
			c.errs = append(c.errs, err)
			c.mu.Unlock()
			c.stop()
		}
	})
}

func (c *companions) wait() error {
	c.running.Wait()
	return errors.Join(c.errs...)
}
