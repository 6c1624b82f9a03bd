package measure

import (
	"strconv"

	"github.com/quintet-dc/quintet/lab/sim/site"
	"github.com/quintet-dc/quintet/telemetry"
)

// Edges emits the edges of the site and of the jobs that are placed from the
// beginning.
func (m *Meter) Edges(emit func(*telemetry.Record) error) error {
	var failed error
	names := m.cfg.Names
	m.site.Edges(func(e telemetry.Edge) bool {
		e.From, e.To = names.Entity(e.From), names.Entity(e.To)
		failed = emit(&telemetry.Record{Kind: telemetry.EdgeRecord, Edge: &e})
		return failed == nil
	})
	if failed != nil {
		return failed
	}
	for i := range m.jobs {
		if m.jobs[i].Start > 0 {
			continue
		}
		if err := m.place(i, 0, emit); err != nil {
			return err
		}
	}
	return nil
}

// place emits where a job runs, what it uses, and from when on.
func (m *Meter) place(job int, from telemetry.Time, emit func(*telemetry.Record) error) error {
	j := &m.jobs[job]
	m.placed[job] = true
	for rank := range j.Ranks {
		x := &j.Ranks[rank]
		e := telemetry.Edge{From: j.Entity, To: m.cfg.Names.Entity(site.GPUName(x.Node, x.GPU)), Relation: telemetry.Runs, Start: from, Received: from, Source: "slurm", Attrs: x.attrs(rank)}
		if err := emit(&telemetry.Record{Kind: telemetry.EdgeRecord, Edge: &e}); err != nil {
			return err
		}
	}
	if j.Storage == "" {
		return nil
	}
	e := telemetry.Edge{From: j.Entity, To: telemetry.Entity{Kind: telemetry.Storage, Name: j.Storage}, Relation: telemetry.Uses, Start: from, Received: from, Source: "slurm"}
	return emit(&telemetry.Record{Kind: telemetry.EdgeRecord, Edge: &e})
}

// attrs are a placement's attributes, ordered by key.
func (r *Rank) attrs(rank int) (out []telemetry.Attr) {
	add := func(key string, n int) {
		if n >= 0 {
			out = append(out, telemetry.Attr{Key: key, Value: strconv.Itoa(n)})
		}
	}
	add("dp", r.DP)
	add("ep", r.EP)
	add("pp", r.PP)
	add("rank", rank)
	if r.Role != "" {
		out = append(out, telemetry.Attr{Key: "role", Value: r.Role})
	}
	add("tp", r.TP)
	return out
}
