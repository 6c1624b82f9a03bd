package assist_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quintet-dc/quintet/correlate"
	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/lab/recorded"
	"github.com/quintet-dc/quintet/pipeline"
	"github.com/quintet-dc/quintet/pipeline/assist"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/pipeline/config"
	"github.com/quintet-dc/quintet/replay"
	"github.com/quintet-dc/quintet/replay/play"
	"github.com/quintet-dc/quintet/rules"
	"github.com/quintet-dc/quintet/telemetry"
)

// shift moves the recording to a time that people read.
const shift = telemetry.Duration(1_764_000_000 * time.Second)

// service is a real one into which the recording of a slow NIC was played.
type service struct {
	t   *testing.T
	url string
}

// start runs a service until the test ends.
func start(t *testing.T) *service {
	t.Helper()
	set, err := rules.Standard()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "run.qtrace")
	if err := os.WriteFile(path, recorded.Trace(), 0o600); err != nil {
		t.Fatal(err)
	}
	file := config.Default()
	file.Data, file.Listen = filepath.Join(t.TempDir(), "data"), "127.0.0.1:0"
	roles := pipeline.AllRoles()
	delete(roles, pipeline.Tick)
	delete(roles, pipeline.Collect)
	at := make(chan net.Addr, 1)
	c := pipeline.Config{File: file, Roles: roles, Process: "host", Version: "test", Engine: engineOf(set), Rerun: rerun(set),
		Listening: func(a net.Addr) { at <- a },
		Play:      func(ctx context.Context, log *bus.Bus) error { return playInto(ctx, log, path) }}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- pipeline.Run(ctx, c) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	s := &service{t: t}
	select {
	case a := <-at:
		s.url = "http://" + a.String()
	case err := <-done:
		t.Fatal(err)
	}
	s.awaitEnd(path)
	return s
}

func engineOf(set rules.Set) engine.Config {
	return engine.Config{Slices: 1, Correlate: correlate.Config{Catalogue: telemetry.DefaultCatalogue(), Signatures: set.Signatures, Rules: set.Digest}}
}

func playInto(ctx context.Context, log *bus.Bus, path string) error {
	rec, err := replay.Open(path, replay.OpenConfig{})
	if err != nil {
		return err
	}
	defer rec.Close()
	first, _ := rec.Span()
	return play.Run(ctx, play.Config{Recording: rec, Into: log, Collector: "recording", Site: "site", Speed: -1,
		State: &play.State{Shift: shift, Live: first.Add(shift), Speed: -1, First: first},
		Now:   func() telemetry.Time { return telemetry.Time(time.Now().UnixNano()) }})
}

func rerun(set rules.Set) func(context.Context, string) (*assist.Replayed, error) {
	return func(ctx context.Context, path string) (*assist.Replayed, error) {
		rec, err := replay.Open(path, replay.OpenConfig{})
		if err != nil {
			return nil, err
		}
		defer rec.Close()
		got, err := replay.Run(ctx, rec, replay.RunConfig{Engine: engineOf(set)})
		if err != nil {
			return nil, err
		}
		return &assist.Replayed{Incidents: got.Incidents, From: got.First, To: got.Last, Engine: correlate.Version, Rules: set.Digest}, nil
	}
}

// awaitEnd waits until the engine has processed the recording's last tick and its
// incident is reported.
func (s *service) awaitEnd(path string) {
	s.t.Helper()
	rec, err := replay.Open(path, replay.OpenConfig{})
	if err != nil {
		s.t.Fatal(err)
	}
	_, last := rec.Span()
	rec.Close()
	s.await("the end of the recording", func() bool {
		var status struct{ Tick telemetry.Time }
		var list struct{ Incidents []json.RawMessage }
		return s.get("/api/v1/status", &status) && status.Tick >= last.Add(shift).Add(-telemetry.Duration(10*time.Second)) &&
			s.get("/api/v1/incidents?state=resolved", &list) && len(list.Incidents) > 0
	})
}

func (s *service) get(path string, into any) bool {
	r, err := http.Get(s.url + path)
	if err != nil {
		return false
	}
	defer r.Body.Close()
	return r.StatusCode == http.StatusOK && json.NewDecoder(r.Body).Decode(into) == nil
}

func (s *service) await(what string, so func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for !so() {
		select {
		case <-look.C:
		case <-ctx.Done():
			s.t.Fatalf("waited in vain: %s", what)
		}
	}
}

// client is the SDK's own client.
type client struct {
	t       testing.TB
	session *mcp.ClientSession
}

func connect(t testing.TB, over mcp.Transport) *client {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s, err := c.Connect(t.Context(), over, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return &client{t, s}
}

func (s *service) http() mcp.Transport {
	return &mcp.StreamableClientTransport{Endpoint: s.url + assist.Path}
}

// inMemory connects a client to a server without a wire.
func inMemory(t testing.TB, c assist.Config) *client {
	t.Helper()
	near, far := mcp.NewInMemoryTransports()
	s, err := assist.New(c).Connect(t.Context(), far, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return connect(t, near)
}

// reply is what a call came to.
type reply struct {
	assist.Answer
	text  string // the first content
	bytes int    // of the structured content as JSON
	fault string // the tool's own error
}

// call calls a tool with JSON as its arguments.
func (c *client) call(name, arguments string) reply {
	c.t.Helper()
	got, err := c.session.CallTool(c.t.Context(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
	if err != nil {
		c.t.Fatalf("%s %s: %v", name, arguments, err)
	}
	return c.read(name, got)
}

func (c *client) read(name string, got *mcp.CallToolResult) reply {
	c.t.Helper()
	var out reply
	for i, x := range got.Content {
		text, ok := x.(*mcp.TextContent)
		if !ok {
			c.t.Fatalf("%s: content of type %T", name, x)
		}
		if i == 0 {
			out.text = text.Text
		}
	}
	if got.IsError {
		out.fault = out.text
		return out
	}
	b, err := json.Marshal(got.StructuredContent)
	if err != nil {
		c.t.Fatal(err)
	}
	out.bytes = len(b)
	if err := json.Unmarshal(b, &out.Answer); err != nil {
		c.t.Fatal(err)
	}
	second, _ := got.Content[1].(*mcp.TextContent)
	if !sameJSON([]byte(second.Text), b) {
		c.t.Errorf("%s: the text and the structured content differ", name)
	}
	return out
}

func sameJSON(a, b []byte) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return bytes.Equal(p, q)
}

// at reads a value of the answer by its path.
func (r reply) at(path ...any) any {
	v := r.Data
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

func (r reply) say(path ...any) string { return fmt.Sprint(r.at(path...)) }
