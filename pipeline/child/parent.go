package child

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
)

// ErrGone ends a child whose parent has ended.
var ErrGone = errors.New("the process that started this one has ended")

// Parent is the process that started this one.
type Parent struct {
	Hello Hello

	in  *json.Decoder
	out *json.Encoder

	mu      sync.Mutex
	control *net.UnixConn // nil where the log is elsewhere
}

// Inherit reads the greeting of the process that started this one. in and out are
// the standard input and output.
func Inherit(in io.Reader, out io.Writer) (*Parent, error) {
	p := &Parent{in: json.NewDecoder(in), out: json.NewEncoder(out)}
	var first request
	switch err := p.in.Decode(&first); {
	case err != nil:
		return nil, fmt.Errorf("child: greeting: %w", err)
	case first.Hello == nil:
		return nil, errors.New("child: greeting: this command is for quintet serve, which starts it")
	}
	p.Hello = *first.Hello
	if p.Hello.Credentials == nil {
		return p, nil
	}
	f := os.NewFile(inherited, "control")
	if f == nil {
		return nil, errors.New("child: file 3 is no socket of a parent")
	}
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("child: socket: %w", err)
	}
	control, ok := c.(*net.UnixConn)
	if !ok {
		return nil, fmt.Errorf("child: socket: it is %T", c)
	}
	p.control = control
	return p, nil
}

// inherited is the number of the first file that a child inherits beyond the three
// standard ones.
const inherited = 3

// InProcessConn returns a new connection to the log of the parent. It implements
// the provider of connections of package nats.
func (p *Parent) InProcessConn() (net.Conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := p.control.Write([]byte{1}); err != nil {
		return nil, fmt.Errorf("child: connection to the log: %w", err)
	}
	f, err := receiveFile(p.control)
	if err != nil {
		return nil, fmt.Errorf("child: connection to the log: %w", err)
	}
	defer f.Close()
	return net.FileConn(f)
}

// Serve answers the parent until it asks this process to stop: it then returns
// nil. It returns ErrGone where the parent has ended.
func (p *Parent) Serve(metrics func(*Text) error) error {
	for {
		var r request
		if err := p.in.Decode(&r); err != nil {
			return ErrGone
		}
		switch {
		case r.Stop:
			return nil
		case r.Metrics != 0:
			var text Text
			if err := metrics(&text); err != nil {
				return fmt.Errorf("child: metrics: %w", err)
			}
			if err := p.out.Encode(answer{r.Metrics, text}); err != nil {
				return ErrGone
			}
		}
	}
}

// Text is the text of an answer.
type Text []byte

// Write implements io.Writer.
func (t *Text) Write(p []byte) (int, error) {
	*t = append(*t, p...)
	return len(p), nil
}
