// Package grants decides which records a process may state. It is a pure function of
// the log: of the grants in force, which are a config record, and of the schemas that
// each process stated. Every replica refuses the same records.
//
// The log states which process published a record, because NATS lets a process publish
// under its own name only. A process that the grants do not list may state anything,
// and so may a record without a process: recordings, and the records of the site
// itself (ticks, configuration).
package grants

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/telemetry"
)

// Key is the key of the config record that carries Grants.
const Key telemetry.ConfigKey = "grants"

// Limits of what is granted.
const (
	maxProcesses = 1 << 16
	maxPatterns  = 1 << 14 // of one process
	maxPattern   = 256     // bytes
)

// Right is something that only some processes may state.
type Right string

// The rights.
const (
	Jobs        Right = "jobs"        // jobs and ranks: samples, events, edges
	Maintenance Right = "maintenance" // that maintenance of an entity started or ended
	Everything  Right = "all"
)

// Rights lists every right.
func Rights() []Right { return []Right{Jobs, Maintenance, Everything} }

// Grant is what one process may state. Patterns are names; one that ends with '*'
// matches every name that begins so.
type Grant struct {
	Process string `json:"process"`
	// Nodes are hosts: everything whose name is that of the host or is contained in
	// it ("n012", "n012/3"), of any kind.
	Nodes []string `json:"nodes,omitempty"`
	// Entities are patterns of "kind:name".
	Entities []string `json:"entities,omitempty"`
	// Jobs are patterns of names of jobs; where there are none, Jobs in May is every
	// job.
	Jobs []string `json:"jobs,omitempty"`
	// Events are names of events; where there are none, every event of a granted
	// entity.
	Events []string `json:"events,omitempty"`
	May    []Right  `json:"may,omitempty"`
	Budget Budget   `json:"budget,omitzero"`
}

// String lists what is granted.
func (g *Grant) String() string {
	var parts []string
	add := func(what string, list []string) {
		if len(list) > 0 {
			parts = append(parts, what+" "+strings.Join(list, ", "))
		}
	}
	if g.may(Everything) {
		return "everything"
	}
	add("hosts", g.Nodes)
	add("entities", g.Entities)
	if g.may(Jobs) && len(g.Jobs) == 0 {
		parts = append(parts, "every job")
	}
	add("jobs", g.Jobs)
	add("only the events", g.Events)
	if g.may(Maintenance) {
		parts = append(parts, "maintenance")
	}
	return strings.Join(parts, "; ")
}

// Validate returns what is wrong with a grant.
func (g *Grant) Validate() error {
	if g.Process == "" {
		return errors.New("grant: no process")
	}
	for _, list := range [][]string{g.Nodes, g.Entities, g.Jobs, g.Events} {
		if len(list) > maxPatterns {
			return fmt.Errorf("grant of %.60q: %d patterns, at most %d", g.Process, len(list), maxPatterns)
		}
		for _, p := range list {
			if p == "" || len(p) > maxPattern || strings.Contains(strings.TrimSuffix(p, "*"), "*") {
				return fmt.Errorf("grant of %.60q: pattern %.60q: want 1 to %d bytes, with '*' at the end only", g.Process, p, maxPattern)
			}
		}
	}
	for _, p := range g.Entities {
		if kind, _, ok := strings.Cut(p, ":"); p != "*" && (!ok || kind == "") {
			return fmt.Errorf("grant of %.60q: entity %.60q: want kind:name", g.Process, p)
		}
	}
	if err := g.Budget.Validate(); err != nil {
		return fmt.Errorf("grant of %.60q: %w", g.Process, err)
	}
	for _, r := range g.May {
		if !slices.Contains(Rights(), r) {
			return fmt.Errorf("grant of %.60q: right %.60q: want jobs, maintenance or all", g.Process, r)
		}
	}
	return nil
}

// Grants are those of a site, the content of a config record.
type Grants struct {
	Processes []Grant `json:"processes"`
}

// Config returns the body of the config record.
func (g Grants) Config(received telemetry.Time) (*telemetry.Config, error) {
	slices.SortFunc(g.Processes, func(a, b Grant) int { return cmp.Compare(a.Process, b.Process) })
	b, err := json.Marshal(g)
	if err != nil {
		return nil, fmt.Errorf("grants: %w", err)
	}
	if _, err := Parse(b); err != nil {
		return nil, err
	}
	return telemetry.NewConfig(Key, received, b), nil
}

// Parse reads what Config writes.
func Parse(content []byte) (g Grants, err error) {
	d := json.NewDecoder(bytes.NewReader(content))
	d.DisallowUnknownFields()
	if err := d.Decode(&g); err != nil {
		return Grants{}, fmt.Errorf("grants: %w", err)
	}
	if len(g.Processes) > maxProcesses {
		return Grants{}, fmt.Errorf("grants: %d processes, at most %d", len(g.Processes), maxProcesses)
	}
	for i := range g.Processes {
		if err := g.Processes[i].Validate(); err != nil {
			return Grants{}, err
		}
	}
	return g, nil
}

// matches reports whether a name matches one of the patterns.
func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		prefix, open := strings.CutSuffix(p, "*")
		return open && strings.HasPrefix(name, prefix) || p == name
	})
}

func (g *Grant) may(r Right) bool {
	return slices.Contains(g.May, r) || slices.Contains(g.May, Everything)
}

// job reports whether a process may state of a job, by the outer part of the name.
func (g *Grant) job(name string) bool {
	if !g.may(Jobs) {
		return false
	}
	outer, _, _ := strings.Cut(name, "/")
	return len(g.Jobs) == 0 || matches(g.Jobs, outer)
}

// entity reports whether a process may state of an entity.
func (g *Grant) entity(e telemetry.Entity) bool {
	outer, _, _ := strings.Cut(e.Name, "/")
	switch {
	case e.Kind == telemetry.Job, e.Kind == telemetry.Rank:
		return g.job(e.Name)
	case e.Kind == telemetry.Collector:
		return outer == telemetry.NamePart(g.Process) || g.may(Everything)
	case g.may(Everything), matches(g.Nodes, outer):
		return true
	}
	return matches(g.Entities, string(e.Kind)+":"+e.Name)
}

// edge reports whether a process may state an edge: what is contained, and one end of
// any other; both ends of what involves a job.
func (g *Grant) edge(e *telemetry.Edge) bool {
	for _, end := range []telemetry.Entity{e.From, e.To} {
		if (end.Kind == telemetry.Job || end.Kind == telemetry.Rank) && !g.job(end.Name) {
			return false
		}
	}
	if e.Relation == telemetry.Contains {
		return g.entity(e.To)
	}
	return g.entity(e.From) || g.entity(e.To)
}

// event returns why a process may not state an event; "" if it may.
func (g *Grant) event(e *telemetry.Event) Reason {
	switch {
	case e.Name == telemetry.EventMaintenanceStarted || e.Name == telemetry.EventMaintenanceEnded:
		if !g.may(Maintenance) {
			return NoMaintenance
		}
		return "" // it applies to everything that is processed
	case len(g.Events) > 0 && !slices.Contains(g.Events, string(e.Name)):
		return NoEvent
	}
	return g.about(e.Entity)
}

// about returns why a process may not state of an entity; "" if it may.
func (g *Grant) about(e telemetry.Entity) Reason {
	switch {
	case g.entity(e):
		return ""
	case e.Kind == telemetry.Job || e.Kind == telemetry.Rank:
		return NoJob
	}
	return NoEntity
}
