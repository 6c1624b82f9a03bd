package forward_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	write2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"

	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/pipeline/store/forward"
)

// receiver is a receiver of both versions. It keeps what it is sent, by series and in
// the order of arrival, and the user and tenant of the last request.
type receiver struct {
	mu      sync.Mutex
	values  map[string][]float64
	who     string
	busy    int  // how many requests it answers with 503 first
	refuses bool // every request
	silent  bool // about what it wrote, as a receiver of version 1 is
}

func newReceiver(t *testing.T) (*receiver, string) {
	r := &receiver{values: map[string][]float64{}}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	return r, server.URL
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.busy > 0 {
		r.busy--
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	user, password, _ := q.BasicAuth()
	r.who = user + "/" + password + " " + q.Header.Get("X-Scope-OrgID")
	packed, err := io.ReadAll(q.Body)
	if err == nil {
		packed, err = snappy.Decode(nil, packed)
	}
	n := 0
	if err == nil {
		n, err = r.take(packed, strings.Contains(q.Header.Get("Content-Type"), "v2"))
	}
	if err != nil || r.refuses {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if !r.silent {
		w.Header().Set("X-Prometheus-Remote-Write-Samples-Written", strconv.Itoa(n))
	}
}

// take keeps the samples of a message, and returns how many they are.
func (r *receiver) take(plain []byte, second bool) (n int, err error) {
	keep := func(l labels.Labels, v float64) { r.values[l.String()] = append(r.values[l.String()], v); n++ }
	b := labels.NewScratchBuilder(4)
	if !second {
		var m prompb.WriteRequest
		err = m.Unmarshal(plain)
		for _, s := range m.Timeseries {
			for _, x := range s.Samples {
				keep(s.ToLabels(&b, nil), x.Value)
			}
		}
		return n, err
	}
	var m write2.Request
	err = m.Unmarshal(plain)
	for _, s := range m.Timeseries {
		l, err := s.ToLabels(&b, m.Symbols)
		if err != nil {
			return n, err
		}
		for _, x := range s.Samples {
			keep(l, x.Value)
		}
	}
	return n, err
}

func (r *receiver) got(series string) (values []float64, who string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.values[series]), r.who
}

// running is a database whose samples are forwarded.
type running struct {
	db       *tsdb.DB
	registry *prometheus.Registry
	end      func() // and waits for it
}

// start forwards the samples of a new database.
func start(t *testing.T, c forward.Config) running {
	db, dir := database(t)
	c.Dir, c.DB, c.Registry, c.Logger = dir, db, prometheus.NewRegistry(), slog.New(slog.DiscardHandler)
	f, err := forward.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.Run(ctx)
	}()
	end := func() {
		stop()
		<-ended
	}
	t.Cleanup(end)
	return running{db, c.Registry, end}
}

