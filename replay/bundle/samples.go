package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/quintet-dc/quintet/telemetry"
)

// row is one sample.
type row struct {
	at       telemetry.Time
	received telemetry.Time // zero if not stated
	word     uint64
	series   int32
	kind     kind
	exp      uint8
}

// series is one series of the file.
type series struct {
	id      telemetry.Series
	line    int  // where it appears first
	counter bool // its values cannot be negative
	perStep bool // each sample represents a job's step
}

// samples is samples.csv in columns: a row is 40 bytes.
type samples struct {
	file     string
	rows     []row
	series   []series
	received bool   // the file has the column
	slots    []slot // of each series, once grouped
}

const samplesFile = "samples.csv"

// readSamples reads samples.csv or samples.csv.gz.
func readSamples(c Config, r *report) *samples {
	f, name, err := openTable(c.Files, samplesFile)
	if err != nil {
		r.fail(place{file: name}, "", err)
		return nil
	}
	defer f.Close()
	s := parseSamples(f, name, c, r)
	if len(s.rows) == 0 && len(r.errs) == 0 {
		r.fail(place{file: name}, "", errNoSamples)
	}
	return s
}

// parser reads the rows of samples.csv. Files repeat their series in the same
// order over and over: the series that followed the present one last time is
// tried first, which spares splitting and looking up.
type parser struct {
	c      Config
	r      *report
	out    *samples
	index  [5]int // field number of each column, -1 where absent
	fields int
	plain  bool // the columns stand in the usual order
	keys   []string
	next   []int32
	byKey  map[string]int32
	last   int32
	buf    [][]byte
	line   int
}

// The columns, in their usual order.
const (
	colTime = iota
	colEntity
	colMetric
	colValue
	colReceived
)

var columnNames = [...]string{"time_ns", "entity", "metric", "value", "received_ns"}

func parseSamples(f io.Reader, name string, c Config, r *report) *samples {
	p := &parser{c: c, r: r, out: &samples{file: name}, byKey: map[string]int32{}, last: -1}
	lines := newLines(f)
	for {
		b, err := lines.next()
		p.line = lines.number
		if errors.Is(err, io.EOF) {
			if p.fields == 0 {
				r.fail(place{file: name}, "", errors.New("empty: want the header "+strings.Join(columnNames[:4], ",")))
			}
			return p.out
		}
		if err != nil {
			r.fail(place{name, p.line}, "", err)
			return p.out
		}
		if len(b) == 0 {
			continue
		}
		if p.fields == 0 {
			err = p.header(b)
		} else {
			err = p.row(b)
		}
		if err != nil && (p.fields == 0 || len(r.errs) >= maxErrors) {
			return p.out
		}
	}
}

// fail notes an error at the present line and returns it.
func (p *parser) fail(column int, err error) error {
	field := ""
	if column >= 0 {
		field = columnNames[column]
	}
	p.r.fail(place{p.out.file, p.line}, field, err)
	return err
}

// header reads the names of the columns, which may stand in any order.
func (p *parser) header(b []byte) error {
	fields, err := splitRow(bytes.TrimPrefix(b, []byte("\ufeff")), nil)
	if err != nil {
		return p.fail(-1, err)
	}
	p.index = [5]int{-1, -1, -1, -1, -1}
	p.plain = true
	for i, f := range fields {
		column := -1
		for j, n := range columnNames {
			if string(f) == n {
				column = j
			}
		}
		switch {
		case column < 0:
			p.r.warn(place{p.out.file, p.line}, "unknown column %q, ignored", f)
			p.plain = false
			continue
		case p.index[column] >= 0:
			return p.fail(column, errors.New("the column is there twice"))
		}
		p.index[column] = i
		p.plain = p.plain && column == i
	}
	for j, n := range columnNames[:colReceived] {
		if p.index[j] < 0 {
			return p.fail(j, fmt.Errorf("column %s is missing: the header is %.80q", n, b))
		}
	}
	p.fields, p.out.received = len(fields), p.index[colReceived] >= 0
	return nil
}

// row reads one line.
func (p *parser) row(b []byte) error {
	if len(p.out.rows) >= p.c.MaxSamples {
		p.r.errs = append(p.r.errs, make([]error, maxErrors)...) // no use going on
		return p.fail(-1, fmt.Errorf("more than %d samples", p.c.MaxSamples))
	}
	if ok, err := p.expected(b); ok {
		return err
	}
	fields, err := splitRow(b, p.buf[:0])
	p.buf = fields
	if err != nil {
		return p.fail(-1, err)
	}
	if len(fields) != p.fields {
		return p.fail(-1, fmt.Errorf("%d fields, the header has %d", len(fields), p.fields))
	}
	var received []byte
	if p.out.received {
		received = fields[p.index[colReceived]]
	}
	s, err := p.lookup(fields[p.index[colEntity]], fields[p.index[colMetric]])
	if err != nil {
		return err
	}
	return p.add(s, fields[p.index[colTime]], fields[p.index[colValue]], received)
}

