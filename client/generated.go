// Code generated from openapi.json by go generate. DO NOT EDIT.

package client

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"time"
)

// Amount is a schema of the API.
type Amount struct {
	GPUSeconds float64 `json:"gpu_seconds"`
	Share      float64 `json:"share"`
}

// Bottlenecks is a schema of the API.
type Bottlenecks struct {
	Bottlenecks Scores      `json:"bottlenecks"`
	From        time.Time   `json:"from"`
	Jobs        []JobScores `json:"jobs"`
	To          time.Time   `json:"to"`
	Truncated   bool        `json:"truncated,omitzero"`
}

// AttributeBudget is a schema of the API.
type AttributeBudget struct {
	Achieved            *Amount       `json:"achieved"`
	ExpectedStepSeconds *float64      `json:"expected_step_seconds"`
	From                time.Time     `json:"from"`
	GPUSeconds          float64       `json:"gpu_seconds"`
	Incidents           []DomainTaken `json:"incidents"`
	Job                 *string       `json:"job"`
	MFU                 MFU           `json:"mfu"`
	Parts               []PartAmount  `json:"parts"`
	StepSeconds         *float64      `json:"step_seconds"`
	To                  time.Time     `json:"to"`
	Unexplained         Amount        `json:"unexplained"`
}

// Budgets is a schema of the API.
type Budgets struct {
	Fleet     AttributeBudget   `json:"fleet"`
	Jobs      []AttributeBudget `json:"jobs"`
	Truncated bool              `json:"truncated,omitzero"`
}

// CauseLoss is a schema of the API.
type CauseLoss struct {
	Domain         *string  `json:"domain"`
	GPUSecondsLost float64  `json:"gpu_seconds_lost"`
	Jobs           []string `json:"jobs"`
	MFULost        *float64 `json:"mfu_lost"`
	Root           string   `json:"root"`
	Signature      string   `json:"signature"`
}

// DayLoss is a schema of the API.
type DayLoss struct {
	Day                   string       `json:"day"`
	Domains               []DomainLoss `json:"domains"`
	GPUSecondsLost        float64      `json:"gpu_seconds_lost"`
	MFULost               *float64     `json:"mfu_lost"`
	UnknownGPUSecondsLost float64      `json:"unknown_gpu_seconds_lost"`
}

// DomainLoss is a schema of the API.
type DomainLoss struct {
	Domain         string   `json:"domain"`
	GPUSecondsLost float64  `json:"gpu_seconds_lost"`
	MFULost        *float64 `json:"mfu_lost"`
}

// DomainTaken is a schema of the API.
type DomainTaken struct {
	Domain         *string `json:"domain"`
	GPUSecondsLost float64 `json:"gpu_seconds_lost"`
}

// DomainlessLoss is a schema of the API.
type DomainlessLoss struct {
	GPUSecondsLost float64  `json:"gpu_seconds_lost"`
	MFULost        *float64 `json:"mfu_lost"`
}

// JobLoss is a schema of the API.
type JobLoss struct {
	AvailableGPUSeconds *float64    `json:"available_gpu_seconds"`
	Causes              []ShareLoss `json:"causes"`
	GPUSecondsLost      float64     `json:"gpu_seconds_lost"`
	Job                 string      `json:"job"`
	MFULost             *float64    `json:"mfu_lost"`
}

// JobScores is a schema of the API.
type JobScores struct {
	CommunicationOverhead *float64 `json:"communication_overhead"`
	DensityCap            *float64 `json:"density_cap"`
	Job                   string   `json:"job"`
	LowMFU                *float64 `json:"low_mfu"`
	MemoryWall            *float64 `json:"memory_wall"`
	RedundantComputation  *float64 `json:"redundant_computation"`
	ThermalLimit          *float64 `json:"thermal_limit"`
}

// Losses is a schema of the API.
type Losses struct {
	AvailableGPUSeconds *float64       `json:"available_gpu_seconds"`
	Causes              []CauseLoss    `json:"causes"`
	Days                []DayLoss      `json:"days"`
	Domains             []DomainLoss   `json:"domains"`
	From                time.Time      `json:"from"`
	GPUSecondsLost      float64        `json:"gpu_seconds_lost"`
	Jobs                []JobLoss      `json:"jobs"`
	MFULost             *float64       `json:"mfu_lost"`
	To                  time.Time      `json:"to"`
	Truncated           bool           `json:"truncated,omitzero"`
	Unknown             DomainlessLoss `json:"unknown"`
}

// MFU is a schema of the API.
type MFU struct {
	Basis      string   `json:"basis"`
	Convention string   `json:"convention"`
	Palm       *float64 `json:"palm"`
	PeakFlops  *float64 `json:"peak_flops"`
	Precision  string   `json:"precision"`
	Reported   *float64 `json:"reported"`
}

// Matrix is a schema of the API.
type Matrix struct {
	Coupling               [][]float64  `json:"coupling"`
	Domains                []string     `json:"domains"`
	From                   time.Time    `json:"from"`
	GPUSecondsLost         float64      `json:"gpu_seconds_lost"`
	LagSeconds             [][]*float64 `json:"lag_seconds"`
	To                     time.Time    `json:"to"`
	UnlinkedGPUSecondsLost float64      `json:"unlinked_gpu_seconds_lost"`
}

// PartAmount is a schema of the API.
type PartAmount struct {
	Domain     *string  `json:"domain"`
	GPUSeconds *float64 `json:"gpu_seconds"`
	Observed   float64  `json:"observed"`
	Part       string   `json:"part"`
	Share      *float64 `json:"share"`
}

// Scores is a schema of the API.
type Scores struct {
	CommunicationOverhead *float64 `json:"communication_overhead"`
	DensityCap            *float64 `json:"density_cap"`
	LowMFU                *float64 `json:"low_mfu"`
	MemoryWall            *float64 `json:"memory_wall"`
	RedundantComputation  *float64 `json:"redundant_computation"`
	ThermalLimit          *float64 `json:"thermal_limit"`
}

// ShareLoss is a schema of the API.
type ShareLoss struct {
	Domain         *string `json:"domain"`
	GPUSecondsLost float64 `json:"gpu_seconds_lost"`
	Root           string  `json:"root"`
	Share          float64 `json:"share"`
	Signature      string  `json:"signature"`
}

// FleetView is a schema of the API.
type FleetView struct {
	Goodput            *float64 `json:"goodput"`
	GPUs               int64    `json:"gpus"`
	Jobs               int64    `json:"jobs"`
	WorkLostGPUSeconds float64  `json:"work_lost_gpu_seconds"`
}

// Action is a schema of the API.
type Action struct {
	Kind   string `json:"kind"`
	Target string `json:"target"`
	Text   string `json:"text"`
}

