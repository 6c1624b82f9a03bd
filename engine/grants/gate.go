package grants

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/telemetry"
)

// Reason is why a record was refused.
type Reason string

// The reasons.
const (
	NoEntity      Reason = "entity"      // of an entity that is not granted
	NoJob         Reason = "job"         // of a job that is not granted
	NoMaintenance Reason = "maintenance" // of maintenance
	NoEvent       Reason = "event"       // of an event that is not granted
	NoEdge        Reason = "edge"        // neither end is granted
	NoSource      Reason = "source"      // another process states this source
	NoSchema      Reason = "schema"      // the process did not state the frame's schema, or it was refused

	// Beyond the budget of the process.
	TooMany     Reason = "schemas" // more schemas than a process may have
	OverSeries  Reason = "series"  // new series
	OverEdges   Reason = "edges"   // edges in force
	OverRecords Reason = "records" // records a second
	OverBytes   Reason = "bytes"   // bytes a second
	OverEvents  Reason = "events"  // events a second
	OverWaiting Reason = "waiting" // bytes that wait for their grid
	OverAhead   Reason = "ahead"   // events and edges of a time that is yet to come
)

// Budget reports whether a record was refused because its process is over its budget.
func (r Reason) Budget() bool {
	switch r {
	case TooMany, OverSeries, OverEdges, OverRecords, OverBytes, OverEvents, OverWaiting, OverAhead:
		return true
	}
	return false
}

const (
	// maxSchemas of one process with a grant are remembered; more are refused. One
	// that may state anything may be the only one of a site.
	maxSchemas, maxAllSchemas = 4096, 1 << 17
	// forgetAfter is how long a schema that is not stated again is remembered. Every
	// process states its schemas again every five minutes.
	forgetAfter = telemetry.Duration(3600e9)
	// sourceAfter is how long a source belongs to the process that stated it last.
	sourceAfter = telemetry.Duration(15 * 60e9)
	// maxRefused bounds the processes whose refusals are counted one by one.
	maxRefused = 1 << 14
)

// Gate decides about one record after another. It is not safe for concurrent use.
// Make one with NewGate.
type Gate struct {
	content  []byte // of the grants in force; nil if there are none
	grants   map[string]*Grant
	tick     telemetry.Time
	schemas  map[telemetry.Fingerprint]stated
	accounts map[string]*account
	sources  map[telemetry.Source]stated
	refused  map[string]map[Reason]uint64
}

// stated is who stated something last, and when.
type stated struct {
	process string
	at      telemetry.Time
	granted bool
	series  int
	class   telemetry.LatenessClass
}

// NewGate returns a gate without grants: everything passes.
func NewGate() *Gate {
	return &Gate{grants: map[string]*Grant{}, schemas: map[telemetry.Fingerprint]stated{}, accounts: map[string]*account{},
		sources: map[telemetry.Source]stated{}, refused: map[string]map[Reason]uint64{}}
}

// Take decides about the next record of the log, which a process published; process
// is "" where that is not known. It returns why the record is refused, or "". Its
// work and the state that it keeps do not depend on the content of a frame.
func (g *Gate) Take(process string, r *telemetry.Record) Reason {
	switch r.Kind {
	case telemetry.TickRecord:
		if g.tick == 0 || r.Tick.At > g.tick && r.Tick.At.Sub(g.tick) <= maxJump {
			g.tick = r.Tick.At
		}
		return ""
	case telemetry.ConfigRecord:
		if r.Config.Key == Key && process == "" {
			g.adopt(r.Config.Content)
		}
		return ""
	}
	if process == "" {
		return ""
	}
	a := g.account(process)
	why := a.rate(g.tick, r)
	if why == "" {
		why = g.judge(process, a, r)
	}
	if why != "" {
		g.refuse(process, why)
	}
	return why
}

func (g *Gate) judge(process string, a *account, r *telemetry.Record) Reason {
	grant := g.grants[process]
	switch r.Kind {
	case telemetry.SchemaRecord:
		return g.schema(process, grant, r.Schema)
	case telemetry.FrameRecord:
		return g.frame(process, grant, r.Frame)
	case telemetry.EventRecord:
		if grant != nil {
			if why := grant.event(r.Event); why != "" {
				return why
			}
		}
		return a.event(g.tick, r.Event)
	case telemetry.EdgeRecord:
		if grant != nil && !grant.edge(r.Edge) {
			return NoEdge
		}
		return a.edge(g.tick, r.Edge)
	}
	return ""
}

