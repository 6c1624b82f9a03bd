package telemetry

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// Limits of a record's texts. An event's text is a log line, not a log.
const (
	MaxEventText  = 1 << 16
	MaxEdgeAttrs  = 64
	maxNameText   = 200
	maxAttrText   = 1024
	maxConfigText = 64 << 20
)

// NewConfig returns a config record's content with its digest.
func NewConfig(key ConfigKey, received Time, content []byte) *Config {
	return &Config{Key: key, Received: received, Digest: sha256.Sum256(content), Content: content}
}

// AppendRecord appends a record's bytes: its kind and a body, which is not
// self-delimiting (docs/format-frame.md). It refuses what ParseRecord would. On
// error dst comes back as it was.
func AppendRecord(dst []byte, r *Record) ([]byte, error) {
	if err := r.validate(); err != nil {
		return dst, fmt.Errorf("append record: %w", err)
	}
	dst = append(dst, byte(r.Kind))
	switch r.Kind {
	case SchemaRecord:
		dst = r.Schema.AppendBinary(dst)
	case FrameRecord:
		dst = append(dst, r.Frame...)
	case EventRecord:
		dst = appendEvent(dst, r.Event)
	case EdgeRecord:
		dst = appendEdge(dst, r.Edge)
	case ConfigRecord:
		dst = appendVarint(appendText(dst, string(r.Config.Key)), int64(r.Config.Received))
		dst = append(append(dst, r.Config.Digest[:]...), r.Config.Content...)
	case TickRecord:
		dst = appendVarint(dst, int64(r.Tick.At))
	}
	return dst, nil
}

func appendEvent(dst []byte, e *Event) []byte {
	dst = appendText(dst, e.Entity.String())
	dst = appendVarint(appendVarint(dst, int64(e.At)), int64(e.Received))
	dst = appendText(appendText(dst, string(e.Name)), e.Text)
	return appendSource(dst, e.Source)
}

func appendEdge(dst []byte, e *Edge) []byte {
	dst = appendText(dst, string(e.Relation))
	dst = appendText(appendText(dst, e.From.String()), e.To.String())
	for _, t := range [...]Time{e.Start, e.End, e.Received} {
		dst = appendVarint(dst, int64(t))
	}
	dst = appendText(dst, e.Source)
	dst = binary.AppendUvarint(dst, uint64(len(e.Attrs)))
	for _, a := range e.Attrs {
		dst = appendText(appendText(dst, a.Key), a.Value)
	}
	return dst
}

// ParseRecord reads what AppendRecord writes and nothing else. A frame is not
// looked into, and its bytes and a config's content are those of b, not a copy.
func ParseRecord(b []byte) (Record, error) {
	r := reader{b: b}
	rec := Record{Kind: RecordKind(r.u8("kind"))}
	switch rec.Kind {
	case SchemaRecord:
		s, err := ParseSchema(r.rest())
		if err != nil {
			return Record{}, fmt.Errorf("parse record: %w", err)
		}
		rec.Schema = s
	case FrameRecord:
		rec.Frame = EncodedFrame(r.rest())
	case EventRecord:
		rec.Event = r.event()
	case EdgeRecord:
		rec.Edge = r.edge()
	case ConfigRecord:
		rec.Config = r.config()
	case TickRecord:
		rec.Tick = Tick{Time(r.varint("tick"))}
	default:
		r.fail(errors.New("unknown"))
	}
	if err := r.end(); err != nil {
		return Record{}, fmt.Errorf("parse record: %s: %w", rec.Kind, err)
	}
	if err := rec.validate(); err != nil {
		return Record{}, fmt.Errorf("parse record: %w", err)
	}
	return rec, nil
}

func (r *reader) rest() []byte {
	b := r.b[r.off:]
	r.off = len(r.b)
	return b
}

func (r *reader) event() *Event {
	return &Event{
		Entity:   r.entity(),
		At:       Time(r.varint("time")),
		Received: Time(r.varint("received")),
		Name:     EventName(r.text("name", maxNameText)),
		Text:     r.text("text", MaxEventText),
		Source:   r.source(),
	}
}

func (r *reader) edge() *Edge {
	e := &Edge{Relation: Relation(r.text("relation", maxNameText)), From: r.entity(), To: r.entity()}
	e.Start, e.End, e.Received = Time(r.varint("start")), Time(r.varint("end")), Time(r.varint("received"))
	e.Source = r.text("source", maxSourceBytes)
	for range r.count("attributes", MaxEdgeAttrs, 2) {
		e.Attrs = append(e.Attrs, Attr{r.text("attribute", maxAttrText), r.text("attribute", maxAttrText)})
	}
	return e
}