// Alternative is a schema of the API.
type Alternative struct {
	Confidence float64 `json:"confidence"`
	Entity     string  `json:"entity"`
	Signature  string  `json:"signature"`
}

// BlindSpot is a schema of the API.
type BlindSpot struct {
	Entity    string `json:"entity"`
	Metric    string `json:"metric"`
	Reason    string `json:"reason"`
	WouldTell string `json:"would_tell"`
}

// Claim is a schema of the API.
type Claim struct {
	Baseline *float64  `json:"baseline"`
	Entity   string    `json:"entity"`
	Error    *float64  `json:"error"`
	From     time.Time `json:"from"`
	Metric   string    `json:"metric"`
	Text     string    `json:"text"`
	To       time.Time `json:"to"`
	Unit     string    `json:"unit"`
	Value    float64   `json:"value"`
}

// Contributor is a schema of the API.
type Contributor struct {
	Entity string  `json:"entity"`
	Share  float64 `json:"share"`
}

// Impact is a schema of the API.
type Impact struct {
	Entities []string    `json:"entities"`
	Jobs     []JobImpact `json:"jobs"`
}

// Incident is a schema of the API.
type Incident struct {
	Actions      []Action      `json:"actions"`
	Alternatives []Alternative `json:"alternatives"`
	BlindSpots   []BlindSpot   `json:"blind_spots"`
	Calibration  string        `json:"calibration"`
	Chain        []Link        `json:"chain"`
	Claims       []Claim       `json:"claims"`
	Contributors []Contributor `json:"contributors"`
	Engine       string        `json:"engine"`
	ID           string        `json:"id"`
	Impact       Impact        `json:"impact"`
	Kind         string        `json:"kind"`
	MergedInto   *string       `json:"merged_into"`
	Onset        Interval      `json:"onset"`
	Opened       time.Time     `json:"opened"`
	Related      []Related     `json:"related"`
	Reopens      int64         `json:"reopens"`
	Resolution   *string       `json:"resolution"`
	Resolved     *time.Time    `json:"resolved"`
	Revision     int64         `json:"revision"`
	Root         *Root         `json:"root"`
	RuledOut     []RuledOut    `json:"ruled_out"`
	Rules        string        `json:"rules"`
	Severity     string        `json:"severity"`
	Site         string        `json:"site"`
	SplitFrom    *string       `json:"split_from"`
	State        string        `json:"state"`
	Title        string        `json:"title"`
	Updated      time.Time     `json:"updated"`
	Verdict      *string       `json:"verdict"`
}

// JobImpact is a schema of the API.
type JobImpact struct {
	Before         *float64 `json:"before"`
	EqualWork      bool     `json:"equal_work,omitzero"`
	Expected       *float64 `json:"expected"`
	GPUSecondsLost float64  `json:"gpu_seconds_lost"`
	Job            string   `json:"job"`
	Measure        string   `json:"measure"`
	MFUBefore      *float64 `json:"mfu_before"`
	MFUNow         *float64 `json:"mfu_now"`
	Now            *float64 `json:"now"`
	Share          float64  `json:"share"`
	Slowdown       *float64 `json:"slowdown"`
	State          string   `json:"state"`
}

// Link is a schema of the API.
type Link struct {
	Before                float64  `json:"before"`
	Domain                string   `json:"domain"`
	Entity                string   `json:"entity"`
	From                  string   `json:"from"`
	LagSeconds            float64  `json:"lag_seconds"`
	LagUncertaintySeconds float64  `json:"lag_uncertainty_seconds"`
	Metric                string   `json:"metric"`
	Now                   float64  `json:"now"`
	Onset                 Interval `json:"onset"`
	Relation              string   `json:"relation"`
	Shape                 string   `json:"shape"`
	Unit                  string   `json:"unit"`
	Why                   string   `json:"why"`
}

// Related is a schema of the API.
type Related struct {
	At     time.Time `json:"at"`
	Entity string    `json:"entity"`
	Kind   string    `json:"kind"`
	Text   string    `json:"text"`
}

// Root is a schema of the API.
type Root struct {
	Alike      []string `json:"alike,omitzero"`
	Confidence float64  `json:"confidence"`
	Domain     string   `json:"domain"`
	Entity     string   `json:"entity"`
	Onset      Interval `json:"onset"`
	Signature  string   `json:"signature"`
}

// RuledOut is a schema of the API.
type RuledOut struct {
	Domain string `json:"domain"`
	Why    string `json:"why"`
}

// GrantsBudget is a schema of the API.
type GrantsBudget struct {
	BytesPerSecond   int64 `json:"bytes_per_second,omitzero"`
	Edges            int64 `json:"edges,omitzero"`
	EventsPerSecond  int64 `json:"events_per_second,omitzero"`
	RecordsPerSecond int64 `json:"records_per_second,omitzero"`
	Series           int64 `json:"series,omitzero"`
}

// Grant is a schema of the API.
type Grant struct {
	Budget   GrantsBudget `json:"budget,omitzero"`
	Entities []string     `json:"entities,omitzero"`
	Events   []string     `json:"events,omitzero"`
	Jobs     []string     `json:"jobs,omitzero"`
	May      []string     `json:"may,omitzero"`
	Nodes    []string     `json:"nodes,omitzero"`
	Process  string       `json:"process"`
}

// ProcessState is a schema of the API.
type ProcessState struct {
	Budget       GrantsBudget     `json:"budget"`
	Edges        int64            `json:"edges"`
	Grant        *Grant           `json:"grant"`
	Process      string           `json:"process"`
	Refused      map[string]int64 `json:"refused,omitzero"`
	Schemas      int64            `json:"schemas"`
	Series       int64            `json:"series"`
	WaitingBytes int64            `json:"waiting_bytes"`
}

// Decision is a schema of the API.
type Decision struct {
	At       time.Time `json:"at"`
	Held     bool      `json:"held,omitzero"`
	Outcome  string    `json:"outcome"`
	Revision int64     `json:"revision"`
	Why      string    `json:"why,omitzero"`
}

// Curve is a schema of the API.
type Curve struct {
	Entity  string     `json:"entity"`
	Metric  string     `json:"metric"`
	Rate    bool       `json:"rate"`
	Role    string     `json:"role"`
	T       []int64    `json:"t"`
	Thinned int64      `json:"thinned,omitzero"`
	Unit    string     `json:"unit"`
	V       []*float64 `json:"v"`
}

// Picture is a schema of the API.
type Picture struct {
	Curves []Curve    `json:"curves"`
	From   time.Time  `json:"from"`
	ID     string     `json:"id"`
	Note   string     `json:"note,omitzero"`
	Tick   *time.Time `json:"tick"`
	To     time.Time  `json:"to"`
}

// Alarm is a schema of the API.
type Alarm struct {
	Name  string    `json:"name"`
	Since time.Time `json:"since"`
	Text  string    `json:"text"`
}

