package sysfs

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/telemetry"
)

// hcas is what a training host has: eight adapters, each with the 21 counters
// of performance management and 30 of the device.
const hcas = 8

// hostTree makes the tree of such a host, in memory where the system has a file
// system there.
func hostTree(b *testing.B) (root string, counters int) {
	b.Helper()
	root, err := os.MkdirTemp(memoryDir(), "quintet-bench-")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(root) })
	v := newVocabulary()
	write := func(name, text string) {
		full := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text+"\n"), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	for d := range hcas {
		dev := fmt.Sprintf("class/infiniband/mlx5_%d/", d)
		for name, text := range map[string]string{
			"fw_ver": "28.41.1000", "hca_type": "MT4129", "board_id": "XY_0000000001", "ports/1/state": "4: ACTIVE",
			"ports/1/phys_state": "5: LinkUp", "ports/1/rate": "400 Gb/sec (4X NDR)", "ports/1/link_layer": "InfiniBand",
		} {
			write(dev+name, text)
		}
		number := 230442669431839
		for file := range v.managed {
			if file != "port_rcv_discards" { // newer stacks have not
				write(dev+"ports/1/counters/"+file, fmt.Sprint(number))
				number /= 3
				counters++
			}
		}
		write(dev+"ports/1/hw_counters/lifespan", "12")
		counters++
		n := 1
		for file := range v.hardware["mlx5"] {
			if n < 30 && !strings.HasPrefix(file, "cc_") && !strings.HasPrefix(file, "rdma_") {
				write(dev+"ports/1/hw_counters/"+file, fmt.Sprint(n*7919))
				n++
				counters++
			}
		}
	}
	return root, counters
}

func memoryDir() string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return ""
}

// processorTime is what this process has used.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// drain is a Sink that lets everything go.
type drain struct{ bytes, frames int }

func (d *drain) Emit(r *telemetry.Record) {
	d.bytes += len(r.Frame)
	d.frames++
}

// Logger implements collectors.Sink.
func (d *drain) Logger() *slog.Logger { return slog.New(slog.DiscardHandler) }

func (d *drain) Swept(collectors.Sweep) {}

// open readies a reader of a tree, so that what is measured is the sweep.
func open(b *testing.B, root string) (*reader, *drain) {
	b.Helper()
	c, err := New(Config{Path: root, Node: "h1"})
	if err != nil {
		b.Fatal(err)
	}
	out := &drain{}
	r, err := c.newReader(out)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(r.close)
	if err := r.replan(); err != nil {
		b.Fatal(err)
	}
	return r, out
}

// sweeps reads counters as Run does, a second apart, and returns the processor time
// of one reading: the least of its hundreds, because on a busy machine the others
// include the load of its neighbours.
func sweeps(b *testing.B, r *reader, out *drain) time.Duration {
	at := time.Unix(1e9, 0)
	r.clock = func() time.Time { return at }
	r.began = at
	r.sweep(b.Context()) // opens the files
	out.bytes = 0
	r.nextLook, r.nextSet = 1<<62, 1<<62
	b.ReportAllocs()
	const chunk = 100
	least, n, before := time.Duration(0), 0, processorTime(b)
	for b.Loop() {
		at = at.Add(time.Second)
		r.sweep(b.Context())
		if n++; n%chunk == 0 {
			took := processorTime(b) - before
			if least == 0 || took < least {
				least = took
			}
			before = processorTime(b)
		}
	}
	if least == 0 {
		return (processorTime(b) - before) / time.Duration(n)
	}
	return least / chunk
}

// BenchmarkSweep is one reading of a host's counters, as it is done every
// second: reading, parsing, encoding, emitting.
func BenchmarkSweep(b *testing.B) {
	root, counters := hostTree(b)
	r, out := open(b, root)
	perCounter(b, "ns-cpu/counter", sweeps(b, r, out), 1, counters)
	b.ReportMetric(float64(out.bytes)/float64(b.N), "frame-B/sweep")
}

func perCounter(b *testing.B, unit string, d time.Duration, times, counters int) {
	b.ReportMetric(float64(d.Nanoseconds())/float64(times)/float64(counters), unit)
}

// BenchmarkBesideNodeExporter reads the same tree with node_exporter's
// infiniband collector, without its HTTP side, in the same run. The processor
// time of a counter must be a tenth of its.
func BenchmarkBesideNodeExporter(b *testing.B) {
	root, counters := hostTree(b)
	peer := filepath.Join(b.TempDir(), "peer")
	build := exec.Command("go", "build", "-o", peer, ".")
	build.Dir = "testdata/peer"
	if text, err := build.CombinedOutput(); err != nil {
		b.Skipf("the peer cannot be built: %v: %s", err, text)
	}
	theirs := peerSweep(b, peer, root, counters)
	r, out := open(b, root)
	ours := sweeps(b, r, out)
	theirs = min(theirs, peerSweep(b, peer, root, counters))
	perCounter(b, "ns-cpu/counter", ours, 1, counters)
	perCounter(b, "peer-ns-cpu/counter", theirs, 1, counters)
	ratio := float64(ours) / float64(theirs)
	b.ReportMetric(ratio, "ratio")
	if ratio > 0.1 {
		b.Errorf("%.3f of the peer's processor time, at most 0.1", ratio)
	}
}

// peerSweep is the processor time of one of the peer's readings: the least of a
// few runs.
func peerSweep(b *testing.B, peer, root string, counters int) (least time.Duration) {
	b.Helper()
	for range 5 {
		text, err := exec.Command(peer, root, "40").Output()
		if err != nil {
			b.Skipf("the peer cannot be run: %v", err)
		}
		var took time.Duration
		var samples int
		if _, err := fmt.Sscan(string(text), (*int64)(&took), &samples); err != nil || samples < counters-hcas {
			b.Fatalf("the peer said %q: %v", text, err)
		}
		if least == 0 || took < least {
			least = took
		}
	}
	return least
}

// BenchmarkKernfs reads files of the kernel's own: the statistics of this
// machine's interfaces, which stand in for RDMA counters where there are none.
func BenchmarkKernfs(b *testing.B) {
	names, err := filepath.Glob("/sys/class/net/*/statistics/*")
	if err != nil || len(names) == 0 {
		b.Skip("no /sys/class/net")
	}
	for _, keep := range []bool{true, false} {
		b.Run(map[bool]string{true: "kept", false: "opened"}[keep], func(b *testing.B) {
			r := &reader{tree: disk{"/"}}
			files := make([]file, len(names))
			for i, n := range names {
				files[i].name = n
			}
			defer func() {
				for i := range files {
					files[i].close()
				}
			}()
			b.ReportAllocs()
			for b.Loop() {
				for i := range files {
					if _, why := r.count(&files[i]); why != good {
						b.Fatal(files[i].name, why)
					}
					if !keep {
						files[i].close()
					}
				}
			}
			perCounter(b, "ns/counter", b.Elapsed(), b.N, len(files))
		})
	}
}
