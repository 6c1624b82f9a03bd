package nccl

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/quintet-dc/quintet/telemetry"
)

// window is the collectives of one GPU since the dump before.
type window struct {
	last    telemetry.Time // end of the step counted last
	seconds float64        // in collectives
	count   int
	from    uint64 // bytes sent when the window began
	to      uint64 // and when the collective counted last was over
	known   bool   // both are
	written bool   // there is a file
}

// advance takes note of the collectives that ended, and writes dumps that are
// due.
func (f *Fleet) advance() error {
	now := f.board.Now()
	for _, j := range f.jobs {
		for i := range j.ranks {
			f.note(&j.ranks[i])
		}
	}
	if f.last == 0 {
		f.last = now
	}
	if now.Sub(f.last) < f.cfg.Every {
		return nil
	}
	f.last = now
	for _, j := range f.jobs {
		for i := range j.ranks {
			if err := f.dump(j, &j.ranks[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// note counts a rank's collective of the step that ended last. NCCL's kernel runs
// from when the rank calls it: what it waits for others is part of its time.
func (f *Fleet) note(r *rank) {
	w := f.dumps[r.gpu]
	if w == nil {
		w = &window{}
		f.dumps[r.gpu] = w
	}
	step, ok := f.board.Read(r.entity, "rank_compute_seconds")
	took, known := f.board.Read(r.entity, "rank_collective_seconds")
	if !ok || !known || step.At <= w.last {
		return
	}
	w.last = step.At
	w.seconds += took.Float()
	w.count++
	n, counts := f.sent(r)
	if !w.known {
		w.from, w.known = n, counts
		w.seconds, w.count = 0, 0 // what it has sent for this one is not known
	}
	w.to = n
}

// sent is what a rank's adapter has sent.
func (f *Fleet) sent(r *rank) (uint64, bool) {
	n, ok := f.board.Read(r.nic, "rdma_tx_bytes_total")
	return n.Uint(), ok && !n.Gap
}

func (f *Fleet) path(r *rank) string {
	return filepath.Join(f.cfg.Dir, "nccl_inspector_metrics_GPU-"+strings.ReplaceAll(r.gpu.Name, "/", "-")+".prom")
}

func (f *Fleet) pattern() string { return filepath.Join(f.cfg.Dir, "nccl_inspector_metrics_*.prom") }

// dump writes what a GPU's collectives came to, and begins again. The file goes
// with the communicator: that of a job that has stopped is taken away.
func (f *Fleet) dump(j *job, r *rank) error {
	w := f.dumps[r.gpu]
	seconds, count, bytes := w.seconds, w.count, w.to-w.from
	known := w.known && w.to > w.from && seconds > 0
	*w = window{last: w.last, from: w.to, to: w.to, known: w.known, written: w.written}
	if count == 0 {
		if !w.written {
			return nil
		}
		w.written = false
		return os.Remove(f.path(r))
	}
	w.written = true
	n := float64(len(j.ranks))
	// A ring's rank sends 2(n-1)/n of the buffer: bus bandwidth is what it sends,
	// by the time (nccl-tests, PERFORMANCE.md).
	if j.size == "" && known && n > 1 { // a model's gradients keep their size
		j.size = sizeRange(float64(bytes) / float64(count) * n / (2 * (n - 1)))
	}
	labels := fmt.Sprintf(`{version="v4.0",slurm_job_id="unknown",node=%q,gpu="GPU%d",comm_name=%q,n_nodes="%d",nranks="%d",collective="AllReduce",message_size=%q,algo_proto="RING_SIMPLE"}`,
		r.node.Name, r.device, j.entity.Name, j.nodes(), len(j.ranks), j.size)
	var b strings.Builder
	if known {
		b.WriteString("# HELP nccl_bus_bandwidth_gbs NCCL bus bandwidth in GB/s\n# TYPE nccl_bus_bandwidth_gbs gauge\nnccl_bus_bandwidth_gbs" + labels + " " +
			strconv.FormatFloat(float64(bytes)/seconds/1e9, 'g', 6, 64) + "\n")
	}
	b.WriteString("# HELP nccl_collective_exec_time_microseconds Execution time in microseconds\n# TYPE nccl_collective_exec_time_microseconds gauge\nnccl_collective_exec_time_microseconds" + labels + " " +
		strconv.FormatFloat(seconds/float64(count)*1e6, 'g', 6, 64) + "\n")
	temporary := f.path(r) + ".tmp"
	if err := os.WriteFile(temporary, []byte(b.String()), 0o644); err != nil {
		return err
	}
	return os.Rename(temporary, f.path(r))
}

// nodes is how many hosts a job has.
func (j *job) nodes() int {
	seen := map[telemetry.Entity]bool{}
	for i := range j.ranks {
		seen[j.ranks[i].node] = true
	}
	return len(seen)
}

// sizeRange is the bucket of a message's size, as the Inspector writes it.
func sizeRange(bytes float64) string {
	for _, u := range []struct {
		name string
		size float64
	}{{"GB", 1 << 30}, {"MB", 1 << 20}, {"KB", 1 << 10}} {
		if n := int(bytes / u.size); n >= 1 {
			return fmt.Sprintf("%d-%d%s", n, n+1, u.name)
		}
	}
	return "0-1KB"
}
