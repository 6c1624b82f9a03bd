package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"
)

// maxEvent bounds one event of a stream, in bytes. An incident is one event.
const maxEvent = 4 << 20

// silence is how long a stream may bring nothing, not even its comment of every
// 15 s, before it is given up.
const silence = 45 * time.Second

// StreamEvent is one of the stream's events (docs/http.md lists their names).
type StreamEvent struct {
	Name string
	ID   string // the newest id of the stream, empty before the first
	Own  bool   // whether this event states the id itself
	Data []byte
}

// errEnded is why a stream ended that its server closed.
var errEnded = errors.New("quintet: stream: closed by the server")

// Follow reads the stream behind the event with an id, or from now on where it is
// empty, and calls connected once the server has answered and each for every
// event. It returns why it ended: the error of each, of ctx, or of the
// connection; it never returns nil. Who wants to go on calls it again with the ID
// of the last event.
func (c *Client) Follow(ctx context.Context, after string, connected func(), each func(StreamEvent) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	header := http.Header{"Accept": {"text/event-stream"}}
	if after != "" {
		header.Set("Last-Event-ID", after)
	}
	dead := time.AfterFunc(silence, func() { cancel(fmt.Errorf("quintet: stream: no data for %s", silence)) })
	defer dead.Stop()
	resp, err := c.send(ctx, http.MethodGet, "/api/v1/stream", nil, nil, header)
	if err == nil {
		defer resp.Body.Close()
		if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind != "text/event-stream" {
			return &FormatError{"/api/v1/stream", fmt.Errorf("media type %q, want text/event-stream", resp.Header.Get("Content-Type"))}
		}
		connected()
		err = ReadEvents(resp.Body, func() { dead.Reset(silence) }, each)
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if err == nil {
		return errEnded
	}
	return err
}

// ReadEvents decodes server-sent events until their stream ends, and calls each
// with every event and alive with every line. It returns the error of either the
// stream or each, or nil at the end of the stream.
func ReadEvents(r io.Reader, alive func(), each func(StreamEvent) error) error {
	in := lines{from: bufio.NewReader(r)}
	var e StreamEvent
	for {
		line, err := in.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("quintet: stream: %w", err)
		}
		alive()
		if len(line) > 0 {
			if err := e.take(line); err != nil {
				return fmt.Errorf("quintet: stream: %w", err)
			}
			continue
		}
		if len(e.Data) > 0 {
			e.Data = e.Data[:len(e.Data)-1] // the last line's end
			if err := each(e); err != nil {
				return err
			}
		}
		e = StreamEvent{ID: e.ID}
	}
}

// take adds a line to an event that is not complete.
func (e *StreamEvent) take(line []byte) error {
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
		if len(e.Data)+len(value) > maxEvent {
			return fmt.Errorf("event longer than %d MiB", maxEvent>>20)
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

// next returns a line, which is valid until the next call. An unfinished last
// line is none.
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
		case len(l.line) >= maxEvent:
			return nil, fmt.Errorf("line longer than %d MiB", maxEvent>>20)
		default:
			l.line = append(l.line, b)
		}
	}
}
