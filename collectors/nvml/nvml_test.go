package nvml

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/collectors/kind"
	"github.com/quintet-dc/quintet/telemetry"
)

// bench is a library with two GPUs, made up for tests.
type bench struct {
	mu    sync.Mutex
	gone  bool    // the driver is not loaded
	lost  [2]bool // fallen off the bus
	raise []xid
	reads uint64
}

func (b *bench) open() ([]card, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gone {
		return nil, errors.New("driver not loaded")
	}
	return []card{&board{b, 0}, &board{b, 1}}, nil
}

func (b *bench) close() {}

func (b *bench) wait(time.Duration) (xid, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.raise) == 0 {
		return xid{}, false
	}
	x := b.raise[0]
	b.raise = b.raise[1:]
	return x, true
}

type board struct {
	bench  *bench
	number int
}

func (d *board) index() int              { return d.number }
func (d *board) attrs() []telemetry.Attr { return []telemetry.Attr{{Key: "model", Value: "test"}} }

func (d *board) read(s *sheet) error {
	d.bench.mu.Lock()
	defer d.bench.mu.Unlock()
	if d.bench.gone || d.bench.lost[d.number] {
		return errors.New("GPU is lost")
	}
	d.bench.reads++
	s.set(power, 512_345)
	s.set(energy, 1_000*d.bench.reads)
	s.set(clockReasons, 4)
	s.share(engineActive, 99.87)
	s.share(tensorActive, 250) // no percentage
	return nil
}

func collector(t *testing.T, b *bench) *Collector {
	t.Helper()
	c, err := New(Config{Node: "n0001"})
	if err != nil {
		t.Fatal(err)
	}
	c.lib = b
	return c
}

func TestContract(t *testing.T) {
	collectorstest.Run(t, collectorstest.Harness{New: func(t *testing.T) collectorstest.Subject {
		b := &bench{}
		set := func(gone bool) func() {
			return func() {
				b.mu.Lock()
				defer b.mu.Unlock()
				b.gone = gone
			}
		}
		return collectorstest.Subject{Collector: collector(t, b), Sever: set(true), Restore: set(false)}
	}})
}

// page is an ear that ends the reading when enough was read.
type page struct {
	*collectorstest.Ear
	enough func(*page) bool
	stop   context.CancelFunc
}

func (p *page) Swept(s collectors.Sweep) {
	p.Ear.Swept(s)
	if p.enough(p) {
		p.stop()
	}
}

// read runs a collector until enough has been read of it.
func read(t *testing.T, c *Collector, enough func(*page) bool) *page {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	p := &page{Ear: collectorstest.Listen(t), enough: enough, stop: cancel}
	if err := c.Run(ctx, p); err != nil {
		t.Fatal(err)
	}
	return p
}

// of returns the latest sample of a GPU's metric; Absent if there is none.
func (p *page) of(gpu, metric string) (uint64, telemetry.State) {
	r, _ := p.Last(telemetry.Series{Entity: telemetry.Entity{Kind: telemetry.GPU, Name: gpu}, Metric: telemetry.MetricName(metric)})
	return r.Word, r.State
}

// TestWhatIsReadIsStated: words in NVML's units, shares as shares, nothing for
// what is not known, a GPU off its bus as gaps beside its healthy neighbour, and
// an XID as an event.
func TestWhatIsReadIsStated(t *testing.T) {
	b := &bench{raise: []xid{{gpu: 1, code: 79}, {gpu: -1, code: 13}}}
	c := collector(t, b)
	p := read(t, c, func(p *page) bool { return len(p.Sweeps) >= 1 })
	if w, s := p.of("n0001/0", "gpu_power_watts"); w != 512_345 || s != telemetry.Present {
		t.Errorf("power %d, %v", w, s)
	}
	if w, _ := p.of("n0001/1", "gpu_engine_active_ratio"); w != 9987 {
		t.Errorf("engine %d of ten thousand", w)
	}
	if _, s := p.of("n0001/0", "gpu_tensor_active_ratio"); s == telemetry.Present {
		t.Error("250 percent was stated")
	}
	if len(p.Events) != 1 || p.Events[0].Entity.Name != "n0001/1" || p.Events[0].Text != "79" || p.Events[0].Name != telemetry.EventXID {
		t.Errorf("events %+v", p.Events)
	}
	if len(p.Edges) != 2 || p.Edges[1].To.Name != "n0001/1" || p.Edges[1].From.Name != "n0001" {
		t.Errorf("edges %+v", p.Edges)
	}
	if got := p.Sweeps[0].Dropped[collectors.Unknown]; got != 1 {
		t.Errorf("%d XIDs of no known GPU are counted", got)
	}

	p = read(t, c, func(p *page) bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.lost[1] = true
		return len(p.Sweeps) >= 2
	})
	if _, s := p.of("n0001/1", "gpu_power_watts"); s != telemetry.Gap {
		t.Errorf("a lost GPU's power is %v, want a gap", s)
	}
	if _, s := p.of("n0001/0", "gpu_power_watts"); s != telemetry.Present || p.Sweeps[1].Err != nil {
		t.Errorf("its neighbour's is %v, and the sweep %v", s, p.Sweeps[1].Err)
	}
}

// TestColumnsAreDeclared: every metric is in the catalogue, for GPUs.
func TestColumnsAreDeclared(t *testing.T) {
	cat := telemetry.DefaultCatalogue()
	for q, c := range columns {
		m, ok := cat.Lookup(c.Metric)
		if !ok || !slices.Contains(m.Kinds, telemetry.GPU) {
			t.Errorf("quantity %d: %s is not declared of GPUs", q, c.Metric)
		}
	}
}

func TestDecodeConfig(t *testing.T) {
	if c, err := kind.Entry[Config]("nvml")(collectorstest.Node(t, "interval: 2s\nnode: n7")); err != nil || c.Every != 2*time.Second || c.Node != "n7" {
		t.Error(c, err)
	}
	if _, err := kind.Entry[Config]("nvml")(collectorstest.Node(t, "interval: 10ms")); err == nil {
		t.Error("ten milliseconds were taken")
	}
}
