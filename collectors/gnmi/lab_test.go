package gnmi_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/collectors/gnmi"
	"github.com/quintet-dc/quintet/collectors/kind"
	"github.com/quintet-dc/quintet/lab/board"
	"github.com/quintet-dc/quintet/lab/live"
	wire "github.com/quintet-dc/quintet/lab/wire/gnmi"
	"github.com/quintet-dc/quintet/telemetry"
)

// heard is a sink that keeps what it receives.
type heard struct {
	mu      sync.Mutex
	changed chan struct{}
	schemas map[telemetry.Fingerprint]*telemetry.Schema
	decoder telemetry.Decoder
	frame   telemetry.Frame
	values  map[telemetry.Series]float64 // NaN is a gap
	at      map[telemetry.Series]telemetry.Instant
	samples map[telemetry.Series]int
	edges   map[telemetry.EdgeIdentity]telemetry.Edge
	events  []telemetry.Event
	dropped map[collectors.Reason]int
	sweeps  []collectors.Sweep
	frames  int
	faults  []error
}

func newHeard() *heard {
	return &heard{changed: make(chan struct{}, 1), schemas: map[telemetry.Fingerprint]*telemetry.Schema{}, values: map[telemetry.Series]float64{},
		at: map[telemetry.Series]telemetry.Instant{}, samples: map[telemetry.Series]int{}, edges: map[telemetry.EdgeIdentity]telemetry.Edge{},
		dropped: map[collectors.Reason]int{}}
}

func (h *heard) Emit(r *telemetry.Record) {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer h.tell()
	switch r.Kind {
	case telemetry.SchemaRecord:
		h.schemas[r.Schema.Fingerprint()] = r.Schema
	case telemetry.EdgeRecord:
		h.edges[r.Edge.Identity()] = *r.Edge
	case telemetry.EventRecord:
		h.events = append(h.events, *r.Event)
	case telemetry.FrameRecord:
		h.take(r.Frame)
	}
}

func (h *heard) take(b telemetry.EncodedFrame) {
	head, err := b.Header()
	if err != nil {
		h.faults = append(h.faults, err)
		return
	}
	s := h.schemas[head.Fingerprint]
	if err := h.decoder.Decode(b, s, &h.frame); err != nil {
		h.faults = append(h.faults, err)
		return
	}
	h.frames++
	for i, w := range h.frame.Words {
		state := telemetry.Present
		if h.frame.States != nil {
			state = h.frame.States[i]
		}
		x := s.Series(i)
		switch state {
		case telemetry.Present:
			h.values[x] = s.Columns[i/len(s.Entities)].Float(w)
			h.samples[x]++
		case telemetry.Gap:
			h.values[x] = math.NaN()
		default:
			continue
		}
		h.at[x] = h.frame.Instants[0]
	}
}

// Logger implements collectors.Sink.
func (h *heard) Logger() *slog.Logger { return slog.New(slog.DiscardHandler) }

func (h *heard) Swept(s collectors.Sweep) {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer h.tell()
	for r, n := range s.Dropped {
		h.dropped[r] += n
	}
	h.sweeps = append(h.sweeps, s)
}

func (h *heard) tell() {
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// await waits until cond holds.
func (h *heard) await(t *testing.T, what string, cond func() bool) {
	t.Helper()
	limit := time.After(2 * time.Minute)
	for {
		h.mu.Lock()
		ok := cond()
		h.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-h.changed:
		case <-time.After(100 * time.Millisecond):
		case <-limit:
			h.mu.Lock()
			defer h.mu.Unlock()
			t.Fatalf("waited for %s: %d series, %d frames, dropped %v, last sweep %v", what, len(h.values), h.frames, h.dropped, h.sweeps[max(0, len(h.sweeps)-1):])
		}
	}
}

// bench is a site on the wire and the data received from it.
type bench struct {
	site  *live.Site
	fleet *wire.Fleet
	heard *heard
	stop  func()
}

