package assist

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quintet-dc/quintet/telemetry"
)

// addSite adds the tools for the site's entities and data sources.
func (t *tools) addSite(s *mcp.Server) {
	add(s, tool{"list_jobs", "List jobs",
		"Training and inference jobs: state, step and usual step in seconds, slowdown, MFU, sizes, goodput, open incidents. Degraded jobs first; under fleet the same of all jobs together."}, t.listJobs)
	add(s, tool{"get_topology", "Get what is around an entity",
		"Entities and relations around one entity: what contains it, what it is connected to, what runs on it, what feeds and cools it. Without an entity: how many there are of each kind."}, t.getTopology)
	add(s, tool{"get_coverage", "Get the state of data sources",
		"Which sources of telemetry there are, how often each reports, which are stale since when, whose clock is off, and which alarms the service has raised about itself. Stale ones first."}, t.getCoverage)
}

type listJobsIn struct {
	State string `json:"state,omitempty" jsonschema:"only jobs in this state: healthy, slow, stalled, failed, restarted, new or ended"`
	Name  string `json:"name,omitempty" jsonschema:"only jobs whose name has this in it"`
}

// job has the fields by which a job is selected; the rest is passed through
// unchanged.
type job struct {
	Job   string `json:"job"`
	State string `json:"state"`
	whole map[string]any
}

// UnmarshalJSON implements json.Unmarshaler.
func (j *job) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber()
	if err := d.Decode(&j.whole); err != nil {
		return err
	}
	delete(j.whole, "recent") // its last steps: get_evidence and query_metrics give curves
	j.Job, _ = j.whole["job"].(string)
	j.State, _ = j.whole["state"].(string)
	return nil
}

// MarshalJSON implements json.Marshaler.
func (j job) MarshalJSON() ([]byte, error) { return json.Marshal(j.whole) }

// graveFirst is the order in which states are listed.
const graveFirst = "failed stalled restarted slow new healthy ended"

func (t *tools) listJobs(ctx context.Context, in listJobsIn) (*result, error) {
	var got struct {
		Jobs  []job           `json:"jobs"`
		Fleet json.RawMessage `json:"fleet"`
	}
	if err := t.get(ctx, "/api/v1/jobs", nil, &got); err != nil {
		return nil, err
	}
	all, count := len(got.Jobs), map[string]int{}
	for _, j := range got.Jobs {
		count[j.State]++
	}
	jobs := slices.DeleteFunc(got.Jobs, func(j job) bool {
		return in.State != "" && j.State != in.State || !strings.Contains(j.Job, in.Name)
	})
	slices.SortStableFunc(jobs, func(a, b job) int {
		return strings.Index(graveFirst, a.State) - strings.Index(graveFirst, b.State)
	})
	words := []string{}
	for _, s := range strings.Fields(graveFirst) {
		if count[s] > 0 {
			words = append(words, itoa(count[s])+" "+s)
		}
	}
	if jobs == nil {
		jobs = []job{}
	}
	text := fmt.Sprintf("%d of %s receiving", len(jobs), plural(all, "job"))
	if len(words) > 0 {
		text += ": of all, " + strings.Join(words, ", ")
	}
	return &result{text: text + ".", tick: t.tick(ctx), page: "/jobs", data: map[string]any{"jobs": jobs, "fleet": got.Fleet}}, nil
}

type topologyIn struct {
	Entity   string `json:"entity,omitempty" jsonschema:"kind:name, such as nic:n012/mlx5_3; without it, counts by kind"`
	Hops     int    `json:"hops,omitempty" jsonschema:"how far around it, 1 to 4; default 1"`
	Relation string `json:"relation,omitempty" jsonschema:"only edges of this relation: contains, connects, pairs, runs, feeds, cools, uses or member"`
}

// edge is a relation in the form in which it is returned.
type edge struct {
	From     string            `json:"from"`
	To       string            `json:"to"`
	Relation string            `json:"rel"`
	Attrs    map[string]string `json:"attrs,omitempty"`
	Source   string            `json:"source"`
	Stale    bool              `json:"stale"`
}

