package outbox

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/lab/wire/wiretest"
	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/telemetry"
)

// theSite is a server on loopback that can go and come again.
type theSite struct {
	t      *testing.T
	cfg    broker.Config
	server *broker.Server
}

func newSite(t *testing.T) *theSite {
	s := &theSite{t: t, cfg: broker.Config{Dir: t.TempDir(), Site: "lab", Listen: wiretest.FreeAddress(t)}}
	s.start()
	if err := s.all().Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *theSite) start() {
	s.t.Helper()
	var err error
	if s.server, err = broker.Start(s.t.Context(), s.cfg); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(s.server.Close)
}

func (s *theSite) connect(cfg bus.Config) *bus.Bus {
	s.t.Helper()
	cfg.Site, cfg.Name = "lab", s.t.Name()
	b, err := bus.Connect(s.t.Context(), cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(b.Close)
	return b
}

// all is a connection within the server's process.
func (s *theSite) all() *bus.Bus {
	s.t.Helper()
	c, err := s.server.Connection(broker.All)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.connect(bus.Config{InProcess: c.InProcess, Credentials: c.Credentials})
}

// enrolled is the connection of a collecting process on another machine.
func (s *theSite) enrolled(collector string) *bus.Bus {
	s.t.Helper()
	credentials, err := s.server.Enroll(collector)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.connect(bus.Config{Servers: []string{s.server.URL()}, Credentials: credentials})
}

var errEnough = errors.New("enough")

// until waits for a condition.
func (r *running) until(ok func() bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 20*time.Second)
	defer cancel()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for !ok() {
		select {
		case <-look.C:
		case <-ctx.Done():
			r.t.Fatal("waited in vain")
		}
	}
}

// A real log goes away, memory fills, records are spilled; the log comes back,
// and holds everything, in order, each once.
func TestAgainstARealLog(t *testing.T) {
	site := newSite(t)
	o := start(t, Config{Bus: site.enrolled("h1"), Dir: t.TempDir(), MemoryBytes: 64 << 10})
	p := newPlant(t, 1, 3, 240, o.Emit)
	at := telemetry.Time(1_800_000_000_000_000_000)
	sweep := func(n int) {
		for range n {
			at += telemetry.Time(time.Second)
			p.sweep(int(at/telemetry.Time(time.Second))%3, at)
			p.event(0, at)
			o.until(func() bool { return int(o.account.memory.Load()) <= o.soft() })
		}
	}
	sweep(100)
	site.server.Close()
	sweep(900)
	if o.account.spilled.Load() == 0 {
		t.Error("nothing was spilled")
	}
	site.start()
	sweep(100)

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	log := newFakeLog(1)
	err := site.all().Follow(ctx, 0, func(e bus.Entry) error {
		if e.Record == nil || e.Collector != "h1" {
			t.Fatalf("entry %d of %q: %v", e.Position, e.Collector, e.Err)
		}
		b, err := telemetry.AppendRecord(nil, e.Record)
		log.stored = append(log.stored, b)
		if last := p.records[len(p.records)-1]; string(b) == string(last) {
			return errors.Join(err, errEnough)
		}
		return err
	})
	if !errors.Is(err, errEnough) {
		t.Fatalf("following: %v after %d records", err, len(log.stored))
	}
	o.close()
	p.compare(o.Outbox, log)
	if removedOf(o.Outbox, "events") > 0 || o.account.failures.Get() == 0 {
		t.Errorf("%d events removed, %d failures", removedOf(o.Outbox, "events"), o.account.failures.Get())
	}
	if out := read(t, log.stored, false); len(out.events) != 1100 {
		t.Errorf("%d events of 1100", len(out.events))
	}
}
