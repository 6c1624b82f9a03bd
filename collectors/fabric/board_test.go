package fabric

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors/kind"
	"github.com/quintet-dc/quintet/lab/board"
	"github.com/quintet-dc/quintet/lab/live"
	"github.com/quintet-dc/quintet/lab/wire/ibsim"
	"github.com/quintet-dc/quintet/telemetry"
)

// decoded makes the configuration of an entry as its file would.
func decoded(t *testing.T, entry map[string]any) Config {
	t.Helper()
	text, err := yaml.Marshal(entry)
	if err != nil {
		t.Fatal(err)
	}
	var n yaml.Node
	if err := yaml.Unmarshal(text, &n); err != nil {
		t.Fatal(err)
	}
	c, err := kind.Entry[Config]("fabric")(&n)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestWhatTheSiteShows: a site on InfiniBand is put on the wire by its board and
// read back: every cable and every series carries the site's own name and
// value.
func TestWhatTheSiteShows(t *testing.T) {
	if err := ibsim.Available(); err != nil {
		t.Skipf("no simulated subnet: %v", err)
	}
	site, err := live.New(16, 14, time.Now()) // one subnet: InfiniBand, cabled by rails
	if err != nil {
		t.Fatal(err)
	}
	b := site.Board()
	f, err := ibsim.New(b, ibsim.Config{Dir: t.TempDir(), Every: time.Second, Topology: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	entries := f.Entries()
	if len(entries) != 1 || len(f.Addresses()) != 1 {
		t.Fatalf("%d subnets, %v", len(entries), f.Addresses())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	if err := f.Show(ctx); err != nil {
		t.Fatal(err)
	}
	cfg := decoded(t, entries[0])
	cfg.Adapters = true
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	l := start(t, c)
	cables := slices.DeleteFunc(b.Edges(telemetry.Connects), func(e telemetry.Edge) bool { return e.From.Kind == telemetry.NVLink })
	l.until(ctx, "every port", func() bool {
		n := 0
		for x := range l.words {
			if x.Metric == "port_xmit_wait_ticks_total" {
				n++
			}
		}
		return n == 2*len(cables)
	})
	// Until routes are set, datagrams of management are lost and counted as
	// discards; then the counters are the site's again.
	if err := f.Show(ctx); err != nil {
		t.Fatal(err)
	}
	l.agrees(ctx, b, cables)

	// Faults of the site are reported by the subnet.
	go func() { _ = site.Run(ctx) }()
	go func() { _ = f.Run(ctx) }()
	struck := [][]telemetry.Entity{}
	for _, name := range []string{"sm-failover", "link-down"} {
		s, err := site.Strike(name, telemetry.Entity{}, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		told := []telemetry.Entity{s.Entity}
		for _, e := range cables { // what is cut off by it is not in view: then the other end tells
			if e.From == s.Entity {
				told = append(told, e.To)
			}
			if e.To == s.Entity {
				told = append(told, e.From)
			}
		}
		struck = append(struck, told)
	}
	for i, want := range []telemetry.EventName{telemetry.EventSMMasterChanged, telemetry.EventLinkDown} {
		l.until(ctx, fmt.Sprint(want, struck[i]), func() bool {
			return slices.ContainsFunc(l.events, func(e telemetry.Event) bool { return e.Name == want && slices.Contains(struck[i], e.Entity) })
		})
	}
}

// agrees waits until what was read is what the site's board states.
func (l *ledger) agrees(ctx context.Context, b *board.Board, cables []telemetry.Edge) {
	var differences []string
	l.t.Cleanup(func() {
		if l.t.Failed() {
			l.t.Log(differences)
		}
	})
	l.until(ctx, "the site's values", func() bool {
		differences = l.differences(b, cables)
		return len(differences) == 0
	})
}

// differences lists what was read otherwise than the site's board states it; it
// is called with the lock held.
func (l *ledger) differences(b *board.Board, cables []telemetry.Edge) []string {
	var out []string
	for _, e := range cables {
		there := false
		for _, got := range l.edges {
			same := got.From == e.From && got.To == e.To || got.From == e.To && got.To == e.From
			there = there || same && got.Relation == telemetry.Connects && got.Attr(telemetry.AttrSpeed) == e.Attr(telemetry.AttrSpeed)
		}
		if !there {
			out = append(out, fmt.Sprintf("no cable from %s to %s at %s", e.From, e.To, e.Attr(telemetry.AttrSpeed)))
		}
	}
	compared := map[telemetry.MetricName]int{}
	for x, got := range l.words {
		want, ok := b.Read(x.Entity, x.Metric)
		if !ok {
			continue
		}
		compared[x.Metric]++
		if math.Abs(float64(got)-want.Float()) > within(x.Metric) {
			out = append(out, fmt.Sprintf("%s is %d, the site's is %v", x, got, want.Float()))
		}
	}
	for _, m := range []telemetry.MetricName{"port_up", "port_speed_bits_per_second", "port_tx_bytes_total", "port_rx_bytes_total",
		"port_xmit_wait_ticks_total", "port_link_downs_total", "port_rx_errors_total", "port_tx_discards_total"} {
		if compared[m] != 2*len(cables) {
			out = append(out, fmt.Sprintf("%s of %d ports, want %d", m, compared[m], 2*len(cables)))
		}
	}
	return out
}

// within is how far a series may be from the site's: the datagrams that were
// sent to read it are counted as well, 288 bytes each.
func within(m telemetry.MetricName) float64 {
	switch m {
	case "port_tx_bytes_total", "port_rx_bytes_total":
		return 10_000 * 288
	case "port_tx_packets_total", "port_rx_packets_total":
		return 10_000
	}
	return 0
}