func (t *tools) getTopology(ctx context.Context, in topologyIn) (*result, error) {
	in.Hops = cmp.Or(in.Hops, 1)
	if in.Hops < 1 || in.Hops > 4 {
		return nil, fmt.Errorf("hops: %d: want 1 to 4", in.Hops)
	}
	q := parameters("entity", in.Entity)
	if in.Entity != "" {
		if _, err := telemetry.ParseEntity(in.Entity); err != nil {
			return nil, err
		}
		q.Set("hops", itoa(in.Hops))
	}
	var got struct {
		Tick     *string        `json:"tick"`
		Kinds    map[string]int `json:"kinds"`
		Stale    int            `json:"stale"`
		Entities []struct {
			ID string `json:"id"`
		} `json:"entities"`
		Edges     []edge `json:"edges"`
		Truncated bool   `json:"truncated"`
	}
	if err := t.get(ctx, "/api/v1/topology", q, &got); err != nil {
		return nil, err
	}
	out := &result{}
	if got.Tick != nil {
		out.tick = *got.Tick
	}
	if in.Entity == "" {
		out.text = fmt.Sprintf("%s of entities, %d stale relations.", plural(len(got.Kinds), "kind"), got.Stale)
		out.data = map[string]any{"kinds": got.Kinds, "stale_edges": got.Stale}
		return out, nil
	}
	entities := []string{}
	for _, e := range got.Entities {
		entities = append(entities, e.ID)
	}
	if !slices.Contains(entities, in.Entity) {
		return nil, fmt.Errorf("entity: not found: %s; get_topology without entity lists the kinds", in.Entity)
	}
	edges := slices.DeleteFunc(got.Edges, func(e edge) bool { return in.Relation != "" && e.Relation != in.Relation })
	if edges == nil {
		edges = []edge{}
	}
	if got.Truncated {
		out.cut = append(out.cut, "edges: more than the API returns: request fewer hops")
	}
	out.text = fmt.Sprintf("%s within %s of %s, %s.", fmt.Sprintf("%d entities", len(entities)-1), plural(in.Hops, "hop"), in.Entity, plural(len(edges), "relation"))
	out.data = map[string]any{"entity": in.Entity, "entities": entities, "edges": edges}
	return out, nil
}

type coverageIn struct {
	Collector string `json:"collector,omitempty" jsonschema:"only sources of this collector"`
	Silent    bool   `json:"silent,omitempty" jsonschema:"only those that have fallen silent"`
}

// source is a data source and its state.
type source struct {
	Collector string      `json:"collector"`
	Target    string      `json:"target"`
	Part      string      `json:"part"`
	Series    int         `json:"series"`
	Latest    *string     `json:"latest"`
	Silent    bool        `json:"silent"`
	Cadence   json.Number `json:"cadence_seconds"`
	Offset    json.Number `json:"clock_offset_seconds"`
}

func (t *tools) getCoverage(ctx context.Context, in coverageIn) (*result, error) {
	var got struct {
		Sources []source `json:"sources"`
		Gaps    []struct {
			Collector string  `json:"collector"`
			Target    string  `json:"target"`
			Part      string  `json:"part"`
			From      string  `json:"from"`
			To        *string `json:"to"`
		} `json:"gaps"`
	}
	if err := t.get(ctx, "/api/v1/coverage", nil, &got); err != nil {
		return nil, err
	}
	var status struct {
		Tick   *string         `json:"tick"`
		Alarms json.RawMessage `json:"alarms"`
	}
	if err := t.get(ctx, "/api/v1/status", nil, &status); err != nil {
		return nil, err
	}
	series, stale, by := 0, 0, map[string]int{}
	for _, s := range got.Sources {
		series += s.Series
		by[s.Collector]++
		if s.Silent {
			stale++
		}
	}
	text := fmt.Sprintf("%s with %d series, %d silent.", plural(len(got.Sources), "source"), series, stale)
	sources := slices.DeleteFunc(got.Sources, func(s source) bool {
		return in.Collector != "" && s.Collector != in.Collector || in.Silent && !s.Silent
	})
	slices.SortStableFunc(sources, func(a, b source) int {
		if a.Silent != b.Silent {
			return map[bool]int{true: -1, false: 1}[a.Silent]
		}
		return 0
	})
	if sources == nil {
		sources = []source{}
	}
	out := &result{text: text, page: "/coverage", data: map[string]any{"sources": sources, "gaps": got.Gaps, "alarms": status.Alarms, "sources_by_collector": by}}
	if status.Tick != nil {
		out.tick = *status.Tick
	}
	return out, nil
}
