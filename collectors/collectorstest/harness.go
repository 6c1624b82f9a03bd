package collectorstest

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quintet-dc/quintet/collectors"
)

// Harness is how a collector is held against the contract.
type Harness struct {
	// New makes a source that answers and a collector that reads it. It is called
	// again for every check, and what it opens it closes by t.Cleanup.
	New func(t *testing.T) Subject
	// RealTime is for sources that need the real clock, such as connections.
	// Otherwise each check runs in a bubble of testing/synctest, where time
	// passes as soon as everybody waits.
	RealTime bool
}

// Subject is a collector and its source. A nil function cannot happen to it, and
// the check that needs it is left out.
type Subject struct {
	Collector collectors.Collector
	// Poke makes the source send something; nil if the collector polls.
	Poke func()
	// Sever takes the source away, Restore gives it back.
	Sever, Restore func()
	// Spoil makes part of the source's output malformed, the rest sound; what is
	// spoilt must be counted as SpoiltAs.
	Spoil    func()
	SpoiltAs collectors.Reason
	// Swell makes the source send far more than any device does. The excess must be
	// counted as OverLimit.
	Swell func()
}

// wait is how long a check waits for what must come. In a bubble it costs
// nothing; a collector that backs off to a minute is still waited for.
const wait = 5 * time.Minute

// prompt is how soon Run returns after it is cancelled, in the fake time of a
// bubble; in real time, where the processor may be busy with something else, a
// return within late is enough.
const prompt, late = time.Second, 30 * time.Second

// Run holds a collector against the contract of package collectors.
func Run(t *testing.T, h Harness) {
	for _, c := range checks() {
		t.Run(c.name, func(t *testing.T) {
			if h.RealTime {
				c.check(t, &bench{t: t, Subject: h.New(t), prompt: late})
				return
			}
			synctest.Test(t, func(t *testing.T) { c.check(t, &bench{t: t, Subject: h.New(t), prompt: prompt}) })
		})
	}
}

// named is a check and its name.
type named struct {
	name  string
	check func(*testing.T, *bench)
}

func checks() []named {
	return []named{
		{"what it emits is sound", checkSound},
		{"Run ends when ctx is done", checkEnds},
		{"it can run again", checkAgain},
		{"its health is reported", checkHealth},
		{"its source dies and comes back", checkSever},
		{"it ends while its source is dead", checkEndsSevered},
		{"malformed input is counted", checkSpoilt},
		{"a slow sink loses nothing", checkSlowSink},
		{"it keeps no more the longer it runs", checkMemory},
		{"too much is counted and not kept", checkSwollen},
	}
}

// bench runs one subject.
type bench struct {
	t *testing.T
	Subject
	prompt time.Duration // how soon Run must return when its context ends
}

// start runs the collector into a new tape; stop ends it and returns how long
// that took.
func (b *bench) start() (tp *tape, stop func() (time.Duration, error)) {
	return b.startInto(newTape())
}

func (b *bench) startInto(tp *tape) (_ *tape, stop func() (time.Duration, error)) {
	ctx, cancel := context.WithCancel(b.t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Collector.Run(ctx, tp) }()
	b.t.Cleanup(cancel)
	return tp, func() (time.Duration, error) {
		cancel()
		began := time.Now()
		select {
		case err := <-done:
			return time.Since(began), err
		case <-time.After(wait):
			return wait, errors.New("did not return")
		}
	}
}

// expect waits until cond holds of the tape, poking the source meanwhile.
func (b *bench) expect(tp *tape, what string, cond func(*tape) bool) {
	b.t.Helper()
	limit := time.After(wait)
	for {
		if tp.satisfies(cond) {
			return
		}
		if b.Poke != nil {
			b.Poke()
		}
		select {
		case <-tp.changed:
		case <-time.After(100 * time.Millisecond):
		case <-limit:
			b.t.Fatalf("waited %s for %s: %s", wait, what, tp)
		}
	}
}

// frames waits for n more frames than now.
func (b *bench) frames(tp *tape, n int) {
	b.t.Helper()
	tp.mu.Lock()
	want := tp.frames + n
	tp.mu.Unlock()
	b.expect(tp, "frames", func(tp *tape) bool { return tp.frames >= want })
}

func (b *bench) stop(stop func() (time.Duration, error)) {
	b.t.Helper()
	took, err := stop()
	switch {
	case err != nil:
		b.t.Errorf("Run: %v; want nil after ctx is done", err)
	case took > b.prompt:
		b.t.Errorf("Run returned %s after ctx was done", took)
	}
}

// heap returns the bytes in use.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
