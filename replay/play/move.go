package play

import (
	"fmt"
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

// mover gives records with their times moved. It never changes the record it is
// given.
type mover struct {
	shift   telemetry.Duration
	raise   uint64 // of incarnations
	site    string
	schemas map[telemetry.Fingerprint]*telemetry.Schema
	// all lists every schema of the recording; it is asked once, for a frame
	// that comes before its schema.
	all func() (map[telemetry.Fingerprint]*telemetry.Schema, error)

	decoder telemetry.Decoder
	encoder telemetry.Encoder
	frame   telemetry.Frame
	bytes   []byte // scratch
	skipped uint64 // frames that could not be moved
}

// note keeps a schema for the frames to come.
func (m *mover) note(r *telemetry.Record) {
	if r.Kind != telemetry.SchemaRecord {
		return
	}
	if fp := r.Schema.Fingerprint(); m.schemas[fp] == nil { // by pointer: a coder knows it again
		m.schemas[fp] = r.Schema
	}
}

// record returns r as of now. An error means a frame that cannot be moved, and
// is counted.
func (m *mover) record(r *telemetry.Record) (*telemetry.Record, error) {
	out := *r
	switch r.Kind {
	case telemetry.FrameRecord:
		b, err := m.moveFrame(r.Frame)
		if err != nil {
			m.skipped++
			return nil, err
		}
		out.Frame = b
	case telemetry.EventRecord:
		e := *r.Event
		e.At, e.Received = m.time(e.At), m.time(e.Received)
		out.Event = &e
	case telemetry.EdgeRecord:
		e := *r.Edge
		e.Start, e.End, e.Received = m.time(e.Start), m.time(e.End), m.time(e.Received)
		out.Edge = &e
	case telemetry.ConfigRecord:
		out.Config = m.config(r.Config)
	case telemetry.TickRecord:
		out.Tick.At = m.time(r.Tick.At)
	}
	return &out, nil
}

// time moves an instant; zero is none.
func (m *mover) time(t telemetry.Time) telemetry.Time {
	if t == 0 {
		return 0
	}
	return t.Add(m.shift)
}

// config moves a config and gives it the site's name, where one is set.
func (m *mover) config(c *telemetry.Config) *telemetry.Config {
	out := *c
	out.Received = m.time(c.Received)
	if m.site == "" || c.Key != telemetry.ConfigSite {
		return &out
	}
	site, err := telemetry.ParseSiteConfig(c.Content)
	if err != nil {
		return &out // as it is: the engine counts it
	}
	site.Site = m.site
	named := site.Record()
	named.Received = out.Received
	return named
}

func (m *mover) moveFrame(b telemetry.EncodedFrame) (telemetry.EncodedFrame, error) {
	h, err := b.Header()
	if err != nil {
		return nil, err
	}
	s, err := m.schema(h.Fingerprint)
	if err != nil {
		return nil, err
	}
	if err := m.decoder.Decode(b, s, &m.frame); err != nil {
		return nil, err
	}
	m.frame.Incarnation += m.raise
	for i := range m.frame.Instants {
		at := &m.frame.Instants[i]
		at.Source, at.Received = m.time(at.Source), m.time(at.Received)
	}
	m.bytes, err = m.encoder.AppendFrame(m.bytes[:0], s, &m.frame)
	return slices.Clone(m.bytes), err
}

func (m *mover) schema(fp telemetry.Fingerprint) (*telemetry.Schema, error) {
	if m.schemas[fp] == nil && m.all != nil {
		all, err := m.all()
		if err != nil {
			return nil, err
		}
		m.all = nil
		for k, s := range all {
			if m.schemas[k] == nil {
				m.schemas[k] = s
			}
		}
	}
	if s := m.schemas[fp]; s != nil {
		return s, nil
	}
	return nil, fmt.Errorf("frame: schema %s is not in the recording", fp)
}