// start puts the site of a seed on the wire and reads it. Its time does not advance
// until go is called.
func start(t *testing.T, c wire.Config) *bench {
	t.Helper()
	site, err := live.New(16, 3, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return read(t, site, c)
}

func read(t *testing.T, site *live.Site, c wire.Config) *bench {
	t.Helper()
	c.Dir = t.TempDir()
	fleet, err := wire.New(site.Board(), c)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{site: site, fleet: fleet, heard: newHeard()}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		if err := fleet.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	for _, e := range fleet.Entries() {
		coll, err := gnmi.New(decode(t, e), dial.Guard{})
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			if err := coll.Run(ctx, b.heard); err != nil {
				t.Error(err)
			}
		})
	}
	b.stop = sync.OnceFunc(func() {
		cancel()
		all.Wait()
		for _, err := range b.heard.faults {
			t.Error(err)
		}
	})
	t.Cleanup(b.stop)
	return b
}

// decode has an entry read as the configuration file's are.
func decode(t *testing.T, e map[string]any) gnmi.Config {
	t.Helper()
	c, err := kind.Entry[gnmi.Config]("gnmi")(collectorstest.Entry(t, e))
	if err != nil {
		t.Fatalf("%v\n%v", err, e)
	}
	return c
}

// notTold returns the metrics of the site that a dialect's switches do not report.
func notTold(dialect string) []telemetry.MetricName {
	return map[string][]telemetry.MetricName{
		wire.SONiC:   {"port_buffer_overruns_total", "port_link_downs_total"},
		wire.Cumulus: {"port_buffer_overruns_total", "port_global_rx_pause_frames_total", "port_pfc_watchdog_storms_total"},
		wire.OpenConfig: {"port_buffer_overruns_total", "port_fec_corrected_bits_total", "port_headroom_max_bytes",
			"port_pfc_watchdog_storms_total"},
		wire.NVOS: {"port_ecn_marked_packets_total", "port_fec_corrected_bits_total", "port_global_rx_pause_frames_total", "port_headroom_max_bytes",
			"port_pfc_rx_pause_frames_total", "port_pfc_rx_pause_seconds_total", "port_pfc_tx_pause_frames_total", "port_pfc_tx_pause_seconds_total",
			"port_pfc_watchdog_storms_total", "port_queue_bytes", "port_queue_max_bytes", "port_rx_crc_errors_total"},
	}[dialect]
}

// TestTheLabIsReadAsItIs: the reports of a switch of each dialect become the
// series that the site has, under its names and in its units; only metrics that
// such switches do not report are missing, and nothing is invented.
func TestTheLabIsReadAsItIs(t *testing.T) {
	for _, c := range []wire.Config{{Dialect: wire.SONiC}, {Dialect: wire.Cumulus}, {Dialect: wire.OpenConfig}, {Dialect: wire.NVOS}, {Dialect: wire.NVOS, Subtrees: true}} {
		t.Run(fmt.Sprintf("%s subtrees %v", c.Dialect, c.Subtrees), func(t *testing.T) {
			t.Parallel()
			b := start(t, c)
			want := series(b.site.Board(), notTold(c.Dialect))
			b.heard.await(t, "every series", func() bool {
				for s := range want {
					if _, ok := b.heard.values[s]; !ok {
						return false
					}
				}
				return true
			})
			b.stop()
			for s, v := range b.heard.values {
				w, ok := want[s]
				switch {
				case !ok:
					t.Errorf("%v: told, and the site has no such series", s)
				case math.Abs(v-w) > 1e-9*math.Abs(w):
					t.Errorf("%v: %v, the site has %v", s, v, w)
				}
			}
			if n := b.heard.dropped; n[collectors.Malformed]+n[collectors.OutOfRange]+n[collectors.Unknown]+n[collectors.Duplicate]+n[collectors.Unreadable] > 0 {
				t.Errorf("dropped %v", n)
			}
			checkEdges(t, b, c.Dialect != wire.NVOS)
		})
	}
}

// series is what the site has of its switches and their ports, less some.
func series(b *board.Board, less []telemetry.MetricName) map[telemetry.Series]float64 {
	out := map[telemetry.Series]float64{}
	for _, k := range []telemetry.Kind{telemetry.Switch, telemetry.Port} {
		for _, e := range b.Entities(k) {
			for _, m := range b.Metrics(e) {
				if r, ok := b.Read(e, m); ok && !slices.Contains(less, m) {
					out[telemetry.Series{Entity: e, Metric: m}] = r.Float()
				}
			}
		}
	}
	return out
}