func (g *Gate) frame(process string, grant *Grant, b telemetry.EncodedFrame) Reason {
	h, err := b.Header()
	if err != nil {
		return "" // the engine counts it
	}
	s, ok := g.schemas[h.Fingerprint]
	switch {
	case grant != nil && (!ok || s.process != process || !s.granted):
		return NoSchema
	case ok:
		return g.accounts[process].frame(g.tick, b, h, &s)
	}
	return g.accounts[process].frame(g.tick, b, h, nil)
}

// schema records which process states a schema, and decides whether its frames
// pass. Processes without a grant are recorded, too: they may get one.
func (g *Gate) schema(process string, grant *Grant, s *telemetry.Schema) Reason {
	print := s.Fingerprint()
	was, known := g.schemas[print]
	owner, owned := g.sources[s.Source]
	why := Reason("")
	if grant != nil {
		for _, e := range s.Entities {
			if why = grant.about(e); why != "" {
				break
			}
		}
		if why == "" && owned && owner.process != process && g.tick.Sub(owner.at) < sourceAfter {
			why = NoSource
		}
	}
	if why != "" && known && was.process != process {
		return why // it stays with whose it is
	}
	another := !known || was.process != process
	if another && !g.room(process, grant) {
		return TooMany
	}
	if why == "" && (another || !was.granted) {
		if over := g.accounts[process].fresh(g.tick, s); over != "" {
			return over
		}
	}
	if another {
		if known {
			g.drop(print, was)
		}
		g.accounts[process].schemas++
	}
	g.schemas[print] = stated{process, g.tick, why == "", s.Len(), s.Class}
	if why == "" {
		g.sources[s.Source] = stated{process: process, at: g.tick, granted: true}
	}
	return why
}

// room reports whether a process may have another schema.
func (g *Gate) room(process string, grant *Grant) bool {
	most := maxSchemas
	if grant == nil || grant.may(Everything) {
		most = maxAllSchemas
	}
	a := g.accounts[process]
	if a.schemas >= most {
		g.forget(process)
	}
	return a.schemas < most
}

// forget drops a process's schemas and sources that were not stated again.
func (g *Gate) forget(process string) {
	for print, s := range g.schemas {
		if s.process == process && g.tick.Sub(s.at) >= forgetAfter {
			g.drop(print, s)
		}
	}
	for source, s := range g.sources {
		if g.tick.Sub(s.at) >= forgetAfter {
			delete(g.sources, source)
		}
	}
}

func (g *Gate) drop(print telemetry.Fingerprint, s stated) {
	delete(g.schemas, print)
	g.accounts[s.process].schemas--
}

// adopt puts grants into force. Content that cannot be read changes nothing. A
// decision about a schema is kept until the schema is stated again.
func (g *Gate) adopt(content []byte) {
	all, err := Parse(content)
	if err != nil {
		g.refuse("", "grants")
		return
	}
	g.content = slices.Clone(content)
	g.grants = make(map[string]*Grant, len(all.Processes))
	for i := range all.Processes {
		g.grants[all.Processes[i].Process] = &all.Processes[i]
	}
	for process, a := range g.accounts {
		a.budget = g.grants[process].Effective()
	}
}

func (g *Gate) refuse(process string, why Reason) {
	by := g.refused[process]
	if by == nil {
		if len(g.refused) >= maxRefused {
			process = "others"
			by = g.refused[process]
		}
		if by == nil {
			by = map[Reason]uint64{}
			g.refused[process] = by
		}
	}
	by[why]++
}

// ProcessState is what is known of one process.
type ProcessState struct {
	Process string            `json:"process"`
	Grant   *Grant            `json:"grant"` // nil: it may state anything
	Refused map[Reason]uint64 `json:"refused,omitempty"`
	Schemas int               `json:"schemas"`
	Budget  Budget            `json:"budget"`
	// New series of the last week, edges in force (where they are bounded) and bytes
	// that wait for their grid, in addition to the budget.
	Series  int `json:"series"`
	Edges   int `json:"edges"`
	Waiting int `json:"waiting_bytes"`
}

