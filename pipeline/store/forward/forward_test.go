package forward_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/tsdb"

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
	db, err := tsdb.Open(filepath.Join(dir, "history"), logger, prometheus.NewRegistry(), tsdb.DefaultOptions(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- forward.Run(ctx, forward.Config{Dir: filepath.Join(dir, "history"), DB: db, Labels: map[string]string{"site": "hall-1"}, Registry: prometheus.NewRegistry(),
			Logger: logger, Targets: []forward.Target{{URL: server.URL, Username: "us", PasswordFile: password, Headers: map[string]string{"X-Scope-OrgID": "gpu"}}}})
	}()
	deadline := time.After(30 * time.Second)
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		// Again and again: what is older than the queue's beginning is not sent.
		app := db.Appender(ctx)
		if _, err := app.Append(0, labels.FromStrings(labels.MetricName, "gpu_power_watts", "kind", "gpu", "name", "n1/0"), time.Now().UnixMilli(), 700); err != nil {
			t.Fatal(err)
		}
		if err := app.Commit(); err != nil {
			t.Fatal(err)
		}
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
		"url: no user in it, please: say username and password_file":           {URL: "https://a:b@x/"},
		"want both username and password_file":                                 {URL: "https://x/", Username: "a"},
		"version: 3: want 1 or 2":                                              {URL: "https://x/", Version: 3},
		"at most one of basic_auth, oauth2 & authorization must be configured": {URL: "https://x/", Username: "a", PasswordFile: "b", BearerFile: "c"},
	} {
		if err := target.Validate(); err == nil || err.Error() != want {
			t.Errorf("%+v: %v, want %s", target, err, want)
		}
	}
}
