package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/data"
	"github.com/grafana/grafana-plugin-sdk-go/genproto/pluginv2"
)

const project = "../../.." // Quintet, of which the plugin is a part

// built is the back end that `make` puts into dist.
func built(t *testing.T) string {
	program := filepath.Join("..", "dist", "gpx_quintet_linux_"+runtime.GOARCH)
	if _, err := os.Stat(program); err != nil {
		t.Skipf("the back end is not built (make build): %v", err)
	}
	return program
}

// program is the real Quintet: that of $QUINTET, else the project's, built once.
var program = sync.OnceValues(func() (string, error) {
	if p := os.Getenv("QUINTET"); p != "" {
		return p, nil
	}
	dir, err := os.MkdirTemp("", "quintet")
	if err != nil {
		return "", err
	}
	out, err := exec.Command("go", "build", "-C", project, "-o", filepath.Join(dir, "quintet"), "./cmd/quintet").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return filepath.Join(dir, "quintet"), nil
})

// quintet runs it on its own recording, in which an incident opens soon, and
// gives its address.
func quintet(t *testing.T) string {
	t.Helper()
	program, err := program()
	if err != nil {
		t.Skipf("Quintet does not build: %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "demo", "--recorded", "--past=110s", "--listen="+address)
	cmd.Dir = t.TempDir()
	said := &quiet{}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Logf("quintet: %v\n%s", err, said)
		}
	})
	for deadline := time.Now().Add(60 * time.Second); ; {
		if resp, err := http.Get("http://" + address + "/-/ready"); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return "http://" + address
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("Quintet is not ready")
		}
		<-time.After(20 * time.Millisecond)
	}
}

// told is an incident, whether its cause was named, and when it was received.
type told struct {
	id    string
	named bool
	at    time.Time
}

// listen reads Quintet's own stream, from its first incident on.
func listen(t *testing.T, url string) <-chan told {
	t.Helper()
	resp, err := http.Get(url + "/api/v1/stream?after=0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	out := make(chan told, 64)
	go func() {
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 4<<20)
		for incident := false; lines.Scan(); {
			line := lines.Text()
			if name, ok := strings.CutPrefix(line, "event: "); ok {
				incident = name == "incident"
			}
			if body, ok := strings.CutPrefix(line, "data: "); ok && incident {
				var i struct {
					ID   string
					Root *struct{ Signature string }
				}
				if json.Unmarshal([]byte(body), &i) == nil {
					out <- told{i.ID, i.Root != nil, time.Now()}
				}
			}
		}
	}()
	return out
}

// An incident of the real Quintet arrives over Grafana Live within a second of its
// opening; after that every query about it has an answer.
func TestAnIncidentOfARealQuintet(t *testing.T) {
	p, err := start(built(t), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.stop)
	url := quintet(t)
	h := newHost(p, url)
	first, err := p.stream.SubscribeStream(t.Context(), &pluginv2.SubscribeStreamRequest{PluginContext: h.context(), Path: "incidents"})
	if err != nil || first.Status != pluginv2.SubscribeStreamResponse_OK {
		t.Fatalf("%v, %v", first, err)
	}
	picture := &data.Frame{}
	if err := json.Unmarshal(first.Data, picture); err != nil {
		t.Fatal(err)
	}
	if picture.Rows() > 0 {
		t.Fatal("the incident was open before anybody looked: begin earlier in the recording")
	}
	run, err := p.stream.RunStream(t.Context(), &pluginv2.RunStreamRequest{PluginContext: h.context(), Path: "incidents"})
	if err != nil {
		t.Fatal(err)
	}
	direct := listen(t, url)
	packet, err := run.Recv()
	if err != nil {
		t.Fatal(err)
	}
	here := time.Now()
	opened := <-direct
	if !strings.Contains(string(packet.Data), opened.id) {
		t.Errorf("the stream tells of %s, not of %s", packet.Data, opened.id)
	}
	late := here.Sub(opened.at)
	t.Logf("Quintet tells of %s, Grafana's server has it %s later", opened.id, late.Round(100*time.Microsecond))
	if late > time.Second {
		t.Errorf("it is told %s after its opening, want at most a second", late)
	}
	// An incident may open before its cause is known, and has no chain until then.
	for said := opened; !said.named || said.id != opened.id; {
		select {
		case said = <-direct:
		case <-time.After(2 * time.Minute):
			t.Fatal("no cause is named")
		}
	}
	everything(t, h, opened.id)
}

