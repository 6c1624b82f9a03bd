package survey

import (
	"cmp"
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/telemetry"
)

// Reach is how much of something the site receives.
type Reach struct {
	Sources int             `json:"sources"` // that have reported it
	Stale   int             `json:"stale"`   // of these, without data now
	Series  int             `json:"series"`
	Latest  *telemetry.Time `json:"latest"` // of its samples; null before the first
}

// DomainReach is the Reach of one domain.
type DomainReach struct {
	Domain telemetry.Domain `json:"domain"`
	Reach
}

// reaching adds up one Reach. A source that grows has several schemas: its
// fullest counts, and the source once.
type reaching struct {
	series map[telemetry.Source]int
	latest telemetry.Time
}

func (r *reaching) add(of telemetry.Source, series int, latest telemetry.Time) {
	if series == 0 {
		return
	}
	if r.series == nil {
		r.series = map[telemetry.Source]int{}
	}
	r.series[of], r.latest = max(r.series[of], series), max(r.latest, latest)
}

func (r *reaching) sum(stale func(telemetry.Source) bool) (out Reach) {
	for of, series := range r.series {
		out.Sources, out.Series = out.Sources+1, out.Series+series
		if stale(of) {
			out.Stale++
		}
	}
	if r.latest != 0 {
		latest := r.latest
		out.Latest = &latest
	}
	return out
}

// Domains returns the Reach of each domain, in the order of telemetry.Domains.
// stale reports whether a source has no data now.
func (c *Census) Domains(catalogue *telemetry.Catalogue, stale func(telemetry.Source) bool) (out []DomainReach) {
	sums := map[telemetry.Domain]*reaching{}
	for _, d := range telemetry.Domains() {
		sums[d] = &reaching{}
	}
	for _, l := range c.schemas {
		columns, series := l.schema.Columns, map[telemetry.Domain]int{}
		for i, x := range l.cells {
			if m, ok := catalogue.Lookup(columns[i%len(columns)].Metric); ok {
				series[m.Domain] += x.entities
			}
		}
		for d, n := range series {
			sums[d].add(l.schema.Source, n, l.latest)
		}
	}
	for _, d := range telemetry.Domains() {
		out = append(out, DomainReach{d, sums[d].sum(stale)})
	}
	return out
}

// Entity returns the Reach of an entity and of what its name contains.
func (c *Census) Entity(e telemetry.Entity, stale func(telemetry.Source) bool) Reach {
	var sum reaching
	for _, l := range c.schemas {
		n := 0
		for i, x := range l.schema.Entities {
			if x != e && !within(x, e) {
				continue
			}
			for k := range l.schema.Columns {
				if bit := k*len(l.schema.Entities) + i; l.seen[bit/64]&(1<<(bit%64)) != 0 {
					n++
				}
			}
		}
		sum.add(l.schema.Source, n, l.latest)
	}
	return sum.sum(stale)
}

// within reports whether an entity is contained in e by its name.
func within(x, e telemetry.Entity) bool {
	inside := strings.HasPrefix(x.Name, e.Name) && len(x.Name) > len(e.Name) && x.Name[len(e.Name)] == '/'
	if !inside {
		return false
	}
	switch x.Kind {
	case telemetry.GPU, telemetry.NIC:
		return e.Kind == telemetry.Node
	case telemetry.NVLink, telemetry.NVSwitch:
		return e.Kind == telemetry.Node || e.Kind == telemetry.GPU
	case telemetry.Port:
		return e.Kind == telemetry.Switch
	case telemetry.Queue:
		return e.Kind == telemetry.Port || e.Kind == telemetry.Switch || e.Kind == telemetry.NIC
	case telemetry.Rank:
		return e.Kind == telemetry.Job
	}
	return false
}

// Find returns the entities whose kind:name contains text, without regard to
// case: names that begin with it first, then the shortest, at most limit.
func (c *Census) Find(text string, limit int) []telemetry.Entity {
	text = strings.ToLower(text)
	found := map[telemetry.Entity]int{}
	look := func(e telemetry.Entity) {
		if _, known := found[e]; known {
			return
		}
		name := strings.ToLower(e.Name)
		switch at := strings.Index(name, text); {
		case at == 0:
			found[e] = 0
		case at > 0:
			found[e] = 1
		case strings.Contains(strings.ToLower(e.String()), text):
			found[e] = 2
		}
	}
	for host := range c.hosts {
		look(telemetry.Entity{Kind: telemetry.Node, Name: host})
	}
	for _, l := range c.schemas {
		for _, e := range l.schema.Entities {
			look(e)
			if e.Kind == telemetry.Port {
				look(telemetry.Entity{Kind: telemetry.Switch, Name: e.Prefix()})
			}
		}
	}
	out := make([]telemetry.Entity, 0, len(found))
	for e := range found {
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b telemetry.Entity) int {
		return cmp.Or(cmp.Compare(found[a], found[b]), cmp.Compare(len(a.Name), len(b.Name)), a.Compare(b))
	})
	return out[:min(len(out), limit)]
}

// Empty reports whether nothing current is received.
func (r Reach) Empty() bool { return r.Series == 0 || r.Stale >= r.Sources }
