package exposition_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/quintet-dc/quintet/pipeline/exposition"
)

// page writes a page and holds it against Prometheus's linter.
func page(t *testing.T, sets ...*metrics.Set) string {
	t.Helper()
	var out bytes.Buffer
	if err := exposition.New(sets...).Write(&out); err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.New(strings.NewReader(out.String())).Lint()
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	return out.String()
}

func TestHistogramHasCumulativeBuckets(t *testing.T) {
	set := metrics.NewSet()
	h := exposition.NewHistogram(set, "quintet_serve_request_seconds", `route="/metrics"`)
	for _, d := range []time.Duration{500 * time.Microsecond, 20 * time.Millisecond, 20 * time.Millisecond, time.Minute} {
		h.Observe(d)
	}
	exposition.NewHistogram(set, "quintet_serve_request_seconds", `route="/"`).Observe(time.Second)
	got := page(t, set)
	want := `# HELP quintet_serve_request_seconds Duration of HTTP requests, by route.
# TYPE quintet_serve_request_seconds histogram
quintet_serve_request_seconds_bucket{route="/",le="0.001"} 0
`
	if !strings.Contains(got, want) {
		t.Errorf("want\n%s\nin\n%s", want, got)
	}
	want = `quintet_serve_request_seconds_bucket{route="/metrics",le="0.001"} 1
quintet_serve_request_seconds_bucket{route="/metrics",le="0.005"} 1
quintet_serve_request_seconds_bucket{route="/metrics",le="0.01"} 1
quintet_serve_request_seconds_bucket{route="/metrics",le="0.025"} 3
quintet_serve_request_seconds_bucket{route="/metrics",le="0.05"} 3
quintet_serve_request_seconds_bucket{route="/metrics",le="0.1"} 3
quintet_serve_request_seconds_bucket{route="/metrics",le="0.25"} 3
quintet_serve_request_seconds_bucket{route="/metrics",le="0.5"} 3
quintet_serve_request_seconds_bucket{route="/metrics",le="1"} 3
quintet_serve_request_seconds_bucket{route="/metrics",le="2.5"} 3
quintet_serve_request_seconds_bucket{route="/metrics",le="5"} 3
quintet_serve_request_seconds_bucket{route="/metrics",le="10"} 3
quintet_serve_request_seconds_bucket{route="/metrics",le="+Inf"} 4
quintet_serve_request_seconds_sum{route="/metrics"} 60.0405
quintet_serve_request_seconds_count{route="/metrics"} 4
`
	if !strings.Contains(got, want) {
		t.Errorf("want\n%s\nin\n%s", want, got)
	}
}

// TestPageWritesAFamilyOnce although two sets have series of it.
func TestPageWritesAFamilyOnce(t *testing.T) {
	a, b := metrics.NewSet(), metrics.NewSet()
	a.NewCounter(`quintet_collectors_read_total{collector="a"}`).Inc()
	b.NewCounter(`quintet_collectors_read_total{collector="b"}`).Inc()
	a.NewGauge("quintet_serve_streams", func() float64 { return 2 })
	got := page(t, a, b, a, nil)
	for _, line := range []string{"# TYPE quintet_collectors_read_total counter\n", "# TYPE quintet_serve_streams gauge\n", `read_total{collector="a"} 1`, `read_total{collector="b"} 1`} {
		if strings.Count(got, line) != 1 {
			t.Errorf("%q %d times in\n%s", line, strings.Count(got, line), got)
		}
	}
}

// TestWritePartLabelsWhatBothHave: the metrics of a part in a process of its own
// can stand on the page of the process that started it, each series once.
func TestWritePartLabelsWhatBothHave(t *testing.T) {
	part, whole := metrics.NewSet(), metrics.NewSet()
	part.NewCounter("quintet_replica_joins_total").Inc()
	part.NewCounter(`quintet_bus_dead_connections_total{name="n"}`).Inc()
	whole.NewCounter(`quintet_bus_dead_connections_total{name="n"}`).Set(2)
	whole.RegisterMetricsWriter(func(w io.Writer) {
		if err := exposition.New(part).WritePart(w, "engine", func(name string) bool { return strings.HasPrefix(name, "quintet_replica_") }); err != nil {
			t.Error(err)
		}
	})
	var b strings.Builder
	if err := exposition.New(whole).Write(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	seen := map[string]bool{}
	for line := range strings.Lines(page) {
		series := line[:strings.LastIndex(strings.TrimSpace(line), " ")]
		if !strings.HasPrefix(line, "#") && seen[series] {
			t.Errorf("twice: %s", series)
		}
		seen[series] = true
	}
	for _, want := range []string{"\nquintet_replica_joins_total 1\n", "\nquintet_bus_dead_connections_total{part=\"engine\",name=\"n\"} 1\n",
		"\nquintet_bus_dead_connections_total{name=\"n\"} 2\n", "\ngo_goroutines{part=\"engine\"} ", "\ngo_goroutines "} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
	if n := strings.Count(page, "# TYPE go_goroutines "); n != 1 {
		t.Errorf("%d types of one family", n)
	}
}