// Edge is a schema of the API.
type Edge struct {
	Attrs  map[string]string `json:"attrs"`
	End    *time.Time        `json:"end"`
	From   string            `json:"from"`
	Rel    string            `json:"rel"`
	Source string            `json:"source"`
	Stale  bool              `json:"stale"`
	Start  *time.Time        `json:"start"`
	To     string            `json:"to"`
}

// Entity is a schema of the API.
type Entity struct {
	CooledBy           []string `json:"cooled_by,omitzero"`
	Downlinks          int64    `json:"downlinks,omitzero"`
	FedBy              []string `json:"fed_by,omitzero"`
	Groups             []string `json:"groups,omitzero"`
	ID                 string   `json:"id"`
	In                 *string  `json:"in,omitzero"`
	Jobs               []string `json:"jobs,omitzero"`
	Kind               string   `json:"kind"`
	Peer               *string  `json:"peer,omitzero"`
	SpeedBitsPerSecond float64  `json:"speed_bits_per_second,omitzero"`
	Uplinks            int64    `json:"uplinks,omitzero"`
}

// Found is a schema of the API.
type Found struct {
	Entities []string `json:"entities"`
}

// Gap is a schema of the API.
type Gap struct {
	Collector string     `json:"collector"`
	From      time.Time  `json:"from"`
	Part      string     `json:"part"`
	Target    string     `json:"target"`
	To        *time.Time `json:"to"`
}

// Job is a schema of the API.
type Job struct {
	CheckpointInStep bool       `json:"checkpoint_in_step,omitzero"`
	Failures         int64      `json:"failures"`
	Goodput          *float64   `json:"goodput"`
	GPUs             int64      `json:"gpus"`
	Incidents        []string   `json:"incidents"`
	Job              string     `json:"job"`
	LastStep         *time.Time `json:"last_step"`
	MFU              *float64   `json:"mfu"`
	Nodes            int64      `json:"nodes"`
	Phase            string     `json:"phase"`
	Recent           *Steps     `json:"recent,omitzero"`
	Slowdown         *float64   `json:"slowdown"`
	State            string     `json:"state"`
	StepSeconds      *float64   `json:"step_seconds"`
	Steps            int64      `json:"steps"`
	UsualStepSeconds *float64   `json:"usual_step_seconds"`
	WorkLostSeconds  float64    `json:"work_lost_seconds"`
}

// LogState is a schema of the API.
type LogState struct {
	Bytes int64      `json:"bytes"`
	First int64      `json:"first"`
	Last  int64      `json:"last"`
	Tick  *time.Time `json:"tick"`
}

// Presence is a schema of the API.
type Presence struct {
	Claim      string    `json:"claim"`
	Digest     string    `json:"digest"`
	DigestTick time.Time `json:"digest_tick"`
	Diverged   bool      `json:"diverged"`
	Engine     string    `json:"engine"`
	Name       string    `json:"name"`
	Position   int64     `json:"position"`
	Publishing bool      `json:"publishing"`
	Rules      string    `json:"rules"`
	Tick       time.Time `json:"tick"`
}

// Source is a schema of the API.
type Source struct {
	CadenceSeconds     float64    `json:"cadence_seconds"`
	ClockOffsetSeconds float64    `json:"clock_offset_seconds"`
	Collector          string     `json:"collector"`
	Latest             *time.Time `json:"latest"`
	Part               string     `json:"part"`
	Series             int64      `json:"series"`
	Silent             bool       `json:"silent"`
	Target             string     `json:"target"`
}

// Steps is a schema of the API.
type Steps struct {
	Checkpoints []int64   `json:"checkpoints,omitzero"`
	T           []int64   `json:"t"`
	V           []float64 `json:"v"`
}

// Topology is a schema of the API.
type Topology struct {
	Edges     []Edge           `json:"edges"`
	Entities  []Entity         `json:"entities"`
	Kinds     map[string]int64 `json:"kinds"`
	Next      string           `json:"next,omitzero"`
	Stale     int64            `json:"stale"`
	Tick      *time.Time       `json:"tick"`
	Truncated bool             `json:"truncated"`
}

// AlertAndNote is a schema of the API.
type AlertAndNote struct {
	Alert json.RawMessage `json:"alert"`
	Note  AlertNote       `json:"note"`
}

// AlertList is a schema of the API.
type AlertList struct {
	Alerts    []json.RawMessage    `json:"alerts"`
	Next      string               `json:"next,omitzero"`
	Notes     map[string]AlertNote `json:"notes"`
	Truncated bool                 `json:"truncated,omitzero"`
}

// AlertNote is a schema of the API.
type AlertNote struct {
	Incident   string   `json:"incident,omitzero"`
	SilencedBy []string `json:"silenced_by"`
	Why        string   `json:"why,omitzero"`
}

// Assignment is a schema of the API.
type Assignment struct {
	By   string  `json:"by"`
	Text string  `json:"text"`
	To   *string `json:"to"`
}

// ChangeList is a schema of the API.
type ChangeList struct {
	Changes []KeptChange `json:"changes"`
	Next    string       `json:"next,omitzero"`
}

// Deed is a schema of the API.
type Deed struct {
	Action *string `json:"action"`
	By     string  `json:"by"`
	Text   string  `json:"text"`
}

// Delay is a schema of the API.
type Delay struct {
	CatchingUp bool    `json:"catching_up"`
	Seconds    float64 `json:"seconds"`
	Text       string  `json:"text"`
}

// Delivered is a schema of the API.
type Delivered struct {
	Address      string          `json:"address"`
	At           time.Time       `json:"at"`
	Attempt      int64           `json:"attempt"`
	By           string          `json:"by"`
	Closed       bool            `json:"closed,omitzero"`
	Content      string          `json:"content,omitzero"`
	Dead         int64           `json:"dead"`
	Delivered    int64           `json:"delivered"`
	ID           string          `json:"id"`
	Incident     string          `json:"incident"`
	Known        string          `json:"known,omitzero"`
	LastSequence int64           `json:"last_sequence,omitzero"`
	LeaseSeconds json.RawMessage `json:"lease_seconds,omitzero"`
	Log          []Decision      `json:"log,omitzero"`
	Newest       int64           `json:"newest,omitzero"`
	Next         time.Time       `json:"next,omitzero"`
	Notice       string          `json:"notice,omitzero"`
	Outcome      string          `json:"outcome,omitzero"`
	Reason       string          `json:"reason,omitzero"`
	Receiver     string          `json:"receiver"`
	Repeats      int64           `json:"repeats"`
	Revision     int64           `json:"revision"`
	Sequence     int64           `json:"sequence"`
	Settled      int64           `json:"settled"`
	Skipped      int64           `json:"skipped"`
	State        string          `json:"state"`
	Status       int64           `json:"status,omitzero"`
	Unanswered   bool            `json:"unanswered,omitzero"`
}

