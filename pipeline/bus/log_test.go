package bus_test

import (
	"errors"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/telemetry"
)

var errEnough = errors.New("enough")

// read follows the log behind a position until it has n entries.
func read(t *testing.T, b *bus.Bus, after uint64, n int) []bus.Entry {
	t.Helper()
	var out []bus.Entry
	err := b.Follow(within(t, 20*time.Second), after, func(e bus.Entry) error {
		if out = append(out, e); len(out) == n {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatalf("follow: %v after %d of %d entries", err, len(out), n)
	}
	return out
}

func TestAppendAndFollow(t *testing.T) {
	_, b := site(t)
	ctx := within(t, 20*time.Second)
	if first, last, err := b.Bounds(ctx); err != nil || first != 1 || last != 0 {
		t.Errorf("bounds of an empty log: %d to %d, %v", first, last, err)
	}
	if _, ok, err := b.LastTick(ctx); ok || err != nil {
		t.Errorf("last tick of an empty log: %v, %v", ok, err)
	}
	if err := b.Append(ctx, "host.a", event(1, "one"), event(2, "two"), tick(2), tick(2), event(3, "three")); err != nil {
		t.Fatal(err)
	}
	got := read(t, b, 0, 4)
	for i, e := range got {
		if e.Position != uint64(i+1) || e.Err != nil || e.Stored == 0 || e.Size == 0 {
			t.Errorf("entry %d: %+v", i, e)
		}
	}
	if got[2].Record.Tick.At != at(2) || got[2].Collector != "" || got[3].Record.Event.Text != "three" || got[3].Collector != "host.a" {
		t.Errorf("entries: %+v, %+v", got[2], got[3])
	}
	if tick, ok, err := b.LastTick(ctx); !ok || err != nil || tick != at(2) {
		t.Errorf("last tick: %v, %v, %v", tick, ok, err)
	}
	if e, err := b.Entry(ctx, 3); err != nil || e.Record.Kind != telemetry.TickRecord {
		t.Errorf("entry 3: %+v, %v", e, err)
	}
	if _, err := b.Entry(ctx, 9); !errors.Is(err, bus.ErrNotHeld) {
		t.Errorf("entry 9: %v", err)
	}
}
