package pipeline

import (
	"context"
	"io"
	"io/fs"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/pipeline/config"
	"github.com/quintet-dc/quintet/pipeline/notify/standard"
	"github.com/quintet-dc/quintet/pipeline/notify/webhook"
)

// idle is a collector that reads nothing.
type idle struct{}

func (idle) Run(ctx context.Context, sink collectors.Sink) error {
	sink.Swept(collectors.Sweep{})
	<-ctx.Done()
	return nil
}

// TestMetricsAreSound holds /metrics of a process with the roles that need no
// engine against Prometheus's linter: help, type, names, units.
func TestMetricsAreSound(t *testing.T) {
	file := config.Default()
	file.Data = filepath.Join(t.TempDir(), "data")
	file.Notify.Receivers = []config.Receiver{{Name: "hook", Kinds: standard.Kinds{Webhook: &webhook.Settings{URL: "http://127.0.0.1:9/"}}}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	page := fs.FS(fstest.MapFS{"index.html": &fstest.MapFile{Data: []byte("<!doctype html>")}})
	ctx, stop := context.WithCancel(t.Context())
	listening, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- Run(ctx, Config{File: file, Roles: Roles{Store: true, Tick: true, Notify: true, Web: true, Collect: true}, Process: "q1", Page: page, Listener: l,
			Listening: func(net.Addr) { close(listening) }, Collectors: []collectors.Spec{{Name: "idle", Target: "nowhere", Collector: idle{}}}})
	}()
	select {
	case <-listening:
	case err := <-ended:
		t.Fatal(err)
	case <-time.After(time.Minute):
		t.Fatal("the API does not listen")
	}
	get(t, "http://"+l.Addr().String()+"/-/healthy") // so that the histogram of requests has a value
	text := ""
	for limit := time.Now().Add(time.Minute); ; <-time.After(20 * time.Millisecond) {
		text = get(t, "http://"+l.Addr().String()+"/metrics")
		if missing(text) == "" {
			break
		}
		if time.Now().After(limit) {
			t.Fatalf("/metrics lacks %s", missing(text))
		}
	}
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %v", url, resp.Status, err)
	}
	return string(b)
}

// missing returns a line that a page of metrics lacks yet: the parts of a process
// start one after the other.
func missing(page string) string {
	for _, want := range []string{`quintet_collectors_target_up{collector="idle",target="nowhere"} 1`, `quintet_serve_request_seconds_bucket{route="/-/healthy",le="+Inf"} 1`,
		"process_resident_memory_bytes ", "prometheus_tsdb_head_series "} {
		if !strings.Contains(page, want) {
			return want
		}
	}
	return ""
}
