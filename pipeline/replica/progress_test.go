package replica

import (
	"testing"
	"time"

	"github.com/quintet-dc/quintet/telemetry"
)

func TestSpeedIsThatOfTheLastSeconds(t *testing.T) {
	var p progress
	start := time.Unix(1_790_000_000, 0)
	tick := telemetry.Time(start.UnixNano()).Add(-telemetry.Duration(time.Hour))
	if v := p.speed(tick, start); v != 0 {
		t.Errorf("speed %v before the first tick", v)
	}
	// A minute at 100 times real time, then one as fast as time.
	for second, now := 0, start; second < 120; second++ {
		p.ticked(tick, now)
		speed := p.speed(tick, now)
		switch {
		case second < 5 && speed != 0:
			t.Errorf("speed %v after %d s: nothing is known yet", speed, second)
		case second >= 5 && second < 60 && speed != 100, second > 75 && speed != 1:
			t.Errorf("speed %v after %d s", speed, second)
		}
		step := time.Second
		if second < 60 {
			step *= 100
		}
		now, tick = now.Add(time.Second), tick.Add(telemetry.Duration(step))
	}
}

// TestTheEngineBeginsAnewAfterADayWithoutTicks: no ticker ran for longer than a tick
// can move the engine's time, and the log goes on in the present. The engine would
// refuse every tick from there on.
func TestTheEngineBeginsAnewAfterADayWithoutTicks(t *testing.T) {
	w := newWorld(t)
	r := w.start("a")
	w.feed(0, 3000)
	r.publishes()
	r.read()
	stop := within(t, 20*time.Second)
	state := func(at telemetry.Time) {
		t.Helper()
		if err := w.bus.Append(stop, "", &telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: at}}); err != nil {
			t.Fatal(err)
		}
	}
	var before Status
	w.ask(AskStatus, "", &before)
	present := now() - now()%telemetry.Time(time.Second)
	state(present.Add(telemetry.Duration(100 * 24 * time.Hour))) // a mistake, not the time of day
	r.read()
	var wrong Status
	w.ask(AskStatus, "", &wrong)
	if *wrong.Tick != *before.Tick || r.count("quintet_replica_starts_total") != 1 {
		t.Fatalf("after a tick of the future the engine is at %s, want %s; %d starts", wrong.Tick, before.Tick, r.count("quintet_replica_starts_total"))
	}
	w.expire()
	for second := range 3 {
		state(present.Add(telemetry.Duration(second) * telemetry.Duration(time.Second)))
	}
	w.until("the engine judges the present", func() bool {
		r.read()
		return r.gauge("quintet_replica_tick_seconds") >= present.Seconds()+2
	})
	r.publishes()
	r.stop()
	if n := r.count("quintet_replica_starts_total"); n != 2 {
		t.Errorf("started %d times, want 2", n)
	}
}
