package play_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quintet-dc/quintet/replay/play"
	"github.com/quintet-dc/quintet/telemetry"
)

// clock reads the bubble's clock.
func clock() telemetry.Time { return telemetry.Time(time.Now().UnixNano()) }

// stamped is a log that notes by the clock when each tick came.
type stamped struct {
	memory
	came map[telemetry.Time]telemetry.Time
}

func newStamped() *stamped {
	s := &stamped{came: map[telemetry.Time]telemetry.Time{}}
	s.appended = func(rs []*telemetry.Record) error {
		for _, r := range rs {
			if r.Kind == telemetry.TickRecord {
				s.came[r.Tick.At] = clock()
			}
		}
		return nil
	}
	return s
}

// everySecond is a trace of n ticks.
func everySecond(t *testing.T, n int) string {
	var rs []telemetry.Record
	for i := range n {
		rs = append(rs, tickAt(telemetry.Time(1e18).Add(telemetry.Duration(i)*second)))
	}
	return small(t, rs...)
}

func TestPace(t *testing.T) {
	for _, speed := range []float64{0, 1, 0.5, 4} {
		path := everySecond(t, 100)
		synctest.Test(t, func(t *testing.T) {
			log, began := newStamped(), clock()
			c := config(open(t, path), log)
			c.Now, c.Speed, c.From = clock, speed, 40*second
			if err := play.Run(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			if len(log.came) != 100 {
				t.Fatalf("speed %v: %d ticks", speed, len(log.came))
			}
			by := max(speed, 0.5)
			if speed == 0 {
				by = 1
			}
			for at, came := range log.came {
				if at <= began {
					if came != began {
						t.Errorf("speed %v: tick %v of the past came at %v", speed, at, came)
					}
					continue
				}
				due := began.Add(telemetry.Duration(float64(at.Sub(began)) / by))
				if late := came.Sub(due); late < 0 || late >= second {
					t.Errorf("speed %v: tick %v came %v late", speed, at, late)
				}
			}
		})
	}
}

func TestOutageIsCaughtUpWithAndMovesNoTime(t *testing.T) {
	path := everySecond(t, 300)
	synctest.Test(t, func(t *testing.T) {
		log := newStamped()
		note, outage := log.appended, 60*second
		log.appended = func(rs []*telemetry.Record) error {
			if len(log.came) == 20 && outage > 0 { // the log cannot be reached for a minute
				<-time.After(outage)
				outage = 0
			}
			return note(rs)
		}
		c := config(open(t, path), log)
		c.Now, c.Speed = clock, 1
		began := clock()
		var worst, last telemetry.Duration
		c.Progress = func(p play.Progress) { worst, last = max(worst, p.Behind), p.Behind }
		if err := play.Run(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if worst < 59*second || worst > 61*second || last >= second {
			t.Errorf("behind by %v at worst, %v at the end", worst, last)
		}
		var before, at telemetry.Time
		for i := range log.log {
			tick := log.log[i].Tick.At
			came := log.came[tick]
			if before != 0 && (tick != at.Add(second) || came.Sub(before) < second/10-1) {
				t.Fatalf("tick %v came %v after the one before", tick, came.Sub(before))
			}
			before, at = came, tick
		}
		if took := clock().Sub(began); took > 300*second {
			t.Errorf("it took %v: the outage was not caught up with", took)
		}
	})
}

func TestContinuedPlayCatchesUp(t *testing.T) {
	path := everySecond(t, 300)
	synctest.Test(t, func(t *testing.T) {
		log := newStamped()
		var state play.State
		run := func(ctx context.Context, resume *play.State) {
			c := config(open(t, path), log)
			c.Now, c.Speed, c.From, c.State, c.Last = clock, 1, 30*second, resume, log.last()
			c.Begun = func(s play.State) error { state = s; return nil }
			if err := play.Run(ctx, c); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
		run(ctx, nil)
		cancel()
		if n := len(log.came); n < 79 || n > 82 {
			t.Fatalf("%d ticks in 50 s", n)
		}
		<-time.After(90 * time.Second)
		began, done := clock(), len(log.came)
		ctx, cancel = context.WithTimeout(t.Context(), 11*time.Second)
		run(ctx, &state)
		cancel()
		if n := len(log.came) - done; n < 95 || n > 112 {
			t.Errorf("%d ticks in 11 s behind a stop of 90 s, want ten times as many as seconds", n)
		}
		kept := state
		run(t.Context(), &state)
		if len(log.came) != 300 || kept != state {
			t.Errorf("%d ticks; state %+v, was %+v", len(log.came), state, kept)
		}
		if took := clock().Sub(began); took > 130*second {
			t.Errorf("the rest took %v: it did not catch up", took)
		}
	})
}

func TestAnotherSpeedCountsFromWhereItIs(t *testing.T) {
	path := everySecond(t, 300)
	synctest.Test(t, func(t *testing.T) {
		log := newStamped()
		var state play.State
		run := func(ctx context.Context, speed float64, resume *play.State) {
			c := config(open(t, path), log)
			c.Now, c.Speed, c.State, c.Last = clock, speed, resume, log.last()
			c.Begun = func(s play.State) error { state = s; return nil }
			if err := play.Run(ctx, c); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		run(ctx, 10, nil)
		cancel()
		ctx, cancel = context.WithTimeout(t.Context(), 20*time.Second)
		run(ctx, 1, &state)
		cancel()
		if n := len(log.came); n < 118 || n > 122 {
			t.Errorf("%d ticks: want 100 in 10 s at 10, then 20 in 20 s at 1", n)
		}
	})
}
