package gnmi

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/lab/live"
	wire "github.com/quintet-dc/quintet/lab/wire/gnmi"
)

// play runs a collector into a tape until the test ends.
func play(t *testing.T, c *Collector) *tape {
	t.Helper()
	p := newTape()
	playInto(t, c, p)
	return p
}

func playInto(t *testing.T, c *Collector, p *tape) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx, p) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// fresh waits for samples that come after this call.
func (p *tape) fresh(t *testing.T, what string) {
	t.Helper()
	p.mu.Lock()
	had := p.samples
	p.mu.Unlock()
	p.await(t, what, func() bool { return p.samples > had })
}

// TestATargetRestartsAHundredTimes: after each time its samples come again, each
// loss is a gap, and nothing is left behind.
func TestATargetRestartsAHundredTimes(t *testing.T) {
	x := newTarget(t, counting(4, 5*time.Millisecond))
	p := newTape()
	p.quiet = true
	playInto(t, reads(t, "openconfig", x), p)
	p.fresh(t, "samples")
	before := runtime.NumGoroutine()
	for range 100 {
		x.stop()
		x.start()
		p.fresh(t, "samples after a restart")
	}
	if n := runtime.NumGoroutine(); n > before+20 {
		t.Errorf("%d goroutines, %d before", n, before)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gaps < 50 {
		t.Errorf("%d gaps in 100 losses of 4 series", p.gaps)
	}
}

// lab puts a small site on the wire, of one dialect.
func lab(t *testing.T, dialect string) (*wire.Fleet, *live.Site) {
	t.Helper()
	site, err := live.New(16, 5, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	f, err := wire.New(site.Board(), wire.Config{Dialect: dialect, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		if err := f.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		all.Wait()
	})
	return f, site
}

// labReads returns the collector of one switch of a lab.
func labReads(t *testing.T, f *wire.Fleet, name string) *Collector {
	t.Helper()
	c, err := New(Config{Profile: wire.OpenConfig, Names: "description", TLS: dial.TLS{CA: f.CA()},
		Targets: []Target{{Name: name, Address: f.Device(name).Address()}}}, dial.Guard{})
	if err != nil {
		t.Fatal(err)
	}
	c.pace = quickPace()
	return c
}

const aLeaf = "p0-leaf00"

// TestGoAway: a switch that asks its clients to go is left, and found again.
func TestGoAway(t *testing.T) {
	f, _ := lab(t, wire.OpenConfig)
	p := play(t, labReads(t, f, aLeaf))
	p.fresh(t, "samples")
	f.Device(aLeaf).Leave(50 * time.Millisecond)
	p.await(t, "word of the loss", func() bool { return p.last.Err != nil })
	if err := f.Device(aLeaf).Start(); err != nil {
		t.Fatal(err)
	}
	p.fresh(t, "samples after GOAWAY")
}

// TestCertificateRotated: new connections meet a certificate of another authority;
// once the file contains that authority, they are accepted, and no restart of ours
// is needed.
func TestCertificateRotated(t *testing.T) {
	f, _ := lab(t, wire.OpenConfig)
	p := play(t, labReads(t, f, aLeaf))
	p.fresh(t, "samples")
	for range 3 {
		f.Device(aLeaf).Stop()
		p.await(t, "word of the loss", func() bool { return p.last.Err != nil })
		if err := f.Rotate(); err != nil {
			t.Fatal(err)
		}
		if err := f.Device(aLeaf).Start(); err != nil {
			t.Fatal(err)
		}
		p.fresh(t, "samples after the rotation")
	}
}

// TestHalfOpen: a connection that delivers no more data and was never closed is
// given up and dialled again.
func TestHalfOpen(t *testing.T) {
	x := newTarget(t, counting(4, 5*time.Millisecond))
	q := collectorstest.NewPipe(t, x.address)
	c := reads(t, "openconfig", &target{address: q.Address})
	c.pace.quiet, c.pace.answers = 100*time.Millisecond, 300*time.Millisecond
	p := play(t, c)
	p.fresh(t, "samples")
	q.Clogged.Store(true)
	p.await(t, "word of the loss", func() bool { return p.last.Err != nil && strings.Contains(p.last.Err.Error(), errQuiet.Error()) })
	q.Clogged.Store(false)
	p.fresh(t, "samples over a new connection")
}

// TestAFloodIsBounded: a target that sends without end fills no memory and no
// log, and what was not read is counted.
func TestAFloodIsBounded(t *testing.T) {
	big := octets(400, 1)
	x := newTarget(t, func(st gpb.GNMI_SubscribeServer, r *gpb.SubscribeRequest) error {
		if !counters(r) {
			return status.Error(codes.NotFound, "no such path")
		}
		for {
			if err := st.Send(big); err != nil {
				return err
			}
		}
	})
	c := reads(t, "openconfig", x)
	c.pace.bytes, c.pace.counts = 1<<18, 10*time.Millisecond
	p := newTape()
	p.quiet = true
	playInto(t, c, p)
	p.await(t, "word of what is too much", func() bool { return p.dropped[collectors.OverLimit] > 10 })
	had := inUse()
	p.await(t, "more of it", func() bool { return p.dropped[collectors.OverLimit] > 100 })
	if now := inUse(); now > had+8<<20 {
		t.Errorf("%d bytes in use, %d before the flood", now, had)
	}
}

func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestOneSlowAmongMany: a switch that accepts connections and never answers does
// not delay the others, and is not dialled repeatedly.
func TestOneSlowAmongMany(t *testing.T) {
	var all []*target
	slow := collectorstest.NewPipe(t, "")
	all = append(all, &target{address: slow.Address})
	for range 20 {
		all = append(all, newTarget(t, counting(1, 50*time.Millisecond)))
	}
	c := reads(t, "openconfig", all...)
	c.cfg.Dialling = 2
	p := play(t, c)
	p.await(t, "samples of all the others", func() bool { return len(p.seen) == 20 })
	if n := slow.Dialled.Load(); n > 1 {
		t.Errorf("the slow one was dialled %d times", n)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last.Err != nil {
		t.Errorf("up but one: %v", p.last.Err)
	}
}

// TestARefusalIsHeeded: a target that rejects the credentials is not asked again at
// once, and the reason is reported.
func TestARefusalIsHeeded(t *testing.T) {
	x := newTarget(t, func(gpb.GNMI_SubscribeServer, *gpb.SubscribeRequest) error {
		return status.Error(codes.Unauthenticated, "who are you?")
	})
	p := play(t, reads(t, "sonic", x))
	p.await(t, "the reason", func() bool { return p.last.Err != nil && strings.Contains(p.last.Err.Error(), "who are you?") })
	before := x.subscribed()
	for range 10 {
		p.mu.Lock()
		sweeps := p.sweeps
		p.mu.Unlock()
		p.await(t, "a sweep", func() bool { return p.sweeps > sweeps })
	}
	if n := x.subscribed(); n != before {
		t.Errorf("asked %d times more", n-before)
	}
}

// TestTheDeadAreLeftAlone: a target that has gone for good is tried less and
// less often, however well its last session went.
func TestTheDeadAreLeftAlone(t *testing.T) {
	x := newTarget(t, counting(1, 5*time.Millisecond))
	q := collectorstest.NewPipe(t, x.address)
	c := reads(t, "openconfig", &target{address: q.Address})
	c.pace.first, c.pace.brief, c.pace.most = time.Millisecond, 2*time.Millisecond, time.Hour
	p := play(t, c)
	p.fresh(t, "samples")
	x.stop()
	p.await(t, "many attempts, or the end of them", func() bool { return p.sweeps > 40 })
	if n := q.Dialled.Load(); n > 20 {
		t.Errorf("dialled %d times in two seconds, with waits that double from 1 ms", n)
	}
}
