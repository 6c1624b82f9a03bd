package collectorstest

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/telemetry"
)

// sound fails the test for every problem that the tape found.
func (b *bench) sound(tp *tape) {
	b.t.Helper()
	tp.mu.Lock()
	defer tp.mu.Unlock()
	for _, f := range tp.faults {
		b.t.Error(f)
	}
}

// checkSound: schemas come before frames, frames decode, their numbers rise by
// one, no time is negative, the log takes every record.
func checkSound(t *testing.T, b *bench) {
	tp, stop := b.start()
	b.frames(tp, 3)
	b.expect(tp, "a sweep", func(tp *tape) bool { return tp.sweeps > 0 })
	b.stop(stop)
	b.sound(tp)
	if tp.present == 0 {
		t.Error("no sample in any frame")
	}
}

// checkEnds: Run returns promptly, with nil, and leaves neither goroutine nor
// file behind. A bubble finds the goroutines by itself.
func checkEnds(t *testing.T, b *bench) {
	first, stop := b.start()
	b.frames(first, 1) // the source runs, and what is opened once for all is open
	b.stop(stop)
	files, goroutines := openFiles(), runtime.NumGoroutine()
	tp, stop := b.start()
	b.frames(tp, 1)
	b.stop(stop)
	if n := openFiles(); n > files {
		t.Errorf("%d files are open, before it were %d", n, files)
	}
	for limit := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > goroutines && time.Now().Before(limit); {
		<-time.After(10 * time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		stacks := make([]byte, 1<<20)
		t.Errorf("%d goroutines run, before it were %d\n%s", n, goroutines, stacks[:runtime.Stack(stacks, true)])
	}
}

// openFiles counts this process's open files, where the system reports them.
func openFiles() int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(list)
}

func checkEndsSevered(t *testing.T, b *bench) {
	if b.Sever == nil {
		t.Skip("its source cannot die")
	}
	tp, stop := b.start()
	b.frames(tp, 1)
	b.Sever()
	sweeps := tp.sweepsNow()
	b.expect(tp, "a sweep", func(tp *tape) bool { return tp.sweeps > sweeps })
	b.stop(stop)
	b.sound(tp)
}

// checkAgain: after Run has returned it may be called again, and then numbers
// its frames under a later incarnation.
func checkAgain(t *testing.T, b *bench) {
	first, stop := b.start()
	b.frames(first, 2)
	b.stop(stop)
	<-time.After(time.Millisecond)
	second, stop := b.start()
	b.frames(second, 2)
	b.stop(stop)
	b.sound(first)
	b.sound(second)
	if second.newest <= first.newest {
		t.Errorf("incarnation %d after %d", second.newest, first.newest)
	}
}

// checkHealth: under the supervisor, up, duration and drops are reported.
func checkHealth(t *testing.T, b *bench) {
	s := b.supervise()
	b.expect(s.tape, "collector_up 1", func(*tape) bool { return s.value("collector_up") == 1 })
	b.expect(s.tape, "something read", func(*tape) bool { return s.value("collector_read_total") > 0 })
	for _, r := range collectors.Reasons() {
		if s.value(r.Metric()) < 0 {
			t.Errorf("%s is not reported", r.Metric())
		}
	}
	b.expect(s.tape, "a target that is up", func(*tape) bool { up, down := s.targets(); return up > 0 && down == 0 })
	if s.value("collector_sweep_seconds") < 0 {
		t.Error("collector_sweep_seconds is not reported")
	}
	s.stop()
}

// checkSever: while the source is away its target is down, in a metric and in one
// line of the log, and nothing is made up; when it is back, the target is up, in
// one more line, and samples come again.
func checkSever(t *testing.T, b *bench) {
	if b.Sever == nil {
		t.Skip("its source cannot die")
	}
	s := b.supervise()
	b.frames(s.tape, 2)
	b.Sever()
	b.expect(s.tape, "word that the source is away", func(*tape) bool {
		return s.value("collector_up") == 0 || s.value(collectors.Vanished.Metric()) > 0 || s.value(collectors.Unreadable.Metric()) > 0
	})
	b.expect(s.tape, "a target that is down, in the metric and in the log", func(*tape) bool {
		_, down := s.targets()
		return down > 0 && s.log.count(`msg="target down"`)+s.log.count(`msg="collector ended"`) > 0
	})
	if s.value("collector_restarts_total") > 20 {
		t.Errorf("restarted %v times meanwhile", s.value("collector_restarts_total"))
	}
	b.Restore()
	fresh := s.tape.freshNow()
	b.expect(s.tape, "samples again", func(tp *tape) bool { return tp.fresh > fresh+2 })
	b.expect(s.tape, "collector_up 1", func(*tape) bool { return s.value("collector_up") == 1 })
	b.expect(s.tape, "every target up", func(*tape) bool { _, down := s.targets(); return down == 0 })
	s.stop()
	if down, up := s.log.count(`msg="target down"`)+s.log.count(`msg="collector ended"`), s.log.count(`msg="target up"`); up == 0 || up > down {
		t.Errorf("%d lines report the target down, %d report it up again", down, up)
	}
	b.sound(s.tape)
}

// checkSpoilt: what is malformed is counted, what is not still comes.
func checkSpoilt(t *testing.T, b *bench) {
	if b.Spoil == nil {
		t.Skip("nothing can be spoilt")
	}
	tp, stop := b.start()
	b.frames(tp, 1)
	b.Spoil()
	b.expect(tp, "word of what was spoilt", func(tp *tape) bool { return tp.dropped[b.SpoiltAs] > 0 })
	fresh := tp.freshNow()
	b.expect(tp, "the rest", func(tp *tape) bool { return tp.fresh > fresh })
	b.stop(stop)
	b.sound(tp)
}

// checkSlowSink: an Emit that takes its time delays, and loses nothing: the
// tape finds a hole in the numbers.
func checkSlowSink(t *testing.T, b *bench) {
	tp := newTape()
	tp.slow = 20 * time.Millisecond
	tp, stop := b.startInto(tp)
	b.frames(tp, 5)
	took, err := stop()
	if err != nil {
		t.Errorf("Run: %v", err)
	}
	if took > wait/2 {
		t.Errorf("Run returned %s after ctx was done", took)
	}
	b.sound(tp)
}

// checkMemory: 400 frames later it holds about what it held.
func checkMemory(t *testing.T, b *bench) {
	tp, stop := b.start()
	b.frames(tp, 20)
	before := heap()
	for range 20 {
		b.frames(tp, 20)
	}
	if after := heap(); after > before+2<<20 {
		t.Errorf("%d bytes in use after 400 more frames, %d more than before", after, after-before)
	}
	b.stop(stop)
}

// checkSwollen: a source that sends too much fills neither memory nor log.
func checkSwollen(t *testing.T, b *bench) {
	if b.Swell == nil {
		t.Skip("its source is bounded by nature")
	}
	b.Swell()
	tp, stop := b.start()
	b.expect(tp, "word of what is too much", func(tp *tape) bool { return tp.dropped[collectors.OverLimit] > 0 })
	b.stop(stop)
	b.sound(tp)
	total := 0
	for _, n := range tp.series {
		total += n
	}
	if total > 16*telemetry.MaxSeriesPerSource {
		t.Errorf("%d series", total)
	}
}
