package exporter

import (
	"fmt"
	"math"
	"strconv"

	"github.com/quintet-dc/quintet/lab/board"
	"github.com/quintet-dc/quintet/telemetry"
)

// mount is what an NFS client has counted of a storage system.
type mount struct{ reads, writes operations }

// operations are one kind of request.
type operations struct {
	requests uint64
	seconds  float64
}

// perSecond is how many requests of each kind are counted in a second.
const perSecond = 1000

func (o *operations) advance(r board.Reading, ok bool) {
	if v := r.Float(); ok && v == v {
		o.requests += perSecond
		o.seconds += float64(perSecond * v)
	}
}

func (m *mount) advance(b *board.Board, x telemetry.Entity) {
	r, ok := b.Read(x, "storage_read_latency_seconds")
	m.reads.advance(r, ok)
	r, ok = b.Read(x, "storage_write_latency_seconds")
	m.writes.advance(r, ok)
}

// storage is a client's page of a storage system.
func (f *Fleet) storage(p *page, x telemetry.Entity) {
	m := f.mounts[x]
	if m == nil {
		return
	}
	where := fmt.Sprintf(`export="%s:/",protocol="tcp"`, x.Name)
	for _, c := range []struct {
		metric telemetry.MetricName
		name   string
	}{{"storage_read_bytes_total", "node_mountstats_nfs_total_read_bytes_total"}, {"storage_write_bytes_total", "node_mountstats_nfs_total_write_bytes_total"}} {
		if r, ok := f.board.Read(x, c.metric); ok && !r.Gap {
			p.family(c.name, "counter", "Bytes by NFS calls.")
			p.line(c.name, where, shortest(r.Float()))
		}
	}
	both := []struct {
		name string
		o    *operations
	}{{"READ", &m.reads}, {"WRITE", &m.writes}}
	p.family("node_mountstats_nfs_operations_requests_total", "counter", "Number of requests performed for a given operation.")
	for _, k := range both {
		p.line("node_mountstats_nfs_operations_requests_total", where+`,operation="`+k.name+`"`, shortest(float64(k.o.requests)))
	}
	p.family("node_mountstats_nfs_operations_response_time_seconds_total", "counter", "Duration from when a request was transmitted to when its reply was received, in seconds.")
	for _, k := range both {
		p.line("node_mountstats_nfs_operations_response_time_seconds_total", where+`,operation="`+k.name+`"`, shortest(k.o.seconds))
	}
}

// engine is what vLLM has counted for a job.
type engine struct{ first, between *latency }

// latency is a histogram.
type latency struct {
	bounds []float64
	counts []uint64 // at or below each; the last is all
	sum    float64
}

func newEngine() *engine {
	of := func(bounds ...float64) *latency {
		return &latency{bounds: append(bounds, math.Inf(1)), counts: make([]uint64, len(bounds)+1)}
	}
	return &engine{
		first:   of(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560),
		between: of(0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80),
	}
}

// add counts a second of requests whose median and 99th percentile are known:
// spread evenly from half the median to it, from there to the percentile, and a
// fifth beyond.
func (l *latency) add(p50, p99 float64) {
	if !(p50 > 0) || !(p99 >= p50) {
		return
	}
	share := func(v float64) float64 {
		at := [4][2]float64{{p50 / 2, 0}, {p50, 0.5}, {p99, 0.99}, {float64(p99 * 1.2), 1}}
		if v <= at[0][0] {
			return 0
		}
		for i := 1; i < len(at); i++ {
			if a, b := at[i-1], at[i]; v <= b[0] && b[0] > a[0] {
				return a[1] + float64((b[1]-a[1])*(v-a[0])/(b[0]-a[0]))
			}
		}
		return 1
	}
	for i, b := range l.bounds {
		l.counts[i] += uint64(math.Round(float64(perSecond * share(b))))
	}
	l.sum += float64(perSecond * p50)
}

func (e *engine) advance(b *board.Board, x telemetry.Entity) {
	for _, h := range []struct {
		to       *latency
		p50, p99 telemetry.MetricName
	}{{e.first, "job_ttft_seconds_p50", "job_ttft_seconds_p99"}, {e.between, "job_itl_seconds_p50", "job_itl_seconds_p99"}} {
		low, _ := b.Read(x, h.p50)
		high, ok := b.Read(x, h.p99)
		if ok {
			h.to.add(low.Float(), high.Float())
		}
	}
}

// serving is vLLM's page for a job.
func (f *Fleet) serving(p *page, x telemetry.Entity) {
	e := f.engines[x]
	if e == nil {
		return
	}
	labels := fmt.Sprintf(`engine="0",model_name=%q`, x.Name)
	for _, g := range []struct {
		metric telemetry.MetricName
		name   string
	}{{"job_queue_requests", "vllm:num_requests_waiting"}, {"job_kv_cache_ratio", "vllm:kv_cache_usage_perc"}} {
		if r, ok := f.board.Read(x, g.metric); ok && !r.Gap {
			p.family(g.name, "gauge", "As the engine's scheduler has it.")
			p.line(g.name, labels, shortest(r.Float()))
		}
	}
	for _, h := range []struct {
		of   *latency
		name string
	}{{e.first, "vllm:time_to_first_token_seconds"}, {e.between, "vllm:inter_token_latency_seconds"}} {
		p.family(h.name, "histogram", "Histogram in seconds.")
		for i, b := range h.of.bounds {
			p.line(h.name+"_bucket", labels+`,le="`+shortest(b)+`"`, strconv.FormatUint(h.of.counts[i], 10))
		}
		p.line(h.name+"_count", labels, strconv.FormatUint(h.of.counts[len(h.of.counts)-1], 10))
		p.line(h.name+"_sum", labels, shortest(h.of.sum))
	}
}
