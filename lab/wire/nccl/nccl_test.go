package nccl

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/collectors/jobs"
	"github.com/quintet-dc/quintet/lab/live"
	"github.com/quintet-dc/quintet/telemetry"
)

// rig is NCCL of a live site whose clock is the test's.
type rig struct {
	t    *testing.T
	site *live.Site
	f    *Fleet
	now  time.Time
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, now: time.Unix(1_800_000_000, 0)}
	var err error
	if r.site, err = live.New(16, 3, r.now); err != nil {
		t.Fatal(err)
	}
	if r.f, err = New(r.site.Board(), Config{Dir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.f.close)
	return r
}

// pass lets seconds pass.
func (r *rig) pass(seconds int) {
	r.t.Helper()
	for range seconds {
		r.now = r.now.Add(time.Second)
		if err := r.site.Advance(r.now); err != nil {
			r.t.Fatal(err)
		}
		if err := r.f.advance(); err != nil {
			r.t.Fatal(err)
		}
	}
}

// begun is how many collectives each rank that answers has begun, by rank, and
// which do not answer.
func (r *rig) begun() (here map[int]uint64, gone []missing) {
	a, b := r.f.roll(r.f.jobs[0])
	here = map[int]uint64{}
	for i := range a {
		here[a[i].Rank] = a[i].Counts.AllReduce
	}
	return here, b
}

