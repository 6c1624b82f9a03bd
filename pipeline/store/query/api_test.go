package query_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb"

	"github.com/quintet-dc/quintet/pipeline/store/query"
	"github.com/quintet-dc/quintet/telemetry"
)

var update = flag.Bool("update", false, "rewrite the transcripts")

// t0 is when the samples begin, in seconds.
const t0 = 1_700_000_000

// history is a database with ten minutes of two GPUs and a port, and its API.
func history(t *testing.T, c query.Config) (*query.API, *tsdb.DB) {
	t.Helper()
	c.Logger, c.Registry, c.Catalogue = slog.New(slog.DiscardHandler), prometheus.NewRegistry(), telemetry.DefaultCatalogue()
	db, err := tsdb.Open(filepath.Join(t.TempDir(), "history"), c.Logger, prometheus.NewRegistry(), tsdb.DefaultOptions(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	app := db.Appender(t.Context())
	put := func(i int, v float64, pairs ...string) {
		if _, err := app.Append(0, labels.FromStrings(pairs...), int64(t0+10*i)*1000, v); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 61 {
		put(i, 700, model.MetricNameLabel, "gpu_power_watts", "kind", "gpu", "name", "n1/0", "node", "n1", "gpu", "0")
		put(i, 690, model.MetricNameLabel, "gpu_power_watts", "kind", "gpu", "name", "n1/1", "node", "n1", "gpu", "1")
		put(i, float64(1000*i), model.MetricNameLabel, "port_tx_bytes_total", "kind", "port", "name", "leaf1/e1", "switch", "leaf1", "port", "e1")
		put(i, 1, model.MetricNameLabel, "quintet_job_info", "job", "llama", "kind", "gpu", "name", "n1/0", "node", "n1")
	}
	if err := app.Commit(); err != nil {
		t.Fatal(err)
	}
	c.DB = db
	return query.New(t.Context(), c), db
}

// TestTranscript holds what the API answers against testdata/api.txt. Lines that
// begin with '>' are asked: a method, a path below the prefix, and for POST a
// form.
func TestTranscript(t *testing.T) {
	api, _ := history(t, query.Config{Version: "1.2.3"})
	const path = "testdata/api.txt"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for line := range strings.Lines(string(text)) {
		ask, asked := strings.CutPrefix(line, "> ")
		if strings.HasPrefix(line, "#") || line == "\n" {
			got.WriteString(line)
		}
		if !asked {
			continue
		}
		got.WriteString(line)
		f := strings.Fields(ask)
		r := httptest.NewRequest(f[0], query.Prefix+f[1], nil)
		if len(f) > 2 {
			r = httptest.NewRequest(f[0], query.Prefix+f[1], strings.NewReader(f[2]))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		fmt.Fprintf(&got, "%d %s\n", w.Code, strings.TrimSpace(strings.ReplaceAll(w.Body.String(), runtime.Version(), "GO")))
	}
	if *update {
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got.String() != string(text) {
		t.Errorf("%s differs; -update rewrites it. Got:\n%s", path, got.String())
	}
}

// peer is a program of others, or the test is skipped.
func peer(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs("../../../bin/peers/" + name)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Skipf("%s is not there: make peers builds it", name)
	}
	return path
}

// TestPromtool has the real promtool ask every kind of question that it has.
func TestPromtool(t *testing.T) {
	promtool := peer(t, "promtool")
	api, _ := history(t, query.Config{})
	server := httptest.NewServer(api)
	defer server.Close()
	at := func(s int) string { return fmt.Sprint(t0 + s) }
	for _, x := range []struct {
		want string
		args []string
	}{
		{"{gpu=\"0\", job=\"llama\", kind=\"gpu\", name=\"n1/0\", node=\"n1\"} => 700 @[1700000600]",
			[]string{"instant", "--time", at(600), "SERVER", "gpu_power_watts * on (kind, name) group_left (job) quintet_job_info"}},
		{"{kind=\"port\", name=\"leaf1/e1\", port=\"e1\", switch=\"leaf1\"} =>\n100 @[1700000300]\n100 @[1700000360]",
			[]string{"range", "--start", at(300), "--end", at(360), "--step", "60s", "SERVER", "rate(port_tx_bytes_total[1m])"}},
		{`{__name__="gpu_power_watts", gpu="1", kind="gpu", name="n1/1", node="n1"}`,
			[]string{"series", "--match", `gpu_power_watts{gpu="1"}`, "--start", at(0), "--end", at(600), "SERVER"}},
		{"n1/0\nn1/1\nleaf1/e1", []string{"labels", "--start", at(0), "--end", at(600), "SERVER", "name"}},
	} {
		args := append([]string{"query"}, x.args...)
		for i := range args {
			args[i] = strings.Replace(args[i], "SERVER", server.URL+"/prometheus", 1)
		}
		out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput()
		got := strings.TrimSpace(string(out))
		if err != nil || sorted(got) != sorted(x.want) {
			t.Errorf("promtool %q: %v\n%s\nwant\n%s", args, err, got, x.want)
		}
	}
}

func sorted(s string) string {
	lines := strings.Split(s, "\n")
	seen := map[string]int{}
	for _, l := range lines {
		seen[l]++
	}
	return fmt.Sprint(seen)
}

// TestRules: a file of the configuration is evaluated in addition to the built-in
// rules, an invalid one is left out; a firing alert is a series, is shown and is
// passed on.
func TestRules(t *testing.T) {
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.yml"), filepath.Join(dir, "bad.yml")
	for path, text := range map[string]string{
		good: "groups: [{name: mine, interval: 200ms, rules: [{record: 'x:y:z', expr: vector(7)}, {alert: Always, expr: vector(1) > 0, labels: {severity: info}, annotations: {summary: 'it is {{ $value }}'}}]}]",
		bad:  "groups: [{name: mine, rules: [{record: 'x', expr: 'sum('}]}]",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	told := make(chan query.Alert, 1)
	api, _ := history(t, query.Config{Rules: []string{bad, good}, URL: "http://here", Alerts: func(_ context.Context, alerts []query.Alert) {
		for _, a := range alerts {
			if a.Labels["alertname"] == "Always" {
				select {
				case told <- a:
				default:
				}
			}
		}
	}})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- api.Run(ctx) }()
	a := <-told
	if a.Resolved || a.Annotations["summary"] != "it is 1" || a.Labels["severity"] != "info" || !a.EndsAt.After(a.StartsAt) {
		t.Errorf("the alert is %+v", a)
	}
	await(t, api, "/query?query="+url.QueryEscape(`ALERTS{alertname="Always",alertstate="firing"} + on () x:y:z`), `"8"`)
	await(t, api, "/alerts", `"alertname":"Always"`)
	await(t, api, "/rules", `"name":"x:y:z"`)
	await(t, api, "/rules", "network") // one of our own groups
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// await asks until an answer holds a text.
func await(t *testing.T, api http.Handler, path, want string) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		w := httptest.NewRecorder()
		api.ServeHTTP(w, httptest.NewRequest(http.MethodGet, query.Prefix+path, nil))
		body, err := io.ReadAll(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(body), want) {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("%s never held %s: %s", path, want, body)
		case <-again.C:
		}
	}
}
