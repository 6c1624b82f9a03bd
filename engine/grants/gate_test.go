package grants_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/engine/grants"
	"github.com/quintet-dc/quintet/telemetry"
)

const start = telemetry.Time(1_800_000_000_000_000_000)

func entity(t *testing.T, text string) telemetry.Entity {
	t.Helper()
	e, err := telemetry.ParseEntity(text)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func schema(t *testing.T, target string, entities ...string) *telemetry.Record {
	t.Helper()
	s := &telemetry.Schema{Source: telemetry.Source{Collector: "sysfs", Target: target}, Columns: []telemetry.Column{{Metric: "m", Type: telemetry.Uint}}}
	for _, e := range entities {
		s.Entities = append(s.Entities, entity(t, e))
	}
	return &telemetry.Record{Kind: telemetry.SchemaRecord, Schema: s}
}

// frame is one of the schema of a record.
func frame(t *testing.T, of *telemetry.Record) *telemetry.Record {
	t.Helper()
	var e telemetry.Encoder
	b, err := e.AppendFrame(nil, of.Schema, &telemetry.Frame{Fingerprint: of.Schema.Fingerprint(), Incarnation: 1, Sequence: 1,
		Instants: []telemetry.Instant{{Source: start, Received: start}}, Words: make([]uint64, of.Schema.Len())})
	if err != nil {
		t.Fatal(err)
	}
	return &telemetry.Record{Kind: telemetry.FrameRecord, Frame: b}
}

func event(t *testing.T, of string, name telemetry.EventName) *telemetry.Record {
	t.Helper()
	return &telemetry.Record{Kind: telemetry.EventRecord, Event: &telemetry.Event{Entity: entity(t, of), At: start, Name: name}}
}

func edge(t *testing.T, from string, r telemetry.Relation, to string) *telemetry.Record {
	t.Helper()
	return &telemetry.Record{Kind: telemetry.EdgeRecord, Edge: &telemetry.Edge{From: entity(t, from), To: entity(t, to), Relation: r}}
}

func tick(n int) *telemetry.Record {
	return &telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: start.Add(telemetry.Duration(n) * 1_000_000_000)}}
}

// granted returns a gate with grants in force.
func granted(t *testing.T, list ...grants.Grant) *grants.Gate {
	t.Helper()
	g := grants.NewGate()
	g.Take("", tick(0))
	put(t, g, list...)
	return g
}

func put(t *testing.T, g *grants.Gate, list ...grants.Grant) {
	t.Helper()
	c, err := grants.Grants{Processes: list}.Config(start)
	if err != nil {
		t.Fatal(err)
	}
	if why := g.Take("", &telemetry.Record{Kind: telemetry.ConfigRecord, Config: c}); why != "" {
		t.Fatal(why)
	}
}

