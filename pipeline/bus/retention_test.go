package bus_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/telemetry"
)

// large is a record of 100 kB.
func large(n int) *telemetry.Record {
	return &telemetry.Record{Kind: telemetry.ConfigRecord, Config: telemetry.NewConfig("large", at(n), make([]byte, 100_000))}
}

// What retention removed is not passed over in silence.
func TestForgotten(t *testing.T) {
	t.Parallel()
	_, b := site(t, func(c *bus.Config) { c.RetainBytes = 1 << 20 })
	ctx := within(t, 30*time.Second)
	for n := range 30 {
		if err := b.Append(ctx, "", large(n)); err != nil {
			t.Fatal(err)
		}
	}
	first, last, err := b.Bounds(ctx)
	if err != nil || first < 15 || last != 30 {
		t.Fatalf("the log holds %d to %d: %v", first, last, err)
	}
	if err := b.Follow(ctx, first-2, func(bus.Entry) error { return nil }); !errors.Is(err, bus.ErrForgotten) {
		t.Errorf("follow behind %d: %v", first-2, err)
	}
	if got := read(t, b, first-1, 1); got[0].Position != first {
		t.Errorf("follow behind %d begins at %d", first-1, got[0].Position)
	}
	if got := read(t, b, 0, 1); got[0].Position != first {
		t.Errorf("follow from the oldest begins at %d, want %d", got[0].Position, first)
	}
}

// A reader that is overtaken by retention gets an error.
func TestForgottenOnTheWay(t *testing.T) {
	t.Parallel()
	_, b := site(t, func(c *bus.Config) { c.RetainBytes = 1 << 20 })
	ctx := within(t, 30*time.Second)
	if err := b.Append(ctx, "", large(0), large(1)); err != nil {
		t.Fatal(err)
	}
	seen := 0
	err := b.Follow(ctx, 0, func(e bus.Entry) error {
		seen++
		if e.Position != uint64(seen) {
			t.Errorf("entry %d after %d", e.Position, seen-1)
		}
		if e.Position > 1 {
			return nil
		}
		// While this entry is being looked at, the log goes round several times.
		for n := range 60 {
			if err := b.Append(ctx, "", large(n)); err != nil {
				return err
			}
		}
		return nil
	})
	if !errors.Is(err, bus.ErrForgotten) {
		t.Errorf("after %d entries: %v", seen, err)
	}
}

// Creating again adjusts the limits of the existing streams.
func TestCreateAdjusts(t *testing.T) {
	t.Parallel()
	s, b := site(t)
	ctx := within(t, 30*time.Second)
	for n := range 30 {
		if err := b.Append(ctx, "", large(n)); err != nil {
			t.Fatal(err)
		}
	}
	other := join(t, s, broker.All, func(c *bus.Config) { c.RetainBytes, c.Retain = 1<<20, time.Minute })
	if err := other.Create(ctx); err != nil {
		t.Fatal(err)
	}
	if st, err := b.State(ctx); err != nil || st.First < 15 || st.Bytes > 1<<20 || st.Entries != st.Last-st.First+1 {
		t.Errorf("state: %+v, %v", st, err)
	}
}

// A size that was asked for is kept to or refused.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	s := serve(t, broker.Config{})
	b := join(t, s, broker.All, func(c *bus.Config) { c.RetainBytes = 1 << 50 })
	if err := b.Create(within(t, 10*time.Second)); err == nil || !strings.Contains(err.Error(), "MiB") {
		t.Errorf("create: %v", err)
	}
}