// everything asks all there is to ask.
func everything(t *testing.T, h *host, incident string) {
	health, err := h.diagnostics.CheckHealth(t.Context(), &pluginv2.CheckHealthRequest{PluginContext: h.context()})
	if err != nil || health.Status != pluginv2.CheckHealthResponse_OK {
		t.Errorf("health: %v, %v", health, err)
	}
	t.Log(health.GetMessage())
	rows := map[string]int{ // the least of the first frame
		`{"queryType":"incidents"}`:                              1,
		`{"queryType":"incidents","job":"train"}`:                1,
		`{"queryType":"incidents","domains":["cooling"]}`:        0,
		`{"queryType":"annotations"}`:                            1,
		`{"queryType":"chain"}`:                                  2,
		`{"queryType":"chain","incident":"` + incident + `"}`:    2,
		`{"queryType":"curves","incident":"` + incident + `"}`:   1,
		`{"queryType":"topology"}`:                               50,
		`{"queryType":"topology","entity":"job:train"}`:          10,
		`{"queryType":"jobs"}`:                                   2,
		`{"queryType":"jobs","format":"steps"}`:                  1,
		`{"queryType":"losses"}`:                                 0,
		`{"queryType":"losses","groupBy":"job"}`:                 0,
		`{"queryType":"losses","groupBy":"domain"}`:              6,
		`{"queryType":"losses","groupBy":"day"}`:                 0,
		`{"queryType":"coupling"}`:                               5,
		`{"queryType":"coupling","format":"pairs"}`:              25,
		`{"queryType":"coupling","format":"graph"}`:              5,
		`{"queryType":"budget"}`:                                 10,
		`{"queryType":"budget","format":"wide","job":"train"}`:   1,
		`{"queryType":"bottlenecks"}`:                            3,
		`{"queryType":"coverage"}`:                               2,
		`{"queryType":"coverage","format":"table"}`:              20,
		`{"queryType":"openIncidents"}`:                          3,
		`{"queryType":"lossRate"}`:                               6,
		`{"queryType":"values","of":"signatures"}`:               40,
		`{"queryType":"values","of":"entities","search":"nic:"}`: 16,
	}
	for query, least := range rows {
		req := backend.ToProto().QueryDataRequest(&backend.QueryDataRequest{Queries: []backend.DataQuery{{
			RefID: "A", JSON: []byte(query), TimeRange: backend.TimeRange{From: time.Now().Add(-time.Hour), To: time.Now()},
		}}})
		req.PluginContext = h.context()
		raw, err := h.data.QueryData(t.Context(), req)
		if err != nil {
			t.Errorf("%s: %v", query, err)
			continue
		}
		got, err := backend.FromProto().QueryDataResponse(raw)
		if err = errors.Join(err, got.Responses["A"].Error); err != nil {
			t.Errorf("%s: %v", query, err)
			continue
		}
		if f := got.Responses["A"].Frames; len(f) == 0 || f[0].Rows() < least {
			t.Errorf("%s: %d frames, want one with at least %d rows", query, len(f), least)
		}
	}
}

// quiet lets a program's two outputs be read while it writes.
type quiet struct {
	mu sync.Mutex
	b  strings.Builder
}

func (q *quiet) Write(p []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.b.Write(p)
}

func (q *quiet) String() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.b.String()
}