// DeliveredList is a schema of the API.
type DeliveredList struct {
	Next          string      `json:"next,omitzero"`
	Notifications []Delivered `json:"notifications"`
	Truncated     bool        `json:"truncated,omitzero"`
}

// Details is a schema of the API.
type Details struct {
	Detail string `json:"detail"`
	Error  string `json:"error"`
	Field  string `json:"field"`
	Status int64  `json:"status"`
	Title  string `json:"title"`
	Type   string `json:"type"`
}

// EntityHealth is a schema of the API.
type EntityHealth struct {
	Alerts     int64             `json:"alerts"`
	Confidence *float64          `json:"confidence"`
	Coverage   Reach             `json:"coverage"`
	Entity     string            `json:"entity"`
	Incident   string            `json:"incident,omitzero"`
	Incidents  int64             `json:"incidents"`
	Reason     string            `json:"reason"`
	Related    []json.RawMessage `json:"related"`
	Risks      int64             `json:"risks"`
	Role       string            `json:"role,omitzero"`
	Since      *time.Time        `json:"since"`
	State      string            `json:"state"`
}

// IncidentList is a schema of the API.
type IncidentList struct {
	Incidents   []Incident          `json:"incidents"`
	LastEventID string              `json:"last_event_id"`
	Next        string              `json:"next,omitzero"`
	Notes       map[string]NoteView `json:"notes"`
	Truncated   bool                `json:"truncated,omitzero"`
}

// JobList is a schema of the API.
type JobList struct {
	Fleet     FleetView `json:"fleet"`
	Jobs      []Job     `json:"jobs"`
	Next      string    `json:"next,omitzero"`
	Truncated bool      `json:"truncated,omitzero"`
}

// KeptChange is a schema of the API.
type KeptChange struct {
	Change   json.RawMessage `json:"change"`
	Sequence int64           `json:"sequence"`
}

// NodeHealth is a schema of the API.
type NodeHealth struct {
	Alerts     int64      `json:"alerts"`
	Confidence *float64   `json:"confidence"`
	Coverage   Reach      `json:"coverage"`
	Incident   string     `json:"incident,omitzero"`
	Incidents  int64      `json:"incidents"`
	Node       string     `json:"node"`
	Reason     string     `json:"reason"`
	Risks      int64      `json:"risks"`
	Role       string     `json:"role,omitzero"`
	Since      *time.Time `json:"since"`
	State      string     `json:"state"`
}

// NoteView is a schema of the API.
type NoteView struct {
	Acknowledged *PersonNote `json:"acknowledged"`
	Assigned     *PersonNote `json:"assigned"`
	Done         *PersonNote `json:"done,omitzero"`
	SilencedBy   []string    `json:"silenced_by"`
	Verdict      *PersonNote `json:"verdict"`
}

// Opinion is a schema of the API.
type Opinion struct {
	By        string          `json:"by"`
	Entity    string          `json:"entity"`
	Signature string          `json:"signature"`
	Text      string          `json:"text"`
	Verdict   json.RawMessage `json:"verdict"`
}

// PersonNote is a schema of the API.
type PersonNote struct {
	Action    string    `json:"action,omitzero"`
	At        time.Time `json:"at"`
	By        string    `json:"by"`
	Entity    string    `json:"entity,omitzero"`
	Signature string    `json:"signature,omitzero"`
	Text      string    `json:"text"`
	To        string    `json:"to,omitzero"`
	Verdict   string    `json:"verdict,omitzero"`
}

// Preview is a schema of the API.
type Preview struct {
	Active    bool          `json:"active"`
	Matched   int64         `json:"matched"`
	Of        int64         `json:"of"`
	Open      []PreviewItem `json:"open"`
	Recent    []PreviewItem `json:"recent"`
	Truncated bool          `json:"truncated,omitzero"`
}

// PreviewItem is a schema of the API.
type PreviewItem struct {
	ID       string    `json:"id"`
	InWindow bool      `json:"in_window"`
	Kind     string    `json:"kind"`
	Opened   time.Time `json:"opened"`
	Root     string    `json:"root"`
	Severity string    `json:"severity"`
	State    string    `json:"state"`
	Title    string    `json:"title"`
}

// Reloaded is a schema of the API.
type Reloaded struct {
	Reloaded bool `json:"reloaded"`
}

// RevisionList is a schema of the API.
type RevisionList struct {
	Next      string     `json:"next,omitzero"`
	Revisions []Incident `json:"revisions"`
}

// SilenceBody is a schema of the API.
type SilenceBody struct {
	Comment   string     `json:"comment"`
	CreatedBy string     `json:"created_by"`
	End       *time.Time `json:"end"`
	ID        string     `json:"id"`
	Matchers  []struct {
		Name  string `json:"name"`
		Op    string `json:"op"`
		Value string `json:"value"`
	} `json:"matchers"`
	Start   time.Time `json:"start"`
	Windows []Window  `json:"windows"`
}

// SilenceList is a schema of the API.
type SilenceList struct {
	Next     string        `json:"next,omitzero"`
	Silences []SilenceView `json:"silences"`
}

// SilenceView is a schema of the API.
type SilenceView struct {
	Changes   *time.Time        `json:"changes"`
	Comment   string            `json:"comment"`
	Created   time.Time         `json:"created"`
	CreatedBy string            `json:"created_by"`
	End       *time.Time        `json:"end"`
	ExpiredBy string            `json:"expired_by,omitzero"`
	ID        string            `json:"id"`
	Matchers  []json.RawMessage `json:"matchers"`
	Mutes     []string          `json:"mutes"`
	Start     time.Time         `json:"start"`
	State     string            `json:"state"`
	Updated   time.Time         `json:"updated"`
	Windows   []Window          `json:"windows"`
}

// SiteStatus is a schema of the API.
type SiteStatus struct {
	Alarms   []Alarm    `json:"alarms"`
	Behind   *Delay     `json:"behind"`
	Demo     string     `json:"demo"`
	Engine   string     `json:"engine"`
	Faults   bool       `json:"faults,omitzero"`
	Health   Site       `json:"health"`
	Log      LogState   `json:"log"`
	Position int64      `json:"position"`
	Replay   bool       `json:"replay,omitzero"`
	Replicas []Presence `json:"replicas"`
	Rules    string     `json:"rules"`
	Silent   int64      `json:"silent"`
	Site     string     `json:"site"`
	Sources  int64      `json:"sources"`
	Speed    float64    `json:"speed"`
	Started  time.Time  `json:"started"`
	Tick     *time.Time `json:"tick"`
}

// SourceList is a schema of the API.
type SourceList struct {
	Gaps      []Gap          `json:"gaps"`
	Next      string         `json:"next,omitzero"`
	Processes []ProcessState `json:"processes,omitzero"`
	Sources   []Source       `json:"sources"`
	Truncated bool           `json:"truncated,omitzero"`
}

