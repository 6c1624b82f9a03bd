package store

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/telemetry"
)

// The site of the benchmarks: 1,024 GPUs in 128 nodes of 32 racks, an adapter
// for each, 64 switches of 48 ports.
const (
	benchNodes, benchGPUs    = 128, 8
	benchSwitches, benchPort = 64, 48
)

// cpu returns the processor time of this process: on a busy machine it is more
// representative than the clock.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// table is a source: so many entities, each with every metric of its kind.
func table(name string, entities []telemetry.Entity) *telemetry.Schema {
	x := &telemetry.Schema{Source: telemetry.Source{Collector: "bench", Target: name}, Cadence: time.Second, Entities: entities}
	for _, m := range telemetry.DefaultCatalogue().Metrics() {
		common := slices.ContainsFunc([]string{"port_", "roce_", "rdma_", "nic_", "pcie_", "gpu_", "nvlink_", "node_", "optic_", "job_", "rank_",
			"rack_", "coolant_", "leak_", "feed_", "psu_", "battery_", "inlet_", "fan_", "storage_", "collector_"},
			func(p string) bool { return strings.HasPrefix(string(m.Name), p) })
		if common && slices.Contains(m.Kinds, entities[0].Kind) && len(x.Columns) < telemetry.MaxSeriesPerSource/len(entities) {
			x.Columns = append(x.Columns, telemetry.Column{Metric: m.Name, Type: telemetry.Uint})
		}
	}
	return x
}

// thousand lists the sources of the site, and its edges.
func thousand() (sources []*telemetry.Schema, edges []string) {
	for n := range benchNodes {
		node := fmt.Sprintf("n%03d", n)
		var gpus, nics []telemetry.Entity
		for g := range benchGPUs {
			gpus = append(gpus, telemetry.Entity{Kind: telemetry.GPU, Name: fmt.Sprintf("%s/%d", node, g)})
			nics = append(nics, telemetry.Entity{Kind: telemetry.NIC, Name: fmt.Sprintf("%s/mlx5_%d", node, g)})
			edges = append(edges, fmt.Sprintf("node:%s contains gpu:%s/%d", node, node, g), fmt.Sprintf("node:%s contains nic:%s/mlx5_%d", node, node, g),
				fmt.Sprintf("job:train-%d runs gpu:%s/%d", n/32, node, g), fmt.Sprintf("nic:%s/mlx5_%d member rail:%d", node, g, g))
		}
		edges = append(edges, fmt.Sprintf("rack:r%02d contains node:%s", n/4, node), fmt.Sprintf("loop:l%d cools node:%s", n/16, node))
		sources = append(sources, table(node+"/gpus", gpus), table(node+"/nics", nics), several(telemetry.Node, 1, node+"%.0d"), several(telemetry.Fan, 4, node+"/%d"),
			several(telemetry.Collector, 4, node+"/%d"))
	}
	for s := range benchSwitches {
		var ports []telemetry.Entity
		for p := range benchPort {
			ports = append(ports, telemetry.Entity{Kind: telemetry.Port, Name: fmt.Sprintf("leaf%02d/Ethernet%d", s, 4*p)})
		}
		edges = append(edges, fmt.Sprintf("switch:leaf%02d member plane:%d", s, s%4))
		sources = append(sources, table(fmt.Sprintf("leaf%02d", s), ports))
	}
	for j := range 4 {
		sources = append(sources, several(telemetry.Job, 1, fmt.Sprintf("train-%d", j)+"%.0d"), several(telemetry.Rank, 256, fmt.Sprintf("train-%d", j)+"/%d"))
	}
	return append(sources, several(telemetry.Rack, 32, "r%02d"), several(telemetry.Shelf, 32, "r%02d-shelf"), several(telemetry.PDU, 16, "pdu%02d"),
		several(telemetry.PSU, 192, "pdu%03d"), several(telemetry.Feed, 4, "f%d"), several(telemetry.Battery, 32, "b%02d"),
		several(telemetry.Loop, 8, "l%d"), several(telemetry.CDU, 4, "c%d"), several(telemetry.Pump, 8, "c0/%d"), several(telemetry.CRAH, 8, "a%d"),
		several(telemetry.Storage, 4, "lustre%d")), edges
}

// several is a source of so many entities of a kind.
func several(k telemetry.Kind, n int, form string) *telemetry.Schema {
	var all []telemetry.Entity
	for i := range n {
		all = append(all, telemetry.Entity{Kind: k, Name: fmt.Sprintf(form, i)})
	}
	return table(string(k)+" "+form, all)
}

func seriesIn(sources []*telemetry.Schema) (n int) {
	for _, x := range sources {
		n += x.Len()
	}
	return n
}

// BenchmarkIngest1024 measures the cost of a second of a site of 1,024 GPUs when
// every source reports every second, and the size of its series.
func BenchmarkIngest1024(b *testing.B) {
	sources, edges := thousand()
	s := newSite(b, Config{})
	s.feed.extras = []extra{newPlaces(s.feed.count)}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for _, x := range sources {
		s.state(x)
	}
	for _, e := range edges {
		s.take(edge(e))
	}
	r := rand.New(rand.NewPCG(1, 1))
	frames := make([][]float64, len(sources))
	for i, x := range sources {
		frames[i] = make([]float64, x.Len())
		for k := range frames[i] {
			frames[i][k] = float64(r.IntN(1 << 20))
		}
	}
	second := 0
	step := func() {
		at := seconds(float64(second))
		for i, x := range sources {
			for k := 0; k < len(frames[i]); k += 3 { // a third of the numbers move
				frames[i][k] += float64(r.IntN(1000))
			}
			s.say(x, at, frames[i]...)
		}
		s.tick(at)
		second++
		s.log = s.log[:0]
	}
	for range 60 { // every series has a chunk
		step()
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ResetTimer()
	began := cpu(b)
	for b.Loop() {
		for range 10 {
			step()
		}
	}
	b.ReportMetric(float64((cpu(b)-began).Nanoseconds())/float64(b.N*10*seriesIn(sources)), "cpu-ns/sample-in")
	b.ReportMetric(float64(after.HeapInuse-before.HeapInuse)/float64(seriesIn(sources)), "heap-B/series")
	b.ReportMetric(float64(seriesIn(sources)), "series")
}
