package telemetry

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// schemaVersion is the first byte of a schema's bytes.
const schemaVersion = 1

// maxSourceBytes bounds each part of a source's name.
const maxSourceBytes = 200

// maxEntityBytes bounds "kind:name"; the longest kind has nine letters.
const maxEntityBytes = MaxNameBytes + 16

// Fingerprint returns the first eight bytes, little endian, of the SHA-256 of
// the schema's bytes. It costs a hash of them all: keep it, and do not change a
// schema whose fingerprint is in use.
func (s *Schema) Fingerprint() Fingerprint {
	return fingerprint(s.AppendBinary(nil))
}

func fingerprint(b []byte) Fingerprint {
	h := sha256.Sum256(b)
	return Fingerprint(binary.LittleEndian.Uint64(h[:]))
}

// String returns the fingerprint as sixteen hexadecimal digits.
func (f Fingerprint) String() string { return fmt.Sprintf("%016x", uint64(f)) }

// AppendBinary appends the schema's bytes (docs/format-frame.md). Names share
// the beginning of the one before them.
func (s *Schema) AppendBinary(dst []byte) []byte {
	dst = append(dst, schemaVersion)
	dst = appendSource(dst, s.Source)
	dst = append(dst, byte(s.Class))
	dst = binary.AppendUvarint(dst, uint64(s.Cadence))
	dst = binary.AppendUvarint(dst, uint64(len(s.Entities)))
	last := ""
	for _, e := range s.Entities {
		dst, last = appendShared(dst, last, e.String())
	}
	dst = binary.AppendUvarint(dst, uint64(len(s.Columns)))
	last = ""
	for _, c := range s.Columns {
		dst, last = appendShared(dst, last, string(c.Metric))
		dst = append(dst, byte(c.Type), c.Exp)
	}
	return dst
}

// ParseSchema reads a schema's bytes and validates it. Only the bytes that
// AppendBinary would write are accepted, so a schema has one fingerprint.
func ParseSchema(b []byte) (*Schema, error) {
	r := reader{b: b}
	s, err := r.schema()
	if err == nil {
		err = s.Validate()
	}
	if err == nil && !bytes.Equal(s.AppendBinary(make([]byte, 0, len(b))), b) {
		err = errors.New("not the bytes this schema is written as")
	}
	if err != nil {
		return nil, fmt.Errorf("parse schema: %w", err)
	}
	return s, nil
}

func (r *reader) schema() (*Schema, error) {
	if v := r.u8("version"); r.err == nil && v != schemaVersion {
		return nil, fmt.Errorf("version %d, want %d", v, schemaVersion)
	}
	s := &Schema{Source: r.source(), Class: LatenessClass(r.u8("lateness class")), Cadence: Duration(r.uvarint("cadence"))}
	s.Entities = make([]Entity, r.count("entity table", MaxSeriesPerSource, 2))
	last := ""
	for i := range s.Entities {
		last = r.shared("entity", last, maxEntityBytes)
		k, n, ok := strings.Cut(last, ":")
		if r.err == nil && !ok {
			r.fail(fmt.Errorf("entity %d %.60q: want kind:name", i, last))
		}
		s.Entities[i] = Entity{Kind(k), n}
	}
	s.Columns = make([]Column, r.count("metric table", MaxSeriesPerSource, 4))
	last = ""
	for i := range s.Columns {
		last = r.shared("metric", last, MaxMetricBytes)
		s.Columns[i] = Column{MetricName(last), ValueType(r.u8("value type")), r.u8("exponent")}
		if r.err != nil {
			break
		}
	}
	return s, r.end()
}

// Validate reports what is wrong with s: nothing in it or more than
// MaxSeriesPerSource, an invalid source, entity or column, or one stated twice.
func (s *Schema) Validate() error {
	if err := s.Source.validate(); err != nil {
		return err
	}
	switch {
	case s.Class >= LatenessClasses:
		return fmt.Errorf("schema of %s: lateness class %d, at most %d", s.Source, s.Class, LatenessClasses-1)
	case s.Cadence < 0:
		return fmt.Errorf("schema of %s: negative cadence %s", s.Source, s.Cadence)
	case len(s.Entities) == 0 || len(s.Columns) == 0:
		return fmt.Errorf("schema of %s: %d entities and %d metrics make no series", s.Source, len(s.Entities), len(s.Columns))
	case len(s.Entities) > MaxSeriesPerSource/len(s.Columns):
		return fmt.Errorf("schema of %s: %d entities times %d metrics, at most %d series", s.Source, len(s.Entities), len(s.Columns), MaxSeriesPerSource)
	}
	if err := s.validateTables(); err != nil {
		return fmt.Errorf("schema of %s: %w", s.Source, err)
	}
	return nil
}

func (s *Schema) validateTables() error {
	entities := make(map[Entity]bool, len(s.Entities))
	for _, e := range s.Entities {
		if err := e.Validate(); err != nil {
			return err
		}
		if entities[e] {
			return fmt.Errorf("entity %s: stated twice", e)
		}
		entities[e] = true
	}
	metrics := make(map[MetricName]bool, len(s.Columns))
	for _, c := range s.Columns {
		if err := c.Validate(); err != nil {
			return err
		}
		if metrics[c.Metric] {
			return fmt.Errorf("metric %.60s: stated twice", c.Metric)
		}
		metrics[c.Metric] = true
	}
	return nil
}

// validate reports what is wrong with s: no collector, or a part that String
// could not be read back from.
func (s Source) validate() error {
	if s.Collector == "" {
		return fmt.Errorf("source %.60q: no collector", s)
	}
	for _, p := range [...]string{s.Collector, s.Target, s.Part} {
		if err := checkText(p, maxSourceBytes, true); err != nil {
			return fmt.Errorf("source %w", err)
		}
		if strings.Contains(p, "|") {
			return fmt.Errorf("source %.60q: '|' in a part", p)
		}
	}
	return nil
}

func appendSource(dst []byte, s Source) []byte {
	return appendText(appendText(appendText(dst, s.Collector), s.Target), s.Part)
}

func (r *reader) source() Source {
	return Source{r.text("collector", maxSourceBytes), r.text("target", maxSourceBytes), r.text("part", maxSourceBytes)}
}

// appendShared appends how many bytes s has in common with the beginning of
// last, and the rest of it. It returns s as the next last.
func appendShared(dst []byte, last, s string) ([]byte, string) {
	n := 0
	for n < len(last) && n < len(s) && last[n] == s[n] {
		n++
	}
	return appendText(binary.AppendUvarint(dst, uint64(n)), s[n:]), s
}

func (r *reader) shared(what, last string, limit int) string {
	n := r.uvarint(what)
	rest := r.bytes(what, r.count(what, limit, 1))
	if r.err == nil && n > uint64(len(last)) {
		r.fail(fmt.Errorf("%s at byte %d: shares %d bytes with a name of %d", what, r.off, n, len(last)))
	}
	if r.err != nil {
		return ""
	}
	if int(n)+len(rest) > limit {
		r.fail(fmt.Errorf("%s at byte %d: %d bytes, at most %d", what, r.off, int(n)+len(rest), limit))
		return ""
	}
	return last[:n] + string(rest)
}
