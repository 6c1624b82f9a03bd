package symptom

import (
	"math"

	"github.com/quintet-dc/quintet/correlate/stats"
)

// The samples of many GPUs show a change that those of one do not: of a clock that
// heat moves up and down, of an engine that is read once in ten seconds. So a
// change is beyond chance by its own error, or because all GPUs under one entity
// changed together.

// change is by how much a GPU changed, in the direction of interest, and its
// standard error.
type change struct {
	of      int32
	by, err float64
}

// together is by how much the GPUs under an entity changed: the median of their
// hosts, with its standard error. The GPUs of one host are read at the same moments,
// and count once.
type together struct {
	hosts   []float64
	squares float64 // of the hosts' errors
	by, err float64
}

// pool is the changes of GPUs and, by entity, of the hosts under it.
type pool struct {
	changes []change
	under   []together
	least   float64 // changes below it do not count
}

// pooled pools changes. All are read while the job makes the same steps, so that its hosts
// err together: as one of them does.
func (f *Contrast) pooled(changes []change, least float64) pool {
	p := pool{changes: changes, under: make([]together, len(f.survey.all)), least: least}
	for from := 0; from < len(changes); {
		to := from + 1
		for to < len(changes) && f.survey.nodeOf[changes[to].of] == f.survey.nodeOf[changes[from].of] {
			to++
		}
		p.host(f.survey, changes[from:to])
		from = to
	}
	for i := range p.under {
		if t := &p.under[i]; len(t.hosts) > 0 {
			t.by, t.err = stats.Median(t.hosts), math.Sqrt(t.squares/float64(len(t.hosts)))
		}
	}
	return p
}

// host adds the changes of one host to the entities above its GPUs.
func (p *pool) host(s *Survey, changes []change) {
	type part struct {
		of  int32
		by  []float64
		err float64
	}
	var parts []part
	for _, c := range changes {
		for _, a := range s.carriers[c.of] {
			k := 0
			for k < len(parts) && parts[k].of != a {
				k++
			}
			if k == len(parts) {
				parts = append(parts, part{of: a})
			}
			parts[k].by, parts[k].err = append(parts[k].by, c.by), max(parts[k].err, c.err)
		}
	}
	for _, x := range parts {
		t := &p.under[x.of]
		t.hosts = append(t.hosts, stats.Median(x.by))
		t.squares += float64(x.err * x.err)
	}
}

// evident reports whether a change is beyond chance: by itself, or as part of what
// the hosts under one entity did together.
func (p *pool) evident(s *Survey, c change) bool {
	if c.by < p.least {
		return false
	}
	if c.by >= float64(chance*c.err) {
		return true
	}
	for _, a := range s.carriers[c.of] {
		if t := &p.under[a]; len(t.hosts) > 1 && t.by >= max(p.least, float64(chance*t.err)) && 2*c.by >= t.by {
			return true
		}
	}
	return false
}

// shows reports, by entity, whether a change of so much would be evident at it.
func (p *pool) shows(s *Survey, by float64) []bool {
	out := make([]bool, len(s.all))
	for _, c := range p.changes {
		out[c.of] = c.by >= float64(chance*c.err) || float64(chance*c.err) <= max(p.least, by)
	}
	for i := range p.under {
		t := &p.under[i]
		out[i] = out[i] || len(t.hosts) > 0 && (t.by >= float64(chance*t.err) || float64(chance*t.err) <= max(p.least, by))
	}
	return out
}

// maybe counts GPUs with too few samples to decide whether they changed.
type maybe struct {
	all int
	in  []int32 // by entity: those under it
}

// add counts a GPU whose change is not evident, if it may still be as large as by.
func (m *maybe) add(s *Survey, p pool, c change, by float64) {
	if c.by+float64(chance*c.err) < max(p.least, by) {
		return
	}
	m.all++
	m.in[c.of]++
	for _, a := range s.carriers[c.of] {
		m.in[a]++
	}
}

// recall returns by how much the part n of all changed GPUs that is under an entity
// may be off, if those that may have changed did.
func (m *maybe) recall(n int32, all int, i int32) float64 {
	if all == 0 {
		return 0
	}
	x := part(n, all)
	return max(part(n+m.in[i], all+int(m.in[i]))-x, x-part(n, all+m.all-int(m.in[i])))
}
