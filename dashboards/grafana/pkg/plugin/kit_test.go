package plugin

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/backend/instancemgmt"
	"github.com/grafana/grafana-plugin-sdk-go/backend/log"
	"github.com/grafana/grafana-plugin-sdk-go/experimental/datasourcetest"
	"github.com/grafana/grafana-plugin-sdk-go/genproto/pluginv2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/quintet-dc/quintet/client"
)

// at is the moment at which the scripted answers in testdata/api were given.
func at() time.Time { return time.Date(2026, 11, 21, 9, 45, 0, 0, time.UTC) }

// script is a server that answers as Quintet does, from testdata/api, and keeps
// what it was asked.
type script struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
	// instead answers a question in the place of testdata/api, if it is set.
	instead http.HandlerFunc
}

func newScript(t *testing.T) *script {
	s := &script{}
	s.Server = httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(s.Close)
	return s
}

func (s *script) answer(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r.URL.String())
	instead := s.instead
	s.mu.Unlock()
	if instead != nil {
		instead(w, r)
		return
	}
	name := strings.TrimPrefix(r.URL.Path, "/api/v1/")
	switch {
	case strings.HasSuffix(name, "/curves"):
		name = "curves"
	case strings.HasPrefix(name, "incidents/"):
		one(w, strings.TrimPrefix(name, "incidents/"))
		return
	case name == "topology" && r.URL.Query().Get("kind") != "":
		name = "topology-" + r.URL.Query().Get("kind")
	case name == "incidents":
		some(w, r.URL.Query().Get("state"))
		return
	}
	body, err := os.ReadFile(filepath.Join("testdata", "api", name+".json"))
	if err != nil {
		problem(w, http.StatusNotFound, "there is nothing at "+r.URL.Path)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body)
}

// incidents reads the scripted list.
func incidents() (list []map[string]any, whole map[string]any) {
	body, err := os.ReadFile(filepath.Join("testdata", "api", "incidents.json"))
	if err == nil {
		err = json.Unmarshal(body, &whole)
	}
	if err != nil {
		panic(err)
	}
	for _, i := range whole["incidents"].([]any) {
		list = append(list, i.(map[string]any))
	}
	return list, whole
}

func one(w http.ResponseWriter, id string) {
	list, _ := incidents()
	for _, i := range list {
		if i["id"] == id {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(i)
			return
		}
	}
	problem(w, http.StatusNotFound, "no such incident")
}

func some(w http.ResponseWriter, state string) {
	list, whole := incidents()
	kept := []any{}
	for _, i := range list {
		if state == "" || state == "all" || i["state"] == state {
			kept = append(kept, i)
		}
	}
	whole["incidents"] = kept
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(whole)
}

func problem(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(client.Details{Type: "about:blank", Title: http.StatusText(status), Status: int64(status), Detail: text})
}

// served is the back end behind gRPC, as Grafana sees it.
type served struct {
	*datasourcetest.TestPluginClient
	stream  pluginv2.StreamClient
	context backend.PluginContext
}

// backEnd is the process that all tests use: the SDK serves once in each.
type backEnd struct {
	plugin datasourcetest.TestPlugin
	stream pluginv2.StreamClient
}

var process = sync.OnceValues(func() (*backEnd, error) {
	backend.Logger = log.NewNullLogger()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		return nil, err
	}
	p, err := datasourcetest.Manage(still, datasourcetest.ManageOpts{Address: address})
	if err != nil {
		return nil, err
	}
	// The SDK's client of a test has none for streams.
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	return &backEnd{p, pluginv2.NewStreamClient(conn)}, nil
})

// still makes a data source with a constant clock and short retry waits.
func still(ctx context.Context, s backend.DataSourceInstanceSettings) (instancemgmt.Instance, error) {
	i, err := New(ctx, s)
	if err != nil {
		return nil, err
	}
	d := i.(*Datasource)
	d.now = at
	d.pace = pace{first: time.Millisecond, most: 20 * time.Millisecond, jitter: func(d time.Duration) time.Duration { return d }}
	return d, nil
}

// serial numbers the data sources: each test has one of its own.
var serial atomic.Int64

// serve gives a data source for the Quintet at url, behind gRPC.
func serve(t *testing.T, url string, change ...func(*backend.DataSourceInstanceSettings)) *served {
	t.Helper()
	p, err := process()
	if err != nil {
		t.Fatal(err)
	}
	s := backend.DataSourceInstanceSettings{ID: serial.Add(1), UID: "quintet", Type: "quintet-quintet-datasource", Name: "Quintet", URL: url, JSONData: []byte(`{"pageUrl":"https://quintet.example"}`)}
	for _, c := range change {
		c(&s)
	}
	return &served{p.plugin.Client, p.stream, backend.PluginContext{OrgID: 1, PluginID: s.Type, DataSourceInstanceSettings: &s}}
}

// free returns an address on which no server listens.
func free(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// ask sends one query about the last hour before at.
func (s *served) ask(t *testing.T, kind, query string) backend.DataResponse {
	t.Helper()
	return s.askOf(t, kind, query, backend.TimeRange{From: at().Add(-time.Hour), To: at()})
}

func (s *served) askOf(t *testing.T, kind, query string, r backend.TimeRange) backend.DataResponse {
	t.Helper()
	got, err := s.QueryData(t.Context(), &backend.QueryDataRequest{PluginContext: s.context, Queries: []backend.DataQuery{{
		RefID: "A", QueryType: kind, JSON: []byte(query), TimeRange: r, MaxDataPoints: 1000, Interval: time.Second,
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return got.Responses["A"]
}