// TestWhoIsWaitedFor: the ranks of a healthy job are never more than one
// collective apart and go on; when a GPU is lost, its rank has begun one fewer
// than all others, and so it stays until the job is given up.
func TestWhoIsWaitedFor(t *testing.T) {
	r := newRig(t)
	most := func() uint64 {
		here, _ := r.begun()
		var all []uint64
		for _, n := range here {
			all = append(all, n)
		}
		if slices.Max(all)-slices.Min(all) > 1 {
			t.Fatalf("ranks are far apart: %v", here)
		}
		return slices.Max(all)
	}
	before := most()
	r.pass(30)
	if after := most(); after < before+3 {
		t.Fatalf("%d collectives after half a minute, %d before", after, before)
	}
	fault, err := r.site.Strike("gpu-error", telemetry.Entity{Kind: telemetry.GPU, Name: "n0001/2"}, 5*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	r.pass(25)
	stuck, _ := r.begun()
	r.pass(10)
	still, gone := r.begun()
	for i := range r.f.jobs[0].ranks {
		k := &r.f.jobs[0].ranks[i]
		switch n := k.number; {
		case stuck[n] != still[n]:
			t.Errorf("rank %d went on: %d, %d", n, stuck[n], still[n])
		case k.gpu == fault.Entity && stuck[n]+1 != most():
			t.Errorf("the rank on %s has begun %d, the others %d", k.gpu, stuck[n], most())
		case k.gpu != fault.Entity && stuck[n] != most():
			t.Errorf("rank %d has begun %d of %d, and its GPU is well", n, stuck[n], most())
		}
	}
	if len(gone) > 0 {
		t.Errorf("missing: %+v", gone)
	}
}

// TestAHostThatIsGone: its ranks are missing, unresponsive first and dead after
// a minute.
func TestAHostThatIsGone(t *testing.T) {
	r := newRig(t)
	if _, err := r.site.Strike("node-down", telemetry.Entity{Kind: telemetry.Node, Name: "n0001"}, 5*time.Minute); err != nil {
		t.Fatal(err)
	}
	r.pass(12)
	here, gone := r.begun()
	if len(here) != 8 || len(gone) != 8 || gone[0].Rank != 8 || !gone[0].Status.Unresponsive || gone[0].Status.Dead || gone[0].Host != "10.0.0.2" {
		t.Fatalf("%d here, gone %+v", len(here), gone)
	}
	for range 90 {
		r.pass(1)
		if _, gone = r.begun(); len(gone) > 0 && gone[0].Status.Dead {
			return
		}
	}
	t.Errorf("after 100 s: %d gone", len(gone)) // unless the job is given up before, and no process is left
}

// TestTheCollectorReadsIt: placement, counts and dumps come out of the real
// collector as the site has them.
func TestTheCollectorReadsIt(t *testing.T) {
	r := newRig(t)
	r.pass(65)
	collectorstest.Start(t, r.f.Run)
	if len(r.f.Addresses()) != 2 {
		t.Errorf("addresses: %v", r.f.Addresses())
	}
	for _, entry := range r.f.Entries() {
		c, err := jobs.DecodeConfig(collectorstest.Entry(t, entry))
		if err != nil {
			t.Fatal(err)
		}
		col, err := jobs.New(c, dial.Guard{})
		if err != nil {
			t.Fatal(err)
		}
		e := collectorstest.Record(t, col)
		e.Until("a sweep", func() bool { return len(e.Sweeps) > 0 })
		e.Mu.Lock()
		if e.Err() != nil || len(e.Dropped) > 0 || len(e.Events) > 0 {
			t.Errorf("%v, dropped %v, events %v", e.Err(), e.Dropped, e.Events)
		}
		if entry["type"] == "nccl_ras" {
			placed(t, r, e)
		} else {
			dumped(t, e)
		}
		e.Mu.Unlock()
	}
}

// placed holds RAS against the board.
func placed(t *testing.T, r *rig, e *collectorstest.Ear) {
	t.Helper()
	b := r.site.Board()
	want := map[string]bool{}
	for _, x := range b.Edges(telemetry.Runs) {
		want[fmt.Sprint(x.From, x.To, x.Attr("rank"))] = true
	}
	for i := range e.Edges {
		if x := &e.Edges[i]; !want[fmt.Sprint(x.From, x.To, x.Attr("rank"))] {
			t.Errorf("%s on %s as %s: the site has no such thing", x.From, x.To, x.Attr("rank"))
		}
	}
	ranks := b.Entities(telemetry.Rank)
	if len(e.Edges) != len(want) || len(ranks) != 16 {
		t.Errorf("%d edges of %d, %d ranks", len(e.Edges), len(want), len(ranks))
	}
	for _, x := range ranks {
		got, ok := e.Last(telemetry.Series{Entity: x, Metric: begun})
		if have, _ := b.Read(x, begun); !ok || got.Float() != have.Float() {
			t.Errorf("%s has begun %v, heard %v", x, have.Float(), got.Float())
		}
	}
}

// dumped looks at what the Inspector says of the GPUs.
func dumped(t *testing.T, e *collectorstest.Ear) {
	t.Helper()
	seconds, bandwidth := 0, 0
	for x, all := range e.Series {
		v := all[len(all)-1].Float()
		switch {
		case strings.HasPrefix(string(x.Metric), "nccl_collective_seconds{"):
			seconds++
			if v <= 0 || v > 10 {
				t.Errorf("%s: %v s", x, v)
			}
		case strings.HasPrefix(string(x.Metric), "nccl_bus_bandwidth_bytes_per_second{"):
			bandwidth++
			if v <= 0 || v > 50e9 { // an adapter of 400 Gbit/s
				t.Errorf("%s: %v B/s", x, v)
			}
		}
		if !strings.Contains(string(x.Metric), `collective="AllReduce"`) {
			t.Errorf("%s", x)
		}
	}
	if seconds != 16 || bandwidth != 16 {
		t.Errorf("%d times, %d bandwidths of 16 GPUs", seconds, bandwidth)
	}
}

// TestDumpsGoWithTheJob: of a job that has stopped there is no dump.
func TestDumpsGoWithTheJob(t *testing.T) {
	r := newRig(t)
	r.pass(65)
	files := func() int {
		list, err := os.ReadDir(r.f.cfg.Dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	if n := files(); n != 16 {
		t.Fatalf("%d files", n)
	}
	if _, err := r.site.Strike("gpu-error", telemetry.Entity{Kind: telemetry.GPU, Name: "n0001/2"}, 5*time.Minute); err != nil {
		t.Fatal(err)
	}
	r.pass(75)
	if n := files(); n != 0 {
		t.Errorf("%d files while nothing is sent", n)
	}
}

// TestTheProtocol: what a caller says is answered line by line.
func TestTheProtocol(t *testing.T) {
	r := newRig(t)
	say := func(lines string) string {
		t.Helper()
		c, err := net.Dial("tcp", r.f.jobs[0].listen.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		if _, err := io.WriteString(c, lines); err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(bufio.NewReader(c))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	collectorstest.Start(t, r.f.Run)
	first, rest, _ := strings.Cut(say("client protocol 2\nTIMEOUT 5\nTIMEOUT soon\nnonsense\nset format json\nverbose status\n"), "{")
	if want := "SERVER PROTOCOL 2\nOK\nERROR: Invalid timeout value SOON\nERROR: Unknown command\nOK\n"; first != want {
		t.Errorf("%q, want %q", first, want)
	}
	var doc document
	if err := json.Unmarshal([]byte("{"+rest), &doc); err != nil || doc.Count != 1 || doc.Communicators[0].Here != 16 || len(doc.Communicators[0].Missing) != 0 {
		t.Errorf("%v: %+v", err, doc)
	}
	if text := say("STATUS\n"); !strings.Contains(text, "Job summary") || !strings.Contains(text, "RUNNING  OK") {
		t.Errorf("as text: %s", text)
	}
}
