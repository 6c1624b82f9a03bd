package redfish

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/quintet-dc/quintet/collectors"
)

// maxMessage is the longest message of an event stream.
const maxMessage = 2 << 20

// message is one of an event stream.
type message struct {
	id   string
	data []byte
	long bool // it was too long, and is not here
}

// readStream reads server-sent events until the stream ends or take returns false:
// an id, lines of data, an empty line. Other fields are left out; the controllers
// send no more.
func readStream(r io.Reader, take func(message) bool) error {
	in := bufio.NewReaderSize(r, 64<<10)
	var m message
	seen := false
	for {
		line, err := readLine(in)
		if err != nil && !errors.Is(err, bufio.ErrTooLong) {
			return err
		}
		switch field, value, _ := bytes.Cut(line, []byte(":")); {
		case err != nil:
			m.long, seen = true, true
		case len(line) == 0:
			if seen && !take(m) {
				return nil
			}
			m, seen = message{id: m.id}, false
		case string(field) == "id":
			m.id = clip(string(bytes.TrimPrefix(value, []byte(" "))), 100)
		case string(field) == "data":
			seen = true
			if len(m.data)+len(value) > maxMessage {
				m.long, m.data = true, nil
			}
			if m.long {
				continue
			}
			if m.data != nil {
				m.data = append(m.data, '\n')
			}
			m.data = append(m.data, bytes.TrimPrefix(value, []byte(" "))...)
		}
	}
}

// readLine reads a line without its end; of one that is too long, nothing.
func readLine(in *bufio.Reader) ([]byte, error) {
	var out []byte
	long := false
	for {
		b, err := in.ReadSlice('\n')
		if !long {
			out = append(out, b...)
		}
		if len(out) > maxMessage {
			out, long = nil, true
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return nil, err
		case long:
			return nil, bufio.ErrTooLong
		}
		return bytes.TrimRight(out, "\r\n"), nil
	}
}

// How long until a stream that ended is asked for again.
const (
	streamFirst = 5 * time.Second
	streamMost  = 5 * time.Minute
)

// listen reads the event stream at a path into out until ctx is done. It is not
// a request in flight: the service keeps it open.
func (c *client) listen(ctx context.Context, path string, log *slog.Logger, out chan<- message) {
	last := ""
	for wait := c.again; ctx.Err() == nil; {
		began := c.clock()
		err := c.stream(ctx, path, &last, out)
		if c.clock().Sub(began) > time.Minute {
			wait = c.again
		}
		log.Info("event stream ended", "address", c.base, "err", err, "again_in", wait)
		collectors.Sleep(ctx, collectors.Jitter(wait))
		wait = min(2*wait, streamMost)
	}
}

func (c *client) stream(ctx context.Context, path string, last *string, out chan<- message) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "text/event-stream")
	if *last != "" {
		req.Header.Set("Last-Event-ID", *last)
	}
	c.authorise(req)
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	return readStream(resp.Body, func(m message) bool {
		*last = m.id
		select {
		case out <- m:
			return true
		case <-ctx.Done():
			return false
		}
	})
}
