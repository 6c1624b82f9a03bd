package assist_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/pipeline/assist"
)

// The recording's one incident: host h9 receives slower than it is sent data.
func TestAnAssistantFindsTheCause(t *testing.T) {
	s := start(t)
	c := connect(t, s.http())

	all := c.call("list_incidents", `{"state":"all"}`)
	id := all.say("incidents", 0, "id")
	if got := all.say("incidents", 0, "root"); got != "nic:h9/nic0" {
		t.Fatalf("the list says %s: %s", got, all.text)
	}
	if open := c.call("list_incidents", `{}`); len(open.at("incidents").([]any)) != 0 || open.text != "No open incident." {
		t.Errorf("it is over, and yet: %s", open.text)
	}

	one := c.call("get_incident", `{"id":"`+id+`"}`)
	if one.say("incident", "root", "signature") != "slow-receiver" || one.Page != "/incidents/"+id {
		t.Errorf("the incident: %v at %s", one.at("incident", "root"), one.Page)
	}
	if !strings.HasPrefix(one.text, "train (12 GPUs) is ") || !strings.Contains(one.text, "blind spot") {
		t.Errorf("in words: %s", one.text)
	}
	if !slices.Contains(one.Cites.Entities, "nic:h9/nic0") || !slices.Contains(one.Cites.Entities, "job:train") {
		t.Errorf("it cites %v", one.Cites.Entities)
	}

	evidence := c.call("get_evidence", `{"id":"`+id+`","entity":"job:train"}`)
	before, _ := evidence.at("curves", 0, "median_before_onset").(float64)
	during, _ := evidence.at("curves", 0, "median_while_open").(float64)
	if evidence.say("curves", 0, "metric") != "job_step_seconds" || during < 1.8*before || before <= 0 {
		t.Errorf("the step went from %v to %v s", before, during)
	}
	if none := c.call("get_evidence", `{"id":"`+id+`","entity":"gpu:h1/0"}`); !strings.Contains(none.fault, "job:train") {
		t.Errorf("of an entity without a curve it says: %s", none.fault)
	}

	around := c.call("get_topology", `{"entity":"nic:h9/nic0"}`)
	if got := around.say("entities"); got != "[nic:h9/nic0 node:h9 port:leaf1/p2]" {
		t.Errorf("around the root: %s", got)
	}
	if jobs := c.call("list_jobs", `{"name":"train"}`); jobs.say("jobs", 0, "job") != "job:train" || jobs.at("jobs", 1) != nil {
		t.Errorf("jobs: %s", jobs.text)
	}
	lost := c.call("get_losses", `{"window":"24h"}`)
	if lost.say("causes", 0, "root") != "nic:h9/nic0" {
		t.Errorf("losses: %s", lost.text)
	}
	again := c.call("replay_incident", `{"id":"`+id+`"}`)
	if again.at("same") != true {
		t.Errorf("the replay: %s %v", again.text, again.at("incidents"))
	}
	told := c.call("query_metrics", `{"query":"max by (kind, name) (increase(port_pfc_tx_pause_seconds_total{kind=\"nic\"}[4m])) > 10"}`)
	if got := told.say("result", 0, "metric", "name"); got != "h9/nic0" || told.at("result", 1) != nil {
		t.Errorf("who sent pause: %s %v", told.text, told.at("result"))
	}
	if wrong := c.call("query_metrics", `{"query":"sum("}`); !strings.Contains(wrong.fault, "parse error") {
		t.Errorf("of a query that is none it says: %s", wrong.fault)
	}
	if sig := c.call("list_signatures", `{"name":"slow-receiver"}`); !strings.Contains(sig.say("needs"), "slow-receiver from pcie-downgrade") {
		t.Errorf("what tells it apart: %v", sig.at("needs"))
	}
}

// calls are one call of every tool, and more.
func calls(id string) [][2]string {
	return [][2]string{
		{"list_incidents", `{"state":"all"}`}, {"get_incident", `{"id":"` + id + `"}`}, {"get_evidence", `{"id":"` + id + `","points":200}`},
		{"list_jobs", `{}`}, {"get_topology", `{}`}, {"get_topology", `{"entity":"switch:spine0","hops":4}`}, {"query_metrics", `{"query":"port_up"}`},
		{"get_losses", `{}`}, {"get_budget", `{}`}, {"get_coupling", `{}`}, {"get_bottlenecks", `{"window":"1h"}`}, {"get_coverage", `{}`},
		{"list_signatures", `{}`}, {"replay_incident", `{"last":"1h"}`},
	}
}

