package ticker

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/telemetry"
)

var _ Log = (*bus.Bus)(nil)

// Two tickers with no more rights than a ticker has, on a real log: its ticks
// follow each other, each once.
func TestAgainstARealLog(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	server, err := broker.Start(ctx, broker.Config{Dir: t.TempDir(), Site: "lab"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	const grid = 50 * time.Millisecond
	join := func(r broker.Role) *bus.Bus {
		c, err := server.Connection(r)
		if err != nil {
			t.Fatal(err)
		}
		b, err := bus.Connect(ctx, bus.Config{Site: "lab", Name: string(r), InProcess: c.InProcess, Credentials: c.Credentials, Grid: grid})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Close)
		return b
	}
	all := join(broker.All)
	if err := all.Create(ctx); err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(ctx)
	var tickers sync.WaitGroup
	for range 2 {
		b := join(broker.Tick)
		tickers.Go(func() {
			if err := Run(running, Config{Log: b, Grid: grid}); err != nil {
				t.Error(err)
			}
		})
	}
	var ticks []telemetry.Time
	enough := errors.New("enough")
	err = all.Follow(ctx, 0, func(e bus.Entry) error {
		if e.Record == nil || e.Record.Kind != telemetry.TickRecord {
			t.Errorf("entry %d: %+v", e.Position, e)
			return enough
		}
		at := e.Record.Tick.At
		if n := len(ticks); n > 0 && at.Sub(ticks[n-1]) != grid {
			t.Errorf("tick %s follows %s", at, ticks[n-1])
		}
		if ticks = append(ticks, at); len(ticks) == 10 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Errorf("%v after %d ticks", err, len(ticks))
	}
	stop()
	tickers.Wait()
}
