package telemetry

import "cmp"

// RecordKind states which field of a Record is set.
type RecordKind uint8

// The kinds of record. Their numbers are part of the log's format.
const (
	SchemaRecord RecordKind = iota + 1
	FrameRecord
	EventRecord
	EdgeRecord
	ConfigRecord
	TickRecord
)

// Record is an entry of the log. Exactly the field named by Kind is set. A
// frame stays encoded (EncodedFrame) until its grid is closed, because its
// bytes are an eighth of its values.
type Record struct {
	Kind   RecordKind
	Schema *Schema
	Frame  EncodedFrame
	Event  *Event
	Edge   *Edge
	Config *Config
	Tick   Tick
}

// Tick is the record that moves time: every grid that ends at or before At
// less its class's lateness may be closed. Nothing else moves time (I1).
type Tick struct{ At Time }

// ConfigKey states what a config record configures.
type ConfigKey string

// The configuration that can change an answer.
const (
	ConfigSite       ConfigKey = "site"       // grid, lateness classes, site name
	ConfigCatalogue  ConfigKey = "catalogue"  // metric declarations
	ConfigSignatures ConfigKey = "signatures" // the signatures in force
	ConfigJobs       ConfigKey = "jobs"       // job settings
	ConfigEngine     ConfigKey = "engine"     // who publishes incidents, and what they go on with
	ConfigHole       ConfigKey = "hole"       // entries that the log lost
)

// Config is whatever else can change an answer, with its content. It applies
// from the first grid not yet closed.
type Config struct {
	Key      ConfigKey
	Received Time
	Digest   [32]byte // SHA-256 of Content
	Content  []byte
}

// EncodedFrame is the bytes of a frame as AppendFrame writes them.
type EncodedFrame []byte

// Compare orders configs by key, then digest.
func (c *Config) Compare(o *Config) int {
	if d := cmp.Compare(c.Key, o.Key); d != 0 {
		return d
	}
	return cmp.Compare(string(c.Digest[:]), string(o.Digest[:]))
}
