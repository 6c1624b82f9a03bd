package store

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"

	"github.com/quintet-dc/quintet/pipeline/store/label"
	"github.com/quintet-dc/quintet/pipeline/store/query"
	ours "github.com/quintet-dc/quintet/rules/prometheus"
	"github.com/quintet-dc/quintet/telemetry"
)

// The site of the benchmarks: 1,024 GPUs in 128 nodes of 32 racks, an adapter
// for each, 64 switches of 48 ports.
const (
	benchNodes, benchGPUs    = 128, 8
	benchSwitches, benchPort = 64, 48
)

// cpu is how much of the processors this process has had: on a machine that has
// other things to do it says more than the clock.
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
		common := slices.ContainsFunc([]string{"port_", "roce_", "rdma_", "nic_", "pcie_", "gpu_", "nvlink_", "node_", "optic_", "job_"},
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
		sources = append(sources, table(node+"/gpus", gpus), table(node+"/nics", nics), table(node, []telemetry.Entity{{Kind: telemetry.Node, Name: node}}))
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
		sources = append(sources, table(fmt.Sprintf("train-%d", j), []telemetry.Entity{{Kind: telemetry.Job, Name: fmt.Sprintf("train-%d", j)}}))
	}
	return sources, edges
}

func seriesIn(sources []*telemetry.Schema) (n int) {
	for _, x := range sources {
		n += x.Len()
	}
	return n
}

// BenchmarkIngest1024 is what a second of a site of 1,024 GPUs costs when every
// source is heard every second, and what its series take.
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

// fill writes a history of so many cadences, and returns of how many series.
func fill(b *testing.B, s *site, cadences int) int {
	sources, edges := thousand()
	places := newPlaces(s.feed.count)
	for _, e := range edges {
		places.take(edge(e))
	}
	r := rand.New(rand.NewPCG(1, 1))
	type one struct {
		ref uint64
		l   labels.Labels
		v   float64
		up  bool
	}
	var all []one
	for _, x := range sources {
		for i := range x.Len() {
			name := x.Series(i)
			all = append(all, one{l: label.Of(name), v: float64(r.IntN(1000)), up: strings.HasSuffix(string(name.Metric), "_total")})
		}
	}
	for c := range cadences {
		at := millis(t0) + int64(c)*10_000
		app := s.db.Appender(b.Context())
		for i := range all {
			x := &all[i]
			if x.up {
				x.v += float64(r.IntN(4))
			}
			ref, err := app.Append(storage.SeriesRef(x.ref), x.l, at, x.v)
			if err != nil {
				b.Fatal(err)
			}
			x.ref = uint64(ref)
		}
		places.write(at, func(l labels.Labels, v float64) {
			if _, err := app.Append(0, l, at, v); err != nil {
				b.Fatal(err)
			}
		})
		if err := app.Commit(); err != nil {
			b.Fatal(err)
		}
	}
	return len(all)
}

// record evaluates our rules over the history, and returns what one round of
// all of them takes.
func record(b *testing.B, s *site, cadences int) time.Duration {
	dir := b.TempDir()
	var files []string
	for _, n := range ours.Names() {
		text, err := fs.ReadFile(ours.Files(), n)
		if err != nil {
			b.Fatal(err)
		}
		files = append(files, filepath.Join(dir, n))
		if err := os.WriteFile(files[len(files)-1], text, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 50_000_000, Timeout: time.Minute, EnableAtModifier: true, EnableNegativeOffset: true})
	m := rules.NewManager(&rules.ManagerOptions{NameValidationScheme: model.UTF8Validation, Appendable: s.db, Queryable: s.db,
		QueryFunc: rules.EngineQueryFunc(engine, s.db), NotifyFunc: func(context.Context, string, ...*rules.Alert) {}, Context: b.Context(),
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
	groups, errs := m.LoadGroups(15*time.Second, labels.EmptyLabels(), "", nil, false, files...)
	if len(errs) > 0 {
		b.Fatal(errs)
	}
	began, rounds := cpu(b), 0
	for c := 30; c < cadences; c += 3 {
		at := time.UnixMilli(millis(t0) + int64(c)*10_000)
		for _, k := range slices.Sorted(maps.Keys(groups)) {
			groups[k].Eval(b.Context(), at)
		}
		rounds++
	}
	return (cpu(b) - began) / time.Duration(rounds)
}

// asked lists what our Grafana dashboards ask, with every variable at "all".
func asked(b *testing.B) []string {
	files, err := filepath.Glob("../../dashboards/grafana/dashboards/*.json")
	if err != nil || len(files) == 0 {
		b.Skip("there are no dashboards")
	}
	found := map[string]bool{}
	var walk func(any)
	walk = func(x any) {
		switch x := x.(type) {
		case map[string]any:
			if e, ok := x["expr"].(string); ok {
				found[strings.NewReplacer("$switch", ".*", "$rack", ".*", "$job", ".*", "$node", ".*", "$__rate_interval", "1m", "$__interval", "15s", "$__range", "1h").Replace(e)] = true
			}
			for _, v := range x {
				walk(v)
			}
		case []any:
			for _, v := range x {
				walk(v)
			}
		}
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			b.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			b.Fatal(err)
		}
		walk(v)
	}
	return slices.Sorted(maps.Keys(found))
}

// BenchmarkDashboards1024 asks everything that our Grafana dashboards ask of
// half an hour at 1,024 GPUs, in steps of 15 s, and reports the slowest.
func BenchmarkDashboards1024(b *testing.B) {
	const cadences = 180
	exprs := asked(b)
	s := newSite(b, Config{})
	series := fill(b, s, cadences)
	round := record(b, s, cadences)
	api := query.New(b.Context(), query.Config{Dir: s.dir, DB: s.db, Catalogue: telemetry.DefaultCatalogue(), Logger: slog.New(slog.DiscardHandler),
		Registry: prometheus.NewRegistry()})
	end := int64(t0)/1e9 + 10*(cadences-1)
	took := map[string]time.Duration{}
	for b.Loop() {
		for _, e := range exprs {
			v := url.Values{"query": {e}, "start": {fmt.Sprint(end - 1500)}, "end": {fmt.Sprint(end)}, "step": {"15"}}
			began := cpu(b)
			w := httptest.NewRecorder()
			api.ServeHTTP(w, httptest.NewRequest(http.MethodGet, query.Prefix+"/query_range?"+v.Encode(), nil))
			if w.Code != http.StatusOK {
				b.Fatalf("%s: %s", e, w.Body)
			}
			if d := cpu(b) - began; took[e] == 0 || d < took[e] {
				took[e] = d
			}
		}
	}
	slices.SortFunc(exprs, func(x, y string) int { return int(took[y] - took[x]) })
	for _, e := range exprs[:12] {
		b.Logf("%8.1f ms  %s", took[e].Seconds()*1e3, e)
	}
	b.ReportMetric(float64(series), "series")
	b.ReportMetric(round.Seconds()*1e3, "cpu-ms/round-of-rules")
	b.ReportMetric(took[exprs[0]].Seconds()*1e3, "cpu-ms/slowest")
	b.ReportMetric(took[exprs[len(exprs)/2]].Seconds()*1e3, "cpu-ms/median")
}
