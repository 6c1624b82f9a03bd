package jobs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/telemetry"
)

// status is a job of two ranks as RAS reports it; the second is missing if dead is
// set: "true" if for good.
func status(dead string) string {
	rank := `{"rank":%d,"host":"10.0.0.1","pid":7,"nvml_dev":%d,"status":{"async_error":%d,"abort_flag":false},"collective_counts":{"AllReduce":41,"AllGather":1}}`
	small := `{"hash":"0x1","size":1,"ranks":[]},`
	if dead == "" {
		return "OK\n" + `{"communicators":[` + small + `{"hash":"0x2","size":2,"ranks":[` + fmt.Sprintf(rank, 0, 4, 0) + "," + fmt.Sprintf(rank, 1, 5, 0) + `],"missing_ranks":[]}]}`
	}
	return "OK\n" + `{"communicators":[` + small + `{"hash":"0x2","size":2,"ranks":[` + fmt.Sprintf(rank, 0, 4, 6) + `],"missing_ranks":[{"rank":1,"host":"10.0.0.1","nvml_dev":5,"status":{"considered_dead":` + dead + `}}]}]}`
}

// TestRAS: where ranks run, how far each is, and which is dead.
func TestRAS(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	answers := make(chan string, 1)
	asked := make(chan string, 100)
	go func() {
		text := status("")
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			select {
			case text = <-answers:
			default:
			}
			in := bufio.NewScanner(c)
			for range 2 {
				in.Scan()
				select {
				case asked <- in.Text():
				default:
				}
			}
			_, _ = fmt.Fprint(c, text)
			_ = c.Close()
		}
	}()
	c, err := DecodeConfig(collectorstest.Node(t, "{type: nccl_ras, address: "+l.Addr().String()+", job: llm, interval: 100ms, hosts: {10.0.0.1: n7}}"))
	if err != nil {
		t.Fatal(err)
	}
	col, err := New(c, dial.Guard{})
	if err != nil {
		t.Fatal(err)
	}
	e := start(t, col)
	e.Until("a sweep", func() bool { return len(e.Sweeps) > 0 })
	if got, want := e.runs(), []string{"job:llm > gpu:n7/4 0", "job:llm > gpu:n7/5 1"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if a, b := <-asked, <-asked; a != "SET FORMAT json" || b != "VERBOSE STATUS" {
		t.Errorf("asked %q, %q", a, b)
	}
	answers <- status("true")
	e.Until("word of the dead rank", func() bool {
		var names []string
		for i := range e.Events {
			names = append(names, e.Events[i].Entity.String()+" "+string(e.Events[i].Name))
		}
		return slices.Contains(names, "gpu:n7/5 nccl_rank_dead") && slices.Contains(names, "gpu:n7/4 nccl_error")
	})
	e.Mu.Lock()
	defer e.Mu.Unlock()
	if h := e.Series[telemetry.Series{Entity: telemetry.Entity{Kind: telemetry.Rank, Name: "llm/0"}, Metric: "rank_collectives_total"}]; len(h) == 0 || h[0].Float() != 42 {
		t.Errorf("collectives of rank 0: %v", h)
	}
}

// TestDumps: a dump is read when it has changed, with what is no line counted.
func TestDumps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nccl_inspector_metrics_1.prom")
	write := func(s string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	line := `nccl_bus_bandwidth_gbs{version="v4.0",slurm_job_id="12",node="n1",gpu="GPU3",comm_name="dp, all",n_nodes="2",nranks="16",collective="AllReduce",message_size="4-5GB",algo_proto="RING_SIMPLE"} 312.5`
	write("# HELP x\n" + line + "\nnonsense 4\n" + strings.Replace(line, "GPU3", "GPUx", 1) + "\n")
	c, err := New(Config{Type: typeDumps, Paths: []string{filepath.Dir(path) + "/*.prom"}}, dial.Guard{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.open()
	if err != nil {
		t.Fatal(err)
	}
	e := listen(t)
	for range 2 {
		r := newReport(e, time.Unix(1000, 0))
		if err := s.read(context.Background(), r); err != nil {
			t.Fatal(err)
		}
		for why, n := range r.dropped {
			e.Dropped[why] += n
		}
	}
	want := `1970-01-01T00:16:40Z gpu:n1/3 nccl_bus_bandwidth_bytes_per_second{algo_proto="RING_SIMPLE",collective="AllReduce",comm_name="dp, all",message_size="4-5GB",nranks="16"} 3.125e+11` + "\n"
	if got := e.golden(); got != want || e.Dropped["malformed"] != 2 {
		t.Errorf("dropped %v\n%swant\n%s", e.Dropped, got, want)
	}
}

// TestDumpsComeAndGo: no dump means that no job runs; no folder for them means that
// the configured path is wrong.
func TestDumpsComeAndGo(t *testing.T) {
	dir := t.TempDir()
	for where, want := range map[string]error{dir: nil, dir + "/elsewhere": fs.ErrNotExist} {
		if _, err := once(t, Config{Type: typeDumps, Paths: []string{where + "/nccl_inspector_metrics_*.prom"}}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", where, err, want)
		}
	}
}
