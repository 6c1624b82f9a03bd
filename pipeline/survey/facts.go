package survey

import "github.com/quintet-dc/quintet/telemetry"

// logCollector is the collector that reads logs. It states, for each file and
// each sender, how many lines it has read.
const logCollector = "logs"

// Facts is the telemetry received from a site.
type Facts struct {
	At    telemetry.Time // the newest tick
	Since telemetry.Time // from when on it was listened to
	Lost  uint64         // names that were too many to remember

	Metrics   []Metric
	Events    []Event
	Relations []Relation
	// Kinds counts the entities of the topology. Delay is the longest time from
	// measuring to reporting of the sources that are received; zero if no source
	// states both times.
	Kinds map[telemetry.Kind]int
	Delay telemetry.Duration
	// Groups are the names of planes, rails and groups of switches.
	Groups []string
	// Receivers is how many receivers are notified of incidents; negative if that
	// is not known here.
	Receivers int

	hostLogs, otherLogs     int // logs of nodes, of others, that are read
	hostLogged, otherLogged telemetry.Time
}

// Metric is a metric of a kind of entity, as a collector states it.
type Metric struct {
	Collector string               `json:"collector"`
	Kind      telemetry.Kind       `json:"kind"`
	Name      telemetry.MetricName `json:"metric"`
	Entities  int                  `json:"entities"` // that have had a value
	Latest    telemetry.Time       `json:"latest"`
}

// Event is a name of events of a kind of entity, as a collector states them.
type Event struct {
	Collector string              `json:"collector"`
	Kind      telemetry.Kind      `json:"kind"`
	Name      telemetry.EventName `json:"event"`
	Count     uint64              `json:"count"`
	Latest    telemetry.Time      `json:"latest"`
}

// Relation is a kind of edge, as a source states it.
type Relation struct {
	Source   string             `json:"source"`
	Relation telemetry.Relation `json:"rel"`
	From     telemetry.Kind     `json:"from"`
	To       telemetry.Kind     `json:"to"`
	Latest   telemetry.Time     `json:"latest"`
}

// has returns how many entities of a kind report a metric, by any collector.
func (f *Facts) has(kind telemetry.Kind, name telemetry.MetricName) (entities int) {
	for _, m := range f.Metrics {
		if m.Kind == kind && m.Name == name {
			entities = max(entities, m.Entities)
		}
	}
	return entities
}