// Window is a schema of the API.
type Window struct {
	At      string   `json:"at"`
	Days    []string `json:"days"`
	Minutes int64    `json:"minutes"`
	Zone    string   `json:"zone"`
}

// StatusDomain is a schema of the API.
type StatusDomain struct {
	Alerts     int64      `json:"alerts"`
	Confidence *float64   `json:"confidence"`
	Coverage   Reach      `json:"coverage"`
	Domain     string     `json:"domain"`
	Incident   string     `json:"incident,omitzero"`
	Incidents  int64      `json:"incidents"`
	Reason     string     `json:"reason"`
	Risks      int64      `json:"risks"`
	Role       string     `json:"role,omitzero"`
	Since      *time.Time `json:"since"`
	State      string     `json:"state"`
}

// Site is a schema of the API.
type Site struct {
	Alerts     int64          `json:"alerts"`
	Confidence *float64       `json:"confidence"`
	Coverage   Reach          `json:"coverage"`
	Domains    []StatusDomain `json:"domains"`
	Incident   string         `json:"incident,omitzero"`
	Incidents  int64          `json:"incidents"`
	Reason     string         `json:"reason"`
	Risks      int64          `json:"risks"`
	Role       string         `json:"role,omitzero"`
	Since      *time.Time     `json:"since"`
	State      string         `json:"state"`
}

// SurveyDomain is a schema of the API.
type SurveyDomain struct {
	Domain  string     `json:"domain"`
	Latest  *time.Time `json:"latest"`
	Metrics int64      `json:"metrics"`
	Series  int64      `json:"series"`
}

// Event is a schema of the API.
type Event struct {
	Collector string    `json:"collector"`
	Count     int64     `json:"count"`
	Event     string    `json:"event"`
	Kind      string    `json:"kind"`
	Latest    time.Time `json:"latest"`
}

// Fault is a schema of the API.
type Fault struct {
	Domain    string `json:"domain"`
	Missing   []Want `json:"missing"`
	Sight     string `json:"sight"`
	Signature string `json:"signature"`
}

// Metric is a schema of the API.
type Metric struct {
	Collector string    `json:"collector"`
	Entities  int64     `json:"entities"`
	Kind      string    `json:"kind"`
	Latest    time.Time `json:"latest"`
	Metric    string    `json:"metric"`
}

// Reach is a schema of the API.
type Reach struct {
	Latest  *time.Time `json:"latest"`
	Series  int64      `json:"series"`
	Sources int64      `json:"sources"`
	Stale   int64      `json:"stale"`
}

// Relation is a schema of the API.
type Relation struct {
	From   string    `json:"from"`
	Latest time.Time `json:"latest"`
	Rel    string    `json:"rel"`
	Source string    `json:"source"`
	To     string    `json:"to"`
}

// Report is a schema of the API.
type Report struct {
	At           *time.Time     `json:"at"`
	Domains      []SurveyDomain `json:"domains"`
	Events       []Event        `json:"events"`
	Faults       []Fault        `json:"faults"`
	Lost         int64          `json:"lost"`
	Metrics      []Metric       `json:"metrics"`
	Relations    []Relation     `json:"relations"`
	Requirements []Requirement  `json:"requirements"`
	Since        *time.Time     `json:"since"`
}

// Requirement is a schema of the API.
type Requirement struct {
	Area   string     `json:"area"`
	By     []string   `json:"by"`
	Do     string     `json:"do"`
	ID     string     `json:"id"`
	Latest *time.Time `json:"latest"`
	State  string     `json:"state"`
	What   string     `json:"what"`
}

// Want is a schema of the API.
type Want struct {
	Entities  int64  `json:"entities"`
	Metric    string `json:"metric"`
	Of        int64  `json:"of"`
	On        string `json:"on"`
	WouldTell string `json:"would_tell"`
}

// Interval is a schema of the API.
type Interval struct {
	Earliest time.Time `json:"earliest"`
	Latest   time.Time `json:"latest"`
}

// GetHealthy: Whether the process answers.
//
// GET /-/healthy
//
// The caller closes the answer.
func (c *Client) GetHealthy(ctx context.Context) (io.ReadCloser, error) {
	return c.open(ctx, http.MethodGet, "/-/healthy", nil, nil)
}

// GetReady: Whether the process is ready.
//
// GET /-/ready
//
// The caller closes the answer.
func (c *Client) GetReady(ctx context.Context) (io.ReadCloser, error) {
	return c.open(ctx, http.MethodGet, "/-/ready", nil, nil)
}

// PostReload: Read the configuration again.
//
// POST /-/reload
func (c *Client) PostReload(ctx context.Context) (*Reloaded, error) {
	out := new(Reloaded)
	return out, c.call(ctx, http.MethodPost, "/-/reload", nil, nil, out)
}

// GetAlertsParams are the parameters of GetAlerts. Zero values are not sent.
type GetAlertsParams struct {
	State  string // in this state
	Limit  int64  // at most so many
	Cursor string // go on behind an earlier answer: its next
}

// GetAlerts: The alerts of the rules, open ones first.
//
// GET /api/v1/alerts
func (c *Client) GetAlerts(ctx context.Context, params GetAlertsParams) (*AlertList, error) {
	query := url.Values{}
	set(query, "state", params.State)
	set(query, "limit", params.Limit)
	set(query, "cursor", params.Cursor)
	out := new(AlertList)
	return out, c.call(ctx, http.MethodGet, "/api/v1/alerts", query, nil, out)
}

// PostAlertsAlertmanager: Alerts, as Alertmanager, Grafana and Prometheus send them.
//
// POST /api/v1/alerts/alertmanager
//
// The caller closes the answer.
func (c *Client) PostAlertsAlertmanager(ctx context.Context, body Body) (io.ReadCloser, error) {
	return c.open(ctx, http.MethodPost, "/api/v1/alerts/alertmanager", nil, body)
}

// PostAlertsGrafana: Alerts, as Alertmanager, Grafana and Prometheus send them.
//
// POST /api/v1/alerts/grafana
//
// The caller closes the answer.
func (c *Client) PostAlertsGrafana(ctx context.Context, body Body) (io.ReadCloser, error) {
	return c.open(ctx, http.MethodPost, "/api/v1/alerts/grafana", nil, body)
}

// GetAlertsID: One alert.
//
// GET /api/v1/alerts/{id}
func (c *Client) GetAlertsID(ctx context.Context, id string) (*AlertAndNote, error) {
	out := new(AlertAndNote)
	return out, c.call(ctx, http.MethodGet, "/api/v1/alerts/"+url.PathEscape(id), nil, nil, out)
}

// GetAuditParams are the parameters of GetAudit. Zero values are not sent.
type GetAuditParams struct {
	Limit  int64  // at most so many
	Cursor string // go on behind an earlier answer: its next
	Before int64  // changes before this sequence
}

