package ticker

import (
	"fmt"
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

const (
	noon   = telemetry.Time(1_790_000_000) * telemetry.Time(second)
	minute = 60 * second
	hour   = 60 * minute
)

// world is a pace with control of both clocks.
type world struct {
	t *testing.T
	*pace
	mono telemetry.Duration
	wall telemetry.Time
	said []telemetry.Time
}

func newWorld(t *testing.T, last telemetry.Time) *world {
	w := &world{t: t, wall: noon}
	w.pace = newPace(Config{Timeout: minute}.withDefaults(), w.moment())
	w.open(w.moment())
	if last != 0 {
		w.resume(last)
	}
	w.ready = true
	return w
}

func (w *world) moment() moment { return moment{w.mono, w.wall} }

func header(at telemetry.Time) telemetry.FrameHeader { return telemetry.FrameHeader{Last: at} }

// pass lets time pass in steps, stating every tick that is due; before is called
// before each step.
func (w *world) pass(d telemetry.Duration, before func()) {
	const step = 50 * second / 1000
	for end := w.mono + d; w.mono < end; {
		w.mono += step
		w.wall = w.wall.Add(step)
		if before != nil {
			before()
		}
		for {
			at, _, what := w.next(w.moment())
			if what != due {
				break
			}
			w.said = append(w.said, at)
			w.pace.published(at, w.moment())
		}
	}
}

// hears makes processes state frames received now, by the wall clock.
func (w *world) hears(names ...string) func() {
	return func() {
		for _, n := range names {
			w.receive(n, header(w.wall), w.moment())
		}
	}
}

// rises checks that every tick is the one after its predecessor, or far from the
// clock the next full minute.
func (w *world) rises() {
	w.t.Helper()
	for i := 1; i < len(w.said); i++ {
		at, before := w.said[i], w.said[i-1]
		far := max(w.wall, w.clock).Sub(before) > taken && at.Sub(before) <= stride && at%telemetry.Time(stride) == 0
		if at.Sub(before) != w.grid && !far {
			w.t.Fatalf("tick %s follows %s; the clock says %s", at, before, w.clock)
		}
	}
}

func (w *world) count(want int) {
	w.t.Helper()
	w.rises()
	if got := len(w.said); got < want-1 || got > want+1 {
		w.t.Fatalf("%d ticks, want about %d; the last is %s, the clock says %s", got, want, w.last, w.clock)
	}
	w.said = w.said[:0]
}

func TestTicksFollowTheClock(t *testing.T) {
	for _, c := range []struct {
		name   string
		last   telemetry.Time
		before func(w *world) func()
		pass   telemetry.Duration
		want   int
	}{
		{"an empty log", 0, func(*world) func() { return nil }, 10 * second, 10},
		{"one process", 0, func(w *world) func() { return w.hears("a") }, 10 * second, 10},
		{"after an outage of ten minutes", noon.Add(-10 * minute), func(*world) func() { return nil }, minute, 600},
		{"after an outage, to its end", noon.Add(-10 * minute), func(*world) func() { return nil }, 2 * minute, 720},
		{"the log is ahead of our clock", noon.Add(20 * second), func(*world) func() { return nil }, minute, 40},
		{"a last tick of a far future", noon.Add(50 * 24 * hour), func(*world) func() { return nil }, 10 * second, 10},
		{"a lagging process", 0, func(w *world) func() {
			return func() { w.receive("a", header(w.wall.Add(-30*second)), w.moment()) }
		}, 40 * second, 12},
		{"two processes, the lower", 0, func(w *world) func() {
			return func() { w.hears("a")(); w.receive("b", header(w.wall.Add(-20*second)), w.moment()) }
		}, 40 * second, 22},
		{"three processes, the middle", 0, func(w *world) func() {
			return func() { w.hears("a", "c")(); w.receive("b", header(w.wall.Add(-20*second)), w.moment()) }
		}, 40 * second, 40},
		{"a process in the future", 0, func(w *world) func() {
			return func() { w.receive("a", header(w.wall.Add(hour)), w.moment()) }
		}, 40 * second, 40},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.last)
			w.pass(c.pass, c.before(w))
			w.count(c.want)
		})
	}
}