// Each statement of one host about what is not its own is refused, and what is its
// own passes.
func TestGateTake(t *testing.T) {
	list := []grants.Grant{
		{Process: "n012", Nodes: []string{"n012"}},
		{Process: "trainer", Nodes: []string{"n013"}, May: []grants.Right{grants.Jobs}, Jobs: []string{"llama-*"}},
		{Process: "fabric", Entities: []string{"switch:leaf*", "port:leaf*"}, Events: []string{"link_down"}},
		{Process: "ops", May: []grants.Right{grants.Everything}},
	}
	for _, c := range []struct {
		process string
		record  *telemetry.Record
		want    grants.Reason
	}{
		{"n012", schema(t, "a", "gpu:n012/3", "node:n012", "nic:n012/mlx5_0"), ""},
		{"n012", schema(t, "b", "gpu:n012/3", "gpu:n0121/3"), grants.NoEntity},
		{"n012", schema(t, "c", "job:llama-70b.481"), grants.NoJob},
		{"n012", schema(t, "d", "rank:llama-70b.481/17"), grants.NoJob},
		{"n012", schema(t, "e", "collector:n012/sysfs"), ""},
		{"n012", schema(t, "f", "collector:n013/sysfs"), grants.NoEntity},
		{"n012", event(t, "gpu:n012/3", telemetry.EventXID), ""},
		{"n012", event(t, "gpu:n013/3", telemetry.EventXID), grants.NoEntity},
		{"n012", event(t, "job:llama-70b.481", telemetry.EventJobFailed), grants.NoJob},
		{"n012", event(t, "node:n012", telemetry.EventMaintenanceStarted), grants.NoMaintenance},
		{"n012", event(t, "job:llama-70b.481", telemetry.EventMaintenanceStarted), grants.NoMaintenance},
		{"n012", edge(t, "node:n012", telemetry.Contains, "gpu:n012/3"), ""},
		{"n012", edge(t, "rack:r1", telemetry.Contains, "node:n012"), ""},
		{"n012", edge(t, "node:n012", telemetry.Contains, "gpu:n013/3"), grants.NoEdge},
		{"n012", edge(t, "nic:n012/mlx5_0", telemetry.Connects, "port:leaf1/eth1"), ""},
		{"n012", edge(t, "port:leaf2/eth1", telemetry.Connects, "port:leaf1/eth1"), grants.NoEdge},
		{"n012", edge(t, "job:llama-70b.481", telemetry.Runs, "gpu:n012/3"), grants.NoEdge},
		{"trainer", edge(t, "job:llama-70b.481", telemetry.Runs, "gpu:n012/3"), ""},
		{"trainer", edge(t, "job:other.1", telemetry.Runs, "gpu:n013/3"), grants.NoEdge},
		{"trainer", event(t, "rank:llama-70b.481/3", telemetry.EventCheckpointStarted), ""},
		{"trainer", event(t, "job:other.1", telemetry.EventJobFailed), grants.NoJob},
		{"fabric", event(t, "port:leaf1/eth1", telemetry.EventLinkDown), ""},
		{"fabric", event(t, "port:leaf1/eth1", telemetry.EventLinkUp), grants.NoEvent},
		{"fabric", event(t, "port:spine1/eth1", telemetry.EventLinkDown), grants.NoEntity},
		{"ops", event(t, "job:llama-70b.481", telemetry.EventMaintenanceStarted), ""},
		{"ops", schema(t, "g", "collector:n013/sysfs", "job:x"), ""},
		{"unlisted", event(t, "job:llama-70b.481", telemetry.EventMaintenanceStarted), ""},
		{"", event(t, "job:llama-70b.481", telemetry.EventJobFailed), ""},
	} {
		g := granted(t, list...)
		if got := g.Take(c.process, c.record); got != c.want {
			t.Errorf("%s: %+v %+v: %q, want %q", c.process, c.record.Event, c.record.Edge, got, c.want)
		}
		if c.want != "" && g.Refused()[c.want] != 1 {
			t.Errorf("%s: not counted as %s: %v", c.process, c.want, g.Refused())
		}
	}
}

