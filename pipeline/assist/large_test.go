package assist_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quintet-dc/quintet/pipeline/assist"
	"github.com/quintet-dc/quintet/rules"
)

// silent is an API that refuses everything.
type silent struct{}

func (silent) Get(context.Context, string, url.Values, io.Writer) error {
	return &assist.Refusal{Status: 503, Text: "no engine answers"}
}

func rerunNothing(context.Context, string) (*assist.Replayed, error) {
	return &assist.Replayed{To: 1 << 62}, nil
}

// large is the API of a site on which every job is degraded: every response is as
// long as the API ever returns.
type large struct{}

const largeTick = "2026-11-21T12:00:00Z"

func (large) Get(_ context.Context, path string, _ url.Values, w io.Writer) error {
	e := json.NewEncoder(w)
	switch {
	case path == "/api/v1/status":
		return e.Encode(map[string]any{"tick": largeTick, "alarms": many(40, func(i int) any { return map[string]any{"name": "alarm", "text": strings.Repeat("x", 300)} })})
	case path == "/api/v1/incidents":
		return e.Encode(map[string]any{"truncated": true, "incidents": many(1000, incident)})
	case strings.HasSuffix(path, "/curves"):
		return e.Encode(map[string]any{"from": largeTick, "to": "2026-11-21T13:00:00Z", "curves": many(64, curve)})
	case strings.HasSuffix(path, "/notes"):
		return e.Encode(map[string]any{"acknowledged": map[string]any{"by": "x", "text": strings.Repeat("ä", 10_000)}})
	case strings.HasPrefix(path, "/api/v1/incidents/"):
		return e.Encode(incident(1))
	case path == "/api/v1/jobs":
		return e.Encode(map[string]any{"fleet": map[string]any{}, "jobs": many(20_000, func(i int) any { return map[string]any{"job": fmt.Sprintf("job:j%d", i), "state": "slow"} })})
	case path == "/api/v1/topology":
		return e.Encode(map[string]any{"tick": largeTick, "truncated": true, "entities": many(5000, func(i int) any { return map[string]any{"id": port(i)} }),
			"edges": many(5000, func(i int) any { return map[string]any{"from": port(i), "to": port(i + 1), "rel": "connects"} })})
	case path == "/api/v1/coverage":
		return e.Encode(map[string]any{"sources": many(20_000, func(i int) any {
			return map[string]any{"collector": "gnmi", "target": port(i), "series": 40, "silent": i%2 == 0}
		})})
	case strings.HasPrefix(path, "/prometheus/"):
		return e.Encode(map[string]any{"data": map[string]any{"resultType": "matrix", "result": many(500, func(i int) any {
			return map[string]any{"metric": map[string]any{"kind": "port", "name": port(i)[5:]}, "values": many(100, func(k int) any { return []any{1.7e9 + float64(k), "1"} })}
		})}})
	}
	return e.Encode(map[string]any{"from": largeTick, "to": largeTick, "jobs": many(1000, cost), "causes": many(1000, cost), "days": many(31, cost)})
}

