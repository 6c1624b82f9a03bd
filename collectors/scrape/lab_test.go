package scrape

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/collectors/kind"
	"github.com/quintet-dc/quintet/lab/board"
	"github.com/quintet-dc/quintet/lab/live"
	"github.com/quintet-dc/quintet/lab/wire/exporter"
	"github.com/quintet-dc/quintet/telemetry"
)

// listener receives from the targets of an entry.
type listener struct {
	ear
	targets int
}

// fleet puts a site's pages on the wire and has a collector read each of them,
// from the entries that the fleet gives.
func fleet(t *testing.T, b *board.Board) []listener {
	t.Helper()
	f, err := exporter.New(b, exporter.Config{RDMA: true})
	if err != nil {
		t.Fatal(err)
	}
	collectorstest.Start(t, f.Run)
	if n := len(f.Addresses()); n == 0 {
		t.Error("no address")
	}
	var out []listener
	for _, entry := range f.Entries() {
		c, err := kind.Entry[Config]("scrape")(collectorstest.Entry(t, entry))
		if err != nil {
			t.Fatalf("%v\n%v", err, entry)
		}
		out = append(out, listener{reads(t, c), len(c.Targets)})
	}
	return out
}

// tolerance is what a page rounds by: a clock to a megahertz, a double to six
// decimals; other numbers arrive as they are.
func tolerance(m telemetry.MetricName) float64 {
	if m == "gpu_sm_clock_hertz" || m == "gpu_memory_clock_hertz" {
		return 0.5e6
	}
	return 1e-9
}

// TestTheLabsPages: every series that a page carries arrives under the name and
// with the number that the device has.
func TestTheLabsPages(t *testing.T) {
	site, err := live.New(16, 5, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	b := site.Board() // no time passes: the devices stand still
	ears := fleet(t, b)
	got := map[telemetry.Entity]map[telemetry.MetricName]bool{}
	for _, e := range ears {
		e.Until("two sweeps of every target", func() bool { return len(e.Sweeps) >= 2*e.targets })
		e.Mu.Lock()
		for x, hs := range e.Series {
			h := hs[len(hs)-1]
			if strings.HasPrefix(string(x.Metric), "storage_read_latency") || strings.HasPrefix(string(x.Metric), "storage_write_latency") || x.Metric == "gpu_last_xid" || x.Metric == "port_logical_state" {
				continue // of an interval, in which nothing happened; told twice; not on the board
			}
			r, ok := b.Read(x.Entity, x.Metric)
			switch {
			case !ok:
				t.Errorf("%s: nothing on the board has it", x)
			case r.Gap != (h.State == telemetry.Gap):
				t.Errorf("%s: state %d, on the board a gap is %t", x, h.State, r.Gap)
			case !r.Gap && math.Abs(h.Column.Float(h.Word)-r.Float()) > max(tolerance(x.Metric), 1e-12*math.Abs(r.Float())):
				t.Errorf("%s: %v, on the board %v", x, h.Column.Float(h.Word), r.Float())
			case !r.Gap && r.Column.Type == telemetry.Uint && h.Column.Type == telemetry.Uint && tolerance(x.Metric) < 1 && h.Word != r.Word:
				t.Errorf("%s: %d, on the board %d", x, h.Word, r.Word)
			}
			if got[x.Entity] == nil {
				got[x.Entity] = map[telemetry.MetricName]bool{}
			}
			got[x.Entity][x.Metric] = true
		}
		for why, n := range e.Dropped {
			t.Errorf("dropped %s: %d", why, n)
		}
		e.Mu.Unlock()
	}
	for k, want := range map[telemetry.Kind]int{telemetry.GPU: 15, telemetry.NIC: 10, telemetry.NVLink: 1, telemetry.Storage: 2} {
		list := b.Entities(k)
		for _, x := range list {
			if len(got[x]) < want {
				t.Errorf("%s: %d series, want %d at least", x, len(got[x]), want)
			}
		}
		if len(list) == 0 {
			t.Errorf("no %s", k)
		}
	}
	for _, m := range b.Metrics(telemetry.Entity{Kind: telemetry.GPU, Name: "n0000/0"}) {
		if x := (telemetry.Entity{Kind: telemetry.GPU, Name: "n0000/0"}); !got[x][m] && !strings.HasPrefix(string(m), "gpu_field_") {
			t.Errorf("%s of a GPU is on no page", m)
		}
	}
}

// TestPlacesAreStated: containment is reported with the first reading.
func TestPlacesAreStated(t *testing.T) {
	e := once(t, Config{}, map[string]string{"node": "n1"}, `DCGM_FI_DEV_GPU_TEMP{gpu="3"} 40`+"\n", `DCGM_FI_DEV_GPU_TEMP{gpu="3"} 41`+"\n")
	if len(e.Edges) != 1 || e.Edges[0].From.String() != "node:n1" || e.Edges[0].To.String() != "gpu:n1/3" || e.Edges[0].Relation != telemetry.Contains {
		t.Errorf("%+v", e.Edges)
	}
}

// served is a board with a job that serves and a storage system.
func served(t *testing.T) (*board.Board, func(values map[telemetry.MetricName]float64)) {
	t.Helper()
	b := board.New()
	at := telemetry.Time(time.Now().UnixNano())
	job, storage := telemetry.Entity{Kind: telemetry.Job, Name: "chat"}, telemetry.Entity{Kind: telemetry.Storage, Name: "lustre0"}
	say := func(values map[telemetry.MetricName]float64) {
		for m, v := range values {
			x := job
			if strings.HasPrefix(string(m), "storage_") {
				x = storage
			}
			s := &telemetry.Schema{Source: telemetry.Source{Collector: "lab", Target: string(m)}, Entities: []telemetry.Entity{x}, Columns: []telemetry.Column{{Metric: m, Type: telemetry.Float}}}
			f := telemetry.Frame{Fingerprint: s.Fingerprint(), Incarnation: uint64(at), Instants: []telemetry.Instant{{Source: at, Received: at}}, Words: []uint64{math.Float64bits(v)}}
			var enc telemetry.Encoder
			text, err := enc.AppendFrame(nil, s, &f)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range []*telemetry.Record{{Kind: telemetry.SchemaRecord, Schema: s}, {Kind: telemetry.FrameRecord, Frame: text}} {
				if err := b.Take(r); err != nil {
					t.Fatal(err)
				}
			}
		}
		at = at.Add(time.Second)
		if err := b.Take(&telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: at}}); err != nil {
			t.Fatal(err)
		}
	}
	return b, say
}

