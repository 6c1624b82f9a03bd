package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/data"
	"github.com/grafana/grafana-plugin-sdk-go/genproto/pluginv2"
)

// subscribe opens a path as Grafana does: it asks for the first picture and then
// runs the stream.
func (s *served) subscribe(t *testing.T, path string) (first *data.Frame, next func() *data.Frame) {
	t.Helper()
	context := backend.ToProto().PluginContext(s.context)
	got, err := s.stream.SubscribeStream(t.Context(), &pluginv2.SubscribeStreamRequest{PluginContext: context, Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != pluginv2.SubscribeStreamResponse_OK {
		t.Fatalf("%s: %v", path, got.Status)
	}
	first = &data.Frame{}
	if err := json.Unmarshal(got.Data, first); err != nil {
		t.Fatal(err)
	}
	run, err := s.stream.RunStream(t.Context(), &pluginv2.RunStreamRequest{PluginContext: context, Path: path})
	if err != nil {
		t.Fatal(err)
	}
	return first, func() *data.Frame {
		t.Helper()
		packet, err := run.Recv()
		if err != nil {
			t.Fatal(err)
		}
		// What follows has no schema: that of the first picture holds.
		var rows struct {
			Data json.RawMessage `json:"data"`
		}
		var schema struct {
			Schema json.RawMessage `json:"schema"`
		}
		if err := json.Unmarshal(packet.Data, &rows); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(got.Data, &schema); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(packet.Data), `"schema"`) {
			t.Errorf("the schema is sent again: %s", packet.Data)
		}
		f := &data.Frame{}
		if err := json.Unmarshal([]byte(fmt.Sprintf(`{"schema":%s,"data":%s}`, schema.Schema, rows.Data)), f); err != nil {
			t.Fatal(err)
		}
		return f
	}
}

// tells returns a frame's rows: id, revision, severity.
func tells(f *data.Frame) string {
	var out []string
	id, _ := f.FieldByName("id")
	revision, _ := f.FieldByName("revision")
	severity, _ := f.FieldByName("severity")
	for r := range f.Rows() {
		i := id.At(r).(string)
		out = append(out, fmt.Sprintf("%s.%d %s", i[len(i)-2:], revision.At(r), severity.At(r)))
	}
	return strings.Join(out, ", ")
}

// wire is a scripted stream of server-sent events.
type wire struct {
	mu     sync.Mutex
	behind []string    // Last-Event-ID of each connection
	lines  chan string // what is sent; "cut" breaks the connection off
}

func (x *wire) serve(w http.ResponseWriter, r *http.Request) {
	x.mu.Lock()
	x.behind = append(x.behind, r.Header.Get("Last-Event-ID"))
	x.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(w)
	_ = out.Flush()
	for {
		select {
		case <-r.Context().Done():
			return
		case line := <-x.lines:
			if line == "cut" {
				panic(http.ErrAbortHandler)
			}
			_, _ = w.Write([]byte(line))
			_ = out.Flush()
		}
	}
}

func (x *wire) connections() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return append([]string(nil), x.behind...)
}

// until waits for the n-th connection.
func (x *wire) until(t *testing.T, n int) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); len(x.connections()) < n; {
		if time.Now().After(deadline) {
			t.Fatalf("%d connections, want %d", len(x.connections()), n)
		}
		<-time.After(time.Millisecond)
	}
}

func event(id int, incident string, revision int, severity string) string {
	return fmt.Sprintf("event: incident\nid: %d\ndata: {\"id\":\"inc-%s\",\"state\":\"open\",\"kind\":\"incident\",\"severity\":%q,\"revision\":%d,\"opened\":\"2026-11-21T09:45:01Z\",\"updated\":\"2026-11-21T09:45:01Z\"}\n\n", id, incident, severity, revision)
}