func TestTotalSilenceDoesNotFreezeTicks(t *testing.T) {
	w := newWorld(t, 0)
	w.pass(10*second, w.hears("a", "b"))
	w.count(10)
	w.pass(59*second, nil)
	w.count(2) // one lateness, then patience
	w.pass(10*second, nil)
	w.count(67) // caught up with the clock
}

func TestASilentMinorityHoldsNobodyUp(t *testing.T) {
	w := newWorld(t, 0)
	w.pass(10*second, w.hears("a", "b", "c"))
	w.pass(30*second, w.hears("a", "b"))
	w.count(40)
}

func TestASilentMajorityHoldsForPatience(t *testing.T) {
	w := newWorld(t, 0)
	w.pass(10*second, w.hears("a", "b", "c"))
	w.count(10)
	w.pass(50*second, w.hears("a"))
	w.count(2)
	w.pass(20*second, w.hears("a"))
	w.count(68)
}

func TestTimeInWhichWeWereDeafIsNobodysSilence(t *testing.T) {
	w := newWorld(t, 0)
	w.pass(10*second, w.hears("a"))
	w.count(10)
	w.mono += hour // the log was away: one tick stood still all the while
	w.wall = w.wall.Add(hour)
	w.pass(50*second, nil)
	w.count(0)
	sent := w.wall.Add(-hour - 50*second)
	w.pass(95*second, func() { // a backlog comes, three times as fast as ticks catch up
		sent = min(sent.Add(30*50*second/1000), w.wall)
		w.receive("a", header(sent), w.moment())
		if ahead := w.last.Sub(sent); ahead > second {
			t.Fatalf("a tick is %v ahead of what the log has", ahead)
		}
	})
	w.count(47) // a minute each, as the backlog comes
	w.pass(10*second, w.hears("a"))
	w.count(100)
}

// After a day in which nothing ran, the present is taken at once: no frame is
// further ahead of the ticks than the engine takes them, and it is judged as soon as
// the last quarter of an hour is caught up.
func TestADayOffIsPassedAtOnce(t *testing.T) {
	w := newWorld(t, noon.Add(-24*hour))
	w.ready = false
	w.receive("a", header(noon.Add(-24*hour)), w.moment()) // the end of the log
	w.ready = true
	w.pass(5*second, nil) // it starts
	w.count(0)
	w.pass(2*second, func() {
		w.hears("a")()
	})
	if behind := w.clock.Sub(w.last); behind > taken {
		t.Fatalf("ticks are %v behind the clock: what is received is refused", behind)
	}
	w.count(23*60 + 45 + 20)
	w.pass(98*second, w.hears("a"))
	if behind := w.clock.Sub(w.last); behind > 2*second {
		t.Errorf("ticks are %v behind the clock", behind)
	}
}

func TestWhoComesBackFarBehindHoldsNobodyUp(t *testing.T) {
	w := newWorld(t, 0)
	w.pass(3*minute, w.hears("a"))
	w.count(180)
	w.pass(10*second, func() {
		w.hears("a")()
		w.receive("b", header(noon), w.moment())
	})
	w.count(10)
}

func TestSteppedWall(t *testing.T) {
	for _, c := range []struct {
		name string
		step telemetry.Duration
		who  string // whose receive times follow the wall: "wall", "log" or "" for nobody
		pass telemetry.Duration
		want int
	}{
		{"ten minutes forward, no data", 10 * minute, "", 50 * second, 500},
		{"ten minutes forward, the log agrees", 10 * minute, "wall", 50 * second, 500},
		{"an hour forward, no data", hour, "", minute, 45 + 600},
		{"an hour forward, the log agrees", hour, "wall", minute, 45 + 600},
		{"an hour forward, the log does not", hour, "log", minute, 60},
		{"an hour back, the log does not", -hour, "log", minute, 60},
		{"a minute back, no data", -minute, "", 2 * minute, 60},
		{"a minute back, the log agrees", -minute, "wall", 2 * minute, 60},
		{"half a second forward", second / 2, "wall", minute, 60},
		{"half a second back", -second / 2, "wall", minute, 60},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, 0)
			truth := func() telemetry.Time { return noon.Add(w.mono) }
			hear := func() {
				switch c.who {
				case "wall":
					w.hears("a", "b", "c")()
				case "log":
					w.receive("a", header(truth()), w.moment())
				}
			}
			w.pass(10*second, hear)
			w.count(10)
			w.wall = w.wall.Add(c.step)
			w.pass(c.pass, hear)
			w.count(c.want)
		})
	}
}

