package child

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/VictoriaMetrics/metrics"
)

const (
	// firstWait is the time before the first restart; each one after that waits
	// twice as long, up to longestWait, until a child has lived for sound.
	firstWait   = 500 * time.Millisecond
	longestWait = 4 * time.Second
	sound       = 30 * time.Second
	// metricsTimeout bounds the time in which a child states its metrics.
	metricsTimeout = time.Second
	mostAsked      = 16 // requests that a child may owe
)

// Config configures a supervisor.
type Config struct {
	Name string // of the child, in logs and errors
	// Command returns the command of a child. The supervisor sets its standard input,
	// output and error, and the files that it inherits.
	Command func() *exec.Cmd
	// Connect opens a connection to the log, and Credentials are those of its user.
	// Both are nil where the child connects to a log elsewhere.
	Connect     func() (net.Conn, error)
	Credentials []byte
	// StopTimeout is how long a child may take to stop before it is killed.
	StopTimeout time.Duration

	Restarts *metrics.Counter
	Logger   *slog.Logger
}

// Supervisor runs a child, and another one whenever it ends.
type Supervisor struct {
	c Config

	mu      sync.Mutex
	ask     *json.Encoder // to the child that runs; nil while none does
	asked   uint64
	answers map[uint64]chan []byte
}

// NewSupervisor returns a supervisor that is not started.
func NewSupervisor(c Config) *Supervisor {
	return &Supervisor{c: c, answers: map[uint64]chan []byte{}}
}

// Run runs children until ctx is done and the last one has stopped. It returns an
// error only where no child can ever be started.
func (s *Supervisor) Run(ctx context.Context) error {
	wait, ended := firstWait, ""
	for {
		began := time.Now()
		err := s.live(ctx, ended)
		if ctx.Err() != nil || errors.Is(err, ErrUnsupported) {
			return err
		}
		if time.Since(began) > sound {
			wait = firstWait
		}
		ended = s.how(err)
		s.c.Restarts.Inc()
		s.c.Logger.Error(ended+"; it is started again", "after", wait)
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		wait = min(2*wait, longestWait)
	}
}

// how describes how a child ended.
func (s *Supervisor) how(err error) string {
	switch {
	case err == nil:
		return "the process of the " + s.c.Name + " exited"
	case strings.Contains(err.Error(), "killed"):
		return "the process of the " + s.c.Name + " was killed, perhaps by the kernel for lack of memory (dmesg)"
	}
	return "the process of the " + s.c.Name + " ended: " + err.Error()
}

// live runs one child until it ends, and returns how it did; nil where it was
// stopped and ended in order.
func (s *Supervisor) live(ctx context.Context, ended string) error {
	cmd := s.c.Command()
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	var connecting sync.WaitGroup
	if s.c.Connect != nil {
		ours, theirs, err := socketPair()
		if err != nil {
			return err
		}
		cmd.ExtraFiles = []*os.File{theirs}
		defer connecting.Wait()
		defer ours.Close()
		defer theirs.Close() // again, where the child could not be started
		connecting.Go(func() { s.connect(ours) })
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	for _, f := range cmd.ExtraFiles {
		f.Close()
	}
	over := make(chan error, 1)
	go func() {
		s.read(out)
		over <- cmd.Wait()
	}()
	s.attach(json.NewEncoder(in), Hello{s.c.Credentials, ended})
	defer s.attach(nil, Hello{})
	select {
	case err := <-over:
		return err
	case <-ctx.Done():
	}
	s.send(request{Stop: true})
	late := time.NewTimer(s.c.StopTimeout)
	defer late.Stop()
	select {
	case err := <-over:
		return err
	case <-late.C:
		_ = cmd.Process.Kill()
		return errors.Join(fmt.Errorf("%s did not stop within %s and was killed", s.c.Name, s.c.StopTimeout), <-over)
	}
}

// attach makes a child the one that is asked, and greets it; nil is none.
func (s *Supervisor) attach(to *json.Encoder, hello Hello) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ask = to
	if to != nil {
		_ = to.Encode(request{Hello: &hello}) // fails where it has ended: that is seen
	}
	for _, c := range s.answers {
		close(c)
	}
	clear(s.answers)
}

func (s *Supervisor) send(r request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ask != nil {
		_ = s.ask.Encode(r)
	}
}

// read passes answers on until the child has ended.
func (s *Supervisor) read(r io.Reader) {
	lines := json.NewDecoder(r)
	for {
		var a answer
		if lines.Decode(&a) != nil {
			_, _ = io.Copy(io.Discard, r)
			return
		}
		s.mu.Lock()
		if c := s.answers[a.Metrics]; c != nil {
			c <- a.Text
			delete(s.answers, a.Metrics)
		}
		s.mu.Unlock()
	}
}

// WriteMetrics writes the metrics of the child; nothing while none runs.
func (s *Supervisor) WriteMetrics(w io.Writer) {
	s.mu.Lock()
	if s.ask == nil || len(s.answers) >= mostAsked {
		s.mu.Unlock()
		return
	}
	s.asked++
	id, answered := s.asked, make(chan []byte, 1)
	s.answers[id] = answered
	_ = s.ask.Encode(request{Metrics: id})
	s.mu.Unlock()
	late := time.NewTimer(metricsTimeout)
	defer late.Stop()
	select {
	case text := <-answered:
		_, _ = w.Write(text) // the page's own buffer
	case <-late.C: // it is asked no more once several answers are outstanding: its pipe must not fill
	}
}

// connect gives the child connections to the log until the socket is closed.
func (s *Supervisor) connect(control *net.UnixConn) {
	var open sync.WaitGroup
	defer open.Wait()
	for {
		if _, err := control.Read(make([]byte, 1)); err != nil {
			return
		}
		theirs, err := s.c.Connect()
		if err != nil {
			s.c.Logger.Warn("no connection to the log", "process", s.c.Name, "error", err)
			_, _ = control.Write([]byte{0}) // refused
			continue
		}
		ours, given, err := socketPair()
		if err == nil {
			err = errors.Join(sendFile(control, given), given.Close())
		}
		if err != nil {
			s.c.Logger.Warn("a connection to the log was not passed on", "process", s.c.Name, "error", err)
			theirs.Close()
			return
		}
		open.Go(func() { join(ours, theirs) })
	}
}

// join copies between two connections until one of them ends.
func join(a, b net.Conn) {
	var copying sync.WaitGroup
	for _, c := range [][2]net.Conn{{a, b}, {b, a}} {
		copying.Go(func() {
			_, _ = io.Copy(c[0], c[1]) // its end is the other's
			a.Close()
			b.Close()
		})
	}
	copying.Wait()
}
