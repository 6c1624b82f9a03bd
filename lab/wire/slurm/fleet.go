package slurm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/quintet-dc/quintet/lab/board"
	"github.com/quintet-dc/quintet/telemetry"
)

// Config states where the scheduler answers and where its files are.
type Config struct {
	// Listen is an address of loopback; "" means 127.0.0.1 and any port.
	Listen string
	// Dir is where the token and the logs are written. It must be there.
	Dir string
	// Every is the cadence that the entries name; zero means a second.
	Every time.Duration
	// Logs adds the trainers' logs to the entries. A reader that gets steps over
	// HTTP already would get them twice.
	Logs bool
	// Runs states which jobs it runs; nil is all.
	Runs func(job telemetry.Entity) bool
	// TorchTitan has every log in its form; without it every other one is.
	TorchTitan bool
}

// Fleet is a site's scheduler and its trainers' logs.
type Fleet struct {
	board  *board.Board
	cfg    Config
	listen net.Listener
	signer *signer

	mu          sync.Mutex
	jobs        map[telemetry.Entity]*job
	unavailable map[telemetry.Entity]unavailability // nodes kept back
	next        int                                 // of events
	last        int64                               // number given last
}

// unavailability is why a node is kept back, and since when.
type unavailability struct {
	since  telemetry.Time
	reason string
}

// job is a job as the scheduler knows it.
type job struct {
	id       int64
	state    string
	start    telemetry.Time
	queued   telemetry.Time
	end      telemetry.Time
	restarts int
	log      *log
}

// user is who may ask.
const user = "quintet"

// New listens, and answers once Run runs.
func New(b *board.Board, c Config) (*Fleet, error) {
	if c.Listen == "" {
		c.Listen = "127.0.0.1:0"
	}
	if c.Every == 0 {
		c.Every = time.Second
	}
	s, err := newSigner()
	if err != nil {
		return nil, fmt.Errorf("slurm: %w", err)
	}
	token, err := s.token(user, time.Now(), 365*24*time.Hour)
	if err != nil {
		return nil, fmt.Errorf("slurm: %w", err)
	}
	f := &Fleet{board: b, cfg: c, signer: s, jobs: map[telemetry.Entity]*job{}, unavailable: map[telemetry.Entity]unavailability{}, last: 1000}
	if err := os.WriteFile(f.tokenFile(), []byte("SLURM_JWT="+token+"\n"), 0o600); err != nil {
		return nil, fmt.Errorf("slurm: %w", err)
	}
	if f.listen, err = net.Listen("tcp", c.Listen); err != nil {
		return nil, fmt.Errorf("slurm: %w", err)
	}
	return f, f.advance()
}

func (f *Fleet) tokenFile() string { return filepath.Join(f.cfg.Dir, "slurm.jwt") }

// Run answers, and writes logs, until ctx is done.
func (f *Fleet) Run(ctx context.Context) error {
	server := &http.Server{Handler: f.handler(), ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 16 << 10}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(f.listen) }()
	var err error
	for err == nil && f.board.Wait(ctx) == nil {
		err = f.advance()
	}
	_ = server.Close() // nobody is promised an answer
	if serving := <-failed; !errors.Is(serving, http.ErrServerClosed) {
		err = errors.Join(err, serving)
	}
	if err != nil {
		return fmt.Errorf("slurm: %w", err)
	}
	return nil
}

// advance takes note of what has happened, and writes the steps that ended.
func (f *Fleet) advance() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	devices := map[telemetry.Entity]int{}
	for _, e := range f.board.Edges(telemetry.Runs) {
		if e.From.Kind != telemetry.Job || f.cfg.Runs != nil && !f.cfg.Runs(e.From) {
			continue
		}
		if e.End == 0 {
			devices[e.From]++
		}
		if f.jobs[e.From] == nil {
			f.last++
			f.jobs[e.From] = &job{id: f.last, state: "RUNNING", start: max(e.Start, f.began()), log: newLog(f.cfg.Dir, e.From, f.cfg.TorchTitan || f.last%2 == 0)}
		}
	}
	events, next := f.board.Events(f.next)
	f.next = next
	for i := range events {
		f.happened(&events[i])
	}
	for x, j := range f.jobs {
		if err := j.log.step(f.board, x, devices[x]); err != nil {
			return err
		}
	}
	return nil
}

// began is when a job started of which no start is known.
func (f *Fleet) began() telemetry.Time { return max(1, f.board.Now()) }

func (f *Fleet) happened(e *telemetry.Event) {
	switch e.Name {
	case telemetry.EventMaintenanceStarted:
		f.unavailable[e.Entity] = unavailability{e.At, e.Text}
	case telemetry.EventMaintenanceEnded:
		delete(f.unavailable, e.Entity)
	}
	j := f.jobs[e.Entity]
	if j == nil {
		return
	}
	switch e.Name {
	case telemetry.EventJobStarted:
		j.state, j.start = "RUNNING", e.At
	case telemetry.EventJobFailed:
		// A job that may be queued again is: it counts as started again, and has
		// been submitted when it failed.
		j.state, j.queued, j.restarts = "PENDING", e.At, j.restarts+1
	case telemetry.EventJobRestarted:
		if j.state == "RUNNING" {
			j.restarts++
		}
		j.state, j.start = "RUNNING", e.At
	case telemetry.EventJobEnded:
		j.state, j.end = "COMPLETED", e.At
	case telemetry.EventCheckpointStarted, telemetry.EventCheckpointEnded:
		j.log.note(e)
	}
}

// Addresses lists the scheduler and the logs.
func (f *Fleet) Addresses() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := []string{"slurmrestd " + f.url()}
	for _, x := range f.board.Entities(telemetry.Job) {
		if j := f.jobs[x]; j != nil {
			out = append(out, fmt.Sprintf("log of %s %s", x, j.log.path))
		}
	}
	return out
}

func (f *Fleet) url() string { return "http://" + f.listen.Addr().String() }

// Entries are what "collectors: jobs:" needs to read them.
func (f *Fleet) Entries() []map[string]any {
	every := f.cfg.Every.String()
	out := []map[string]any{{"type": "slurm", "url": f.url(), "user": user, "authorization": map[string]any{"credentials_file": f.tokenFile()}, "job": "{name}", "interval": every}}
	if !f.cfg.Logs {
		return out
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, x := range f.board.Entities(telemetry.Job) {
		if j := f.jobs[x]; j != nil {
			out = append(out, map[string]any{"type": "log", "paths": []string{j.log.path}, "job": x.Name, "zone": "UTC", "devices": f.devices(x), "peak_tflops": peak / 1e12, "interval": every, "whole": true})
		}
	}
	return out
}

// devices is how many GPUs a job has.
func (f *Fleet) devices(x telemetry.Entity) int {
	n := 0
	for _, e := range f.board.Edges(telemetry.Runs) {
		if e.From == x && e.End == 0 {
			n++
		}
	}
	return n
}