func (r *reader) config() *Config {
	c := &Config{Key: ConfigKey(r.text("key", maxNameText)), Received: Time(r.varint("received"))}
	copy(c.Digest[:], r.bytes("digest", len(c.Digest)))
	c.Content = r.rest()
	return c
}

func (r *reader) entity() Entity {
	at := r.off
	t := r.text("entity", maxEntityBytes)
	if r.err != nil {
		return Entity{}
	}
	e, err := ParseEntity(t)
	if err != nil {
		r.fail(fmt.Errorf("entity at byte %d: %w", at, err))
	}
	return e
}

// validate reports what is wrong with a record: not exactly the field that its
// kind names, or something in it.
func (r *Record) validate() error {
	switch {
	case r.Kind < SchemaRecord || r.Kind > TickRecord:
		return fmt.Errorf("unknown record kind %d", r.Kind)
	case (r.Kind == SchemaRecord) != (r.Schema != nil), (r.Kind == FrameRecord) != (len(r.Frame) > 0),
		(r.Kind == EventRecord) != (r.Event != nil), (r.Kind == EdgeRecord) != (r.Edge != nil),
		(r.Kind == ConfigRecord) != (r.Config != nil):
		return fmt.Errorf("%s record: want exactly its own field set", r.Kind)
	}
	switch r.Kind {
	case SchemaRecord:
		return r.Schema.Validate()
	case EventRecord:
		return r.Event.Validate()
	case EdgeRecord:
		return r.Edge.Validate()
	case ConfigRecord:
		return r.Config.Validate()
	}
	return nil
}

// Validate reports what is wrong with e: its entity, name, text or source.
func (e *Event) Validate() error {
	if err := e.Entity.Validate(); err != nil {
		return fmt.Errorf("event %.40q: %w", e.Name, err)
	}
	if e.Name == "" {
		return fmt.Errorf("event of %s: no name", e.Entity)
	}
	if err := checkText(string(e.Name), maxNameText, true); err != nil {
		return fmt.Errorf("event of %s: name %w", e.Entity, err)
	}
	if err := checkText(e.Text, MaxEventText, false); err != nil {
		return fmt.Errorf("event %s of %s: text %w", e.Name, e.Entity, err)
	}
	if e.Source == (Source{}) {
		return nil // a bundle's events name none
	}
	return e.Source.validate()
}

// Validate reports what is wrong with e: an end, its relation, its interval, its
// source or its attributes, which must be ordered by key.
func (e *Edge) Validate() error {
	name := fmt.Sprintf("edge %s %s %s", e.From, e.Relation, e.To)
	if _, err := ParseRelation(string(e.Relation)); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, end := range [...]Entity{e.From, e.To} {
		if err := end.Validate(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	switch {
	case e.From == e.To:
		return fmt.Errorf("%s: leads to itself", name)
	case e.End != 0 && e.End < e.Start:
		return fmt.Errorf("%s: ends at %s, before it begins at %s", name, e.End, e.Start)
	case len(e.Attrs) > MaxEdgeAttrs:
		return fmt.Errorf("%s: %d attributes, at most %d", name, len(e.Attrs), MaxEdgeAttrs)
	}
	if err := checkText(e.Source, maxSourceBytes, true); err != nil {
		return fmt.Errorf("%s: source %w", name, err)
	}
	if err := validateAttrs(e.Attrs); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func validateAttrs(attrs []Attr) error {
	for i, a := range attrs {
		switch {
		case a.Key == "":
			return errors.New("attribute without a key")
		case i > 0 && a.Key <= attrs[i-1].Key:
			return fmt.Errorf("attribute %.40q does not follow %.40q", a.Key, attrs[i-1].Key)
		}
		for _, t := range [...]string{a.Key, a.Value} {
			if err := checkText(t, maxAttrText, true); err != nil {
				return fmt.Errorf("attribute %w", err)
			}
		}
	}
	return nil
}

// Validate reports what is wrong with c: its key, or a digest that is not its
// content's.
func (c *Config) Validate() error {
	if c.Key == "" {
		return errors.New("config: no key")
	}
	if err := checkText(string(c.Key), maxNameText, true); err != nil {
		return fmt.Errorf("config: key %w", err)
	}
	switch {
	case len(c.Content) > maxConfigText:
		return fmt.Errorf("config %s: %d bytes, at most %d", c.Key, len(c.Content), maxConfigText)
	case sha256.Sum256(c.Content) != c.Digest:
		return fmt.Errorf("config %s: digest is not that of its content", c.Key)
	}
	return nil
}

var recordNames = [...]string{"", "schema", "frame", "event", "edge", "config", "tick"}

// String returns the kind's name.
func (k RecordKind) String() string {
	if k == 0 || int(k) >= len(recordNames) {
		return fmt.Sprintf("kind %d", uint8(k))
	}
	return recordNames[k]
}
