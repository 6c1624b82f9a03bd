package bus_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/bus"
)

// A server that is killed while one process appends and another follows: what
// was acknowledged is there, and the follower sees each position once, in order.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	server := spawn(t)
	writer, reader := server.join(broker.All), server.join(broker.Store)
	ctx := within(t, 60*time.Second)
	if err := writer.Create(ctx); err != nil {
		t.Fatal(err)
	}
	f := newFrames(t)
	const frames, kills = 1500, 3
	appended := make(chan int, frames)
	failed := make(chan error, 1)
	go func() {
		for n := range frames {
			if err := writer.Append(ctx, "h1", f.record(n)); err != nil {
				failed <- err
				return
			}
			appended <- n
		}
		failed <- nil
	}()
	seen := make(chan bus.Entry, frames)
	followed := make(chan error, 1)
	go func() {
		n := 0
		followed <- reader.Follow(ctx, 0, func(e bus.Entry) error {
			seen <- e
			if n++; n == frames {
				return errEnough
			}
			return nil
		})
	}()
	for k := range kills {
		for range frames / (kills + 1) {
			receive(ctx, t, appended)
		}
		server.kill()
		server.again()
		t.Logf("killed %d times", k+1)
	}
	if err := receive(ctx, t, failed); err != nil {
		t.Fatal(err)
	}
	for n := range frames {
		e := receive(ctx, t, seen)
		if e.Err != nil || e.Position != uint64(n+1) {
			t.Fatalf("entry %d: position %d, %v", n, e.Position, e.Err)
		}
		if h, err := e.Record.Frame.Header(); err != nil || h.Sequence != uint64(n) {
			t.Fatalf("entry %d: frame %d, %v: lost, twice or out of order", n, h.Sequence, err)
		}
	}
	if err := receive(ctx, t, followed); !errors.Is(err, errEnough) {
		t.Error(err)
	}
	if _, last, err := reader.Bounds(ctx); err != nil || last != frames {
		t.Errorf("the log ends at %d, want %d: %v", last, frames, err)
	}
}

func receive[T any](ctx context.Context, t *testing.T, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-ctx.Done():
		t.Fatal(ctx.Err())
	}
	return v
}

// What was stored is there after a stop in order, too, and a tick is known
// again.
func TestRestart(t *testing.T) {
	t.Parallel()
	server := spawn(t)
	ctx := within(t, 30*time.Second)
	b := server.join(broker.All)
	if err := b.Create(ctx); err != nil {
		t.Fatal(err)
	}
	if err := b.Append(ctx, "h1", event(1, "one"), tick(1)); err != nil {
		t.Fatal(err)
	}
	server.stop()
	if b.Connected() {
		<-b.Changed()
	}
	if n, err := b.Send(ctx, make([]bus.Message, 1)); n != 0 || err == nil {
		t.Errorf("sending without a server: %d, %v", n, err)
	}
	server.again()
	if err := b.Append(ctx, "h1", tick(1), event(2, "two")); err != nil {
		t.Fatal(err)
	}
	got := read(t, b, 0, 3)
	if got[1].Record.Tick.At != at(1) || got[2].Record.Event.Text != "two" {
		t.Errorf("after the restart: %+v", got)
	}
	if err := b.Create(ctx); err != nil {
		t.Error(err)
	}
}

// Follow ends with an error if the log was replaced: the reader's position is
// invalid in the new one.
func TestRewritten(t *testing.T) {
	t.Parallel()
	server := spawn(t)
	ctx := within(t, 30*time.Second)
	b := server.join(broker.All)
	fill := func() {
		t.Helper()
		if err := b.Create(ctx); err != nil {
			t.Fatal(err)
		}
		for n := range 20 {
			if err := b.Append(ctx, "h1", event(n, fmt.Sprint(n))); err != nil {
				t.Fatal(err)
			}
		}
	}
	fill()
	reached, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- b.Follow(ctx, 0, func(e bus.Entry) error {
			if e.Position == 10 {
				close(reached)
			}
			return nil
		})
	}()
	receive(ctx, t, reached)
	server.stop()
	if err := os.RemoveAll(filepath.Join(server.dir, "jetstream")); err != nil {
		t.Fatal(err)
	}
	server.again()
	fill()
	if err := receive(ctx, t, ended); !errors.Is(err, bus.ErrRewritten) {
		t.Errorf("follow: %v", err)
	}
	if err := b.Follow(ctx, 1000, func(bus.Entry) error { return nil }); !errors.Is(err, bus.ErrRewritten) {
		t.Errorf("follow behind the end: %v", err)
	}
}

// A process comes up without its server and finds it later.
func TestConnectBeforeTheServer(t *testing.T) {
	t.Parallel()
	server := spawn(t)
	server.kill()
	b := server.join(broker.All)
	if b.Connected() {
		t.Error("connected to nothing")
	}
	ctx := within(t, 20*time.Second)
	if _, err := b.Ask(ctx, "jobs", nil); !errors.Is(err, bus.ErrUnreachable) {
		t.Errorf("asking nobody: %v", err)
	}
	changed := b.Changed()
	server.again()
	if err := b.Create(ctx); err != nil {
		t.Fatal(err)
	}
	receive(ctx, t, changed)
	if !b.Connected() {
		t.Error("not connected")
	}
}

// A slice that is interrupted goes on behind the last entry that it handed over, and
// hands over none twice.
func TestSliceGoesOnWhereItWasInterrupted(t *testing.T) {
	t.Parallel()
	server := spawn(t)
	b := server.join(broker.All)
	ctx := within(t, 60*time.Second)
	if err := b.Create(ctx); err != nil {
		t.Fatal(err)
	}
	const n = 2000 // more than one pull brings
	f := newFrames(t)
	for i := range n {
		if err := b.Append(ctx, "h1", f.record(i)); err != nil {
			t.Fatal(err)
		}
	}
	last := uint64(0)
	err := b.Slice(ctx, bus.Span{}, func(e bus.Entry) error {
		if e.Position != last+1 {
			t.Errorf("position %d after %d", e.Position, last)
		}
		if last = e.Position; last == 10 {
			server.kill()
			server.again()
		}
		return nil
	})
	if err != nil || last != n {
		t.Errorf("read up to %d of %d: %v", last, n, err)
	}
}
