package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"
)

// maxLine bounds one line of a stream, in bytes. An incident is one line.
const maxLine = 4 << 20

// silence is how long a stream may be without data, even the comment sent every 15
// s, before it counts as dead.
const silence = 45 * time.Second

// Event is one of a stream of server-sent events.
type Event struct {
	Name string
	ID   string // the newest id of the stream, empty if there was none
	Own  bool   // whether this event states the id itself
	Data []byte
}

// ReadEvents decodes a stream of server-sent events until it ends, calling each
// with every event and alive with every line. It returns the error of either
// the stream or each, or nil at the end of the stream.
func ReadEvents(r io.Reader, alive func(), each func(Event) error) error {
	in := lines{from: bufio.NewReader(r)}
	var e Event
	for {
		line, err := in.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the stream of events: %w", err)
		}
		alive()
		if len(line) == 0 {
			if len(e.Data) > 0 {
				e.Data = e.Data[:len(e.Data)-1] // the last line's end
				if err := each(e); err != nil {
					return err
				}
			}
			e = Event{ID: e.ID}
			continue
		}
		if err := e.take(line); err != nil {
			return err
		}
	}
}

// take adds a line to an event that is not whole yet.
func (e *Event) take(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "event":
		e.Name = string(value)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			e.ID, e.Own = string(value), true
		}
	case "data":
		if len(e.Data)+len(value) > maxLine {
			return fmt.Errorf("an event is longer than %d MiB", maxLine>>20)
		}
		e.Data = append(append(e.Data, value...), '\n')
	}
	return nil
}

// lines splits at \n, \r\n and \r, as the format allows.
type lines struct {
	from *bufio.Reader
	line []byte
	cr   bool // the last line ended with \r: a \n now belongs to it
}

// next gives a line, which holds until the next call. An unfinished last line is
// no line.
func (l *lines) next() ([]byte, error) {
	l.line = l.line[:0]
	for {
		b, err := l.from.ReadByte()
		if err != nil {
			return nil, err
		}
		cr := l.cr
		l.cr = b == '\r'
		switch {
		case b == '\n' && cr:
		case b == '\n' || b == '\r':
			return l.line, nil
		case len(l.line) >= maxLine:
			return nil, fmt.Errorf("a line is longer than %d MiB", maxLine>>20)
		default:
			l.line = append(l.line, b)
		}
	}
}

// Place is a position in the stream of incidents.
type Place struct {
	ID string // Last-Event-ID; empty: begin with what is new
}

// Follow reads the stream of incidents from behind a place until it breaks off
// or ctx ends, and moves the place on. It calls connected once the server has
// answered. It always returns an error: why it ended.
func (c *Client) Follow(ctx context.Context, place *Place, connected func(), each func(*Incident) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	header := http.Header{"Accept": {"text/event-stream"}}
	if place.ID != "" {
		header.Set("Last-Event-ID", place.ID)
	}
	dead := time.AfterFunc(silence, func() { cancel(fmt.Errorf("the stream has said nothing for %s", silence)) })
	defer dead.Stop()
	resp, err := c.send(ctx, c.follow, []string{"stream"}, nil, header)
	if err != nil {
		return because(ctx, err)
	}
	defer resp.Body.Close()
	if kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || kind != "text/event-stream" {
		return &Garbage{Path: resp.Request.URL.Path, Why: fmt.Sprintf("it is of type %q, not a stream of events", resp.Header.Get("Content-Type"))}
	}
	connected()
	err = ReadEvents(resp.Body, func() { dead.Reset(silence) }, func(e Event) error {
		if e.Name != "incident" {
			return nil
		}
		var i Incident
		if err := json.Unmarshal(e.Data, &i); err != nil {
			return &Garbage{Path: resp.Request.URL.Path, Why: err.Error()}
		}
		if err := each(&i); err != nil {
			return err
		}
		if e.Own {
			place.ID = e.ID
		}
		return nil
	})
	if err == nil {
		err = errors.New("the server has ended the stream")
	}
	return because(ctx, err)
}

// because prefers the reason for which a context was cancelled.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}
