package forward_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/tsdb"

	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/pipeline/store/forward"
)

// receiver keeps the series that it is sent, and what it was asked with.
type receiver struct {
	mu     sync.Mutex
	values map[string]float64
	who    string
	busy   int // how often it says so first
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
	body := make([]byte, 0, q.ContentLength)
	for buf := make([]byte, 4096); ; {
		n, err := q.Body.Read(buf)
		body = append(body, buf[:n]...)
		if err != nil {
			break
		}
	}
	plain, err := snappy.Decode(nil, body)
	var m prompb.WriteRequest
	if err == nil {
		err = m.Unmarshal(plain)
	}
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	for _, s := range m.Timeseries {
		b := labels.NewScratchBuilder(4)
		for _, l := range s.Labels {
			b.Add(l.Name, l.Value)
		}
		for _, x := range s.Samples {
			r.values[b.Labels().String()] = x.Value
		}
	}
}

func (r *receiver) got(series string) (v float64, ok bool, who string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok = r.values[series]
	return v, ok, r.who
}

// TestWhatIsWrittenIsSentOn: a sample that is written reaches a receiver that
// asks for a password and is busy at first, with the site's label on it.
func TestWhatIsWrittenIsSentOn(t *testing.T) {
	r := &receiver{values: map[string]float64{}, busy: 2}
	server := httptest.NewServer(r)
	defer server.Close()
	dir := t.TempDir()
	password := filepath.Join(dir, "password")
	if err := os.WriteFile(password, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	logger := slog.New(slog.DiscardHandler)
	db, history := database(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- forward.Run(ctx, forward.Config{Dir: history, DB: db, Labels: map[string]string{"site": "hall-1"}, Registry: prometheus.NewRegistry(),
			Logger: logger, Targets: []forward.Target{{URL: server.URL, BasicAuth: dial.BasicAuth{Username: "us", PasswordFile: password}, Headers: map[string]string{"X-Scope-OrgID": "gpu"}}}})
	}()
	deadline := time.After(30 * time.Second)
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		write(t, db)
		if v, ok, who := r.got(`{__name__="gpu_power_watts", kind="gpu", name="n1/0", site="hall-1"}`); ok {
			if v != 700 || who != "us/secret gpu" {
				t.Errorf("it was sent %v, by %s", v, who)
			}
			break
		}
		select {
		case <-deadline:
			t.Fatal("nothing came")
		case <-again.C:
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestTargets names what is wrong with a target.
func TestTargets(t *testing.T) {
	for want, target := range map[string]forward.Target{
		`url: "ftp://x": want http or https and a host`:                        {URL: "ftp://x"},
		"url: user not supported: use basic_auth":                              {URL: "https://a:b@x/"},
		"username and password_file: each requires the other":                  {URL: "https://x/", BasicAuth: dial.BasicAuth{Username: "a"}},
		"version: 3: want 1 or 2":                                              {URL: "https://x/", Version: 3},
		"at most one of basic_auth, oauth2 & authorization must be configured": {URL: "https://x/", BasicAuth: dial.BasicAuth{Username: "a", PasswordFile: "b"}, Authorization: dial.Authorization{CredentialsFile: "c"}},
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
		db, dir := database(t)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- forward.Run(ctx, forward.Config{Dir: dir, DB: db, Registry: prometheus.NewRegistry(), Logger: slog.New(slog.DiscardHandler),
				Targets: []forward.Target{{URL: url + "/api/v1/write", Version: version}}})
		}()
		again, deadline := time.NewTicker(200*time.Millisecond), time.After(60*time.Second)
		for arrived := false; !arrived; {
			write(t, db)
			select {
			case <-deadline:
				t.Fatalf("version %d: nothing came", version)
			case <-again.C:
			}
			arrived = strings.Contains(page(url+"/api/v1/query?query=gpu_power_watts"), `"name":"n1/0"`)
		}
		again.Stop()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
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
func write(t *testing.T, db *tsdb.DB) {
	app := db.Appender(t.Context())
	if _, err := app.Append(0, labels.FromStrings(model.MetricNameLabel, "gpu_power_watts", "kind", "gpu", "name", "n1/0"), time.Now().UnixMilli(), 700); err != nil {
		t.Fatal(err)
	}
	if err := app.Commit(); err != nil {
		t.Fatal(err)
	}
}