// GetAudit: Changes that people made, the newest first.
//
// GET /api/v1/audit
func (c *Client) GetAudit(ctx context.Context, params GetAuditParams) (*ChangeList, error) {
	query := url.Values{}
	set(query, "limit", params.Limit)
	set(query, "cursor", params.Cursor)
	set(query, "before", params.Before)
	out := new(ChangeList)
	return out, c.call(ctx, http.MethodGet, "/api/v1/audit", query, nil, out)
}

// GetBottlenecksParams are the parameters of GetBottlenecks. Zero values are not sent.
type GetBottlenecksParams struct {
	Window string // the time that ends now: 90m, 24h, 7d; at most 30d
}

// GetBottlenecks: What limits the work, in percent of the available GPU-seconds.
//
// GET /api/v1/bottlenecks
func (c *Client) GetBottlenecks(ctx context.Context, params GetBottlenecksParams) (*Bottlenecks, error) {
	query := url.Values{}
	set(query, "window", params.Window)
	out := new(Bottlenecks)
	return out, c.call(ctx, http.MethodGet, "/api/v1/bottlenecks", query, nil, out)
}

// GetBudgetParams are the parameters of GetBudget. Zero values are not sent.
type GetBudgetParams struct {
	Window string // the time that ends now: 90m, 24h, 7d; at most 30d
	Job    string // of one job
}

// GetBudget: Where GPU-seconds went, from peak to achieved.
//
// GET /api/v1/budget
func (c *Client) GetBudget(ctx context.Context, params GetBudgetParams) (*Budgets, error) {
	query := url.Values{}
	set(query, "window", params.Window)
	set(query, "job", params.Job)
	out := new(Budgets)
	return out, c.call(ctx, http.MethodGet, "/api/v1/budget", query, nil, out)
}

// GetCaptureParams are the parameters of GetCapture. Zero values are not sent.
type GetCaptureParams struct {
	Last     string // this long, such as 15m
	Incident string // around this incident
}

// GetCapture: A trace of the log.
//
// GET /api/v1/capture
//
// The caller closes the answer.
func (c *Client) GetCapture(ctx context.Context, params GetCaptureParams) (io.ReadCloser, error) {
	query := url.Values{}
	set(query, "last", params.Last)
	set(query, "incident", params.Incident)
	return c.open(ctx, http.MethodGet, "/api/v1/capture", query, nil)
}

// GetCouplingParams are the parameters of GetCoupling. Zero values are not sent.
type GetCouplingParams struct {
	Window string // the time that ends now: 90m, 24h, 7d; at most 30d
}

// GetCoupling: Through which domains losses passed.
//
// GET /api/v1/coupling
func (c *Client) GetCoupling(ctx context.Context, params GetCouplingParams) (*Matrix, error) {
	query := url.Values{}
	set(query, "window", params.Window)
	out := new(Matrix)
	return out, c.call(ctx, http.MethodGet, "/api/v1/coupling", query, nil, out)
}

// GetCoverageParams are the parameters of GetCoverage. Zero values are not sent.
type GetCoverageParams struct {
	Limit  int64  // at most so many
	Cursor string // go on behind an earlier answer: its next
}

// GetCoverage: The sources: what each reports, how often, and gaps.
//
// GET /api/v1/coverage
func (c *Client) GetCoverage(ctx context.Context, params GetCoverageParams) (*SourceList, error) {
	query := url.Values{}
	set(query, "limit", params.Limit)
	set(query, "cursor", params.Cursor)
	out := new(SourceList)
	return out, c.call(ctx, http.MethodGet, "/api/v1/coverage", query, nil, out)
}

// GetCoverageReport: What the site reports and lacks, and which faults cannot be distinguished.
//
// GET /api/v1/coverage/report
func (c *Client) GetCoverageReport(ctx context.Context) (*Report, error) {
	out := new(Report)
	return out, c.call(ctx, http.MethodGet, "/api/v1/coverage/report", nil, nil, out)
}

// PostEdges: State how entities are connected.
//
// POST /api/v1/edges
//
// The caller closes the answer.
func (c *Client) PostEdges(ctx context.Context, body Body) (io.ReadCloser, error) {
	return c.open(ctx, http.MethodPost, "/api/v1/edges", nil, body)
}

// GetEntityParams are the parameters of GetEntity. Zero values are not sent.
type GetEntityParams struct {
	Entity string // kind:name
}

// GetEntity: The state of an entity, and what concerns it.
//
// GET /api/v1/entity
func (c *Client) GetEntity(ctx context.Context, params GetEntityParams) (*EntityHealth, error) {
	query := url.Values{}
	set(query, "entity", params.Entity)
	out := new(EntityHealth)
	return out, c.call(ctx, http.MethodGet, "/api/v1/entity", query, nil, out)
}

// PostEvents: Report events.
//
// POST /api/v1/events
//
// The caller closes the answer.
func (c *Client) PostEvents(ctx context.Context, body Body) (io.ReadCloser, error) {
	return c.open(ctx, http.MethodPost, "/api/v1/events", nil, body)
}

// GetIncidentsParams are the parameters of GetIncidents. Zero values are not sent.
type GetIncidentsParams struct {
	State  string // in this state
	Job    string // one job, with or without job:
	Since  string // changed at or after this time (RFC 3339)
	Limit  int64  // at most so many
	Cursor string // go on behind an earlier answer: its next
}

// GetIncidents: The incidents, the newest opening first.
//
// GET /api/v1/incidents
func (c *Client) GetIncidents(ctx context.Context, params GetIncidentsParams) (*IncidentList, error) {
	query := url.Values{}
	set(query, "state", params.State)
	set(query, "job", params.Job)
	set(query, "since", params.Since)
	set(query, "limit", params.Limit)
	set(query, "cursor", params.Cursor)
	out := new(IncidentList)
	return out, c.call(ctx, http.MethodGet, "/api/v1/incidents", query, nil, out)
}

// GetIncidentsID: One incident as it is now.
//
// GET /api/v1/incidents/{id}
func (c *Client) GetIncidentsID(ctx context.Context, id string) (*Incident, error) {
	out := new(Incident)
	return out, c.call(ctx, http.MethodGet, "/api/v1/incidents/"+url.PathEscape(id), nil, nil, out)
}

// PostIncidentsIDAcknowledge: Acknowledge an incident.
//
// POST /api/v1/incidents/{id}/acknowledge
func (c *Client) PostIncidentsIDAcknowledge(ctx context.Context, id string, body Opinion) (*NoteView, error) {
	out := new(NoteView)
	return out, c.call(ctx, http.MethodPost, "/api/v1/incidents/"+url.PathEscape(id)+"/acknowledge", nil, body, out)
}

