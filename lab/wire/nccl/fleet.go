package nccl

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/quintet-dc/quintet/lab/board"
	"github.com/quintet-dc/quintet/telemetry"
)

// Config states where RAS answers and where the Inspector writes.
type Config struct {
	// Dir is an existing folder for the Inspector's files.
	Dir string
	// Every is the time between two of its dumps; zero means 30 s, the least that
	// the Inspector takes for this form.
	Every time.Duration
}

// Fleet is NCCL in the processes of a site's training jobs.
type Fleet struct {
	board *board.Board
	cfg   Config
	jobs  []*job
	dumps map[telemetry.Entity]*window // by GPU
	last  telemetry.Time               // of the dump before

	mu    sync.Mutex
	conns map[net.Conn]bool
}

// job is a training job: a process for each GPU.
type job struct {
	entity telemetry.Entity
	listen net.Listener
	ranks  []rank
	size   string // of what its collectives move, once that is known
}

// rank is a process, and where it runs.
type rank struct {
	entity, gpu, node, nic telemetry.Entity
	number                 int    // in its job
	host                   string // address, as NCCL knows it
	device                 int    // of its host
}

// New listens for every training job, and answers once Run runs.
func New(b *board.Board, c Config) (*Fleet, error) {
	if c.Every == 0 {
		c.Every = 30 * time.Second
	}
	f := &Fleet{board: b, cfg: c, dumps: map[telemetry.Entity]*window{}, conns: map[net.Conn]bool{}}
	for _, x := range b.Entities(telemetry.Job) {
		ranks := ranksOf(b, x)
		if len(ranks) == 0 {
			continue
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			f.close()
			return nil, fmt.Errorf("nccl: %w", err)
		}
		f.jobs = append(f.jobs, &job{entity: x, listen: l, ranks: ranks})
	}
	return f, nil
}

// ranksOf lists the processes of a job that report how many collectives they have
// begun: those of a training job.
func ranksOf(b *board.Board, x telemetry.Entity) []rank {
	nics := map[telemetry.Entity]telemetry.Entity{}
	for _, e := range b.Edges(telemetry.Pairs) {
		nics[e.From] = e.To
	}
	nodes := b.Entities(telemetry.Node)
	var out []rank
	for _, e := range b.Edges(telemetry.Runs) {
		n, err := strconv.Atoi(e.Attr("rank"))
		if e.From != x || e.To.Kind != telemetry.GPU || err != nil {
			continue
		}
		r := rank{entity: telemetry.Entity{Kind: telemetry.Rank, Name: x.Name + "/" + strconv.Itoa(n)}, gpu: e.To, nic: nics[e.To], number: n}
		if _, ok := b.Read(r.entity, begun); !ok {
			return nil
		}
		node, device, _ := strings.Cut(e.To.Name, "/")
		r.node = telemetry.Entity{Kind: telemetry.Node, Name: node}
		r.host = address(slices.Index(nodes, r.node))
		if r.device, err = strconv.Atoi(device); err != nil {
			continue
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b rank) int { return a.number - b.number })
	return out
}

// address is that of a host in the network that NCCL's processes meet over.
func address(n int) string { return fmt.Sprintf("10.0.%d.%d", n/250, 1+n%250) }

// begun is the series that makes a rank one of NCCL's.
const begun telemetry.MetricName = "rank_collectives_total"

// Run answers, and writes dumps, until ctx is done.
func (f *Fleet) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group sync.WaitGroup
	failed := make(chan error, len(f.jobs)+1)
	for _, j := range f.jobs {
		group.Go(func() {
			if err := f.serve(ctx, j); err != nil && ctx.Err() == nil {
				failed <- err
				cancel()
			}
		})
	}
	for f.board.Wait(ctx) == nil {
		if err := f.advance(); err != nil {
			failed <- err
			cancel()
		}
	}
	f.close()
	group.Wait()
	select {
	case err := <-failed:
		return fmt.Errorf("nccl: %w", err)
	default:
		return nil
	}
}

// close hangs up on everybody.
func (f *Fleet) close() {
	for _, j := range f.jobs {
		_ = j.listen.Close()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.conns {
		_ = c.Close()
	}
}

// serve takes the callers of a job's RAS, each by itself.
func (f *Fleet) serve(ctx context.Context, j *job) error {
	var callers sync.WaitGroup
	defer callers.Wait()
	for {
		c, err := j.listen.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil
		case err != nil:
			return err
		}
		f.mu.Lock()
		f.conns[c] = true
		f.mu.Unlock()
		if ctx.Err() != nil {
			_ = c.Close()
		}
		callers.Go(func() {
			f.talk(c, j)
			f.mu.Lock()
			delete(f.conns, c)
			f.mu.Unlock()
		})
	}
}

// Addresses lists where RAS answers, and where the dumps are.
func (f *Fleet) Addresses() []string {
	var out []string
	for _, j := range f.jobs {
		out = append(out, fmt.Sprintf("RAS of %s %s", j.entity, j.listen.Addr()))
	}
	if len(f.jobs) > 0 {
		out = append(out, "Inspector "+f.pattern())
	}
	return out
}

// Entries are what "collectors: jobs:" needs to read them.
func (f *Fleet) Entries() []map[string]any {
	var out []map[string]any
	for _, j := range f.jobs {
		hosts := map[string]any{}
		for i := range j.ranks {
			hosts[j.ranks[i].host] = j.ranks[i].node.Name
		}
		out = append(out, map[string]any{"type": "nccl_ras", "address": j.listen.Addr().String(), "job": j.entity.Name, "hosts": hosts, "interval": "5s"})
	}
	if len(f.jobs) > 0 {
		out = append(out, map[string]any{"type": "nccl_inspector", "paths": []string{f.pattern()}, "interval": "5s"})
	}
	return out
}
