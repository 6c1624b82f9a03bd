package pipeline_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/prometheus/client_golang/exp/api/remote"
	"github.com/prometheus/prometheus/prompb"
	storageremote "github.com/prometheus/prometheus/storage/remote"
	"github.com/prometheus/prometheus/tsdb"

	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/engine/enginetest"
	"github.com/quintet-dc/quintet/lab/load"
	"github.com/quintet-dc/quintet/pipeline/broker"
	"github.com/quintet-dc/quintet/pipeline/bus"
	"github.com/quintet-dc/quintet/telemetry"
)

// BenchmarkFrameToFinding measures the cost of a sample from its encoded frame to
// the engine's judgement: published into JetStream on file storage, read by one or
// two replicas, decoded, judged. For comparison Prometheus ingests the same samples
// by remote write into its TSDB, in the same run. All processor time of the process
// is counted, the server's and both ends'; ns/sample is processor time, and floor
// is what performance.md measured for JetStream with one bare detector.
func BenchmarkFrameToFinding(b *testing.B) {
	b.Run("quintet/replicas=1", func(b *testing.B) { benchReplicas(b, 1, "") })
	b.Run("quintet/replicas=2", func(b *testing.B) { benchReplicas(b, 2, "") })
	// Over TLS, from a process in the account of collectors, or in that of the site.
	b.Run("quintet/remote=collectors", func(b *testing.B) { benchReplicas(b, 1, broker.Collect("bench")) })
	b.Run("quintet/remote=site", func(b *testing.B) { benchReplicas(b, 1, broker.All) })
	b.Run("prometheus", benchPrometheus)
}

const (
	benchSeries = 100_000
	benchStart  = telemetry.Time(1_764_000_000e9)
)

// grids are the frames of a site, made beforehand: by grid, by source.
type grids struct {
	site    *load.Site
	samples int // of one grid
}

func newGrids(b *testing.B) *grids {
	b.Helper()
	site, err := load.New(load.Part(1, benchSeries))
	if err != nil {
		b.Fatal(err)
	}
	g := &grids{site: site}
	for i := range site.Sources() {
		g.samples += site.Schema(i).Len()
	}
	return g
}

// next returns the frames of the grid that ends at at.
func (g *grids) next(b *testing.B, at telemetry.Time) [][]byte {
	out := make([][]byte, g.site.Sources())
	for i := range out {
		f, err := g.site.AppendFrame(nil, i, 1, at)
		if err != nil {
			b.Fatal(err)
		}
		out[i] = f
	}
	return out
}

// processorTime is the user and system time this process has used.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// follower is one replica's reader: an engine that follows the log and reports
// which tick it has judged.
type follower struct {
	runner *engine.Runner
	judged chan telemetry.Time
}

// benchReplicas has a grid after the other pass to so many replicas. The frames come
// from this process or, where a role is named, from one of that role over TLS.
func benchReplicas(b *testing.B, replicas int, sender broker.Role) {
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	log, from := benchBus(b, ctx, sender)
	b.Cleanup(running.Wait)
	b.Cleanup(stop)
	g := newGrids(b)
	var followers []*follower
	for range replicas {
		r, err := enginetest.NewRunner(1)
		if err != nil {
			b.Fatal(err)
		}
		f := &follower{r, make(chan telemetry.Time, 1)}
		followers = append(followers, f)
		running.Go(func() { _ = log.Follow(ctx, 0, f.take) })
	}
	at := benchStart
	for i := range g.site.Sources() {
		r := telemetry.Record{Kind: telemetry.SchemaRecord, Schema: g.site.Schema(i)}
		if err := from.Append(ctx, "bench", &r); err != nil {
			b.Fatal(err)
		}
	}
	// give lets one grid pass and returns what processor time it took.
	give := func() time.Duration {
		at = at.Add(1e9)
		frames := g.next(b, at)
		began := processorTime(b)
		benchGrid(b, from, log, frames, at)
		for _, f := range followers {
			for t := range f.judged {
				if t == at {
					break
				}
			}
		}
		return processorTime(b) - began
	}
	for range 8 { // series become known, detectors warm up
		give()
	}
	var used time.Duration
	for b.Loop() {
		used += give()
	}
	report(b, used, g.samples)
	b.ReportMetric(31, "floor-ns/sample")
	b.ReportMetric(float64(used.Nanoseconds())/float64(b.N)/float64(g.site.Sources()), "cpu-ns/message")
}

// take applies one entry and reports ticks.
func (f *follower) take(e bus.Entry) error {
	if e.Record == nil {
		return e.Err
	}
	if _, err := f.runner.Apply(e.Position, e.Record); err != nil {
		return err
	}
	if e.Record.Kind == telemetry.TickRecord {
		f.judged <- e.Record.Tick.At
	}
	return nil
}

