package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quintet-dc/quintet/pipeline/notify/graph"
	"github.com/quintet-dc/quintet/pipeline/notify/match"
	"github.com/quintet-dc/quintet/telemetry"
)

func entity(t testing.TB, s string) telemetry.Entity {
	t.Helper()
	e, err := telemetry.ParseEntity(s)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// engine answers from edges as "from rel to".
type engine struct {
	edges []string
	asked atomic.Int64
	gone  atomic.Bool
}

func (e *engine) Ask(_ context.Context, what string, req []byte) ([]byte, error) {
	if e.asked.Add(1); e.gone.Load() {
		return nil, errors.New("no engine")
	}
	if what == "maintenance" {
		return []byte(`{"entities":["rack:r1"]}`), nil
	}
	var q struct {
		Entity string
		Hops   int
	}
	if err := json.Unmarshal(req, &q); err != nil || q.Hops != 1 {
		return nil, fmt.Errorf("%s: %w", req, err)
	}
	var out []string
	for _, x := range e.edges {
		f := strings.Fields(x)
		if f[0] == q.Entity || f[2] == q.Entity {
			out = append(out, fmt.Sprintf(`{"from":%q,"rel":%q,"to":%q,"attrs":{}}`, f[0], f[1], f[2]))
		}
	}
	return []byte(`{"edges":[` + strings.Join(out, ",") + `]}`), nil
}

// known waits until the engine has been asked.
func known(t *testing.T, g *graph.Graph, e telemetry.Entity) []graph.Step {
	t.Helper()
	for range 100 {
		if steps, ok := g.Above(e); ok {
			return steps
		}
		<-time.After(100 * time.Millisecond)
	}
	t.Fatal("it is never known")
	return nil
}

func words(steps []graph.Step) string {
	var out []string
	for _, s := range steps {
		w := s.Entity.String() + " " + s.How
		if s.Inside {
			w += " (inside)"
		}
		out = append(out, w)
	}
	return strings.Join(out, "; ")
}

func run(t *testing.T, e *engine) *graph.Graph {
	t.Helper()
	g := graph.New(e, nil, nil)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); g.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return g
}

func TestAbove(t *testing.T) {
	edges := []string{"node:h1 contains gpu:h1/3", "rack:r1 contains node:h1", "rack:r1 contains node:h2", "hall:a contains rack:r1", "cdu:c1 cools rack:r1", "loop:l contains cdu:c1", "feed:f feeds pdu:p", "pdu:p feeds node:h1",
		"gpu:h1/3 pairs nic:h1/n0", "job:j runs gpu:h1/3", "job:j uses storage:s", "port:leaf/p1 connects nic:h1/n0"}
	synctest.Test(t, func(t *testing.T) {
		g := run(t, &engine{edges: edges})
		for from, want := range map[string]string{
			"gpu:h1/3":  "node:h1 contains gpu:h1/3 (inside); pdu:p feeds node:h1; rack:r1 contains node:h1 (inside); feed:f feeds pdu:p; cdu:c1 cools rack:r1; hall:a contains rack:r1 (inside); loop:l contains cdu:c1",
			"job:j":     "gpu:h1/3 runs job:j; storage:s serves job:j; node:h1 contains gpu:h1/3; pdu:p feeds node:h1; rack:r1 contains node:h1; feed:f feeds pdu:p; cdu:c1 cools rack:r1; hall:a contains rack:r1; loop:l contains cdu:c1",
			"nic:h1/n0": "node:h1 contains nic:h1/n0 (inside); port:leaf/p1 is the other end of the cable of nic:h1/n0; switch:leaf contains the other end of the cable of nic:h1/n0; pdu:p feeds node:h1; rack:r1 contains node:h1 (inside); feed:f feeds pdu:p; cdu:c1 cools rack:r1; hall:a contains rack:r1 (inside); loop:l contains cdu:c1",
			"hall:a":    "",
		} {
			if got := words(known(t, g, entity(t, from))); got != want {
				t.Errorf("%s: %s", from, got)
			}
		}
		f := g.Within(match.Facts{}.With(match.Within, "gpu:h1/3"), entity(t, "gpu:h1/3"))
		if got := strings.Join(f.All(match.Within), " "); got != "gpu:h1/3 node:h1 rack:r1 hall:a" {
			t.Error(got)
		}
		if of, is := g.Maintained(entity(t, "gpu:h1/3")); !is || of.String() != "rack:r1" {
			t.Errorf("%v %v", of, is)
		}
		if _, is := g.Maintained(entity(t, "hall:a")); is {
			t.Error("what is in it is under maintenance, not it")
		}
	})
}

// TestWithoutAnEngine checks that names give the containers that they can, and that
// no caller waits.
func TestWithoutAnEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		alone := graph.New(nil, nil, nil)
		steps, ok := alone.Above(entity(t, "queue:leaf/p1/3"))
		if got := words(steps); !ok || got != "port:leaf/p1 contains queue:leaf/p1/3 (inside); switch:leaf contains queue:leaf/p1/3 (inside)" {
			t.Errorf("%v %s", ok, got)
		}
		e := &engine{edges: []string{"rack:r1 contains node:h1"}}
		g := run(t, e)
		if got := words(known(t, g, entity(t, "gpu:h1/3"))); !strings.Contains(got, "rack:r1") {
			t.Error(got)
		}
		e.gone.Store(true)
		<-time.After(2 * time.Minute)
		if got := words(known(t, g, entity(t, "gpu:h1/3"))); !strings.Contains(got, "rack:r1") {
			t.Errorf("what was known is forgotten: %s", got)
		}
		if got := words(known(t, g, entity(t, "gpu:h2/3"))); got != "node:h2 contains gpu:h2/3 (inside)" {
			t.Error(got)
		}
	})
}

// TestBounds has a chain without an end and a ring.
func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &engine{}
		for i := range 100 {
			e.edges = append(e.edges, fmt.Sprintf("rack:r%d feeds rack:r%d", i+1, i), fmt.Sprintf("pdu:p%d feeds node:n", i))
		}
		e.edges = append(e.edges, "row:a contains row:b", "row:b contains row:a")
		g := run(t, e)
		for from, want := range map[string]int{"rack:r0": 8, "node:n": 64, "row:a": 1} {
			if got := known(t, g, entity(t, from)); len(got) != want {
				t.Errorf("%s: %d above it", from, len(got))
			}
		}
		if n := e.asked.Load(); n > 200 {
			t.Errorf("%d questions", n)
		}
	})
}