func many(n int, f func(int) any) []any {
	out := make([]any, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}

func port(i int) string { return fmt.Sprintf("port:leaf%d/eth%d", i/64, i%64) }

func incident(i int) any {
	return map[string]any{"id": fmt.Sprintf("inc-%016x", i), "state": "open", "kind": "incident", "severity": "critical", "title": strings.Repeat("long ", 80),
		"opened": largeTick, "updated": largeTick, "root": map[string]any{"entity": port(i), "domain": "network", "signature": "incast", "confidence": 0.5},
		"impact": map[string]any{"jobs": many(60, func(k int) any { return map[string]any{"job": fmt.Sprintf("job:j%d", k), "gpu_seconds_lost": 1} }), "entities": []any{}},
		"chain": many(24, func(k int) any {
			return map[string]any{"entity": port(k), "domain": "network", "why": strings.Repeat("because ", 30)}
		})}
}

func cost(i int) any {
	return map[string]any{"job": fmt.Sprintf("job:j%d", i), "root": port(i), "signature": "incast", "gpu_seconds_lost": 1000 - i, "share": 0.001}
}

func curve(i int) any {
	return map[string]any{"entity": port(i), "metric": "port_up", "t": many(2000, func(k int) any { return 1795262400000 + 1000*k }), "v": many(2000, func(k int) any { return float64(k % 7) })}
}

// However large the site: an answer is short, and states what it leaves out.
func TestAnswersOfALargeSite(t *testing.T) {
	set, err := rules.Standard()
	if err != nil {
		t.Fatal(err)
	}
	c := inMemory(t, assist.Config{API: large{}, Replay: rerunNothing, Signatures: set.Signatures})
	for _, x := range [][2]string{
		{"list_incidents", `{"limit":50}`}, {"get_incident", `{"id":"inc-0000000000000001"}`}, {"get_evidence", `{"id":"inc-0000000000000001","points":200}`}, {"list_jobs", `{}`},
		{"get_topology", `{"entity":"port:leaf0/eth0","hops":4}`}, {"get_coverage", `{}`}, {"query_metrics", `{"query":"up","start":"2026-11-21T11:00:00Z"}`},
		{"get_losses", `{}`}, {"get_budget", `{}`}, {"replay_incident", `{"last":"2h"}`},
	} {
		got := c.call(x[0], x[1])
		switch {
		case got.fault != "":
			t.Errorf("%s: %s", x[0], got.fault)
		case got.bytes > assist.MaxAnswer+1024 || got.bytes < 1000: // escapes of a second encoding
			t.Errorf("%s: %d bytes", x[0], got.bytes)
		case len(got.Cut) == 0:
			t.Errorf("%s does not say what it leaves out", x[0])
		case len(got.Cites.Entities) == 0 || len(got.Cites.Entities) > 64:
			t.Errorf("%s cites %d entities", x[0], len(got.Cites.Entities))
		}
	}
}

// The same facts are cut in the same way for every caller.
func TestCutsAreRepeatable(t *testing.T) {
	c := inMemory(t, assist.Config{API: large{}})
	a, b := c.call("get_incident", `{"id":"inc-0000000000000001"}`), c.call("get_incident", `{"id":"inc-0000000000000001"}`)
	if a.say() != b.say() || !slices.Equal(a.Cut, b.Cut) {
		t.Error("two answers differ")
	}
}

// The error of a wrong question shows how to correct it.
func TestRefusalsHelp(t *testing.T) {
	set, err := rules.Standard()
	if err != nil {
		t.Fatal(err)
	}
	c := inMemory(t, assist.Config{API: large{}, Signatures: set.Signatures})
	for _, x := range []struct{ tool, arguments, want string }{
		{"get_incident", `{"id":"../status"}`, "16 hex digits"},
		{"get_incident", `{}`, "id"},
		{"list_incidents", `{"limit":1000}`, "1 to 50"},
		{"list_incidents", `{"stat":"open"}`, "stat"},
		{"get_topology", `{"entity":"leaf1"}`, "kind:name"},
		{"get_topology", `{"entity":"gpu:n1/0"}`, "not found: gpu:n1/0"},
		{"get_topology", `{"entity":"gpu:n1/0","hops":9}`, "1 to 4"},
		{"query_metrics", `{"query":""}`, "PromQL"},
		{"query_metrics", `{"query":"up","start":"yesterday"}`, "RFC 3339"},
		{"query_metrics", `{"query":"up","start":"2026-11-21T11:00:00Z","step":"1s"}`, "at most 120"},
		{"query_metrics", `{"query":"up","end":"2026-11-21T11:00:00Z"}`, "start"},
		{"list_signatures", `{"name":"gremlins"}`, "no signature is called"},
		{"replay_incident", `{"last":"1h"}`, "cannot replay"},
	} {
		if got := c.call(x.tool, x.arguments); !strings.Contains(got.fault, x.want) {
			t.Errorf("%s %s: %q", x.tool, x.arguments, got.fault)
		}
	}
	quiet := inMemory(t, assist.Config{API: silent{}})
	if got := quiet.call("list_jobs", `{}`); !strings.Contains(got.fault, "no engine answers") || !strings.Contains(got.fault, "ask again") {
		t.Errorf("without an engine: %q", got.fault)
	}
}

// FuzzArguments calls tools with whatever comes: an answer within its bounds, or
// a refusal.
func FuzzArguments(f *testing.F) {
	for i, x := range calls("inc-0000000000000001") {
		f.Add(uint8(i), x[1])
	}
	f.Add(uint8(2), `{"id":"inc-0000000000000001","points":-1}`)
	f.Add(uint8(6), `{"query":"\u0000","start":"0001-01-01T00:00:00Z","step":"1ns"}`)
	set, err := rules.Standard()
	if err != nil {
		f.Fatal(err)
	}
	c := inMemory(f, assist.Config{API: &scant{rand.New(rand.NewPCG(1, 2))}, Replay: rerunNothing, Signatures: set.Signatures})
	names := []string{}
	for _, x := range calls("") {
		names = append(names, x[0])
	}
	f.Fuzz(func(t *testing.T, which uint8, arguments string) {
		if !json.Valid([]byte(arguments)) {
			return
		}
		name := names[int(which)%len(names)]
		got, err := c.session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
		if err != nil {
			return // refused as a message
		}
		in := client{t: t}
		if r := in.read(name, got); r.bytes > assist.MaxAnswer+1024 || r.text == "" {
			t.Errorf("%s %s: %d bytes, %q", name, arguments, r.bytes, r.text)
		}
	})
}

// scant is an API whose answers are shaped as they like.
type scant struct{ r *rand.Rand }

func (s *scant) Get(_ context.Context, _ string, _ url.Values, w io.Writer) error {
	shapes := []string{`{}`, `null`, `[]`, `{"incidents":null,"jobs":[{}],"tick":null}`, `{"tick":"x","entities":[{"id":"a"}],"edges":[{}]}`,
		`{"data":{"resultType":"vector","result":[{"value":[1,"2"]},{"values":[[1]]},3]}}`, `{"curves":[{"t":[1,2],"v":[null]}]}`, `{"fleet":7}`}
	_, err := io.WriteString(w, shapes[s.r.IntN(len(shapes))])
	return err
}