// A stream begins where its first picture ends, is resumed behind the last
// incident after it broke off, and passes on what its path asks for.
func TestAStreamIsResumed(t *testing.T) {
	q := newScript(t)
	x := &wire{lines: make(chan string)}
	q.instead = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/stream" {
			x.serve(w, r)
			return
		}
		some(w, r.URL.Query().Get("state"))
	}
	// A question may take a second; a stream goes on for longer.
	s := serve(t, q.URL, func(i *backend.DataSourceInstanceSettings) { i.JSONData = []byte(`{"timeout":1}`) })
	first, next := s.subscribe(t, "incidents/severity=critical.warning")
	if got, want := tells(first), "a1.3 warning"; got != want {
		t.Fatalf("first picture: %q, want %q", got, want)
	}
	expect := func(want string) {
		t.Helper()
		if got := tells(next()); got != want {
			t.Fatalf("%q, want %q", got, want)
		}
	}
	x.lines <- "retry: 2000\n: welcome\n\n"
	x.lines <- event(42, "00d1", 1, "warning")
	expect("d1.1 warning")
	<-time.After(1200 * time.Millisecond)
	x.lines <- event(43, "00d2", 1, "info") // not asked for
	x.lines <- "event: state\ndata: {\"tick\":null}\n\n"
	x.lines <- strings.ReplaceAll(event(44, "00d3", 1, "critical"), "\n", "\r\n")
	expect("d3.1 critical")
	x.lines <- event(45, "00d1", 2, "info") // no longer asked for, but known
	expect("d1.2 info")
	x.lines <- "cut"
	x.lines <- event(46, "00d4", 1, "critical")
	expect("d4.1 critical")
	x.lines <- "event: incident\nid: 47\ndata: {\"id\":\n\n" // garbage: the stream begins anew, behind 46
	x.until(t, 3)
	x.lines <- event(48, "00d5", 1, "critical")
	expect("d5.1 critical")
	if got, want := strings.Join(x.connections(), " "), "41 45 46"; got != want {
		t.Errorf("connections behind %s, want %s", got, want)
	}
}

// While Quintet is unreachable a subscriber receives nothing; when it is back, the
// open incidents.
func TestQuintetComesBack(t *testing.T) {
	q := newScript(t)
	x := &wire{lines: make(chan string)}
	var mu sync.Mutex
	away, tries := true, 0
	q.instead = func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		gone := away
		tries++
		mu.Unlock()
		switch {
		case gone:
			problem(w, http.StatusServiceUnavailable, "not yet")
		case r.URL.Path == "/api/v1/stream":
			x.serve(w, r)
		default:
			some(w, r.URL.Query().Get("state"))
		}
	}
	s := serve(t, q.URL)
	first, next := s.subscribe(t, "incidents")
	if first.Rows() != 0 || len(first.Fields) == 0 {
		t.Fatalf("%d rows, %d fields; want a picture of nothing, with its fields", first.Rows(), len(first.Fields))
	}
	for deadline := time.Now().Add(30 * time.Second); ; {
		mu.Lock()
		enough := tries >= 4
		if enough {
			away = false
		}
		mu.Unlock()
		if enough {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it does not try again")
		}
		<-time.After(time.Millisecond)
	}
	if got, want := tells(next()), "a1.3 warning, c3.1 info"; got != want {
		t.Fatalf("%q, want %q", got, want)
	}
	x.lines <- event(42, "00d1", 1, "warning")
	if got, want := tells(next()), "d1.1 warning"; got != want {
		t.Fatalf("%q, want %q", got, want)
	}
}

// Unknown paths are refused, and no user may publish.
func TestPathsThatAreNotStreamed(t *testing.T) {
	s := serve(t, newScript(t).URL)
	context := backend.ToProto().PluginContext(s.context)
	for _, path := range []string{"", "jobs", "incidents/", "incidents/severity=", "incidents/colour=red", "incidents/job=%%%", "incidents/job=dHJhaW4=", "incidents/fault=x/severity=critical"} {
		got, err := s.stream.SubscribeStream(t.Context(), &pluginv2.SubscribeStreamRequest{PluginContext: context, Path: path})
		if err != nil || got.Status != pluginv2.SubscribeStreamResponse_NOT_FOUND {
			t.Errorf("%q: %v, %v; want NOT_FOUND", path, got, err)
		}
	}
	got, err := s.stream.PublishStream(t.Context(), &pluginv2.PublishStreamRequest{PluginContext: context, Path: "incidents", Data: []byte(`{}`)})
	if err != nil || got.Status != pluginv2.PublishStreamResponse_PERMISSION_DENIED {
		t.Errorf("publish: %v, %v", got, err)
	}
}

// Changed settings end the streams of the old ones.
func TestDisposeEndsStreams(t *testing.T) {
	q := newScript(t)
	x := &wire{lines: make(chan string)}
	connected := make(chan struct{})
	q.instead = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/stream" {
			close(connected)
			x.serve(w, r)
			return
		}
		some(w, "open")
	}
	i, err := New(t.Context(), backend.DataSourceInstanceSettings{UID: "u", URL: q.URL})
	if err != nil {
		t.Fatal(err)
	}
	d := i.(*Datasource)
	ended := make(chan error)
	go func() {
		ended <- d.RunStream(context.Background(), &backend.RunStreamRequest{Path: "incidents"}, backend.NewStreamSender(nowhere{}))
	}()
	<-connected
	d.Dispose()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

type nowhere struct{}

func (nowhere) Send(*backend.StreamPacket) error { return nil }
