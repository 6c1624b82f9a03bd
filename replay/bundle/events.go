package bundle

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/quintet-dc/quintet/telemetry"
)

const (
	eventsFile = "events.csv"
	maxEvents  = 4 << 20
)

var eventColumns = [...]string{"time_ns", "entity", "name", "text"}

// readEvents reads events.csv or events.csv.gz, where there is one. The events
// come out sorted, each once.
func (b *Bundle) readEvents(files fs.FS, r *report) {
	f, name, err := openTable(files, eventsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		r.fail(place{file: name}, "", err)
		return
	}
	defer f.Close()
	b.Events = parseEvents(f, name, r)
}

func parseEvents(f io.Reader, name string, r *report) []telemetry.Event {
	c := csv.NewReader(f)
	c.ReuseRecord = true
	head, err := c.Read()
	if err != nil {
		r.fail(place{name, 1}, "", eventError(err))
		return nil
	}
	var index [len(eventColumns)]int
	for j, n := range eventColumns {
		if index[j] = slices.Index(head, n); index[j] < 0 {
			r.fail(place{name, 1}, n, fmt.Errorf("column %s is missing", n))
			return nil
		}
	}
	var out []telemetry.Event
	for len(out) < maxEvents {
		fields, err := c.Read()
		if errors.Is(err, io.EOF) {
			slices.SortFunc(out, telemetry.Event.Compare)
			return slices.Compact(out)
		}
		if err != nil {
			r.fail(place{name, csvLine(err)}, "", eventError(err))
			return nil
		}
		line, _ := c.FieldPos(0)
		e, column, err := parseEvent(fields, index)
		if err != nil && r.fail(place{name, line}, eventColumns[column], err) {
			return nil
		}
		out = append(out, e)
	}
	r.fail(place{file: name}, "", fmt.Errorf("more than %d events", maxEvents))
	return nil
}

func parseEvent(fields []string, index [len(eventColumns)]int) (e telemetry.Event, column int, err error) {
	if e.At, err = parseTime([]byte(fields[index[0]])); err != nil {
		return e, 0, err
	}
	if e.Entity, err = telemetry.ParseEntity(fields[index[1]]); err != nil {
		return e, 1, err
	}
	e.Name, e.Text = telemetry.EventName(fields[index[2]]), fields[index[3]]
	e.Source = telemetry.Source{Collector: collector, Part: "events"}
	if e.Name == "" {
		return e, 2, errors.New("empty")
	}
	_, err = telemetry.AppendRecord(nil, &telemetry.Record{Kind: telemetry.EventRecord, Event: &e})
	return e, 3, err // what the log would refuse later is refused here, with its place
}

func csvLine(err error) int {
	var p *csv.ParseError
	if errors.As(err, &p) {
		return p.Line
	}
	return 0
}

func eventError(err error) error {
	var p *csv.ParseError
	switch {
	case errors.As(err, &p):
		return p.Err
	case errors.Is(err, io.EOF):
		return errors.New("empty: want the header time_ns,entity,name,text")
	}
	return err
}
