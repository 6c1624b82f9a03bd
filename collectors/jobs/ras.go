package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"strconv"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/book"
	"github.com/quintet-dc/quintet/telemetry"
)

// ras asks NCCL's RAS, which every process of a job has on loopback, how its
// communicators are.
type ras struct {
	cfg   Config
	dial  func(ctx context.Context, network, address string) (net.Conn, error)
	job   telemetry.Entity
	jobs  *tracker
	book  *book.Book
	known map[telemetry.Event]bool // errors that were reported, without their time
}

func newRAS(c Config, dialer func(context.Context, string, string) (net.Conn, error)) *ras {
	return &ras{cfg: c, dial: dialer, job: jobEntity(c.Job), jobs: newTracker(typeRAS, c.Name, 1), known: map[telemetry.Event]bool{},
		book: book.New(book.Config{Collector: sourceName, Target: plain(c.Name), Cadence: c.Every})}
}

func (s *ras) close() {}

// communicator is one of those that a status lists.
type communicator struct {
	Hash  string
	Size  int
	Ranks []struct {
		rasRank
		Status struct {
			Async int  `json:"async_error"`
			Abort bool `json:"abort_flag"`
		}
		Counts map[string]uint64 `json:"collective_counts"`
	}
	Missing []struct {
		rasRank
		Status struct {
			Dead bool `json:"considered_dead"`
		}
	} `json:"missing_ranks"`
}

// rasRank is where a rank runs.
type rasRank struct {
	Rank int
	Host string
	GPU  *int `json:"nvml_dev"`
}

// mostRanks bounds a communicator.
const mostRanks = 1 << 17

var errOldRAS = errors.New("no JSON: NCCL before 2.28.7 has text only")

// readRAS reads the answer to VERBOSE STATUS. The communicator with the most
// ranks is the job's own; its first is taken of several.
func readRAS(text []byte) (*communicator, error) {
	from := bytes.IndexByte(text, '{')
	if from < 0 {
		return nil, fmt.Errorf("%w: %w", errForm, errOldRAS)
	}
	var doc struct {
		List *[]communicator `json:"communicators"`
	}
	if err := unmarshal(text[from:], &doc); err != nil {
		return nil, fmt.Errorf("%w: %w", errForm, err)
	}
	if doc.List == nil {
		return nil, fmt.Errorf("%w: no communicators", errForm)
	}
	var best *communicator
	for i := range *doc.List {
		c := &(*doc.List)[i]
		if c.Size > mostRanks || len(c.Ranks)+len(c.Missing) > mostRanks {
			return nil, fmt.Errorf("%w: more than %d ranks", errForm, mostRanks)
		}
		if best == nil || c.Size > best.Size {
			best = c
		}
	}
	return best, nil
}

func (s *ras) read(ctx context.Context, r *report) error {
	text, err := s.ask(ctx)
	var c *communicator
	if err == nil {
		c, err = readRAS(text)
	}
	if err != nil {
		r.drop(reasonOf(err), 1)
		return err
	}
	return s.reportErrors(r, c)
}

// ask sends the command and reads the answer to its end, which is when the other
// side hangs up.
func (s *ras) ask(ctx context.Context) ([]byte, error) {
	c, err := s.dial(ctx, "tcp", s.cfg.Address)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }() // nothing is written any more
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	if err := c.SetDeadline(time.Now().Add(s.cfg.Timeout)); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(c, "SET FORMAT json\nVERBOSE STATUS\n"); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(&limited{c, s.cfg.MaxBody})
	return text, err
}

// reportErrors states where the ranks run, how many collectives each has begun, and which
// are in an error state.
func (s *ras) reportErrors(r *report, c *communicator) error {
	now := map[telemetry.Event]bool{}
	if c != nil {
		w := work{key: c.Hash, job: s.job, phase: running}
		trouble := func(at rasRank, name telemetry.EventName, text string) {
			now[telemetry.Event{Entity: s.gpu(at), Name: name, Text: "rank " + strconv.Itoa(at.Rank) + text}] = true
		}
		place := func(x rasRank) bool {
			if x.Rank < 0 || x.Host == "" {
				r.drop(collectors.Malformed, 1)
				return false
			}
			w.spots = append(w.spots, spot{s.gpu(x), x.Rank})
			return true
		}
		for i := range c.Ranks {
			x := &c.Ranks[i]
			if !place(x.rasRank) {
				continue
			}
			if x.Status.Async != 0 {
				trouble(x.rasRank, "nccl_error", " async error "+strconv.Itoa(x.Status.Async))
			}
			if x.Status.Abort {
				trouble(x.rasRank, "nccl_error", " aborted")
			}
			s.count(r, x.Rank, x.Counts)
		}
		for i := range c.Missing {
			x := &c.Missing[i]
			if place(x.rasRank) && x.Status.Dead { // unreachable alone is no more than that
				trouble(x.rasRank, "nccl_rank_dead", "")
			}
		}
		s.set(r, s.job, "job_ranks_missing", uint64(len(c.Missing)))
		s.jobs.note(r, w)
	}
	s.jobs.finish(r)
	for e := range now { // order-independent: each is reported by itself
		if !s.known[e] {
			e.At, e.Source = r.now, telemetry.Source{Collector: sourceName, Target: plain(s.cfg.Name), Part: "events"}
			r.event(e)
		}
	}
	s.known = now
	return r.emit(s.book, r.now)
}

// gpu is where a rank runs; its node where NCCL does not know the device.
func (s *ras) gpu(x rasRank) telemetry.Entity {
	host := x.Host
	if name := s.cfg.Hosts[host]; name != "" {
		host = name
	}
	if x.GPU == nil || *x.GPU < 0 {
		return telemetry.Entity{Kind: telemetry.Node, Name: telemetry.NamePart(host)}
	}
	return telemetry.Entity{Kind: telemetry.GPU, Name: telemetry.NamePart(host) + "/" + strconv.Itoa(*x.GPU)}
}

// count states how many collectives a rank has begun: the others wait for a rank
// that has begun fewer.
func (s *ras) count(r *report, rank int, counts map[string]uint64) {
	sum := uint64(0)
	for _, n := range counts { // order-independent: a sum
		if n > math.MaxUint64-sum {
			r.drop(collectors.OutOfRange, 1)
			return
		}
		sum += n
	}
	s.set(r, telemetry.Entity{Kind: telemetry.Rank, Name: s.job.Name + "/" + strconv.Itoa(rank)}, "rank_collectives_total", sum)
}

func (s *ras) set(r *report, x telemetry.Entity, m telemetry.MetricName, n uint64) {
	c, ok := s.book.Cell(x, telemetry.Column{Metric: m, Type: telemetry.Uint})
	if !ok {
		r.drop(collectors.OverLimit, 1)
		return
	}
	s.book.Set(c, n)
}