// Whose schema it is, is whose frames pass.
func TestGateTakeFrames(t *testing.T) {
	a, b := grants.Grant{Process: "a", Nodes: []string{"a"}}, grants.Grant{Process: "b", Nodes: []string{"b", "a"}}
	g := granted(t, a, b)
	own, foreign := schema(t, "a", "gpu:a/0"), schema(t, "a", "gpu:b/0")
	check := func(what, process string, r *telemetry.Record, want grants.Reason) {
		t.Helper()
		if got := g.Take(process, r); got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	check("a frame before its schema", "a", frame(t, own), grants.NoSchema)
	check("its schema", "a", own, "")
	check("its frame", "a", frame(t, own), "")
	check("a frame by another process", "b", frame(t, own), grants.NoSchema)
	check("the same source by another process", "b", foreign, grants.NoSource)
	check("and its frames", "b", frame(t, foreign), grants.NoSchema)
	check("the same schema by another process", "b", own, grants.NoSource)
	check("its frame still", "a", frame(t, own), "")
	g.Take("", tick(900))
	check("when the first one is gone", "b", own, "")
	check("frames of the one that has it now", "b", frame(t, own), "")
	check("and of the one that had it", "a", frame(t, own), grants.NoSchema)
	for i := range 5000 {
		g.Take("a", schema(t, fmt.Sprint("many", i), "gpu:a/0"))
	}
	if n := g.Refused()[grants.TooMany]; n != 904 {
		t.Errorf("%d schemas too many, want 904", n)
	}
	check("the others go on", "b", schema(t, "b", "gpu:b/1"), "")
	g.Take("", tick(900+3600))
	check("once they are forgotten", "a", schema(t, "again", "gpu:a/0"), "")
}

// A gate that is restored decides as the one that went on.
func TestGateRestore(t *testing.T) {
	list := []grants.Grant{{Process: "a", Nodes: []string{"a"}}, {Process: "b", Nodes: []string{"a", "b"}}}
	own := schema(t, "a", "gpu:a/0")
	records := []struct {
		process string
		record  *telemetry.Record
	}{{"a", own}, {"b", own}, {"a", frame(t, own)}, {"b", frame(t, own)}, {"", tick(1000)}, {"b", own}, {"a", frame(t, own)}, {"b", frame(t, own)}, {"a", event(t, "node:b", telemetry.EventXID)}}
	for cut := range records {
		whole := granted(t, list...)
		for _, r := range records[:cut] {
			whole.Take(r.process, r.record)
		}
		b, err := whole.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		again, err := grants.Restore(b)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range records[cut:] {
			if x, y := whole.Take(r.process, r.record), again.Take(r.process, r.record); x != y {
				t.Errorf("cut at %d, record %d: %q, restored %q", cut, cut+i, x, y)
			}
		}
		x, _ := whole.Snapshot()
		if y, _ := again.Snapshot(); !bytes.Equal(x, y) {
			t.Errorf("cut at %d: the states differ:\n%s\n%s", cut, x, y)
		}
	}
	if b, err := grants.NewGate().Snapshot(); b != nil || err != nil {
		t.Errorf("of nothing: %q, %v", b, err)
	}
}

func TestGrantValidate(t *testing.T) {
	for want, g := range map[string]grants.Grant{
		"no process": {}, "'*' at the end only": {Process: "a", Nodes: []string{"*a"}}, "want kind:name": {Process: "a", Entities: []string{"leaf1"}},
		"want jobs, maintenance or all": {Process: "a", May: []grants.Right{"king"}}, "1 to 256 bytes": {Process: "a", Jobs: []string{strings.Repeat("x", 300)}},
	} {
		if err := g.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", g, err, want)
		}
	}
	g := granted(t, grants.Grant{Process: "a", Nodes: []string{"a"}})
	g.Take("", &telemetry.Record{Kind: telemetry.ConfigRecord, Config: telemetry.NewConfig(grants.Key, start, []byte("{"))})
	if why := g.Take("a", event(t, "node:b", telemetry.EventXID)); why != grants.NoEntity {
		t.Errorf("damaged grants put the old ones out of force: %q", why)
	}
	// A collector cannot state grants.
	if c, err := (grants.Grants{}).Config(start); err != nil {
		t.Fatal(err)
	} else if g.Take("a", &telemetry.Record{Kind: telemetry.ConfigRecord, Config: c}); g.Take("a", event(t, "node:b", telemetry.EventXID)) != grants.NoEntity {
		t.Error("a collector stated grants")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"processes":[{"process":"n012","nodes":["n012"],"may":["jobs"]}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		g, err := grants.Parse(b)
		if err != nil {
			return
		}
		c, err := g.Config(0)
		if err != nil {
			t.Fatalf("read, but cannot be written: %v", err)
		}
		if _, err := grants.Parse(c.Content); err != nil {
			t.Fatalf("written, but cannot be read: %v", err)
		}
	})
}
