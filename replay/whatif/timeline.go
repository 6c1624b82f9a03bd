package whatif

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// The kinds of operation that a timeline may hold.
const (
	forward     = "forward-compute"
	backward    = "backward-compute"
	collector   = "gc"
	optimizer   = "optimizer"
	layernorm   = "layernorm-grads-all-reduce"
	embedding   = "embedding-grads-all-reduce"
	scatter     = "grads-reduce-scatter"
	gather      = "params-all-gather"
	clip        = "optimizer-clip-main-grad"
	forwardSend = "forward-send"
	forwardRecv = "forward-recv"
	backSend    = "backward-send"
	backRecv    = "backward-recv"
)

// kinds lists them. Others are refused, because a dependency that is not modelled
// would be charged to the wrong cause.
func kinds() []string {
	return []string{forward, backward, collector, optimizer, layernorm, embedding, scatter, gather, clip, forwardSend, forwardRecv, backSend, backRecv}
}

// communication states that an operation moves data: its length in a timeline is
// the transfer alone, without the wait for its peers.
func communication(kind string) bool {
	switch kind {
	case forward, backward, collector, optimizer:
		return false
	}
	return true
}

// Bounds on what is read: a timeline of a thousand workers and a hundred steps.
const (
	maxEvents  = 20_000_000
	maxWorkers = 1 << 16
	// clockError, in µs, is by how much a transfer may seem to end before it
	// began: its two ends are timed by two clocks.
	clockError = 10e3
)

// Timeline is a job's operations. Workers are data-parallel rank × pipeline
// stage; each step and data-parallel rank is a lane, and all lanes hold the
// same operations.
type Timeline struct {
	Steps   []int // numbers, in order
	DP, PP  int
	ops     []op        // of one lane, in order of stage, kind, number
	lengths [][]float64 // seconds, by operation, then lane (step·DP + rank)
	order   [][]int     // by stage: its computing operations as lane 0 ran them
}

// op is one operation of a lane: the n-th of its kind at a stage.
type op struct {
	kind  string
	stage int
	n     int
}

// event is a Chrome trace event. Metadata events ("M") name a thread.
type event struct {
	Name  string  `json:"name"`
	Phase string  `json:"ph"`
	PID   int     `json:"pid"`
	TID   int     `json:"tid"`
	TS    float64 `json:"ts"`
	Dur   float64 `json:"dur"`
	Args  struct {
		Name  string `json:"name"`
		Step  int    `json:"step"`
		Chunk *int   `json:"model_chunk"`
		Seq   int    `json:"seq_id"`
	} `json:"args"`
}

// thread is one worker's stream of one kind of work.
type thread struct{ pid, tid int }

// Read reads a timeline, gzipped or not. Errors name the event by its number,
// from 1.
func Read(r io.Reader) (*Timeline, error) {
	b := bufio.NewReaderSize(r, 1<<16)
	if head, err := b.Peek(2); err == nil && head[0] == 0x1f && head[1] == 0x8b {
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, fmt.Errorf("timeline: %w", err)
		}
		defer z.Close()
		return read(z)
	}
	return read(b)
}

func read(r io.Reader) (*Timeline, error) {
	in := intake{stages: map[thread]int{}}
	if err := in.array(json.NewDecoder(r)); err != nil {
		return nil, fmt.Errorf("timeline: %w", err)
	}
	return in.timeline()
}

// intake collects the events until all threads are named: names may come last.
type intake struct {
	events []recorded
	stages map[thread]int
}

type recorded struct {
	kind       uint8
	at         thread
	step, seq  int32
	start, dur float64
}

// array reads a bare array, or the object whose traceEvents is one.
func (in *intake) array(d *json.Decoder) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	if t == json.Delim('{') {
		for {
			key, err := d.Token()
			if err != nil {
				return err
			}
			if key == json.Delim('}') {
				return errors.New("an object without traceEvents")
			}
			if key == "traceEvents" {
				break
			}
			var skip json.RawMessage
			if err := d.Decode(&skip); err != nil {
				return err
			}
		}
		if t, err = d.Token(); err != nil {
			return err
		}
	}
	if t != json.Delim('[') {
		return fmt.Errorf("begins with %v; want an array of trace events", t)
	}
	for n := 1; d.More(); n++ {
		var e event
		if err := d.Decode(&e); err != nil {
			return fmt.Errorf("event %d: %w", n, err)
		}
		if err := in.add(&e); err != nil {
			return fmt.Errorf("event %d: %w", n, err)
		}
	}
	return nil
}

func (in *intake) add(e *event) error {
	at := thread{e.PID, e.TID}
	if e.Phase == "M" {
		if e.Name == "thread_name" {
			stage, err := stageOf(e.Args.Name)
			if err != nil {
				return err
			}
			in.stages[at] = stage
		}
		return nil
	}
	k := slices.Index(kinds(), e.Name)
	switch {
	case e.Phase != "X":
		return fmt.Errorf("ph %q: want X for an operation or M for a name", e.Phase)
	case k < 0:
		return fmt.Errorf("operation %q is not known; want one of %s", e.Name, strings.Join(kinds(), ", "))
	case !(e.Dur >= -clockError) || e.Dur > 1e13:
		return fmt.Errorf("dur %v µs", e.Dur)
	case e.PID < 0 || e.PID >= maxWorkers:
		return fmt.Errorf("pid %d: want a data-parallel rank", e.PID)
	case e.Args.Seq < 0 || e.Args.Seq > maxEvents:
		return fmt.Errorf("seq_id %d", e.Args.Seq)
	case e.Args.Chunk != nil && *e.Args.Chunk > 0:
		return fmt.Errorf("model_chunk %d: interleaved pipelines are not analysed", *e.Args.Chunk)
	case len(in.events) == maxEvents:
		return fmt.Errorf("more than %d operations", maxEvents)
	}
	in.events = append(in.events, recorded{uint8(k), at, int32(e.Args.Step), int32(e.Args.Seq), e.TS / 1e6, e.Dur / 1e6})
	return nil
}

// stageOf reads "PP rank 2, TP rank 0, compute".
func stageOf(name string) (int, error) {
	var pp, tp int
	if _, err := fmt.Sscanf(name, "PP rank %d, TP rank %d", &pp, &tp); err != nil || pp < 0 || pp >= maxWorkers {
		return 0, fmt.Errorf("thread name %q: want \"PP rank N, TP rank N, …\"", name)
	}
	return pp, nil
}