// TestServingAndStorage: quantiles and means of an interval come out of what the
// pages count, within the bucket that they lie in.
func TestServingAndStorage(t *testing.T) {
	b, say := served(t)
	values := map[telemetry.MetricName]float64{
		"job_ttft_seconds_p50": 0.32, "job_ttft_seconds_p99": 1.9, "job_itl_seconds_p50": 0.021, "job_itl_seconds_p99": 0.044,
		"job_queue_requests": 12, "job_kv_cache_ratio": 0.734, "storage_read_latency_seconds": 0.0008, "storage_write_latency_seconds": 0.0015,
		"storage_read_bytes_total": 167313564408, "storage_write_bytes_total": 95629331446,
	}
	say(values)
	ears := fleet(t, b)
	bucket := map[telemetry.MetricName][2]float64{"job_ttft_seconds_p50": {0.25, 0.5}, "job_ttft_seconds_p99": {1, 2.5}, "job_itl_seconds_p50": {0.01, 0.025}, "job_itl_seconds_p99": {0.025, 0.05}}
	found := map[telemetry.MetricName]bool{}
	for _, e := range ears {
		e.Until("a first sweep", func() bool { return len(e.Sweeps) > 0 })
	}
	for _, e := range ears {
		storage := false
		e.Until("every number that its page has", func() bool {
			say(values)
			for x, hs := range e.Series {
				storage = storage || x.Entity.Kind == telemetry.Storage
				want, ok := values[x.Metric]
				h := hs[len(hs)-1]
				if !ok || h.State != telemetry.Present {
					continue
				}
				got := h.Column.Float(h.Word)
				if in, ok := bucket[x.Metric]; ok {
					if got < in[0] || got > in[1] {
						t.Errorf("%s: %v, want it in %v with %v", x, got, in, want)
					}
				} else if math.Abs(got-want) > 1e-9*want {
					t.Errorf("%s: %v, want %v", x, got, want)
				}
				found[x.Metric] = true
			}
			for m := range values {
				if strings.HasPrefix(string(m), "storage_") == storage && !found[m] {
					return false
				}
			}
			return true
		})
	}
	if len(found) != len(values) {
		t.Errorf("%d of %d numbers came", len(found), len(values))
	}
}
