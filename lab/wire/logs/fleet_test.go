package logs

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/collectors/dial"
	reading "github.com/quintet-dc/quintet/collectors/logs"
	"github.com/quintet-dc/quintet/lab/board"
	"github.com/quintet-dc/quintet/lab/live"
	"github.com/quintet-dc/quintet/telemetry"
)

// told is a sink that keeps events.
type told struct {
	mu     sync.Mutex
	events []telemetry.Event
	swept  bool
	faults []error
}

func (s *told) Emit(r *telemetry.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Kind == telemetry.EventRecord {
		s.events = append(s.events, *r.Event)
	}
}

// Logger implements collectors.Sink.
func (s *told) Logger() *slog.Logger { return slog.New(slog.DiscardHandler) }

func (s *told) Swept(w collectors.Sweep) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.swept = true
	if w.Err != nil {
		s.faults = append(s.faults, w.Err)
	}
	for reason, n := range w.Dropped {
		if reason != collectors.Skipped && n > 0 {
			s.faults = append(s.faults, &dropped{reason, n})
		}
	}
}

type dropped struct {
	reason collectors.Reason
	n      int
}

func (d *dropped) Error() string { return "dropped as " + string(d.reason) }

// find returns the event of a name at an entity; nil before there is one.
func (s *told) find(x *telemetry.Event) *telemetry.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.events {
		if e := &s.events[i]; e.Entity == x.Entity && e.Name == x.Name && near(e.At, x.At) {
			return e
		}
	}
	return nil
}

// read runs a collector for each of the fleet's entries, as the configuration
// has them.
func read(t *testing.T, f *Fleet) *told {
	t.Helper()
	var wait sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	sinks := &told{}
	for _, e := range f.Entries() {
		c, err := reading.DecodeConfig(collectorstest.Entry(t, e))
		if err != nil {
			t.Fatalf("%v: %v", e, err)
		}
		r, err := reading.New(c, dial.Guard{})
		if err != nil {
			t.Fatal(err)
		}
		one := &told{}
		wait.Go(func() {
			if err := r.Run(ctx, both{one, sinks}); err != nil {
				t.Error(err)
			}
		})
		await(t, "a first reading", func() bool { one.mu.Lock(); defer one.mu.Unlock(); return one.swept })
	}
	t.Cleanup(func() {
		cancel()
		wait.Wait()
		for _, err := range sinks.faults {
			t.Error(err)
		}
	})
	return sinks
}

type both struct{ one, all *told }

func (b both) Emit(r *telemetry.Record) { b.all.Emit(r) }
func (b both) Logger() *slog.Logger     { return b.one.Logger() }
func (b both) Swept(s collectors.Sweep) { b.one.Swept(s); b.all.Swept(s) }
func await(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); !cond(); <-time.After(10 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("waited for %s", what)
		}
	}
}