// PostIncidentsIDAssign: Assign an incident.
//
// POST /api/v1/incidents/{id}/assign
func (c *Client) PostIncidentsIDAssign(ctx context.Context, id string, body Assignment) (*NoteView, error) {
	out := new(NoteView)
	return out, c.call(ctx, http.MethodPost, "/api/v1/incidents/"+url.PathEscape(id)+"/assign", nil, body, out)
}

// GetIncidentsIDCurvesParams are the parameters of GetIncidentsIDCurves. Zero values are not sent.
type GetIncidentsIDCurvesParams struct {
	Since string // what is newer (RFC 3339)
}

// GetIncidentsIDCurves: The curves that are the evidence of an incident.
//
// GET /api/v1/incidents/{id}/curves
func (c *Client) GetIncidentsIDCurves(ctx context.Context, id string, params GetIncidentsIDCurvesParams) (*Picture, error) {
	query := url.Values{}
	set(query, "since", params.Since)
	out := new(Picture)
	return out, c.call(ctx, http.MethodGet, "/api/v1/incidents/"+url.PathEscape(id)+"/curves", query, nil, out)
}

// PostIncidentsIDDone: State which action was done about an incident.
//
// POST /api/v1/incidents/{id}/done
func (c *Client) PostIncidentsIDDone(ctx context.Context, id string, body Deed) (*NoteView, error) {
	out := new(NoteView)
	return out, c.call(ctx, http.MethodPost, "/api/v1/incidents/"+url.PathEscape(id)+"/done", nil, body, out)
}

// GetIncidentsIDNotes: What people stated about an incident, and what mutes it.
//
// GET /api/v1/incidents/{id}/notes
func (c *Client) GetIncidentsIDNotes(ctx context.Context, id string) (*NoteView, error) {
	out := new(NoteView)
	return out, c.call(ctx, http.MethodGet, "/api/v1/incidents/"+url.PathEscape(id)+"/notes", nil, nil, out)
}

// GetIncidentsIDRevisionsParams are the parameters of GetIncidentsIDRevisions. Zero values are not sent.
type GetIncidentsIDRevisionsParams struct {
	Limit  int64  // at most so many
	Cursor string // go on behind an earlier answer: its next
}

// GetIncidentsIDRevisions: The revisions of an incident as they were published, the oldest first.
//
// GET /api/v1/incidents/{id}/revisions
func (c *Client) GetIncidentsIDRevisions(ctx context.Context, id string, params GetIncidentsIDRevisionsParams) (*RevisionList, error) {
	query := url.Values{}
	set(query, "limit", params.Limit)
	set(query, "cursor", params.Cursor)
	out := new(RevisionList)
	return out, c.call(ctx, http.MethodGet, "/api/v1/incidents/"+url.PathEscape(id)+"/revisions", query, nil, out)
}

// PostIncidentsIDVerdict: State whether an incident's root was right.
//
// POST /api/v1/incidents/{id}/verdict
func (c *Client) PostIncidentsIDVerdict(ctx context.Context, id string, body Opinion) (*NoteView, error) {
	out := new(NoteView)
	return out, c.call(ctx, http.MethodPost, "/api/v1/incidents/"+url.PathEscape(id)+"/verdict", nil, body, out)
}

// GetJobsParams are the parameters of GetJobs. Zero values are not sent.
type GetJobsParams struct {
	Limit  int64  // at most so many
	Cursor string // go on behind an earlier answer: its next
}

// GetJobs: The jobs: state, steps, slowdown, goodput.
//
// GET /api/v1/jobs
func (c *Client) GetJobs(ctx context.Context, params GetJobsParams) (*JobList, error) {
	query := url.Values{}
	set(query, "limit", params.Limit)
	set(query, "cursor", params.Cursor)
	out := new(JobList)
	return out, c.call(ctx, http.MethodGet, "/api/v1/jobs", query, nil, out)
}

// PostJobsJobSteps: Report steps of a job.
//
// POST /api/v1/jobs/{job}/steps
//
// The caller closes the answer.
func (c *Client) PostJobsJobSteps(ctx context.Context, job string, body Body) (io.ReadCloser, error) {
	return c.open(ctx, http.MethodPost, "/api/v1/jobs/"+url.PathEscape(job)+"/steps", nil, body)
}

// GetLossesParams are the parameters of GetLosses. Zero values are not sent.
type GetLossesParams struct {
	Window string // the time that ends now: 90m, 24h, 7d; at most 30d
	Job    string // of one job
}

// GetLosses: What was lost, by job, cause, domain and day.
//
// GET /api/v1/losses
func (c *Client) GetLosses(ctx context.Context, params GetLossesParams) (*Losses, error) {
	query := url.Values{}
	set(query, "window", params.Window)
	set(query, "job", params.Job)
	out := new(Losses)
	return out, c.call(ctx, http.MethodGet, "/api/v1/losses", query, nil, out)
}

// GetNodesNameHealthParams are the parameters of GetNodesNameHealth. Zero values are not sent.
type GetNodesNameHealthParams struct {
	MinConfidence float64 // least confidence, 0 to 1, of a root
}

// GetNodesNameHealth: The state of a node, for schedulers.
//
// GET /api/v1/nodes/{name}/health
func (c *Client) GetNodesNameHealth(ctx context.Context, name string, params GetNodesNameHealthParams) (*NodeHealth, error) {
	query := url.Values{}
	set(query, "min_confidence", params.MinConfidence)
	out := new(NodeHealth)
	return out, c.call(ctx, http.MethodGet, "/api/v1/nodes/"+url.PathEscape(name)+"/health", query, nil, out)
}

// GetNotificationsParams are the parameters of GetNotifications. Zero values are not sent.
type GetNotificationsParams struct {
	Incident string // of one incident
	Receiver string // to one receiver
	State    string // in this state
	Limit    int64  // at most so many
	Cursor   string // go on behind an earlier answer: its next
}

// GetNotifications: Why revisions were delivered to each receiver, or were not.
//
// GET /api/v1/notifications
func (c *Client) GetNotifications(ctx context.Context, params GetNotificationsParams) (*DeliveredList, error) {
	query := url.Values{}
	set(query, "incident", params.Incident)
	set(query, "receiver", params.Receiver)
	set(query, "state", params.State)
	set(query, "limit", params.Limit)
	set(query, "cursor", params.Cursor)
	out := new(DeliveredList)
	return out, c.call(ctx, http.MethodGet, "/api/v1/notifications", query, nil, out)
}

// PostNotificationsIDRetry: Try a dead delivery again.
//
// POST /api/v1/notifications/{id}/retry
func (c *Client) PostNotificationsIDRetry(ctx context.Context, id string, body Opinion) (*Delivered, error) {
	out := new(Delivered)
	return out, c.call(ctx, http.MethodPost, "/api/v1/notifications/"+url.PathEscape(id)+"/retry", nil, body, out)
}