// Laws of every answer: it is short, it names entities that exist and times that
// the log has, and it states its time.
func TestWhatEveryAnswerKeepsTo(t *testing.T) {
	s := start(t)
	c := connect(t, s.http())
	id := c.call("list_incidents", `{"state":"all"}`).say("incidents", 0, "id")
	first := time.Unix(0, int64(shift)).Add(-time.Hour).UTC()
	tools := map[string]bool{}
	for _, x := range calls(id) {
		tools[x[0]] = true
		got := c.call(x[0], x[1])
		if got.fault != "" {
			t.Errorf("%s %s: %s", x[0], x[1], got.fault)
			continue
		}
		if got.bytes > assist.MaxAnswer+1024 || got.text == "" || len(got.text) > 4096 {
			t.Errorf("%s: %d bytes, text %q", x[0], got.bytes, got.text)
		}
		if x[0] != "list_signatures" && got.Tick == "" {
			t.Errorf("%s does not say when it is", x[0])
		}
		for _, e := range got.Cites.Entities {
			var around struct{ Entities []struct{ ID string } }
			if !s.get("/api/v1/topology?hops=0&entity="+url.QueryEscape(e), &around) || len(around.Entities) != 1 {
				t.Errorf("%s cites %s, of which the topology knows nothing", x[0], e)
			}
		}
		for _, at := range []string{got.Cites.From, got.Cites.To} {
			if at == "" {
				continue
			}
			when, err := time.Parse(time.RFC3339Nano, at)
			if err != nil || when.Before(first.Add(-24*time.Hour)) {
				t.Errorf("%s cites the time %s", x[0], at)
			}
		}
	}
	for tool, err := range c.session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if !tools[tool.Name] {
			t.Errorf("no call of %s is tried here", tool.Name)
		}
		if a := tool.Annotations; a == nil || !a.ReadOnlyHint || !a.IdempotentHint || a.DestructiveHint == nil || *a.DestructiveHint {
			t.Errorf("%s does not say that it only reads", tool.Name)
		}
	}
}

// The list of tools is what assistants see of Quintet: a change must be intended.
// UPDATE=1 writes it again.
func TestToolsAsTheyAreListed(t *testing.T) {
	c := inMemory(t, assist.Config{API: &silent{}})
	got, err := c.session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.MarshalIndent(got.Tools, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	b = append(b, '\n')
	const file = "testdata/tools.json"
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(b) != string(want) {
		t.Errorf("%s is not what is listed:\n%s", file, b)
	}
}

// Whatever a tool is asked, the API is only ever asked to give.
func TestNothingIsChanged(t *testing.T) {
	var asked []string
	api := assist.Inside(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.Body != nil && r.Body != http.NoBody {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		asked = append(asked, r.URL.Path)
		w.WriteHeader(http.StatusTeapot)
	}))
	c := inMemory(t, assist.Config{API: api, Replay: rerunNothing})
	for _, x := range calls("inc-0123456789abcdef") {
		c.call(x[0], x[1])
	}
	if len(asked) < 12 {
		t.Errorf("only %v was asked", asked)
	}
}

// Over HTTP there is nothing but the call, and no way around the guard.
func TestTheServerGuardsIt(t *testing.T) {
	s := start(t)
	send := func(method, host, origin string) int {
		r, err := http.NewRequestWithContext(t.Context(), method, s.url+assist.Path, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if host != "" {
			r.Host = host
		}
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		return got.StatusCode
	}
	for _, x := range []struct {
		method, host, origin string
		want                 int
	}{
		{http.MethodPost, "", "", http.StatusOK},
		{http.MethodPost, "attacker.example", "", http.StatusMisdirectedRequest},
		{http.MethodPost, "", "https://attacker.example", http.StatusForbidden},
		{http.MethodGet, "", "", http.StatusMethodNotAllowed},
		{http.MethodDelete, "", "", http.StatusMethodNotAllowed},
	} {
		if got := send(x.method, x.host, x.origin); got != x.want {
			t.Errorf("%s as %q from %q: %d, want %d", x.method, x.host, x.origin, got, x.want)
		}
	}
}
