package crew

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// until returns a stage that stops when its context is done and records its name.
func until(said *[]string, name string, err error) func(context.Context) error {
	return func(ctx context.Context) error {
		<-ctx.Done()
		*said = append(*said, name)
		return err
	}
}

func TestStagesStopInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		c := New(ctx, 3, time.Second)
		var said []string
		c.Start(2, "web", until(&said, "web", nil))
		c.Start(0, "collect", until(&said, "collect", context.Canceled))
		c.Start(1, "engine", until(&said, "engine", nil))
		c.Start(0, "done early", func(context.Context) error { return nil })
		stop()
		if err := c.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(said, " "); got != "collect engine web" {
			t.Errorf("stopped in the order %s", got)
		}
	})
}

func TestOneFailureStopsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(t.Context(), 2, time.Second)
		var said []string
		broken := errors.New("broken")
		c.Start(0, "collect", until(&said, "collect", nil))
		c.Start(1, "web", func(context.Context) error { return broken })
		err := c.Wait(t.Context())
		if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "web: ") {
			t.Errorf("got %v", err)
		}
		if len(said) != 1 {
			t.Errorf("the other part still runs")
		}
	})
}

func TestWhatDoesNotStopIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		c := New(ctx, 2, time.Second)
		release := make(chan struct{})
		c.Start(0, "stubborn", func(context.Context) error { <-release; return nil })
		var said []string
		c.Start(1, "web", until(&said, "web", nil))
		stop()
		err := c.Wait(ctx)
		if err == nil || !strings.Contains(err.Error(), "[stubborn] did not stop within 1s") {
			t.Errorf("got %v", err)
		}
		close(release)
	})
}