// Processes lists the processes that have a grant, stated a schema or were refused
// something, by name.
func (g *Gate) Processes() []ProcessState {
	names := map[string]bool{}
	for name := range g.grants {
		names[name] = true
	}
	for name := range g.accounts {
		names[name] = true
	}
	for name := range g.refused {
		names[name] = true
	}
	out := make([]ProcessState, 0, len(names))
	for _, name := range slices.Sorted(maps.Keys(names)) {
		s := ProcessState{Process: name, Grant: g.grants[name], Refused: maps.Clone(g.refused[name]), Budget: g.grants[name].Effective()}
		if a := g.accounts[name]; a != nil {
			s.Schemas, s.Series, s.Edges, s.Waiting = a.schemas, int(a.series.Used), len(a.edges), int(a.waiting.total)
		}
		out = append(out, s)
	}
	return out
}

// Refused returns how many records were refused since the start, by reason.
func (g *Gate) Refused() map[Reason]uint64 {
	out := map[Reason]uint64{}
	for _, by := range g.refused {
		for why, n := range by {
			out[why] += n
		}
	}
	return out
}

// snapshot is a gate's state, in an order of its own.
type snapshot struct {
	Grants   json.RawMessage   `json:"grants,omitempty"`
	Tick     telemetry.Time    `json:"tick"`
	Schemas  []schemaSnapshot  `json:"schemas,omitempty"`
	Sources  []sourceSnapshot  `json:"sources,omitempty"`
	Accounts []accountSnapshot `json:"accounts,omitempty"`
}

type schemaSnapshot struct {
	Print   telemetry.Fingerprint   `json:"print"`
	Process string                  `json:"process"`
	At      telemetry.Time          `json:"at"`
	Granted bool                    `json:"granted"`
	Series  int                     `json:"series"`
	Class   telemetry.LatenessClass `json:"class"`
}

type sourceSnapshot struct {
	Source  telemetry.Source `json:"source"`
	Process string           `json:"process"`
	At      telemetry.Time   `json:"at"`
}

// Snapshot returns the gate's state without its counts; nil where no process stated
// anything and nothing is granted.
func (g *Gate) Snapshot() ([]byte, error) {
	if g.content == nil && len(g.accounts) == 0 {
		return nil, nil
	}
	s := snapshot{Grants: g.content, Tick: g.tick}
	for print, x := range g.schemas {
		s.Schemas = append(s.Schemas, schemaSnapshot{print, x.process, x.at, x.granted, x.series, x.class})
	}
	slices.SortFunc(s.Schemas, func(a, b schemaSnapshot) int { return cmp.Compare(a.Print, b.Print) })
	for source, x := range g.sources {
		s.Sources = append(s.Sources, sourceSnapshot{source, x.process, x.at})
	}
	slices.SortFunc(s.Sources, func(a, b sourceSnapshot) int { return strings.Compare(a.Source.String(), b.Source.String()) })
	for _, process := range slices.Sorted(maps.Keys(g.accounts)) {
		s.Accounts = append(s.Accounts, g.accounts[process].snapshot(process))
	}
	b, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("gate: %w", err)
	}
	return b, nil
}

// Restore returns the gate of a snapshot.
func Restore(b []byte) (*Gate, error) {
	g := NewGate()
	if len(b) == 0 {
		return g, nil
	}
	var s snapshot
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("gate: %w", err)
	}
	if s.Grants != nil {
		if g.adopt(s.Grants); len(g.refused) > 0 {
			return nil, errors.New("gate: grants that cannot be read")
		}
	}
	g.tick = s.Tick
	for i := range s.Accounts {
		if err := g.account(s.Accounts[i].Process).restore(&s.Accounts[i]); err != nil {
			return nil, fmt.Errorf("gate: %w", err)
		}
	}
	for _, x := range s.Schemas {
		if _, twice := g.schemas[x.Print]; twice || x.Class >= telemetry.LatenessClasses {
			return nil, fmt.Errorf("gate: schema %s twice, or of class %d", x.Print, x.Class)
		}
		g.schemas[x.Print] = stated{x.Process, x.At, x.Granted, x.Series, x.Class}
		g.account(x.Process).schemas++
	}
	for _, x := range s.Sources {
		g.sources[x.Source] = stated{process: x.Process, at: x.At, granted: true}
	}
	return g, nil
}
