package engine_test

import (
	"testing"

	"github.com/quintet-dc/quintet/engine/enginetest"
	"github.com/quintet-dc/quintet/telemetry"
)

// TestTickIsWhatTheEngineTook: the engine refuses a tick that is more than a day
// ahead, and the runner reports none that was refused.
func TestTickIsWhatTheEngineTook(t *testing.T) {
	const second, day = telemetry.Time(1e9), telemetry.Time(24 * 3600e9)
	for _, c := range []struct {
		by      telemetry.Time
		refused bool
	}{{second, false}, {day, false}, {day + second, true}, {-second, false}} {
		r, err := enginetest.NewRunner(1)
		if err != nil {
			t.Fatal(err)
		}
		at := telemetry.Time(1_790_000_000) * second
		for i, next := range []telemetry.Time{at, at + c.by} {
			if leaps := r.Leaps(next); leaps != (c.refused && i == 1) {
				t.Errorf("%+v: tick %d leaps: %v", c, i, leaps)
			}
			if _, err := r.Apply(uint64(i+1), &telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: next}}); err != nil {
				t.Fatal(err)
			}
		}
		want := max(at, at+c.by)
		if c.refused {
			want = at
		}
		if n := r.Output().Counts.TicksFuture; (n == 1) != c.refused || r.Tick() != want {
			t.Errorf("%+v: %d ticks refused, the newest is %s; want %s", c, n, r.Tick(), want)
		}
	}
}