// GetOpenapiJSON: This document.
//
// GET /api/v1/openapi.json
//
// The caller closes the answer.
func (c *Client) GetOpenapiJSON(ctx context.Context) (io.ReadCloser, error) {
	return c.open(ctx, http.MethodGet, "/api/v1/openapi.json", nil, nil)
}

// GetRunbooksSignature: What to do about a signature: Markdown.
//
// GET /api/v1/runbooks/{signature}
//
// The caller closes the answer.
func (c *Client) GetRunbooksSignature(ctx context.Context, signature string) (io.ReadCloser, error) {
	return c.open(ctx, http.MethodGet, "/api/v1/runbooks/"+url.PathEscape(signature), nil, nil)
}

// GetSearchParams are the parameters of GetSearch. Zero values are not sent.
type GetSearchParams struct {
	Q     string // the text
	Limit int64  // at most so many
}

// GetSearch: Entities whose kind:name contains a text.
//
// GET /api/v1/search
func (c *Client) GetSearch(ctx context.Context, params GetSearchParams) (*Found, error) {
	query := url.Values{}
	set(query, "q", params.Q)
	set(query, "limit", params.Limit)
	out := new(Found)
	return out, c.call(ctx, http.MethodGet, "/api/v1/search", query, nil, out)
}

// GetSilencesParams are the parameters of GetSilences. Zero values are not sent.
type GetSilencesParams struct {
	State  string // in this state
	Limit  int64  // at most so many
	Cursor string // go on behind an earlier answer: its next
}

// GetSilences: The silences, the last to change first.
//
// GET /api/v1/silences
func (c *Client) GetSilences(ctx context.Context, params GetSilencesParams) (*SilenceList, error) {
	query := url.Values{}
	set(query, "state", params.State)
	set(query, "limit", params.Limit)
	set(query, "cursor", params.Cursor)
	out := new(SilenceList)
	return out, c.call(ctx, http.MethodGet, "/api/v1/silences", query, nil, out)
}

// PostSilences: State a silence, or change one.
//
// POST /api/v1/silences
func (c *Client) PostSilences(ctx context.Context, body SilenceBody) (*SilenceView, error) {
	out := new(SilenceView)
	return out, c.call(ctx, http.MethodPost, "/api/v1/silences", nil, body, out)
}

// PostSilencesPreview: Which incidents a silence would mute.
//
// POST /api/v1/silences/preview
func (c *Client) PostSilencesPreview(ctx context.Context, body SilenceBody) (*Preview, error) {
	out := new(Preview)
	return out, c.call(ctx, http.MethodPost, "/api/v1/silences/preview", nil, body, out)
}

// PostSilencesIDExpire: End a silence.
//
// POST /api/v1/silences/{id}/expire
func (c *Client) PostSilencesIDExpire(ctx context.Context, id string, body Opinion) (*SilenceView, error) {
	out := new(SilenceView)
	return out, c.call(ctx, http.MethodPost, "/api/v1/silences/"+url.PathEscape(id)+"/expire", nil, body, out)
}

// GetStatus: The state of the site, its engine and its log.
//
// GET /api/v1/status
func (c *Client) GetStatus(ctx context.Context) (*SiteStatus, error) {
	out := new(SiteStatus)
	return out, c.call(ctx, http.MethodGet, "/api/v1/status", nil, nil, out)
}

// GetStreamParams are the parameters of GetStream. Zero values are not sent.
type GetStreamParams struct {
	After string // go on after this event
}

// GetStream: Server-sent events: incidents, alerts, notes and state as they change.
//
// GET /api/v1/stream
//
// The caller closes the answer.
func (c *Client) GetStream(ctx context.Context, params GetStreamParams) (io.ReadCloser, error) {
	query := url.Values{}
	set(query, "after", params.After)
	return c.open(ctx, http.MethodGet, "/api/v1/stream", query, nil)
}

// GetTopologyParams are the parameters of GetTopology. Zero values are not sent.
type GetTopologyParams struct {
	Entity string // what is around it
	Hops   *int64 // how far around it; nil is 2
	Kind   string // the entities of a kind
	In     string // directly in this entity
	After  string // go on after the last answer's next
	Limit  int64  // at most so many
	Cursor string // go on behind an earlier answer: its next
}

// GetTopology: Entities and how they are connected.
//
// GET /api/v1/topology
func (c *Client) GetTopology(ctx context.Context, params GetTopologyParams) (*Topology, error) {
	query := url.Values{}
	set(query, "entity", params.Entity)
	setGiven(query, "hops", params.Hops)
	set(query, "kind", params.Kind)
	set(query, "in", params.In)
	set(query, "after", params.After)
	set(query, "limit", params.Limit)
	set(query, "cursor", params.Cursor)
	out := new(Topology)
	return out, c.call(ctx, http.MethodGet, "/api/v1/topology", query, nil, out)
}

// PostWrite: Prometheus remote write, 1.0 and 2.0.
//
// POST /api/v1/write
//
// The caller closes the answer.
func (c *Client) PostWrite(ctx context.Context, body Body) (io.ReadCloser, error) {
	return c.open(ctx, http.MethodPost, "/api/v1/write", nil, body)
}

// PostApiV2Alerts: Alerts, as Alertmanager, Grafana and Prometheus send them.
//
// POST /api/v2/alerts
//
// The caller closes the answer.
func (c *Client) PostApiV2Alerts(ctx context.Context, body Body) (io.ReadCloser, error) {
	return c.open(ctx, http.MethodPost, "/api/v2/alerts", nil, body)
}

// GetMetrics: The metrics of this process.
//
// GET /metrics
//
// The caller closes the answer.
func (c *Client) GetMetrics(ctx context.Context) (io.ReadCloser, error) {
	return c.open(ctx, http.MethodGet, "/metrics", nil, nil)
}

// GetPrometheus: Prometheus's query API over the history, in Prometheus's form.
//
// GET /prometheus/{path}
//
// The caller closes the answer.
func (c *Client) GetPrometheus(ctx context.Context, path string) (io.ReadCloser, error) {
	return c.open(ctx, http.MethodGet, "/prometheus/"+path, nil, nil)
}

// PostPrometheus: Prometheus's query API over the history, in Prometheus's form.
//
// POST /prometheus/{path}
//
// The caller closes the answer.
func (c *Client) PostPrometheus(ctx context.Context, path string, body Body) (io.ReadCloser, error) {
	return c.open(ctx, http.MethodPost, "/prometheus/"+path, nil, body)
}

// PostV1Metrics: OTLP metrics over HTTP.
//
// POST /v1/metrics
//
// The caller closes the answer.
func (c *Client) PostV1Metrics(ctx context.Context, body Body) (io.ReadCloser, error) {
	return c.open(ctx, http.MethodPost, "/v1/metrics", nil, body)
}
