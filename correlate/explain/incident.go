package explain

import (
	"encoding/json"

	"github.com/quintet-dc/quintet/correlate/jobs"
	"github.com/quintet-dc/quintet/telemetry"
)

// Incident is a degraded job, or a risk, with its root, its chain of evidence and
// its cost, as docs/http.md describes it. Fields whose value is not known are null in
// JSON, hence the pointers.
type Incident struct {
	ID           string             `json:"id"`
	State        string             `json:"state"`
	Kind         string             `json:"kind"`
	Severity     string             `json:"severity"`
	Title        string             `json:"title"`
	Opened       telemetry.Time     `json:"opened"`
	Updated      telemetry.Time     `json:"updated"`
	Resolved     *telemetry.Time    `json:"resolved"`
	Resolution   *string            `json:"resolution"`
	MergedInto   *string            `json:"merged_into"`
	SplitFrom    *string            `json:"split_from"`
	Revision     int                `json:"revision"`
	Onset        telemetry.Interval `json:"onset"`
	Root         Root               `json:"root"`
	Alternatives []Alternative      `json:"alternatives"`
	Contributors []Contributor      `json:"contributors"`
	Impact       Impact             `json:"impact"`
	Chain        []Link             `json:"chain"`
	RuledOut     []RuledOut         `json:"ruled_out"`
	BlindSpots   []BlindSpot        `json:"blind_spots"`
	Actions      []Action           `json:"actions"`
	Verdict      *string            `json:"verdict"`
	Site         string             `json:"site"`
	Engine       string             `json:"engine"`
	Rules        string             `json:"rules"`
	Reopens      int                `json:"reopens"`
	// Claims are the numbers stated in the title and the chain, each with the series
	// that it was read from.
	Claims []Claim `json:"claims"`
	// Related are the events at the entities of the chain, by time.
	Related []Related `json:"related"`
	// Calibration names the file of weights that confidences were fitted with.
	Calibration string `json:"calibration"`
}

// The values of Incident.State, Kind and Severity.
const (
	StateOpen        = "open"
	StateResolved    = "resolved"
	KindIncident     = "incident"
	KindRisk         = "risk"
	SeverityCritical = "critical"
	SeverityWarning  = "warning"
	SeverityInfo     = "info"
)

// Root is the entity where it began, and the fault. It is null in JSON while the
// cause is under investigation.
type Root struct {
	Entity     telemetry.Entity   `json:"entity"`
	Alike      []telemetry.Entity `json:"alike,omitempty"` // what cannot be distinguished from it, at its place
	Domain     telemetry.Domain   `json:"domain"`
	Signature  string             `json:"signature"`
	Confidence float64            `json:"confidence"` // once published, of the place: the alternatives at the same entity, and at those alike, are part of it
	Onset      telemetry.Interval `json:"onset"`
}

// MarshalJSON implements json.Marshaler: a root without an entity is null.
func (r Root) MarshalJSON() ([]byte, error) {
	if r.Entity.IsZero() {
		return []byte("null"), nil
	}
	type plain Root
	return json.Marshal(plain(r))
}

// Alternative is another answer the evidence allows, best first.
type Alternative struct {
	Entity     telemetry.Entity `json:"entity"`
	Signature  string           `json:"signature"`
	Confidence float64          `json:"confidence"`
}

// Contributor is an entity that caused part of it: the senders of an incast.
type Contributor struct {
	Entity telemetry.Entity `json:"entity"`
	Share  float64          `json:"share"`
}

// Impact is the cost and the affected jobs and entities.
type Impact struct {
	Jobs     []JobImpact        `json:"jobs"`
	Entities []telemetry.Entity `json:"entities"`
}

// JobImpact is the loss of one job. Before is the median of its last 20
// healthy steps; Expected the step without this root (the counterfactual).
type JobImpact struct {
	Job            telemetry.Entity     `json:"job"`
	State          string               `json:"state"` // slow, stalled, failed or restarted
	Measure        telemetry.MetricName `json:"measure"`
	Before         *float64             `json:"before"`
	Now            *float64             `json:"now"`
	Expected       *float64             `json:"expected"`
	Slowdown       *float64             `json:"slowdown"`             // now over expected
	EqualWork      bool                 `json:"equal_work,omitempty"` // the lengths are those of steps with the usual work
	MFUBefore      *float64             `json:"mfu_before"`
	MFUNow         *float64             `json:"mfu_now"`
	GPUSecondsLost float64              `json:"gpu_seconds_lost"`
	Share          float64              `json:"share"`
}

// Costs reports whether a job lost time, or stopped.
func (j *JobImpact) Costs() bool { return j.GPUSecondsLost > 0 || j.State != jobs.Slow.String() }

// Link is one step of the chain from the root to the degraded job.
type Link struct {
	Entity         telemetry.Entity     `json:"entity"`
	Domain         telemetry.Domain     `json:"domain"`
	Metric         telemetry.MetricName `json:"metric"`
	Shape          string               `json:"shape"`
	Onset          telemetry.Interval   `json:"onset"`
	LagSeconds     float64              `json:"lag_seconds"`
	LagUncertainty float64              `json:"lag_uncertainty_seconds"`
	Relation       telemetry.Relation   `json:"relation"`
	From           telemetry.Entity     `json:"from"`
	Before         float64              `json:"before"`
	Now            float64              `json:"now"`
	Unit           string               `json:"unit"`
	Why            string               `json:"why"`
}

// RuledOut states why a domain is ruled out.
type RuledOut struct {
	Domain telemetry.Domain `json:"domain"`
	Why    string           `json:"why"`
}

// BlindSpot is telemetry that the answer depends on and that is missing.
type BlindSpot struct {
	Entity    telemetry.Entity     `json:"entity"`
	Metric    telemetry.MetricName `json:"metric"`
	Reason    string               `json:"reason"`
	WouldTell string               `json:"would_tell"`
}

// Claim is a number that an incident states and the series that shows it. Value and
// Baseline are means of the series in its own unit; a counter's are rates.
type Claim struct {
	Text   string               `json:"text"`
	Value  float64              `json:"value"`
	Error  *float64             `json:"error"` // standard error of Value; null where a single sample was seen
	Unit   string               `json:"unit"`
	Entity telemetry.Entity     `json:"entity"`
	Metric telemetry.MetricName `json:"metric"`
	From   telemetry.Time       `json:"from"`
	To     telemetry.Time       `json:"to"`
	// Baseline is the mean before the onset; null where that is not known.
	Baseline *float64 `json:"baseline"`
}

// Related is an event at an entity that the incident names.
type Related struct {
	At     telemetry.Time   `json:"at"`
	Kind   string           `json:"kind"` // event
	Entity telemetry.Entity `json:"entity"`
	Text   string           `json:"text"`
}

// Action is what a person should do.
type Action struct {
	Kind   string           `json:"kind"` // drain, reseat, replace, reroute, reset, config, wait or call
	Target telemetry.Entity `json:"target"`
	Text   string           `json:"text"`
}
