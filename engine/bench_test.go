package engine_test

import (
	"fmt"
	"testing"

	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/engine/enginetest"
	"github.com/quintet-dc/quintet/lab/load"
	"github.com/quintet-dc/quintet/telemetry"
)

// The site of BenchmarkReplay: 1,024 GPUs in 128 nodes, each NIC on a port of
// one of 32 leaves, each leaf on each of 16 spines twice; one job on all of it.
const (
	benchNodes, benchNICs     = 128, 8
	benchLeaves, benchSpines  = 32, 16
	benchPorts, benchDown     = 64, 32
	benchStart                = telemetry.Time(1_700_000_000e9)
	benchStep                 = 3 // seconds
	benchHurtFrom, benchWarms = 150, 240
)

// benchSite makes the log of that site, one grid at a time.
type benchSite struct {
	b        *testing.B
	site     *load.Site
	jobs     *telemetry.Schema
	enc      telemetry.Encoder
	runner   *engine.Runner
	position uint64
	grid     int
	hurt     bool
	records  []telemetry.Record // of the grid at hand
	frames   [][]byte
}

func newBenchSite(b *testing.B, hurt bool) *benchSite {
	b.Helper()
	site, err := load.New(load.Config{Seed: 1, Nodes: benchNodes, NICs: benchNICs, GPUs: 8, Switches: benchLeaves + benchSpines, Ports: benchPorts,
		PortSeries: 25, NICSeries: 60, GPUSeries: 40, Noisy: true})
	if err != nil {
		b.Fatal(err)
	}
	runner, err := enginetest.NewRunner(1)
	if err != nil {
		b.Fatal(err)
	}
	x := &benchSite{b: b, site: site, runner: runner, hurt: hurt, frames: make([][]byte, site.Sources()+1)}
	x.jobs = &telemetry.Schema{Source: telemetry.Source{Collector: "steps", Target: "train"}, Columns: []telemetry.Column{
		{Metric: "job_step_seconds", Type: telemetry.Decimal, Exp: 3}, {Metric: "rank_compute_seconds", Type: telemetry.Decimal, Exp: 3}}}
	x.jobs.Entities = append(x.jobs.Entities, telemetry.Entity{Kind: telemetry.Job, Name: "train"})
	for i := range benchNodes {
		x.jobs.Entities = append(x.jobs.Entities, telemetry.Entity{Kind: telemetry.Rank, Name: fmt.Sprint("train/", i)})
	}
	x.describe()
	return x
}

// describe states cables, placement and schemas.
func (x *benchSite) describe() {
	for i := range benchNodes * benchNICs {
		x.edge(entity(telemetry.NIC, "n%04d/mlx5_%d", i/benchNICs, i%benchNICs), entity(telemetry.Port, "sw%03d/eth%d", i/benchDown, i%benchDown), telemetry.Connects)
	}
	for leaf := range benchLeaves {
		for up := range benchPorts - benchDown {
			x.edge(entity(telemetry.Port, "sw%03d/eth%d", leaf, benchDown+up),
				entity(telemetry.Port, "sw%03d/eth%d", benchLeaves+up%benchSpines, 2*leaf+up/benchSpines), telemetry.Connects)
		}
	}
	for i := range benchNodes {
		node := entity(telemetry.Node, "n%04d", i)
		x.edge(entity(telemetry.Job, "train"), node, telemetry.Runs)
		x.edge(entity(telemetry.Rank, "train/%d", i), node, telemetry.Runs, telemetry.Attr{Key: "rank", Value: fmt.Sprint(i)})
	}
	for i := range x.site.Sources() {
		x.records = append(x.records, telemetry.Record{Kind: telemetry.SchemaRecord, Schema: x.site.Schema(i)})
	}
	x.records = append(x.records, telemetry.Record{Kind: telemetry.SchemaRecord, Schema: x.jobs})
	x.apply()
}

func entity(kind telemetry.Kind, format string, args ...any) telemetry.Entity {
	return telemetry.Entity{Kind: kind, Name: fmt.Sprintf(format, args...)}
}

