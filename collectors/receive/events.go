package receive

import (
	"errors"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/telemetry"
)

// eventSource is the source of what happened to things.
var eventSource = telemetry.Source{Collector: collector, Part: "events"}

// eventList is a request of events that was found right.
type eventList []*telemetry.Event

// events reads POST /api/v1/events: a list of {"entity","time","name","text"},
// or an object that has it under "events". Time may be "time_ns" instead.
func (d *document) events(now telemetry.Time) (eventList, error) {
	var out eventList
	err := d.listOrObject("events", func(place string, _ int) error {
		e, err := d.event(place, now)
		out = append(out, e)
		return err
	}, fields{})
	if err == nil && len(out) == 0 {
		err = faultf("", "no events")
	}
	return out, err
}

func (d *document) event(place string, now telemetry.Time) (*telemetry.Event, error) {
	var name string
	var ns telemetry.Time
	e := &telemetry.Event{Received: now, Source: eventSource}
	err := d.object(place, false, fields{
		"entity": d.entity(&e.Entity), "name": d.text(&name), "text": d.text(&e.Text), "time": d.instant(&e.At), "time_ns": d.nanoseconds(&ns)})
	if err != nil {
		return nil, err
	}
	e.Name = telemetry.EventName(name)
	switch {
	case e.At != 0 && ns != 0:
		return nil, faultf(under(place, "time_ns"), "time is stated, too")
	case e.Entity.IsZero():
		return nil, faultf(under(place, "entity"), "missing")
	case name == "":
		return nil, faultf(under(place, "name"), "missing")
	}
	if e.At = max(e.At, ns); e.At == 0 {
		return nil, faultf(under(place, "time"), "missing")
	}
	if err := soon(e.At, now); err != nil {
		return nil, &fault{field: under(place, "time"), err: err}
	}
	return e, fit(place, &telemetry.Record{Kind: telemetry.EventRecord, Event: e})
}

// fit finds what the log would refuse later, with its place.
func fit(place string, r *telemetry.Record) error {
	if _, err := telemetry.AppendRecord(nil, r); err != nil {
		return &fault{field: place, err: errors.Unwrap(err)}
	}
	return nil
}

// emit implements accepted. A job that has ended is forgotten: when it reports
// again, it starts again.
func (l eventList) emit(r *Receiver, sink collectors.Sink) (receipt, error) {
	for _, e := range l {
		ended := e.Name == telemetry.EventJobEnded && e.Entity.Kind == telemetry.Job
		job := e.Entity.Name
		sink.Emit(&telemetry.Record{Kind: telemetry.EventRecord, Event: e})
		if ended {
			r.book.forget(job)
		}
	}
	return receipt{Events: len(l)}, nil
}