// checkEdges: LLDP reports every cable of the site, between the entities that the
// site has, once though both ends report it; and containment of ports.
func checkEdges(t *testing.T, b *bench, lldp bool) {
	t.Helper()
	got, want := map[string]bool{}, map[string]bool{}
	for id := range b.heard.edges {
		got[string(id.Relation)+" "+ends(id.From, id.To)] = true
	}
	for _, rel := range []telemetry.Relation{telemetry.Connects, telemetry.Contains} {
		for _, e := range b.site.Board().Edges(rel) {
			port := e.To.Kind == telemetry.Port
			if port && (rel == telemetry.Contains || lldp) {
				want[string(rel)+" "+ends(e.From, e.To)] = true
			}
		}
	}
	for e := range want {
		if !got[e] {
			t.Errorf("not told: %s", e)
		}
	}
	for e := range got {
		if !want[e] {
			t.Errorf("made up: %s", e)
		}
	}
	if len(got) != len(b.heard.edges) {
		t.Errorf("%d edges, %d of them different", len(b.heard.edges), len(got))
	}
}

func ends(a, b telemetry.Entity) string {
	both := []string{a.String(), b.String()}
	slices.Sort(both)
	return strings.Join(both, " ")
}

// run lets the site's time pass until the test ends.
func (b *bench) run(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.site.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestTheLabIsReadAsItRuns: while time passes counters rise and never fall, a
// switch's time is that of its reading, a link that is cut goes down with an
// event, a switch that dies and a port that is taken away leave gaps.
func TestTheLabIsReadAsItRuns(t *testing.T) {
	b := start(t, wire.Config{Dialect: wire.OpenConfig})
	b.run(t)
	h := b.heard
	cut := telemetry.Entity{Kind: telemetry.Port, Name: "p0-leaf00/eth1"}
	bytes := telemetry.Series{Entity: cut, Metric: "port_tx_bytes_total"}
	h.await(t, "samples", func() bool { return h.samples[bytes] > 3 })
	h.mu.Lock()
	for s, at := range h.at {
		if apart := at.Received.Sub(at.Source); strings.HasPrefix(string(s.Metric), "port_tx") && (apart < -2*time.Second || apart > 45*time.Second) {
			t.Errorf("%v: read at %v, told at %v", s, at.Source, at.Received)
		}
	}
	h.mu.Unlock()
	if _, err := b.site.Strike("link-down", cut, 5*time.Minute); err != nil {
		t.Fatal(err)
	}
	up := telemetry.Series{Entity: cut, Metric: "port_up"}
	h.await(t, "the link to be down", func() bool { return h.values[up] == 0 && h.samples[up] > 0 })
	h.await(t, "the event", func() bool {
		return slices.ContainsFunc(h.events, func(e telemetry.Event) bool { return e.Name == telemetry.EventLinkDown && e.Entity == cut })
	})
	dead := telemetry.Entity{Kind: telemetry.Switch, Name: "p2-leaf00"}
	if _, err := b.site.Strike("switch-down", dead, 5*time.Minute); err != nil {
		t.Fatal(err)
	}
	h.await(t, "the dead switch's series to have gaps", func() bool {
		v, ok := h.values[telemetry.Series{Entity: telemetry.Entity{Kind: telemetry.Port, Name: dead.Name + "/eth1"}, Metric: "port_tx_bytes_total"}]
		return ok && math.IsNaN(v)
	})
	away := telemetry.Entity{Kind: telemetry.Port, Name: "p1-leaf00/eth1"}
	b.fleet.Device("p1-leaf00").Unplug(away, true)
	state := telemetry.Series{Entity: away, Metric: "port_up"}
	h.await(t, "a gap", func() bool { return math.IsNaN(h.values[state]) })
	b.fleet.Device("p1-leaf00").Unplug(away, false)
	h.await(t, "the port again", func() bool { return h.values[state] == 1 })
}

// TestAMixedSite: switches of different vendors report one cable alike, read by one
// entry for each vendor.
func TestAMixedSite(t *testing.T) {
	b := start(t, wire.Config{})
	want := 0
	for _, e := range b.site.Board().Edges(telemetry.Connects) {
		if e.To.Kind == telemetry.Port {
			want++
		}
	}
	for _, e := range b.site.Board().Edges(telemetry.Contains) {
		if e.To.Kind == telemetry.Port {
			want++
		}
	}
	b.heard.await(t, "every cable and port", func() bool { return len(b.heard.edges) >= want })
	b.stop()
	checkEdges(t, b, true)
}
