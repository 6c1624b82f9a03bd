package scrape

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/mapping"
	"github.com/quintet-dc/quintet/telemetry"
)

// maxBadLines is how many lines of a page may be none until it is given up.
const maxBadLines = 100

// The forms that a page may have.
const (
	plainText   = "text/plain"
	openMetrics = "application/openmetrics-text"
)

// nameLabel is the label in which the parser hands out a series' name.
const nameLabel = "__name__"

var (
	errNoPage   = errors.New("not a page of metrics")
	errProtobuf = errors.New("a page in protobuf, which was not asked for")
)

// reader reads pages into an intake. It is used by one goroutine.
type reader struct {
	intake *mapping.Intake
	labels labels.Labels

	body    []byte // of the page being read, with room for one byte more
	counter []byte // the name that was last declared a counter
	samples int
	bad     int
	first   error // what was wrong with the first bad line
}

// read takes every sample of a page; dropped counts what it could not take. An
// error means that it is not a page at all.
func (r *reader) read(body []byte, contentType string, dropped map[collectors.Reason]int) error {
	form, err := formOf(contentType)
	if err != nil {
		return err
	}
	r.body, r.counter, r.samples, r.bad, r.first = append(body, '\n')[:len(body)], r.counter[:0], 0, 0, nil
	symbols := labels.NewSymbolTable()
	for from := 0; from < len(r.body) && r.bad <= maxBadLines; {
		var p textparse.Parser
		if form == openMetrics {
			p = textparse.NewOpenMetricsParser(r.body[from:], symbols, textparse.WithOMParserSTSeriesSkipped())
		} else {
			p = textparse.NewPromParser(r.body[from:], symbols, false)
		}
		from = r.parse(p, from)
	}
	if r.bad > 0 {
		dropped[collectors.Malformed] += r.bad
	}
	if r.samples == 0 && r.bad > 0 {
		return fmt.Errorf("%w: %w", errNoPage, r.first)
	}
	return nil
}

// formOf returns the text form of a page. Exporters that name another text, or
// none, mean Prometheus' own.
func formOf(contentType string) (string, error) {
	media, _, err := mime.ParseMediaType(contentType)
	switch {
	case err != nil:
		return plainText, nil
	case media == openMetrics:
		return openMetrics, nil
	case media == "application/vnd.google.protobuf":
		return "", errProtobuf
	}
	return plainText, nil
}

// parse takes samples until the end or until an invalid line, and returns where to
// continue: behind it.
func (r *reader) parse(p textparse.Parser, from int) int {
	end := from // of what was understood
	for {
		what, err := p.Next()
		if errors.Is(err, io.EOF) {
			return len(r.body)
		}
		if err != nil {
			r.bad++
			if r.first == nil {
				r.first = fmt.Errorf("%.200s", err) // it may quote the whole line
			}
			return r.behindLine(r.nextLine(end, from))
		}
		switch what {
		case textparse.EntrySeries:
			series, at, v := p.Series()
			end = r.offset(series) + len(series)
			r.take(p, series, sampleTime(at), v)
		case textparse.EntryType:
			name, is := p.Type()
			end = r.offset(name)
			if is == "counter" {
				r.counter = append(r.counter[:0], name...)
			} else {
				r.counter = r.counter[:0]
			}
		case textparse.EntryHelp:
			name, _ := p.Help()
			end = r.offset(name)
		case textparse.EntryUnit:
			name, _ := p.Unit()
			end = r.offset(name)
		case textparse.EntryComment:
			end = r.offset(p.Comment())
		}
	}
}

// offset returns where a part of the page begins. The parser returns slices of its
// input, and the remaining capacity of a slice gives its position.
func (r *reader) offset(part []byte) int { return cap(r.body) - cap(part) }

// nextLine returns where the line after a place begins: what was understood
// ends in a line of its own, unless nothing was.
func (r *reader) nextLine(end, from int) int {
	if end > from {
		end = r.behindLine(end)
	}
	for end < len(r.body) && (r.body[end] == '\n' || r.body[end] == '\r') {
		end++
	}
	return end
}

// behindLine returns where the line of a place ends.
func (r *reader) behindLine(at int) int {
	if i := bytes.IndexByte(r.body[min(at, len(r.body)):], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(r.body)
}

// sampleTime is the time that a sample has on the page, in milliseconds there.
func sampleTime(ms *int64) telemetry.Time {
	if ms == nil || *ms <= 0 || *ms > 1<<53 {
		return 0
	}
	return telemetry.Time(*ms) * 1e6
}

// take understands a series, the first time, and notes its number.
func (r *reader) take(p textparse.Parser, series []byte, at telemetry.Time, v float64) {
	n := mapping.ParseNumber(r.value(series), v)
	e := r.intake.Known(series)
	if e == nil {
		p.Labels(&r.labels)
		s := mapping.Series{First: n}
		r.labels.Range(func(l labels.Label) {
			if l.Name == nameLabel {
				s.Name = l.Value
				return
			}
			s.Labels = append(s.Labels, mapping.Label{Name: l.Name, Value: l.Value})
		})
		s.Counter = s.Name == string(r.counter) || s.Name == string(r.counter)+"_total"
		e = r.intake.Understand(string(series), s)
	}
	r.samples++
	r.intake.Take(e, at, n)
}

// value returns the text of a sample's number, which follows its series.
func (r *reader) value(series []byte) []byte {
	rest := bytes.TrimLeft(r.body[r.offset(series)+len(series):], " \t")
	if i := bytes.IndexAny(rest, " \t\r\n#"); i >= 0 {
		rest = rest[:i]
	}
	return rest
}