// benchGrid publishes a grid's frames and its tick.
func benchGrid(b *testing.B, from, log *bus.Bus, frames [][]byte, at telemetry.Time) {
	records := make([]*telemetry.Record, 0, len(frames)+1)
	for _, f := range frames {
		records = append(records, &telemetry.Record{Kind: telemetry.FrameRecord, Frame: f})
	}
	if err := from.Append(b.Context(), "bench", records...); err != nil {
		b.Fatal(err)
	}
	if err := log.Append(b.Context(), "bench", &telemetry.Record{Kind: telemetry.TickRecord, Tick: telemetry.Tick{At: at}}); err != nil {
		b.Fatal(err)
	}
}

// benchBus is a connection to a log, and one of who sends into it: the same where no
// role is named.
func benchBus(b *testing.B, ctx context.Context, sender broker.Role) (log, from *bus.Bus) {
	cfg := broker.Config{Dir: b.TempDir(), Site: "bench"}
	if sender != "" {
		cfg.Listen = "127.0.0.1:0"
	}
	server, err := broker.Start(ctx, cfg)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(server.Close)
	c, err := server.Connection(broker.All)
	if err != nil {
		b.Fatal(err)
	}
	if log, err = bus.Connect(ctx, bus.Config{Site: "bench", Name: "bench", InProcess: c.InProcess, Credentials: c.Credentials}); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(log.Close)
	if err := log.Create(ctx); err != nil {
		b.Fatal(err)
	}
	if sender == "" {
		return log, log
	}
	credentials, err := server.EnrollAs(sender)
	if err != nil {
		b.Fatal(err)
	}
	if from, err = bus.Connect(ctx, bus.Config{Site: "bench", Name: "bench", Servers: []string{server.URL()}, Credentials: credentials}); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(from.Close)
	return log, from
}

func report(b *testing.B, used time.Duration, samples int) {
	perSample := float64(used.Nanoseconds()) / float64(b.N) / float64(samples)
	b.ReportMetric(perSample, "cpu-ns/sample")
	b.ReportMetric(perSample*2_867_200/1e9, "cores-at-reference")
	b.ReportMetric(0, "ns/op")
}

func benchPrometheus(b *testing.B) {
	options := tsdb.DefaultOptions()
	options.OutOfOrderTimeWindow = 0
	db, err := tsdb.Open(b.TempDir(), nil, nil, options, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	handler := storageremote.NewWriteHandler(nil, nil, db, remote.MessageTypes{remote.WriteV1MessageType}, false, false)
	server := httptest.NewServer(handler)
	b.Cleanup(server.Close)
	g := newGrids(b)
	w := newRemoteSender(g.site)
	at := benchStart
	for range 8 {
		at = at.Add(1e9)
		w.send(b, server.URL, w.encode(b, g.next(b, at)))
	}
	var used time.Duration
	for b.Loop() {
		at = at.Add(1e9)
		bodies := w.encode(b, g.next(b, at))
		began := processorTime(b)
		w.send(b, server.URL, bodies)
		used += processorTime(b) - began
	}
	report(b, used, g.samples)
}

// remoteSender writes frames as remote write 1.0 requests, one for each source,
// like an agent on the source's host.
type remoteSender struct {
	site   *load.Site
	labels [][][]prompb.Label // by source, by series
}

func newRemoteSender(site *load.Site) *remoteSender {
	w := &remoteSender{site: site}
	for i := range site.Sources() {
		s := site.Schema(i)
		var of [][]prompb.Label
		for k := range s.Len() {
			x := s.Series(k)
			of = append(of, []prompb.Label{{Name: "__name__", Value: string(x.Metric)}, {Name: "instance", Value: s.Source.Target},
				{Name: "job", Value: s.Source.Collector}, {Name: "kind", Value: string(x.Entity.Kind)}, {Name: "name", Value: x.Entity.Name}})
		}
		w.labels = append(w.labels, of)
	}
	return w
}

// encode makes the request of each source's frame.
func (w *remoteSender) encode(b *testing.B, frames [][]byte) [][]byte {
	var d telemetry.Decoder
	var f telemetry.Frame
	out := make([][]byte, len(frames))
	for i, frame := range frames {
		s := w.site.Schema(i)
		if err := d.Decode(frame, s, &f); err != nil {
			b.Fatal(err)
		}
		req := prompb.WriteRequest{}
		for k, labels := range w.labels[i] {
			v := s.Columns[k/len(s.Entities)].Float(f.Words[k])
			req.Timeseries = append(req.Timeseries, prompb.TimeSeries{Labels: labels, Samples: []prompb.Sample{{Value: v, Timestamp: int64(f.Time(0)) / 1e6}}})
		}
		raw, err := req.Marshal()
		if err != nil {
			b.Fatal(err)
		}
		out[i] = snappy.Encode(nil, raw)
	}
	return out
}

func (w *remoteSender) send(b *testing.B, url string, bodies [][]byte) {
	for _, body := range bodies {
		req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url, bytes.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		req.Header.Set("Content-Encoding", "snappy")
		req.Header.Set("Content-Type", "application/x-protobuf")
		req.Header.Set("X-Prometheus-Remote-Write-Version", "0.1.0")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode/100 != 2 {
			b.Fatal(fmt.Errorf("remote write: %s", resp.Status))
		}
	}
}
