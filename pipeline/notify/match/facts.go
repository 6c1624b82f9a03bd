package match

import (
	"slices"
	"strings"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/telemetry"
)

// The names that matchers may have.
const (
	Kind      = "kind"      // incident or risk
	Severity  = "severity"  // critical, warning or info
	Domain    = "domain"    // of the root
	Signature = "signature" // of the root
	Site      = "site"
	Root      = "root"   // the root entity, kind:name
	Within    = "within" // the root and what contains it
	Entity    = "entity" // the root, degraded entities and jobs
	Job       = "job"    // degraded jobs, with and without job: before them
	Team      = "team"   // whose it is, by the configuration
)

// Names lists what matchers may name.
func Names() []string {
	return []string{Kind, Severity, Domain, Signature, Site, Root, Within, Entity, Job, Team}
}

// maxEntities bounds the entities that are considered: a fault under a spine
// affects thousands.
const maxEntities = 1024

// Facts are what matchers look at: values by name. They do not change.
type Facts struct {
	values map[string][]string
}

// Of returns the facts of an incident, without teams and with the containers that
// follow from names.
func Of(in *explain.Incident) Facts {
	v := map[string][]string{Kind: {in.Kind}, Severity: {in.Severity}, Domain: {in.Root.Domain.String()}, Signature: {in.Root.Signature},
		Site: {in.Site}, Root: {in.Root.Entity.String()}}
	var jobs, entities []string
	for _, j := range in.Impact.Jobs[:min(len(in.Impact.Jobs), maxEntities)] {
		jobs = append(jobs, j.Job.Name, j.Job.String())
		entities = append(entities, j.Job.String())
	}
	for _, e := range in.Impact.Entities[:min(len(in.Impact.Entities), maxEntities)] {
		entities = append(entities, e.String())
	}
	v[Job], v[Entity] = jobs, append([]string{in.Root.Entity.String()}, entities...)
	for _, e := range Containers(in.Root.Entity) {
		v[Within] = append(v[Within], e.String())
	}
	return Facts{v}
}

// With returns the facts with more values of a name.
func (f Facts) With(name string, values ...string) Facts {
	out := map[string][]string{}
	for _, k := range Names() {
		out[k] = f.values[k]
	}
	for _, v := range values {
		if !slices.Contains(out[name], v) {
			out[name] = append(slices.Clip(out[name]), v)
		}
	}
	return Facts{out}
}

// Get returns the first value of a name.
func (f Facts) Get(name string) string {
	if vs := f.values[name]; len(vs) > 0 {
		return vs[0]
	}
	return ""
}

// All returns every value of a name. They are not to be changed.
func (f Facts) All(name string) []string { return f.values[name] }

// Containers returns an entity and what contains it by its name: gpu:n1/3 is
// contained in node:n1, queue:leaf3/eth12/3 in its port and switch.
func Containers(e telemetry.Entity) []telemetry.Entity {
	out := []telemetry.Entity{e}
	for range 4 {
		outer, ok := container(out[len(out)-1])
		if !ok {
			break
		}
		out = append(out, outer)
	}
	return out
}

func container(e telemetry.Entity) (telemetry.Entity, bool) {
	name := e.Prefix()
	if name == "" {
		return telemetry.Entity{}, false
	}
	var kind telemetry.Kind
	switch e.Kind {
	case telemetry.GPU, telemetry.NIC:
		kind = telemetry.Node
	case telemetry.NVLink, telemetry.NVSwitch:
		kind = telemetry.Node
		if strings.Contains(name, "/") {
			kind = telemetry.GPU
		}
	case telemetry.Port:
		kind = telemetry.Switch
	case telemetry.Queue:
		kind = telemetry.Port
	case telemetry.Rank:
		kind = telemetry.Job
	default:
		return telemetry.Entity{}, false
	}
	return telemetry.Entity{Kind: kind, Name: name}, true
}
