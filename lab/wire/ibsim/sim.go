package ibsim

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Sim is a simulated subnet: a process of ibsim and what runs on it.
type Sim struct {
	Net *Net

	name  string // of its socket
	dir   string // of its files; removed by Close
	tools tools
	proc  *process

	mu         sync.Mutex // over the console
	console    io.WriteCloser
	batches    int           // how many ends of batches were asked for
	finished   int           // how many were reported
	batchEnded chan struct{} // closed and made anew at every end of a batch
	managers   []*Manager
	started    int // managers so far
}

// startup is how long ibsim may take to read a subnet, and to answer.
const startup = 10 * time.Second

// Start writes a subnet's file into a new folder below dir ("" is the system's)
// and runs ibsim on it.
func Start(ctx context.Context, dir string, n *Net) (*Sim, error) {
	t, err := findTools()
	if err != nil {
		return nil, err
	}
	s := &Sim{Net: n, tools: t, batchEnded: make(chan struct{})}
	if s.dir, err = os.MkdirTemp(dir, "ibsim-"); err != nil {
		return nil, err
	}
	// Sockets have no folder: the name is the process's and this folder's.
	s.name = fmt.Sprintf("quintet-%d-%s", os.Getpid(), filepath.Base(s.dir))
	if err := s.start(ctx); err != nil {
		s.Close()
		return nil, fmt.Errorf("subnet %s: %w", s.name, err)
	}
	return s, nil
}

func (s *Sim) start(ctx context.Context) error {
	file := filepath.Join(s.dir, "net")
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	if err := s.Net.Write(f); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	switches, ports := 0, 0
	for i := range s.Net.Nodes {
		ports += s.Net.Nodes[i].Ports + 1
		if s.Net.Nodes[i].Switch {
			switches++
		}
	}
	limit := func(n int) string { return fmt.Sprint(n + 16) }
	cmd := exec.Command(s.tools.ibsim, "-s", "-N", limit(len(s.Net.Nodes)), "-S", limit(switches), "-P", limit(ports), file)
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), "IBSIM_SOCKNAME="+s.name)
	if s.console, err = cmd.StdinPipe(); err != nil {
		return err
	}
	out, output := io.Pipe()
	cmd.Stdout = output
	ready := make(chan struct{})
	go s.listen(out, ready)
	if s.proc, err = launch(cmd); err != nil {
		output.Close()
		return err
	}
	go func() {
		<-s.proc.done
		output.Close()
	}()
	ctx, cancel := context.WithTimeout(ctx, startup)
	defer cancel()
	return s.proc.wait(ctx, ready, "it was ready")
}

// listen reads the output of ibsim until it ends.
func (s *Sim) listen(out io.Reader, ready chan struct{}) {
	in := bufio.NewScanner(out)
	for in.Scan() {
		switch line := in.Text(); {
		case strings.Contains(line, "Network simulator ready"):
			close(ready)
		case strings.Contains(line, "verbose level is"):
			s.mu.Lock()
			s.finished++
			close(s.batchEnded)
			s.batchEnded = make(chan struct{})
			s.mu.Unlock()
		}
	}
	_, _ = io.Copy(io.Discard, out) // a line too long ends the scanner, not ibsim
}

// Console has ibsim carry out commands, and returns when it has.
func (s *Sim) Console(ctx context.Context, commands ...string) error {
	s.mu.Lock()
	// The last command does nothing and is answered by a line of its own.
	_, err := io.WriteString(s.console, strings.Join(append(commands, "Verbose"), "\n")+"\n")
	s.batches++
	mine := s.batches
	s.mu.Unlock()
	if err != nil {
		return fmt.Errorf("subnet %s: console: %w", s.name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, startup)
	defer cancel()
	for {
		s.mu.Lock()
		finished, batchEnded := s.finished, s.batchEnded
		s.mu.Unlock()
		if finished >= mine {
			return nil
		}
		if err := s.proc.wait(ctx, batchEnded, "it answered its console"); err != nil {
			return fmt.Errorf("subnet %s: %w", s.name, err)
		}
	}
}

// at writes an end as the console takes it.
func (s *Sim) at(e End) string { return fmt.Sprintf("%q[%d]", s.Net.Nodes[e.Node].ID(), e.Port) }

// Counter is a counter of a port and what it is to show: "PortXmitWait" of the
// attribute "PortCounters".
type Counter struct {
	At               End
	Attribute, Field string
	Value            uint64
	moves            bool // ibsim changes it too
}

// Set sets counters.
func (s *Sim) Set(ctx context.Context, counters ...Counter) error {
	// ibsim's console reads a pipe in pieces; long batches are sent in parts.
	const most = 100
	for len(counters) > 0 {
		part := counters[:min(most, len(counters))]
		counters = counters[len(part):]
		var commands []string
		for _, c := range part {
			commands = append(commands, fmt.Sprintf("PerformanceSet %s %s.%s=%d", s.at(c.At), c.Attribute, c.Field, c.Value))
		}
		if err := s.Console(ctx, commands...); err != nil {
			return err
		}
	}
	return nil
}

// Pull takes the cable at an end out.
func (s *Sim) Pull(ctx context.Context, e End) error { return s.Console(ctx, "Unlink "+s.at(e)) }

// Plug puts the cable back that was pulled.
func (s *Sim) Plug(ctx context.Context, e End) error { return s.Console(ctx, "ReLink "+s.at(e)) }

// Lose has a port lose so many of a hundred datagrams.
func (s *Sim) Lose(ctx context.Context, e End, percent int) error {
	return s.Console(ctx, fmt.Sprintf("Error %s %d", s.at(e), percent))
}

// Environment is what a program is given so that it runs on a node of the
// subnet.
func (s *Sim) Environment(node int) map[string]string {
	return map[string]string{"LD_PRELOAD": s.tools.preload, "IBSIM_SOCKNAME": s.name, "SIM_HOST": s.Net.Nodes[node].ID()}
}

// Dir is the subnet's folder, where programs may leave what they leave.
func (s *Sim) Dir() string { return s.dir }

// Close ends everything that runs on the subnet, and the subnet.
func (s *Sim) Close() {
	for _, m := range s.managers {
		m.Kill()
	}
	if s.proc != nil {
		s.proc.kill()
	}
	_ = os.RemoveAll(s.dir) // what is left of it is in a temporary folder
}
