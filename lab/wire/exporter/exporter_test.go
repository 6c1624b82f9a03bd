package exporter

import (
	"context"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/lab/board"
	"github.com/quintet-dc/quintet/telemetry"
)

// rig is a board of two nodes, each with a GPU whose power sensor is silent.
func rig(t *testing.T) *board.Board {
	t.Helper()
	b := board.New()
	take := func(r *telemetry.Record) {
		if err := b.Take(r); err != nil {
			t.Fatal(err)
		}
	}
	var gpus []telemetry.Entity
	for _, node := range []string{"n1", "n2"} {
		gpu := telemetry.Entity{Kind: telemetry.GPU, Name: node + "/0"}
		gpus = append(gpus, gpu)
		take(&telemetry.Record{Kind: telemetry.EdgeRecord, Edge: &telemetry.Edge{From: telemetry.Entity{Kind: telemetry.Node, Name: node}, To: gpu, Relation: telemetry.Contains}})
	}
	s := &telemetry.Schema{Source: telemetry.Source{Collector: "lab", Target: "x"}, Entities: gpus, Columns: []telemetry.Column{
		{Metric: "gpu_sm_clock_hertz", Type: telemetry.Uint}, {Metric: "gpu_temperature_celsius", Type: telemetry.Uint}, {Metric: "gpu_power_watts", Type: telemetry.Decimal, Exp: 1},
		{Metric: "gpu_energy_joules_total", Type: telemetry.Decimal, Exp: 3}, {Metric: "gpu_engine_active_ratio", Type: telemetry.Float},
	}}
	half := math.Float64bits(0.5)
	f := &telemetry.Frame{Fingerprint: s.Fingerprint(), Instants: []telemetry.Instant{{Source: 1e18}},
		Words:  []uint64{1890716245, 1410499999, 61, 0, 0, 6350, 199123466, 1, half, half},
		States: []telemetry.State{2, 2, 2, 1, 1, 2, 2, 2, 2, 2}}
	var enc telemetry.Encoder
	text, err := enc.AppendFrame(nil, s, f)
	if err != nil {
		t.Fatal(err)
	}
	take(&telemetry.Record{Kind: telemetry.SchemaRecord, Schema: s})
	take(&telemetry.Record{Kind: telemetry.FrameRecord, Frame: text})
	take(&telemetry.Record{Kind: telemetry.EventRecord, Event: &telemetry.Event{Entity: gpus[1], At: 1e18, Name: telemetry.EventXID, Text: "79, GPU has fallen off the bus"}})
	return b
}

// TestBothAges: one node's exporter is of the time before the renaming: blanks,
// old names, Hostname. The other leaves out what it does not have.
func TestBothAges(t *testing.T) {
	f, err := New(rig(t), Config{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	for name, want := range map[string]string{
		"n1": `DCGM_FI_DEV_SM_CLOCK 1891
DCGM_FI_DEV_GPU_TEMP 61
DCGM_FI_DEV_POWER_USAGE 140737488355330.000000
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION 199123466
DCGM_FI_PROF_GR_ENGINE_ACTIVE 0.500000
DCGM_FI_DEV_XID_ERRORS 0
`,
		"n2": `DCGM_FI_DEV_SM_CLOCK 1410
DCGM_FI_DEV_BOARD_POWER_WATTS 635.000000
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION 1
DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO 0.500000
DCGM_FI_DEV_XID_ERROR 79
`,
	} {
		label := map[string]string{"n1": `Hostname="n1"`, "n2": `hostname="n2"`}[name]
		got := ""
		for line := range strings.Lines(read(t, f.url("dcgm", telemetry.Entity{Name: name}))) {
			if strings.HasPrefix(line, "#") {
				continue
			}
			metric, rest, _ := strings.Cut(line, "{")
			labels, v, _ := strings.Cut(rest, "} ")
			if !strings.Contains(labels, `gpu="0",UUID="GPU-`+name) || !strings.Contains(labels, label) {
				t.Errorf("labels %s", labels)
			}
			got += metric + " " + v
		}
		if got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
	if r, err := http.Get(f.url("dcgm", telemetry.Entity{Name: "n3"})); err != nil || r.StatusCode != http.StatusNotFound {
		t.Error("a node that is not there:", r, err)
	}
	if n := len(f.Entries()); n != 1 {
		t.Errorf("%d entries", n)
	}
}

func read(t *testing.T, url string) string {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	b, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatal(r.Status, err)
	}
	return string(b)
}

// TestLatency: a second's requests have about the median and the percentile that
// they were made of.
func TestLatency(t *testing.T) {
	l := newEngine().first
	l.add(0.3, 1.9)
	at := func(v float64) uint64 {
		for i, b := range l.bounds {
			if b >= v {
				return l.counts[i]
			}
		}
		return 0
	}
	if at(0.25) >= 500 || at(0.5) <= 500 || at(1) >= 990 || at(2.5) < 990 || at(2560) != perSecond {
		t.Error(l.bounds, l.counts)
	}
	before := at(2560)
	l.add(math.NaN(), 1)
	l.add(0, 0)
	if at(2560) != before {
		t.Error("no latency counts requests")
	}
}