// TestEveryEventIsTheBoards: whatever happens on the board that a host or a
// switch would log comes out of the collector as the same event of the same
// entity at the same time, within a second of being logged; over Ethernet from
// SONiC, Cumulus and EOS, and over InfiniBand.
func TestEveryEventIsTheBoards(t *testing.T) {
	usual := []string{"gpu xid", "nic link_down", "nic link_up", "port link_down", "port link_up"}
	for _, c := range []struct {
		name string
		seed uint64
		want []string
	}{{"RoCE", 3, usual}, {"InfiniBand", 4, append(slices.Clone(usual), "sm sm_master_changed")}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			site, err := live.New(16, c.seed, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			b := site.Board()
			f, err := New(b, Config{Dir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			sink := read(t, f)
			_, since := b.Events(0)
			var wait sync.WaitGroup
			for _, run := range []func(context.Context) error{site.Run, f.Run} {
				wait.Go(func() {
					if err := run(ctx); err != nil {
						t.Error(err)
					}
				})
			}
			defer wait.Wait()
			defer cancel()
			if err := b.Wait(ctx); err != nil {
				t.Fatal(err)
			}
			strike(t, site, c.name == "InfiniBand")
			var logged []telemetry.Event
			await(t, fmt.Sprint(c.want), func() bool {
				var kinds map[string]bool
				logged, kinds = loggable(b, since)
				return !slices.ContainsFunc(c.want, func(k string) bool { return !kinds[k] })
			})
			for i := range logged {
				x := &logged[i]
				var got *telemetry.Event
				await(t, fmt.Sprintf("%s %s", x.Entity, x.Name), func() bool { got = sink.find(x); return got != nil })
				if x.Name == telemetry.EventXID && got.Text != x.Text {
					t.Errorf("%s: %q, the board has %q", x.Entity, got.Text, x.Text)
				}
				if late := got.Received.Sub(got.At); late > 3e9 { // a second passes before a host knows of it
					t.Errorf("%s %s: told %v s after it happened", x.Entity, x.Name, late.Seconds())
				}
			}
			t.Logf("%d events", len(logged))
		})
	}
}

// strike breaks some of everything.
func strike(t *testing.T, site *live.Site, infiniBand bool) {
	t.Helper()
	b := site.Board()
	at := map[telemetry.Entity]string{}
	for i, g := range b.Entities(telemetry.GPU) {
		if i%5 == 0 {
			at[g] = "gpu-error"
		}
	}
	for i, e := range b.Edges(telemetry.Connects) { // a cable in three, to hosts and between switches
		for _, p := range []telemetry.Entity{e.From, e.To} {
			if i%3 == 0 && p.Kind == telemetry.Port {
				at[p] = "link-down"
			}
		}
	}
	if infiniBand {
		at[telemetry.Entity{Kind: telemetry.SM, Name: "p1"}] = "sm-failover"
	}
	for _, e := range slices.SortedFunc(maps.Keys(at), telemetry.Entity.Compare) {
		if _, err := site.Strike(at[e], e, 2*time.Second); err != nil {
			t.Errorf("%s at %s: %v", at[e], e, err)
		}
	}
}

// loggable lists what has happened of what is logged, and its kinds.
func loggable(b *board.Board, since int) (out []telemetry.Event, kinds map[string]bool) {
	kinds = map[string]bool{}
	all, _ := b.Events(since)
	for _, e := range all {
		switch e.Name {
		case telemetry.EventXID, telemetry.EventLinkDown, telemetry.EventLinkUp, telemetry.EventSMMasterChanged:
			out = append(out, e)
			kinds[string(e.Entity.Kind)+" "+string(e.Name)] = true
		}
	}
	return out, kinds
}

// TestAFileIsPutAside: the host's log rotates, and no event is lost.
func TestAFileIsPutAside(t *testing.T) {
	var h host
	h.path, h.largest, h.boot = t.TempDir()+"/kmsg", 200, time.Unix(1_800_000_000, 0)
	if err := h.open(); err != nil {
		t.Fatal(err)
	}
	defer h.close()
	for range 7 {
		if err := h.chatter(telemetry.Time(h.boot.Add(time.Minute).UnixNano())); err != nil {
			t.Fatal(err)
		}
	}
	if h.seq != 7 || h.size > 200 {
		t.Errorf("record %d, %d bytes", h.seq, h.size)
	}
}

// TestTexts: how each kind of switch words a link that goes down.
func TestTexts(t *testing.T) {
	e := &telemetry.Event{Entity: telemetry.Entity{Kind: telemetry.Port, Name: "leaf1/eth2"}, Name: telemetry.EventLinkDown, At: 1_800_000_000_123456789}
	var out bytes.Buffer
	for _, w := range []words{sonic, eos, nvos} {
		s := &sender{name: "leaf1", words: w, ports: map[string]string{"eth2": "Ethernet4"}}
		out.WriteString(s.format(e) + "\n")
		other := *e
		other.Name = telemetry.EventXID
		if got := s.format(&other); got != "" {
			t.Errorf("a switch says %q of a GPU", got)
		}
	}
	want := `<141>2027-01-15T08:00:00.123456+00:00 leaf1 NOTICE swss#orchagent: :- updatePortOperStatus: Port Ethernet4 oper state set from up to down
<189>1 2027-01-15T08:00:00.123456789Z leaf1 Ebra - - - %LINEPROTO-5-UPDOWN: Line protocol on Interface Ethernet4, changed state to down
<189>1 2027-01-15T08:00:00.123456789Z leaf1 portd - - - Interface Ethernet4 state is down
`
	if out.String() != want {
		t.Errorf("%s\nwant\n%s", out.String(), want)
	}
	if s := cumulus(&sender{name: "leaf1", ports: map[string]string{"eth2": "swp3s0"}}, e); !strings.HasPrefix(s, "<6>Jan 15 ") || !strings.HasSuffix(s, "] swp3s0: link down") {
		t.Error(s)
	}
}

// near states that times are less than a second apart, or in the same second
// where a message states whole ones.
func near(a, b telemetry.Time) bool { return max(a.Sub(b), b.Sub(a)) < 1e9 }
