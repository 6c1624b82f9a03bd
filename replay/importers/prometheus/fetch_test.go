package prometheus_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	registry "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/mapping"
	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/pipeline/store/label"
	"github.com/quintet-dc/quintet/pipeline/store/query"
	"github.com/quintet-dc/quintet/replay"
	"github.com/quintet-dc/quintet/replay/importers/prometheus"
	"github.com/quintet-dc/quintet/rules"
	"github.com/quintet-dc/quintet/telemetry"
)

// began is when the samples of these tests begin.
var began = time.Unix(1_700_000_000, 0)

// server is Prometheus' own database and query API with what fill puts in.
func server(t *testing.T, fill func(put func(l labels.Labels, after time.Duration, v float64))) promv1.API {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	dir := filepath.Join(t.TempDir(), "history")
	db, err := tsdb.Open(dir, quiet, registry.NewRegistry(), tsdb.DefaultOptions(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	app := db.Appender(t.Context())
	fill(func(l labels.Labels, after time.Duration, v float64) {
		if _, err := app.Append(0, l, began.Add(after).UnixMilli(), v); err != nil {
			t.Fatal(err)
		}
	})
	if err := app.Commit(); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(query.New(t.Context(), query.Config{DB: db, Catalogue: telemetry.DefaultCatalogue(), Logger: quiet, Registry: registry.NewRegistry()}))
	t.Cleanup(s.Close)
	client, err := api.NewClient(api.Config{Address: s.URL + "/prometheus"})
	if err != nil {
		t.Fatal(err)
	}
	return promv1.NewAPI(client)
}

// fetch asks for all, window by window.
func fetch(t *testing.T, server promv1.API, length, window time.Duration, match string) (rows []string, got *prometheus.Result) {
	t.Helper()
	mapper, err := mapping.Read(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	got, err = prometheus.Fetch(t.Context(), server, prometheus.Config{From: began, To: began.Add(length), Window: window, Match: match,
		Mapper: mapper, Catalogue: telemetry.DefaultCatalogue()}, &out)
	if err != nil {
		t.Fatal(err)
	}
	rows = strings.Split(strings.TrimSpace(out.String()), "\n")
	if rows[0] != "time_ns,entity,metric,value" {
		t.Fatalf("heading %q", rows[0])
	}
	return rows[1:], got
}

// row is one line of samples.csv.
func row(after time.Duration, rest string) string {
	return fmt.Sprintf("%d,%s", began.Add(after).UnixNano(), rest)
}

const s = time.Second

// exporters are two pages of DCGM, of which the second tells what the first does;
// one of vLLM; a name that no file knows.
func exporters(put func(labels.Labels, time.Duration, float64)) {
	gpu := func(name, instance string) labels.Labels {
		return labels.FromStrings("__name__", name, "job", "dcgm", "instance", instance, "Hostname", "n1", "gpu", "0")
	}
	bucket := func(le string) labels.Labels {
		return labels.FromStrings("__name__", "vllm:time_to_first_token_seconds_bucket", "job", "chat", "instance", "c:8000", "le", le)
	}
	for i := range 8 {
		at := time.Duration(i) * 15 * s
		put(gpu("DCGM_FI_DEV_POWER_USAGE", "a:9400"), at+250*time.Millisecond, 700+float64(i)/2)
		put(gpu("DCGM_FI_DEV_POWER_USAGE", "b:9400"), at+5*s, 700)
		put(gpu("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "a:9400"), at+250*time.Millisecond, float64(1_000_000+7*i))
		put(labels.FromStrings("__name__", "app_requests_total", "job", "web", "instance", "w:80"), at, float64(i))
		// Every interval ten answers: nine within a second, one within four.
		put(bucket("1"), at, float64(9*i))
		put(bucket("4"), at, float64(10*i))
		put(bucket("+Inf"), at, float64(10*i))
	}
}

// What exporters say becomes rows of the entity that their labels name, in base
// units, with the times that the server has.
func TestWhatLabelsMean(t *testing.T) {
	rows, got := fetch(t, server(t, exporters), 2*time.Minute, 5*time.Minute, "")
	for _, want := range []string{
		row(250*time.Millisecond, "gpu:n1/0,gpu_power_watts,700"),
		row(15*s+250*time.Millisecond, "gpu:n1/0,gpu_power_watts,700.5"),
		row(105*s+250*time.Millisecond, "gpu:n1/0,gpu_energy_joules_total,1000.049"),
		row(15*s, "job:chat,job_ttft_seconds_p50,"+fmt.Sprint(5.0/9)),
	} {
		if !slices.Contains(rows, want) {
			t.Errorf("no row %s", want)
		}
	}
	if n := got.Dropped[collectors.Duplicate]; n != 8 {
		t.Errorf("%d samples of the second exporter left out, want its 8", n)
	}
	if !slices.Equal(got.Unknown, []string{"app_requests_total"}) {
		t.Errorf("unknown: %q", got.Unknown)
	}
	if got.Samples != len(rows) {
		t.Errorf("%d rows counted, %d written", got.Samples, len(rows))
	}
	if len(got.Contains) == 0 || got.Contains[0].From.String() != "node:n1" || got.Contains[0].To.String() != "gpu:n1/0" {
		t.Errorf("contains %v, want node:n1 gpu:n1/0", got.Contains)
	}
}

// How much is asked for at a time changes no row.
func TestTheWindowChangesNothing(t *testing.T) {
	from := server(t, exporters)
	want, _ := fetch(t, from, 2*time.Minute, time.Hour, "")
	for _, window := range []time.Duration{s, 7 * s, 15 * s, 15250 * time.Millisecond, 2 * time.Minute} {
		if rows, _ := fetch(t, from, 2*time.Minute, window, ""); !slices.Equal(rows, want) {
			t.Errorf("%v at a time: %d rows for %d, or others", window, len(rows), len(want))
		}
	}
}

// Matchers narrow every question.
func TestMatchers(t *testing.T) {
	rows, got := fetch(t, server(t, exporters), 2*time.Minute, time.Minute, `job="dcgm",instance=~"b:.*"`)
	if len(rows) != 8 || got.Names != 1 || len(got.Unknown) != 0 {
		t.Errorf("%d rows of %d metrics, %q unknown: want the 8 of the second exporter", len(rows), got.Names, got.Unknown)
	}
}

// A gap of a page is a gap; a sender that takes over does so after five minutes.
func TestGapsAndSuccession(t *testing.T) {
	gpu := func(instance string) labels.Labels {
		return labels.FromStrings("__name__", "gpu_power_watts", "kind", "gpu", "name", "n1/0", "instance", instance)
	}
	rows, got := fetch(t, server(t, func(put func(labels.Labels, time.Duration, float64)) {
		put(gpu("a"), 0, 700)
		put(gpu("a"), 10*s, math.NaN())
		put(gpu("b"), 20*s, 1)
		put(gpu("b"), 309*s, 2)
		put(gpu("b"), 310*s, 3)
		put(gpu("a"), 311*s, 4)
	}), 10*time.Minute, 5*time.Minute, "")
	want := []string{row(0, "gpu:n1/0,gpu_power_watts,700"), row(10*s, "gpu:n1/0,gpu_power_watts,"), row(310*s, "gpu:n1/0,gpu_power_watts,3")}
	if !slices.Equal(rows, want) || got.Dropped[collectors.Duplicate] != 3 {
		t.Errorf("rows %q, dropped %v", rows, got.Dropped)
	}
}

// An incident that went into a history under its own labels comes out of it: the
// same root as from the bundle that it was.
func TestAnIncidentOutOfAHistory(t *testing.T) {
	const run = "../../../testdata/roce/slownic-2"
	b, err := replay.Open(run, replay.OpenConfig{})
	if err != nil {
		t.Fatal(err)
	}
	var reader telemetry.SampleReader
	from := server(t, func(put func(labels.Labels, time.Duration, float64)) {
		err := b.Each(func(_ uint64, r *telemetry.Record) error {
			switch r.Kind {
			case telemetry.SchemaRecord:
				reader.Learn(r.Schema)
			case telemetry.FrameRecord:
				samples, err := reader.Read(r.Frame)
				if err != nil {
					return err
				}
				for x := range samples {
					if x.State == telemetry.Present {
						put(label.Of(x.Series), time.Duration(x.At), x.Float())
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	rows, _ := fetch(t, from, time.Hour, 20*s, "")
	dir := t.TempDir()
	topology, err := os.ReadFile(filepath.Join(run, "topology.json"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"topology.json": string(topology), "samples.csv": "time_ns,entity,metric,value\n" + strings.Join(rows, "\n") + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if a, z := len(rows), b.Bundle.Samples(); a != z {
		t.Errorf("%d samples, %d went in", a, z)
	}
	if root := rootOf(t, dir); root != "slow-receiver nic:h9/nic0" {
		t.Errorf("root: %s", root)
	}
}

// rootOf is what the engine makes of a bundle's only incident.
func rootOf(t *testing.T, dir string) string {
	t.Helper()
	rec, err := replay.Open(dir, replay.OpenConfig{})
	if err != nil {
		t.Fatal(err)
	}
	set, err := rules.Standard()
	if err != nil {
		t.Fatal(err)
	}
	out, err := replay.Run(t.Context(), rec, replay.RunConfig{Engine: engine.Config{Slices: 1, Correlate: correlate.Config{
		Catalogue: telemetry.DefaultCatalogue(), Signatures: set.Signatures, Rules: set.Digest}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Incidents) != 1 {
		return fmt.Sprint(len(out.Incidents), " incidents")
	}
	r := out.Incidents[0].Root
	return string(r.Signature) + " " + r.Entity.String()
}
