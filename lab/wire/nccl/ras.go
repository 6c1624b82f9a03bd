package nccl

import (
	"bufio"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/quintet-dc/quintet/telemetry"
)

// talk answers one caller, line by line, until a status was asked for: that is
// the last answer.
func (f *Fleet) talk(c net.Conn, j *job) {
	defer func() { _ = c.Close() }()
	in := bufio.NewScanner(io.LimitReader(c, 1<<12))
	asJSON := false
	for {
		if c.SetDeadline(time.Now().Add(30*time.Second)) != nil || !in.Scan() {
			return
		}
		answer := "OK\n"
		verb, rest, _ := strings.Cut(strings.ToUpper(strings.TrimSpace(in.Text())), " ")
		switch {
		case verb == "CLIENT" && strings.HasPrefix(rest, "PROTOCOL "):
			answer = "SERVER PROTOCOL 2\n"
		case verb == "TIMEOUT":
			if n, err := strconv.Atoi(rest); err != nil || n < 0 {
				answer = "ERROR: Invalid timeout value " + rest + "\n"
			}
		case verb == "SET" && rest == "FORMAT JSON":
			asJSON = true
		case verb == "SET" && rest == "FORMAT TEXT":
			asJSON = false
		case verb == "STATUS" && rest == "", verb == "VERBOSE" && rest == "STATUS":
			_, _ = c.Write(f.status(j, asJSON)) // who asked may be gone
			return
		default:
			answer = "ERROR: Unknown command\n"
		}
		if _, err := io.WriteString(c, answer); err != nil {
			return
		}
	}
}

// status is what the processes of a job know of their communicator.
func (f *Fleet) status(j *job, asJSON bool) []byte {
	here, gone := f.roll(j)
	if !asJSON {
		return summary(here, gone)
	}
	one := communicator{Hash: hash(j.entity.Name), Secondary: hash(j.entity.Name+"/0") + ":" + hash(j.entity.Name+"/1"), Size: len(j.ranks),
		Here: len(here), Gone: len(gone), Ranks: here, Missing: gone}
	doc := document{Version: "2.29.1", Runtime: 13000, Driver: 13000, Timestamp: time.Unix(0, int64(f.board.Now())).UTC().Format(time.DateTime), Communicators: []communicator{}}
	if len(here) > 0 {
		doc.Count, doc.Communicators = 1, append(doc.Communicators, one)
	}
	text, err := json.MarshalIndent(&doc, "", "  ")
	if err != nil { // numbers and strings
		return []byte("ERROR: " + err.Error() + "\n")
	}
	return append(text, '\n')
}

// document is the answer in JSON, in the order in which NCCL writes it.
type document struct {
	Version       string         `json:"nccl_version"`
	Runtime       int            `json:"cuda_runtime_version"`
	Driver        int            `json:"cuda_driver_version"`
	Timestamp     string         `json:"timestamp"`
	Count         int            `json:"communicators_count"`
	Communicators []communicator `json:"communicators"`
	RAS           struct {
		Seconds  float64 `json:"collection_time_sec"`
		Timeouts int     `json:"timeouts_count"`
	} `json:"ras"`
}

type communicator struct {
	Hash      string    `json:"hash"`
	Secondary string    `json:"secondary_hash"`
	Size      int       `json:"size"`
	Here      int       `json:"ranks_count"`
	Gone      int       `json:"missing_ranks_count"`
	Ranks     []present `json:"ranks"`
	Missing   []missing `json:"missing_ranks"`
}

type place struct {
	Rank   int    `json:"rank"`
	Host   string `json:"host"`
	PID    int    `json:"pid"`
	Device int    `json:"cuda_dev"`
	NVML   int    `json:"nvml_dev"`
}

type present struct {
	place
	Status struct {
		State     int  `json:"init_state"`
		Async     int  `json:"async_error"`
		Finalized bool `json:"finalize_called"`
		Destroyed bool `json:"destroy_flag"`
		Aborted   bool `json:"abort_flag"`
	} `json:"status"`
	Counts counts `json:"collective_counts"`
}

type counts struct {
	Broadcast     uint64
	Reduce        uint64
	AllGather     uint64
	ReduceScatter uint64
	AllReduce     uint64
}

type missing struct {
	place
	Status struct {
		Unresponsive bool `json:"unresponsive"`
		Dead         bool `json:"considered_dead"`
	} `json:"status"`
}

// The times after which a process that sends nothing counts as unresponsive,
// and for dead (NCCL's user guide, RAS).
const (
	staleAfter = 5 * time.Second
	dead       = 60 * time.Second
)

// roll is who of a job answers and who does not: a process is gone with its
// host, whose GPUs then report nothing.
func (f *Fleet) roll(j *job) (here []present, gone []missing) {
	now := f.board.Now()
	here, gone = []present{}, []missing{}
	for i := range j.ranks {
		r := &j.ranks[i]
		p := place{r.number, r.host, 100000 + r.number, r.device, r.device}
		n, running := f.board.Read(r.entity, begun)
		if !running || now.Sub(n.At) > staleAfter {
			continue // the job does not run
		}
		if away := now.Sub(f.seen(r)); away > staleAfter {
			m := missing{place: p}
			m.Status.Unresponsive, m.Status.Dead = true, away > dead
			gone = append(gone, m)
			continue
		}
		x := present{place: p}
		x.Counts.AllReduce = n.Uint()
		here = append(here, x)
	}
	return here, gone
}

// seen is when a rank's host was alive last.
func (f *Fleet) seen(r *rank) telemetry.Time {
	c, _ := f.board.Read(r.gpu, "gpu_sm_clock_hertz")
	return c.At // never, where it has none
}

// summary is the answer as text, which people read.
func summary(here []present, gone []missing) []byte {
	var b strings.Builder
	nodes := map[string]int{}
	for i := range here {
		nodes[here[i].Host]++
	}
	for i := range gone {
		nodes[gone[i].Host]++
	}
	state := "OK"
	if len(gone) > 0 {
		state = "INCOMPLETE"
	}
	fmt.Fprintf(&b, "NCCL version 2.29.1 compiled with CUDA 13.0\n\nJob summary\n===========\n\n%d nodes, %d processes\n\nCommunicators... (0.00s)\n=============\n\nGroup     Ranks    Status  Errors\n", len(nodes), len(here)+len(gone))
	if len(here) > 0 {
		fmt.Fprintf(&b, "    0  %8d   RUNNING  %s\n", len(here)+len(gone), state)
	}
	for i := range gone {
		fmt.Fprintf(&b, "  The missing rank: %d\n", gone[i].Rank)
	}
	return []byte(b.String())
}

// hash names a communicator.
func hash(s string) string {
	h := fnv.New64a()
	_, _ = io.WriteString(h, s) // a sum takes anything
	return fmt.Sprintf("%#016x", h.Sum64())
}
