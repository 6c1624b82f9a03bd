package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/cmd/collect"
	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/collectors/receive"
	"github.com/quintet-dc/quintet/lab/board"
	"github.com/quintet-dc/quintet/lab/wire/trainer"
	"github.com/quintet-dc/quintet/telemetry"
)

// unheard is what the site knows and does not report on the wire, by kind of entity
// and metric, with the reason. Whatever is not listed must arrive under its own
// name, at its own entity, in its own unit.
func unheard(infiniBand bool) map[string]string {
	out := map[string]string{
		"nic port_fec_uncorrectable_total": "mlx5 counts corrected bits only; the switch's end tells",
		"rank rank_collective_seconds":     "NCCL's Inspector tells it, of the GPU and half a minute's mean: nccl_collective_seconds{…}",
	}
	more := map[string]string{
		"nic port_ecn_marked_packets_total":   "RDMA bypasses the kernel's counter; roce_ecn_marked_packets_total has it",
		"nic port_pfc_rx_pause_frames_total":  "by priority: at queue:…/3, where the walk reads it",
		"nic port_pfc_rx_pause_seconds_total": "by priority",
		"nic port_pfc_tx_pause_frames_total":  "by priority",
		"nic port_pfc_tx_pause_seconds_total": "by priority",
		"port port_fec_corrected_bits_total":  "OpenConfig has the rate before correction in its place",
		"port port_headroom_max_bytes":        "OpenConfig has no watermark of headroom",
		"port port_link_downs_total":          "SONiC has no counter of it; the events tell",
		"port port_pfc_watchdog_storms_total": "SONiC alone has the watchdog's counters on gNMI",
	}
	if infiniBand {
		more = map[string]string{
			"nic port_rx_crc_errors_total":       "a counter of Ethernet; port_rx_errors_total holds InfiniBand's",
			"nic rdma_rx_bytes_total":            "all that is on the wire is RDMA: one counter tells of both, and the two of the site begin apart",
			"nic rdma_tx_bytes_total":            "as rdma_rx_bytes_total",
			"port port_fec_corrected_bits_total": "NVOS tells the rate before correction in its place",
			"port port_queue_bytes":              "credits hold senders back: NVOS tells of waiting, not of queues",
			"port port_queue_max_bytes":          "as port_queue_bytes",
			"port port_rx_crc_errors_total":      "a counter of Ethernet",
		}
	}
	maps.Copy(out, more)
	return out
}

// TestTheWireSaysWhatTheSiteKnows: whatever the simulated site can report arrives
// through its devices' protocols and the real collectors, at the same instant,
// except for what is listed with its reason; and what is listed is still true.
func TestTheWireSaysWhatTheSiteKnows(t *testing.T) {
	if testing.Short() {
		t.Skip("half a minute: controllers are asked every ten seconds")
	}
	for name, site := range map[string]struct {
		seed      uint64
		scheduler string
	}{"RoCE": {3, onSlurm}, "InfiniBand": {4, onKubernetes}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits most of its time
			h := hearSite(t, site.seed, site.scheduler)
			want := unheard(name == "InfiniBand")
			var got map[string]string
			for limit := time.Now().Add(90 * time.Second); time.Now().Before(limit); pause(t.Context(), time.Second) {
				if got = h.differences(); slices.Equal(slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want))) {
					break
				}
			}
			for what, how := range got {
				if want[what] == "" {
					t.Errorf("%s: %s", what, how)
				}
			}
			for what, why := range want {
				if got[what] == "" {
					t.Errorf("%s is heard of now: the list says %q", what, why)
				}
			}
		})
	}
}

// heardSite is a site on the wire that is frozen after some seconds, and all that
// the collectors of the configuration it wrote have received from it.
type heardSite struct {
	board *board.Board
	ear   *collectorstest.Ear
}

// passing is how many seconds of the site pass: a training step is longer than
// some of them.
const passing = 15

func hearSite(t *testing.T, seed uint64, scheduler string) *heardSite {
	t.Helper()
	dir := t.TempDir()
	w, err := newWiredSite(16, seed, scheduler, dir)
	if err != nil {
		t.Fatal(err)
	}
	h := &heardSite{board: w.site.Board(), ear: collectorstest.Listen(t)}
	for _, f := range w.fleets {
		collectorstest.Start(t, f.Run)
	}
	text, err := w.configText("", "")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "site.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := collect.ReadConfig(&cli.Shell{Ctx: t.Context(), Out: io.Discard, Err: io.Discard}, path)
	if err != nil {
		t.Fatal(err)
	}
	specs, err := collect.Collectors(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range specs {
		collectorstest.Start(t, func(ctx context.Context) error { return s.Collector.Run(ctx, h.ear) })
	}
	collectorstest.Start(t, trainer.New(h.board, trainer.Config{URL: reports(t, h.ear), Scheduled: true}).Run)
	for range passing {
		pause(t.Context(), time.Second)
		if err := w.site.Advance(time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// reports is where trainers report so that an ear receives it.
func reports(t *testing.T, ear *collectorstest.Ear) string {
	t.Helper()
	r := receive.New(receive.Config{})
	collectorstest.Start(t, func(ctx context.Context) error { return r.Run(ctx, ear) })
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v1/jobs/{job}/steps", r.Steps)
	mux.HandleFunc("POST /api/v1/events", r.Events)
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv.URL
}

// differences lists what of the site is not received, or not as it is, by kind and
// metric.
func (h *heardSite) differences() map[string]string {
	h.ear.Mu.Lock()
	defer h.ear.Mu.Unlock()
	out := map[string]string{}
	for _, k := range telemetry.Kinds() {
		for _, x := range h.board.Entities(k) {
			for _, m := range h.board.Metrics(x) {
				want, _ := h.board.Read(x, m)
				got, ok := h.ear.Last(telemetry.Series{Entity: x, Metric: m})
				what := string(k) + " " + string(m)
				switch {
				case !ok:
					out[what] = fmt.Sprintf("nothing of %s", x)
				case !same(m, want, got):
					out[what] = cmp.Or(out[what], fmt.Sprintf("%s has %v, heard %v", x, want.Float(), got.Float()))
				}
			}
		}
	}
	return out
}

// same compares what was received with what the device has. A clock is reported in
// MHz; a latency is of an interval with requests, and a frozen site has none.
func same(m telemetry.MetricName, want board.Reading, got collectorstest.Reading) bool {
	slack := 1e-6
	switch m {
	case "gpu_sm_clock_hertz":
		slack = 0.5e6
	case "storage_read_latency_seconds", "storage_write_latency_seconds":
		return true
	}
	if want.Gap {
		return got.State == telemetry.Gap
	}
	return math.Abs(got.Float()-want.Float()) <= max(slack, 1e-6*math.Abs(want.Float()))
}