func (x *benchSite) edge(from, to telemetry.Entity, rel telemetry.Relation, attrs ...telemetry.Attr) {
	if rel == telemetry.Connects {
		attrs = append(attrs, telemetry.Attr{Key: telemetry.AttrSpeed, Value: "400000000000"})
	}
	x.records = append(x.records, telemetry.Record{Kind: telemetry.EdgeRecord,
		Edge: &telemetry.Edge{From: from, To: to, Relation: rel, Source: "file", Attrs: attrs}})
}

// prepare makes the records of the next grid.
func (x *benchSite) prepare() {
	x.grid++
	now := benchStart.Add(telemetry.Duration(x.grid) * 1e9)
	for i := range x.site.Sources() {
		b, err := x.site.AppendFrame(x.frames[i][:0], i, 1, now)
		if err != nil {
			x.b.Fatal(err)
		}
		x.frames[i] = b
		x.records = append(x.records, telemetry.Record{Kind: telemetry.FrameRecord, Frame: b})
	}
	if x.grid%benchStep == 0 {
		x.step(now)
	}
	x.records = append(x.records, telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: now}})
}

// step states one step of the job; in the degraded site the last rank computes
// twice as long from some moment on.
func (x *benchSite) step(now telemetry.Time) {
	f := telemetry.Frame{Fingerprint: x.jobs.Fingerprint(), Incarnation: 1, Sequence: uint64(x.grid), Instants: []telemetry.Instant{{Source: now}}}
	n := len(x.jobs.Entities)
	f.Words, f.States = make([]uint64, 2*n), make([]telemetry.State, 2*n)
	f.Words[0], f.States[0] = benchStep*1000, telemetry.Present
	for i := range benchNodes {
		f.Words[n+1+i], f.States[n+1+i] = 1500+uint64(i+x.grid)%7, telemetry.Present
	}
	if x.hurt && x.grid >= benchHurtFrom {
		f.Words[0] += 1600
		f.Words[2*n-1] *= 2
	}
	b, err := x.enc.AppendFrame(x.frames[len(x.frames)-1][:0], x.jobs, &f)
	if err != nil {
		x.b.Fatal(err)
	}
	x.frames[len(x.frames)-1] = b
	x.records = append(x.records, telemetry.Record{Kind: telemetry.FrameRecord, Frame: b})
}

// apply gives the engine what was prepared.
func (x *benchSite) apply() {
	for i := range x.records {
		x.position++
		if _, err := x.runner.Apply(x.position, &x.records[i]); err != nil {
			x.b.Fatal(err)
		}
	}
	x.records = x.records[:0]
}

// BenchmarkReplay is the whole engine over a site of 1,024 GPUs (179,200
// series, one instant a frame): how many times as fast as real time it goes,
// healthy and while it follows an incident.
func BenchmarkReplay(b *testing.B) {
	for _, c := range []struct {
		name string
		hurt bool
	}{{"healthy", false}, {"hurt", true}} {
		b.Run(c.name, func(b *testing.B) {
			x := newBenchSite(b, c.hurt)
			for range benchWarms {
				x.prepare()
				x.apply()
			}
			if open := len(x.runner.Incidents()); (open > 0) != c.hurt {
				b.Fatalf("%d incidents", open)
			}
			b.ResetTimer()
			for range b.N {
				b.StopTimer()
				x.prepare()
				b.StartTimer()
				x.apply()
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "times-real-time")
		})
	}
}

// BenchmarkSnapshot is the state of that site, written and taken up again.
func BenchmarkSnapshot(b *testing.B) {
	x := newBenchSite(b, true)
	for range benchWarms {
		x.prepare()
		x.apply()
	}
	snapshot, err := x.runner.Snapshot()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			if _, err := x.runner.Snapshot(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(snapshot))/1e6, "MB")
	})
	b.Run("restore", func(b *testing.B) {
		for b.Loop() {
			r, err := enginetest.NewRunner(1)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := r.Restore(snapshot); err != nil {
				b.Fatal(err)
			}
		}
	})
}