func TestTheClockIsSlewedGently(t *testing.T) {
	w := newWorld(t, 0)
	w.wall = w.wall.Add(800 * second / 1000)
	w.pass(100*second, nil)
	if off := w.wall.Sub(w.clock); off != 750*second/1000 {
		t.Errorf("the clock is off by %v after 100 s, want 750 ms: half a millisecond a second", off)
	}
	w.pass(1600*second, nil)
	if off := w.wall.Sub(w.clock); off != 0 {
		t.Errorf("the clock is off by %v, want 0", off)
	}
}

func TestSlowerClassesMayComeLater(t *testing.T) {
	w := newWorld(t, 0)
	const fp = telemetry.Fingerprint(7)
	w.schema(fp, telemetry.Slow)
	w.pass(minute, func() {
		w.receive("bmc", telemetry.FrameHeader{Fingerprint: fp, Last: w.wall.Add(-40 * second)}, w.moment())
	})
	w.count(60)
	w.pass(minute, func() { // its prompt frames say more
		w.receive("bmc", telemetry.FrameHeader{Fingerprint: fp, Last: w.wall.Add(-40 * second)}, w.moment())
		w.receive("bmc", header(w.wall.Add(-20*second)), w.moment())
	})
	w.count(42)
}

func TestTicksOfOthersAreAdopted(t *testing.T) {
	w := newWorld(t, 0)
	w.pass(10*second, nil)
	w.count(10)
	if !w.adopt(w.last.Add(5*second), w.moment()) || w.adopt(w.last, w.moment()) || w.adopt(w.last.Add(-second), w.moment()) {
		t.Error("a newer tick is adopted, an older one is not")
	}
	if w.adopt(noon.Add(48*hour), w.moment()) || w.ignored != 1 {
		t.Error("a tick of a far future was adopted")
	}
	w.pass(10*second, nil)
	w.count(5)
}

func TestTheEndOfTheLogIsReadFirst(t *testing.T) {
	w := newWorld(t, noon.Add(-hour))
	w.ready = false
	w.pass(30*second, nil)
	w.count(0)
	w.receive("a", header(noon.Add(-hour)), w.moment())
	w.ready = true
	w.pass(30*second, nil)
	w.count(0)
	w.pass(30*second, w.hears("a"))
	w.count(45 + 300)
}

func TestAFollowerThatNeverReadsIsNotWaitedForLong(t *testing.T) {
	w := newWorld(t, noon.Add(-hour))
	w.ready = false
	w.pass(70*second, nil)
	w.count(46 + 100)
}

func FuzzPace(f *testing.F) {
	f.Add([]byte{1, 2, 3, 200, 5, 90, 255, 0, 17, 4})
	f.Fuzz(func(t *testing.T, script []byte) {
		w := newWorld(t, noon.Add(-minute))
		last, since, latest := w.last, w.mono, w.wall
		for i, b := range script[:min(len(script), 200)] {
			arg := telemetry.Duration(b>>3) * second
			switch b & 7 {
			case 0:
				w.wall = w.wall.Add(arg * 100)
			case 1:
				w.wall = w.wall.Add(-arg * 100)
			case 2:
				w.adopt(w.last.Add(arg), w.moment())
				last, since = w.last, w.mono
			case 3, 4:
				w.receive(fmt.Sprint(b&4, i%3), header(w.wall.Add(-arg)), w.moment())
			case 5:
				w.receive("x", header(w.wall.Add(arg*1000)), w.moment())
			default:
				w.pass(arg/4, nil)
			}
			w.rises()
			if w.last < last {
				t.Fatalf("the last tick went back from %s to %s", last, w.last)
			}
			latest = max(latest, w.wall, w.clock)
			from := max(last, latest.Add(stride-taken)) // what is longer past is passed at once
			if most := (w.mono-since)*catchUp + w.grid; w.last.Sub(from) > most {
				t.Fatalf("%v of ticks in %v", w.last.Sub(from), w.mono-since)
			}
			w.said = w.said[:0]
		}
	})
}