// expected reads a line whose series is the one that came here last time.
func (p *parser) expected(b []byte) (bool, error) {
	if !p.plain || p.last < 0 || p.next[p.last] < 0 {
		return false, nil
	}
	s := p.next[p.last]
	key := p.keys[s]
	i := bytes.IndexByte(b, ',')
	if i < 0 || len(b) < i+1+len(key) || string(b[i+1:i+1+len(key)]) != key {
		return false, nil
	}
	value, received := b[i+1+len(key):], []byte(nil)
	if p.out.received {
		j := bytes.IndexByte(value, ',')
		if j < 0 {
			return false, nil
		}
		value, received = value[:j], value[j+1:]
	}
	if bytes.IndexByte(value, ',') >= 0 || bytes.IndexByte(value, '"') >= 0 || bytes.IndexByte(b[:i], '"') >= 0 || bytes.IndexByte(received, '"') >= 0 {
		return false, nil
	}
	p.last = s
	return true, p.add(s, b[:i], value, received)
}

// lookup finds or makes the series of an entity and a metric.
func (p *parser) lookup(entity, metric []byte) (int32, error) {
	key := make([]byte, 0, 128)
	key = append(append(append(append(key, entity...), ','), metric...), ',')
	s, ok := p.byKey[string(key)]
	if !ok {
		id, err := p.identify(entity, metric)
		if err != nil {
			return 0, err
		}
		s = int32(len(p.out.series))
		m, declared := p.c.Catalogue.Lookup(id.Metric)
		p.out.series = append(p.out.series, series{id: id, line: p.line, perStep: declared && m.PerStep,
			counter: declared && m.Type == telemetry.Counter || !declared && strings.HasSuffix(string(metric), "_total")})
		p.keys, p.next = append(p.keys, string(key)), append(p.next, -1)
		p.byKey[string(key)] = s
	}
	if p.last >= 0 {
		p.next[p.last] = s
	}
	p.last = s
	return s, nil
}

func (p *parser) identify(entity, metric []byte) (telemetry.Series, error) {
	e, err := telemetry.ParseEntity(string(entity))
	if err != nil {
		return telemetry.Series{}, p.fail(colEntity, err)
	}
	if err := (telemetry.Column{Metric: telemetry.MetricName(metric), Type: telemetry.Uint}).Validate(); err != nil {
		return telemetry.Series{}, p.fail(colMetric, err)
	}
	if len(p.out.series) >= math.MaxInt32-1 {
		return telemetry.Series{}, p.fail(colMetric, errors.New("too many series"))
	}
	return telemetry.Series{Entity: e, Metric: telemetry.MetricName(metric)}, nil
}

// add reads the numbers of a row and keeps it.
func (p *parser) add(s int32, at, value, received []byte) error {
	t, err := parseTime(at)
	if err != nil {
		return p.fail(colTime, err)
	}
	out := row{at: t, series: s}
	if len(received) > 0 {
		if out.received, err = parseTime(received); err != nil {
			return p.fail(colReceived, err)
		}
	}
	if out.kind, out.word, out.exp, err = parseValue(value); err != nil {
		return p.fail(colValue, p.valueError(s, value, err))
	}
	if p.out.series[s].counter {
		if err := noCount(&out); err != nil {
			return p.fail(colValue, p.valueError(s, value, err))
		}
	}
	p.out.rows = append(p.out.rows, out)
	return nil
}

func (p *parser) valueError(s int32, value []byte, err error) error {
	return fmt.Errorf("%w: %.60q of %s", err, value, p.out.series[s].id)
}

// noCount states what a counter cannot be: negative, or a whole number beyond
// 2^64-1, which cannot be carried exactly.
func noCount(r *row) error {
	switch v := toFloat(r.kind, r.word, r.exp); {
	case r.kind == gap || r.kind == uint64s:
		return nil
	case v < 0:
		return errors.New("a counter is not negative")
	case v >= 1<<64:
		return errors.New("a counter ends at 2^64-1")
	}
	return nil
}

func parseTime(b []byte) (telemetry.Time, error) {
	if len(b) == 0 || len(b) > 19 {
		return 0, fmt.Errorf("bad time %.60q: want nanoseconds since 1970 as a whole number", b)
	}
	var t uint64
	for _, c := range b {
		if c < '0' || c > '9' {
			if v, err := strconv.ParseInt(string(b), 10, 64); err == nil && v < 0 {
				return 0, fmt.Errorf("negative time %d", v)
			}
			return 0, fmt.Errorf("bad time %.60q: want nanoseconds since 1970 as a whole number", b)
		}
		t = t*10 + uint64(c-'0')
	}
	if t > maxTime {
		return 0, fmt.Errorf("time %d is beyond the year 2200", t)
	}
	return telemetry.Time(t), nil
}

// maxTime leaves room to add lateness and grids without overflow.
const maxTime = 7258118400e9
