package bundle

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/quintet-dc/quintet/telemetry"
)

// collector is the collector's name in the sources of an imported bundle.
const collector = "import"

// slot states where a series of the file goes: a source, and the dense position
// in its schema.
type slot struct {
	source int32
	at     int32
}

// owner climbs from a part to the thing that is read as a whole: a nic's node,
// a port's switch, a rank's job.
func (t *topology) owner(e telemetry.Entity) telemetry.Entity {
	for range 8 {
		var up telemetry.Kind
		switch e.Kind {
		case telemetry.GPU, telemetry.NIC:
			up = telemetry.Node
		case telemetry.NVLink:
			up = telemetry.GPU
		case telemetry.Port:
			up = telemetry.Switch
		case telemetry.Queue, telemetry.Optic:
			up = telemetry.Port
		case telemetry.Rank:
			up = telemetry.Job
		case telemetry.PSU, telemetry.Fan, telemetry.NVSwitch, telemetry.Pump, telemetry.Valve, telemetry.Battery:
		default:
			return e
		}
		c, stated := t.container[e]
		switch {
		case stated:
			e = c
		case up != "" && e.Prefix() != "":
			e = telemetry.Entity{Kind: up, Name: e.Prefix()}
		default:
			return e
		}
	}
	return e
}

// bucket is what becomes one source, or several where it has more series than
// a source may.
type bucket struct {
	target telemetry.Entity
	kind   telemetry.Kind
	class  int // of the cadence within target and kind; -1: per step
}

func (k bucket) compare(o bucket) int {
	return cmp.Or(k.target.Compare(o.target), cmp.Compare(k.kind, o.kind), cmp.Compare(k.class, o.class))
}

// group makes the sources: one for each owner and kind, apart where metrics
// come at clearly different cadences or stand for steps.
func (b *Bundle) group(t *topology, spacing []telemetry.Duration) {
	s := b.samples
	rough := map[bucket][]int32{}
	for i := range s.series {
		x := &s.series[i]
		k := bucket{target: t.owner(x.id.Entity), kind: x.id.Entity.Kind}
		if x.perStep {
			k.class = -1
		}
		rough[k] = append(rough[k], int32(i))
	}
	s.slots = make([]slot, len(s.series))
	for _, k := range sortedKeys(rough, bucket.compare) {
		if k.class < 0 {
			b.addSources(k, rough[k], 0)
			continue
		}
		for class, part := range s.cadences(rough[k], spacing) {
			k.class = class
			b.addSources(k, part.members, part.cadence)
		}
	}
}

// cadence is the series of one bucket that come at about one cadence.
type cadence struct {
	members []int32
	cadence telemetry.Duration
}

// cadences splits series by their metrics' usual spacing: metrics that differ
// by less than half stay together.
func (s *samples) cadences(members []int32, spacing []telemetry.Duration) []cadence {
	byMetric := map[telemetry.MetricName][]int32{}
	for _, i := range members {
		m := s.series[i].id.Metric
		byMetric[m] = append(byMetric[m], i)
	}
	names := sortedKeys(byMetric, cmp.Compare[telemetry.MetricName])
	usual := map[telemetry.MetricName]telemetry.Duration{}
	for _, m := range names {
		var d []telemetry.Duration
		for _, i := range byMetric[m] {
			if spacing[i] > 0 {
				d = append(d, spacing[i])
			}
		}
		usual[m] = median(d)
	}
	slices.SortStableFunc(names, func(a, b telemetry.MetricName) int { return cmp.Compare(usual[a], usual[b]) })
	var out []cadence
	base := telemetry.Duration(0)
	for _, m := range names {
		d := usual[m]
		if len(out) == 0 || base > 0 && d > base+base/2 {
			out, base = append(out, cadence{}), d
		}
		c := &out[len(out)-1]
		base, c.cadence = cmp.Or(base, d), max(c.cadence, d)
		c.members = append(c.members, byMetric[m]...)
	}
	return out
}

// addSources makes the schemas of a bucket: entities and metrics in order, as
// many blocks of both as the bound on a source's series asks for.
func (b *Bundle) addSources(k bucket, members []int32, every telemetry.Duration) {
	s := b.samples
	metrics, entities := map[telemetry.MetricName]int{}, map[telemetry.Entity]int{}
	for _, i := range members {
		metrics[s.series[i].id.Metric], entities[s.series[i].id.Entity] = 0, 0
	}
	ms, es := sortedKeys(metrics, cmp.Compare[telemetry.MetricName]), sortedKeys(entities, telemetry.Entity.Compare)
	for i, m := range ms {
		metrics[m] = i
	}
	for i, e := range es {
		entities[e] = i
	}
	wide := min(len(ms), telemetry.MaxSeriesPerSource)
	tall := min(len(es), telemetry.MaxSeriesPerSource/wide)
	across := (len(es) + tall - 1) / tall // blocks of entities
	first := len(b.schemas)
	for m := 0; m < len(ms); m += wide {
		for e := 0; e < len(es); e += tall {
			sc := &telemetry.Schema{Source: telemetry.Source{Collector: collector, Target: plain(k.target), Part: k.part(len(b.schemas) - first)},
				Cadence: every, Entities: es[e:min(e+tall, len(es))]}
			for _, name := range ms[m:min(m+wide, len(ms))] {
				sc.Columns = append(sc.Columns, telemetry.Column{Metric: name})
			}
			b.schemas = append(b.schemas, sc)
		}
	}
	for _, i := range members {
		m, e := metrics[s.series[i].id.Metric], entities[s.series[i].id.Entity]
		src := first + m/wide*across + e/tall
		s.slots[i] = slot{int32(src), int32(m%wide*len(b.schemas[src].Entities) + e%tall)}
	}
}

// part names a source's part: the kind, what sets it apart, and a number where
// one source is not enough.
func (k bucket) part(n int) string {
	p := string(k.kind)
	switch {
	case k.class < 0:
		p += ".steps"
	case k.class > 0:
		p += ".cadence" + strconv.Itoa(k.class+1)
	}
	if n > 0 {
		p += "." + strconv.Itoa(n+1)
	}
	return p
}

// plain writes an entity as a source's target, which has no '|'.
func plain(e telemetry.Entity) string { return strings.ReplaceAll(e.String(), "|", "%7C") }

func sortedKeys[K comparable, V any](m map[K]V, compare func(a, b K) int) []K {
	out := make([]K, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.SortFunc(out, compare)
	return out
}
