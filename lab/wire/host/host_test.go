package host

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/collectors/kind"
	"github.com/quintet-dc/quintet/collectors/sysfs"
	"github.com/quintet-dc/quintet/lab/live"
	"github.com/quintet-dc/quintet/telemetry"
)

// swept is an ear that ends the reading after one sweep, which must be sound.
type swept struct {
	*collectorstest.Ear
	t    *testing.T
	stop context.CancelFunc
}

func (s swept) Swept(sw collectors.Sweep) {
	s.Ear.Swept(sw)
	if sw.Err != nil {
		s.t.Error(sw.Err)
	}
	s.stop()
}

// sweep reads one host once with the collector of a real one.
func sweep(t *testing.T, e map[string]any) *collectorstest.Ear {
	t.Helper()
	c, err := kind.Entry[sysfs.Config]("sysfs")(collectorstest.Entry(t, e))
	if err != nil {
		t.Fatal(err)
	}
	r, err := sysfs.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := swept{collectorstest.Listen(t), t, cancel}
	if err := r.Run(ctx, s); err != nil {
		t.Fatal(err)
	}
	return s.Ear
}

// TestTheCollectorReadsWhatTheDevicesKnow: every series that the sysfs collector
// makes of a host of the lab is the one that the device knows, by name and
// value, over Ethernet and over InfiniBand.
func TestTheCollectorReadsWhatTheDevicesKnow(t *testing.T) {
	for name, seed := range map[string]uint64{"RoCE": 3, "InfiniBand": 4} {
		t.Run(name, func(t *testing.T) {
			now := time.Unix(1_800_000_000, 0)
			site, err := live.New(16, seed, now)
			if err != nil {
				t.Fatal(err)
			}
			f, err := New(site.Board(), Config{Dir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			entries := f.Entries()
			if len(entries) != 2 {
				t.Fatalf("%d hosts of 16 GPUs", len(entries))
			}
			for i := range 4 {
				if err := site.Advance(began.Add(time.Duration(i) * time.Second)); err != nil {
					t.Fatal(err)
				}
				if err := f.write(); err != nil {
					t.Fatal(err)
				}
			}
			got := sweep(t, entries[0])
			held := map[telemetry.MetricName]int{}
			for s := range got.Series {
				last, _ := got.Last(s)
				if last.State != telemetry.Present {
					continue
				}
				x, v := s.Entity, last.Float()
				if x.Kind == telemetry.Queue { // the lossless priority has its port's pause
					x = telemetry.Entity{Kind: telemetry.NIC, Name: x.Name[:strings.LastIndexByte(x.Name, '/')]}
				}
				m := s.Metric
				if name == "InfiniBand" { // everything on its wire is RDMA: one counter tells of both
					m = telemetry.MetricName(strings.Replace(string(m), "rdma_", "port_", 1))
				}
				want, ok := site.Board().Read(x, m)
				if !ok {
					continue
				}
				held[s.Metric]++
				slack := 1e-6
				switch {
				case strings.HasSuffix(string(s.Metric), "_bytes_total"):
					slack = 4 // a word
				case s.Metric == "nic_pcie_stalled_ratio":
					slack = 0.006 // whole percent
				}
				if math.Abs(v-want.Float()) > slack {
					t.Errorf("%s %s: %v, the device knows %v", s.Entity, s.Metric, v, want.Float())
				}
			}
			want := []telemetry.MetricName{"port_up", "port_speed_bits_per_second", "port_tx_bytes_total", "port_rx_bytes_total", "port_link_downs_total",
				"pcie_link_width", "pcie_link_speed_transfers_per_second"}
			if name == "RoCE" {
				want = append(want, "port_pfc_rx_pause_seconds_total", "port_pfc_tx_pause_frames_total", "roce_cnp_sent_total", "roce_out_of_sequence_total",
					"nic_pcie_stalled_ratio", "port_rx_crc_errors_total")
			} else {
				want = append(want, "port_xmit_wait_ticks_total")
			}
			for _, m := range want {
				if held[m] != 8 {
					t.Errorf("%s: %d of the host's 8 adapters", m, held[m])
				}
			}
		})
	}
}

// began is when the sites of these tests begin.
var began = time.Unix(1_800_000_000, 0)

// sixteen is a site of 16 GPUs and the trees of its hosts.
func sixteen(t *testing.T) (*live.Site, *Fleet) {
	t.Helper()
	site, err := live.New(16, 3, began)
	if err != nil {
		t.Fatal(err)
	}
	f, err := New(site.Board(), Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return site, f
}

// TestALinkThatGoesDownIsSeen as one.
func TestALinkThatGoesDownIsSeen(t *testing.T) {
	site, f := sixteen(t)
	nic := f.adapters[0].entity
	var port telemetry.Entity
	for _, e := range site.Board().Edges(telemetry.Connects) {
		switch nic {
		case e.From:
			port = e.To
		case e.To:
			port = e.From
		}
	}
	if _, err := site.Strike("link-down", port, time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := site.Advance(began.Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := f.write(); err != nil {
		t.Fatal(err)
	}
	got := sweep(t, f.Entries()[0])
	if up, ok := got.Last(telemetry.Series{Entity: nic, Metric: "port_up"}); !ok || up.State != telemetry.Present || up.Word != 0 {
		t.Errorf("port_up of %s is %+v, %v", nic, up, ok)
	}
}

// TestAHostThatIsDownReportsNothing: its counters are absent, and present again when
// it has come back.
func TestAHostThatIsDownReportsNothing(t *testing.T) {
	site, f := sixteen(t)
	node, bytes := f.nodes[1], telemetry.Series{Metric: "port_tx_bytes_total"}
	for _, a := range f.adapters {
		if n, _ := site.Board().Outside(a.entity); n == node {
			bytes.Entity = a.entity
		}
	}
	if _, err := site.Strike("node-down", node, 30*time.Second); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		after   time.Duration
		present bool
	}{{time.Second, true}, {15 * time.Second, false}, {90 * time.Second, true}} {
		if err := site.Advance(began.Add(x.after)); err != nil {
			t.Fatal(err)
		}
		if err := f.write(); err != nil {
			t.Fatal(err)
		}
		got, ok := sweep(t, f.Entries()[1]).Last(bytes)
		if present := ok && got.State == telemetry.Present; present != x.present {
			t.Errorf("after %s: %s of %s: %+v, %v", x.after, bytes.Metric, bytes.Entity, got, ok)
		}
	}
}