// total returns the sum of a metric of all receivers.
func (r running) total(t *testing.T, metric string) (sum float64) {
	families, err := r.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.Metric {
			if f.GetName() == "prometheus_remote_storage_"+metric {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

// until writes samples until the condition holds.
func (r running) until(t *testing.T, holds func() bool) {
	deadline := time.After(30 * time.Second)
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for v := 1.0; !holds(); v++ {
		write(t, r.db, v)
		select {
		case <-deadline:
			t.Fatal("it does not come true")
		case <-again.C:
		}
	}
}

const (
	plain    = `{__name__="gpu_power_watts", kind="gpu", name="n1/0"}`
	labelled = `{__name__="gpu_power_watts", kind="gpu", name="n1/0", site="hall-1"}`
)

// TestRunSendsWhatIsWritten forwards by both versions to a receiver that requires a
// password and is busy at first. An external label does not replace the series' own.
func TestRunSendsWhatIsWritten(t *testing.T) {
	for version := 1; version <= 2; version++ {
		r, url := newReceiver(t)
		r.busy = 2
		password := filepath.Join(t.TempDir(), "password")
		if err := os.WriteFile(password, []byte("secret\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		run := start(t, forward.Config{Labels: map[string]string{"site": "hall-1", "kind": "other"}, Targets: []forward.Target{{URL: url, Version: version,
			BasicAuth: dial.BasicAuth{Username: "us", PasswordFile: password}, Headers: map[string]string{"X-Scope-OrgID": "gpu"}}}})
		run.until(t, func() bool { values, _ := r.got(labelled); return len(values) > 1 })
		run.end()
		values, who := r.got(labelled)
		if !slices.IsSorted(values) || who != "us/secret gpu" {
			t.Errorf("version %d: it was sent %v by %s", version, values, who)
		}
		if run.total(t, "samples_retried_total") == 0 || run.total(t, "samples_failed_total") != 0 || run.total(t, "samples_pending") != 0 {
			t.Errorf("version %d: retried %v, failed %v, pending %v", version, run.total(t, "samples_retried_total"), run.total(t, "samples_failed_total"), run.total(t, "samples_pending"))
		}
	}
}

// TestRunCountsWhatIsRefused has a receiver that refuses all samples, and one that
// does not state what it wrote, though it was asked by version 2.
func TestRunCountsWhatIsRefused(t *testing.T) {
	for name, r := range map[string]*receiver{"refuses": {refuses: true}, "states nothing": {silent: true}} {
		r.values = map[string][]float64{}
		server := httptest.NewServer(r)
		defer server.Close()
		run := start(t, forward.Config{Targets: []forward.Target{{URL: server.URL, Version: 2}}})
		run.until(t, func() bool { return run.total(t, "samples_failed_total") > 0 })
		if n := run.total(t, "samples_retried_total"); n != 0 {
			t.Errorf("%s: %v samples sent again", name, n)
		}
	}
}

// TestRunEndsWithAReceiverThatIsAway ends with more samples pending than a queue
// has room for, and counts them.
func TestRunEndsWithAReceiverThatIsAway(t *testing.T) {
	const series = 100_000
	away := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("away") }
	run := start(t, forward.Config{Dial: away, Targets: []forward.Target{{URL: "http://x/"}}})
	run.until(t, func() bool { return run.total(t, "samples_pending") > 0 })
	app := run.db.Appender(t.Context())
	for i := range series {
		if _, err := app.Append(0, labels.FromStrings(model.MetricNameLabel, "m", "i", strconv.Itoa(i)), time.Now().UnixMilli(), 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := app.Commit(); err != nil {
		t.Fatal(err)
	}
	run.until(t, func() bool { return run.total(t, "samples_pending") > series*8/10 }) // 8 shards of 10,000
	run.end()
	if failed := run.total(t, "samples_failed_total"); failed < series*8/10 || run.total(t, "samples_pending") != 0 {
		t.Errorf("failed %v, pending %v", failed, run.total(t, "samples_pending"))
	}
}

// TestRunDoesNotBlockAnotherReceiver forwards to two, of which one is away.
func TestRunDoesNotBlockAnotherReceiver(t *testing.T) {
	r, url := newReceiver(t)
	to := strings.TrimPrefix(url, "http://")
	route := func(ctx context.Context, network, address string) (net.Conn, error) {
		if address == "away:80" {
			return nil, errors.New("away")
		}
		return new(net.Dialer).DialContext(ctx, network, to)
	}
	run := start(t, forward.Config{Dial: route, Targets: []forward.Target{{URL: "http://away/"}, {URL: "http://there/"}}})
	run.until(t, func() bool { values, _ := r.got(plain); return len(values) > 0 })
}

// TestNewRefusesTargetsOfOneName names them.
func TestNewRefusesTargetsOfOneName(t *testing.T) {
	db, dir := database(t)
	_, err := forward.New(forward.Config{Dir: dir, DB: db, Registry: prometheus.NewRegistry(), Logger: slog.New(slog.DiscardHandler),
		Targets: []forward.Target{{URL: "http://x/"}, {URL: "http://x/"}}})
	if err == nil || !strings.Contains(err.Error(), "remote write: http://x/: name: ") || !strings.HasSuffix(err.Error(), ": duplicate") {
		t.Error(err)
	}
}

// TestTargets names what is wrong with a target.
func TestTargets(t *testing.T) {
	for want, target := range map[string]forward.Target{
		`url: "ftp://x": want http or https and a host`:       {URL: "ftp://x"},
		"url: user not supported: use basic_auth":             {URL: "https://a:b@x/"},
		"username and password_file: each requires the other": {URL: "https://x/", BasicAuth: dial.BasicAuth{Username: "a"}},
		"headers: user-agent: set by the protocol":            {URL: "https://x/", Headers: map[string]string{"user-agent": "y"}},
		"version: 3: want 1 or 2":                             {URL: "https://x/", Version: 3},
		"basic_auth and authorization: mutually exclusive":    {URL: "https://x/", BasicAuth: dial.BasicAuth{Username: "a", PasswordFile: "b"}, Authorization: dial.Authorization{CredentialsFile: "c"}},
	} {
		if err := target.Validate(); err == nil || err.Error() != want {
			t.Errorf("%+v: %v, want %s", target, err, want)
		}
	}
}

// TestARealPrometheus has a real Prometheus receive the samples, by both versions
// of the protocol.
func TestARealPrometheus(t *testing.T) {
	program, err := filepath.Abs("../../../bin/peers/prometheus")
	if err == nil {
		_, err = os.Stat(program)
	}
	if err != nil {
		t.Skip("prometheus is not there: make peers builds it")
	}
	for version := 1; version <= 2; version++ {
		url := prometheusAt(t, program)
		run := start(t, forward.Config{Targets: []forward.Target{{URL: url + "/api/v1/write", Version: version}}})
		run.until(t, func() bool { return strings.Contains(page(url+"/api/v1/query?query=gpu_power_watts"), `"name":"n1/0"`) })
		run.end()
	}
}

// prometheusAt starts a Prometheus that takes remote write, and returns where.
func prometheusAt(t *testing.T, program string) string {
	dir := t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	conf := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(conf, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--config.file="+conf, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.enable-remote-write-receiver", "--web.listen-address="+address)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return "http://" + address
}

// page returns the response of an address; empty while it does not respond.
func page(url string) string {
	a, err := http.Get(url)
	if err != nil {
		return ""
	}
	defer a.Body.Close()
	b, _ := io.ReadAll(a.Body)
	return string(b)
}

func database(t *testing.T) (*tsdb.DB, string) {
	dir := filepath.Join(t.TempDir(), "history")
	db, err := tsdb.Open(dir, slog.New(slog.DiscardHandler), prometheus.NewRegistry(), tsdb.DefaultOptions(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db, dir
}

// write writes a sample of now: samples older than a queue's beginning are not
// sent.
func write(t *testing.T, db *tsdb.DB, v float64) {
	app := db.Appender(t.Context())
	if _, err := app.Append(0, labels.FromStrings(model.MetricNameLabel, "gpu_power_watts", "kind", "gpu", "name", "n1/0"), time.Now().UnixMilli(), v); err != nil && !errors.Is(err, storage.ErrDuplicateSampleForTimestamp) {
		t.Fatal(err)
	}
	if err := app.Commit(); err != nil {
		t.Fatal(err)
	}
}
