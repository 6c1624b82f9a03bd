package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"
)

// asChild makes this test binary the child that a test starts; its value is what it
// does.
const asChild = "QUINTET_TEST_CHILD"

func TestMain(m *testing.M) {
	if what := os.Getenv(asChild); what != "" {
		os.Exit(beChild(what))
	}
	os.Exit(m.Run())
}

// beChild sends its greeting over a connection to the log, and serves.
func beChild(what string) int {
	p, err := Inherit(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	c, err := p.InProcessConn()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	fmt.Fprintf(c, "%s after %q\n", p.Hello.Credentials, p.Hello.Ended)
	if what == "deaf" {
		select {} // until it is killed
	}
	err = p.Serve(func(w *Text) error { _, err := fmt.Fprintf(w, "n %d\n", os.Getpid()); return err })
	if errors.Is(err, ErrGone) {
		return 4
	}
	return 0
}

// log is what a supervisor under test connects its children to: it keeps lines.
type log struct {
	lines chan string
	conns sync.WaitGroup
}

func (l *log) connect() (net.Conn, error) {
	ours, theirs := net.Pipe()
	l.conns.Go(func() {
		b := make([]byte, 200)
		n, _ := ours.Read(b)
		l.lines <- string(b[:n])
		_, _ = io.Copy(io.Discard, ours)
		ours.Close()
	})
	return theirs, nil
}

type world struct {
	log     log
	running chan *exec.Cmd
	sup     *Supervisor
	stop    context.CancelFunc
	done    chan error
}

func supervise(t *testing.T, what string) *world {
	t.Helper()
	w := &world{log: log{lines: make(chan string, 8)}, running: make(chan *exec.Cmd, 8), done: make(chan error, 1)}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	w.stop = stop
	w.sup = NewSupervisor(Config{Name: "engine", Connect: w.log.connect, Credentials: []byte("secret"), StopTimeout: 100 * time.Millisecond,
		Restarts: &metrics.Counter{}, Logger: slog.New(slog.DiscardHandler),
		Command: func() *exec.Cmd {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), asChild+"="+what)
			w.running <- cmd
			return cmd
		}})
	go func() { w.done <- w.sup.Run(ctx) }()
	t.Cleanup(func() { stop(); w.log.conns.Wait() })
	return w
}

// TestRunStartsAKilledChildAgain: a child that is killed is started again and
// knows how the one before ended; each reaches the log over connections that it
// was given, and states its own metrics.
func TestRunStartsAKilledChildAgain(t *testing.T) {
	w := supervise(t, "serve")
	if got := <-w.log.lines; got != "secret after \"\"\n" {
		t.Errorf("the first child: %q", got)
	}
	first := <-w.running
	if got, want := w.metrics(), fmt.Sprintf("n %d\n", first.Process.Pid); got != want {
		t.Errorf("metrics %q, want %q", got, want)
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if got := <-w.log.lines; !strings.Contains(got, "secret after \"the process of the engine was killed") {
		t.Errorf("the second child: %q", got)
	}
	if n := w.sup.c.Restarts.Get(); n != 1 {
		t.Errorf("%d restarts", n)
	}
	second := <-w.running
	if got, want := w.metrics(), fmt.Sprintf("n %d\n", second.Process.Pid); got != want {
		t.Errorf("metrics %q, want %q", got, want)
	}
	w.stop()
	if err := <-w.done; err != nil {
		t.Errorf("stopped: %v", err)
	}
	if got := w.metrics(); got != "" {
		t.Errorf("metrics of no child: %q", got)
	}
}

func (w *world) metrics() string {
	var b bytes.Buffer
	w.sup.WriteMetrics(&b)
	return b.String()
}

// TestRunKillsAChildThatDoesNotStop: a child that does not stop is killed, and that
// is an error.
func TestRunKillsAChildThatDoesNotStop(t *testing.T) {
	w := supervise(t, "deaf")
	<-w.log.lines
	w.stop()
	if err := <-w.done; err == nil || !strings.Contains(err.Error(), "did not stop within 100ms and was killed") {
		t.Errorf("stopped: %v", err)
	}
}

// TestServeEndsWithTheParent: a child whose parent is gone returns ErrGone, so that
// it ends at once.
func TestServeEndsWithTheParent(t *testing.T) {
	p, err := Inherit(strings.NewReader(`{"hello":{"ended":"killed"}}`), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if p.Hello.Ended != "killed" {
		t.Errorf("hello %+v", p.Hello)
	}
	if err := p.Serve(func(*Text) error { return nil }); !errors.Is(err, ErrGone) {
		t.Errorf("serve: %v", err)
	}
}

// TestInheritRefusesOthers: the command of a child, run by hand, reports what it is.
func TestInheritRefusesOthers(t *testing.T) {
	for _, in := range []string{"", "{}", "x", `{"stop":true}`} {
		if _, err := Inherit(strings.NewReader(in), io.Discard); err == nil {
			t.Errorf("%q was taken for a greeting", in)
		}
	}
}
