package receive

import (
	"bytes"
	"compress/gzip"
	"context"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/prometheus/client_golang/exp/api/remote"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/weigh"
	"github.com/quintet-dc/quintet/telemetry"
)

// pushed opens a receiver with its handlers for series on loopback.
func pushed(t *testing.T, c Config) (*post, string) {
	t.Helper()
	p := open(t, c)
	s := httptest.NewServer(p.mux)
	t.Cleanup(s.Close)
	return p, s.URL
}

// counted is what was dropped, of every sweep together.
func (k *keeper) counted() map[collectors.Reason]int {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := map[collectors.Reason]int{}
	for _, s := range k.sweeps {
		for why, n := range s.Dropped {
			out[why] += n
		}
	}
	return out
}

// expect compares what was emitted since the last time.
func (p *post) expect(t *testing.T, want ...string) {
	t.Helper()
	if got := p.drain(); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func series(name string, labels ...string) []prompb.Label {
	out := []prompb.Label{{Name: "__name__", Value: name}}
	for i := 0; i+1 < len(labels); i += 2 {
		out = append(out, prompb.Label{Name: labels[i], Value: labels[i+1]})
	}
	return out
}

func millis(d time.Duration) int64 { return noon.Add(d).UnixMilli() }

// TestRemoteWrite: Prometheus' own client writes both messages, and what the
// mappings know becomes ours.
func TestRemoteWrite(t *testing.T) {
	p, url := pushed(t, Config{})
	api, err := remote.NewAPI(url, remote.WithAPIPath("api/v1/write"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = api.Write(t.Context(), remote.WriteV1MessageType, &prompb.WriteRequest{Timeseries: []prompb.TimeSeries{
		{Labels: series("DCGM_FI_DEV_GPU_TEMP", "Hostname", "n1", "gpu", "0", "job", "dcgm"), Samples: []prompb.Sample{
			{Timestamp: millis(-2 * time.Second), Value: 60}, {Timestamp: millis(-time.Second), Value: 61}}},
		{Labels: series("thing", "a", "b"), Samples: []prompb.Sample{{Timestamp: millis(-2 * time.Second), Value: 2.5}}},
		{Labels: series("gone"), Samples: []prompb.Sample{{Timestamp: millis(-time.Second), Value: math.Float64frombits(staleNaN)}}},
		{Labels: series("old"), Samples: []prompb.Sample{{Timestamp: millis(-3 * time.Hour), Value: 1}}},
		{Labels: series("late"), Samples: []prompb.Sample{{Timestamp: millis(-time.Hour), Value: 1}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	p.expect(t,
		"edge node:n1 contains gpu:n1/0 by receive",
		"schema receive|write|collector", "frame 0 at -3600s received +0s collector:receive/write late=1",
		"schema receive|write|gpu", "frame 0 at -2s received +0s gpu:n1/0 gpu_temperature_celsius=60",
		`frame 1 at -2s received +0s collector:receive/write thing{a="b"}=2.5`,
		"frame 1 at -1s received +0s gpu:n1/0 gpu_temperature_celsius=61",
	)
	if got := p.counted(); got[collectors.Vanished] != 1 || got[collectors.Stale] != 1 || len(got) != 2 {
		t.Errorf("dropped %v", got)
	}
	table := writev2.NewSymbolTable()
	refs := func(labels ...string) (out []uint32) {
		for _, s := range labels {
			out = append(out, table.Symbolize(s))
		}
		return out
	}
	m := &writev2.Request{Timeseries: []writev2.TimeSeries{
		{LabelsRefs: refs("__name__", "DCGM_FI_DEV_GPU_TEMP", "Hostname", "n1", "gpu", "0", "job", "dcgm"), Samples: []writev2.Sample{{Timestamp: millis(0), Value: 62}}},
		{LabelsRefs: refs("__name__", "requests"), Metadata: writev2.Metadata{Type: writev2.Metadata_METRIC_TYPE_COUNTER}, Samples: []writev2.Sample{{Timestamp: millis(0), Value: 7}}},
		{LabelsRefs: refs("__name__", "native"), Histograms: []writev2.Histogram{{}}},
	}}
	m.Symbols = table.Symbols()
	stats, err := api.Write(t.Context(), remote.WriteV2MessageType, m)
	if err != nil || stats.Samples != 2 || stats.Histograms != 0 {
		t.Fatal(stats, err)
	}
	p.expect(t,
		"frame 2 at +0s received +0s gpu:n1/0 gpu_temperature_celsius=62",
		"schema receive|write|collector", "frame 0 at +0s received +0s collector:receive/write requests=7",
	)
	// A client that received no response sends the request again.
	if _, err := api.Write(t.Context(), remote.WriteV2MessageType, m); err != nil {
		t.Fatal(err)
	}
	p.expect(t)
}

// request sends a body as it is.
func (p *post) request(path, body string, headers ...string) (int, string) {
	req := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	p.mux.ServeHTTP(w, req)
	return w.Code, strings.TrimSuffix(w.Body.String(), "\n")
}

// TestWriteRefuses: the error of a request is reported, with its place.
func TestWriteRefuses(t *testing.T) {
	p, _ := pushed(t, Config{MaxBody: 1 << 10})
	packed := func(m interface{ Marshal() ([]byte, error) }) string {
		b, err := m.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		return string(snappy.Encode(nil, b))
	}
	second := "application/x-protobuf;proto=io.prometheus.write.v2.Request"
	nameless := packed(&prompb.WriteRequest{Timeseries: []prompb.TimeSeries{{Labels: series("a")}, {Labels: []prompb.Label{{Name: "b", Value: "c"}}}}})
	for _, c := range []struct {
		body    string
		headers []string
		status  int
		want    string
	}{
		{"rubbish", nil, 400, `{"type":"about:blank","title":"Bad Request","status":400,"detail":"snappy: corrupt input","field":"","error":"snappy: corrupt input"}`},
		{nameless, nil, 400, `{"type":"about:blank","title":"Bad Request","status":400,"detail":"no label __name__","field":"timeseries[1].labels","error":"no label __name__"}`},
		{nameless, []string{"Content-Encoding", "zstd"}, 415, `{"type":"about:blank","title":"Unsupported Media Type","status":415,"detail":"Content-Encoding zstd: want snappy","field":"","error":"Content-Encoding zstd: want snappy"}`},
		{nameless, []string{"Content-Type", "text/plain"}, 415, `{"type":"about:blank","title":"Unsupported Media Type","status":415,"detail":"Content-Type \"text/plain\": want application/x-protobuf","field":"","error":"Content-Type \"text/plain\": want application/x-protobuf"}`},
		{nameless, []string{"Content-Type", "application/x-protobuf;proto=io.prometheus.write.v3.Request"}, 415, `{"type":"about:blank","title":"Unsupported Media Type","status":415,"detail":"Content-Type: proto \"io.prometheus.write.v3.Request\": want prometheus.WriteRequest or io.prometheus.write.v2.Request","field":"","error":"Content-Type: proto \"io.prometheus.write.v3.Request\": want prometheus.WriteRequest or io.prometheus.write.v2.Request"}`},
		{strings.Repeat("x", 2000), nil, 413, `{"type":"about:blank","title":"Request Entity Too Large","status":413,"detail":"the body is longer than 1024 bytes","field":"","error":"the body is longer than 1024 bytes"}`},
		{string(snappy.Encode(nil, make([]byte, 5000))), nil, 413, `{"type":"about:blank","title":"Request Entity Too Large","status":413,"detail":"the body unpacks to more than 4096 bytes","field":"","error":"the body unpacks to more than 4096 bytes"}`},
		{packed(&writev2.Request{Symbols: []string{"", "a"}, Timeseries: []writev2.TimeSeries{{LabelsRefs: []uint32{1, 7}}}}), []string{"Content-Type", second}, 400, `{"type":"about:blank","title":"Bad Request","status":400,"detail":"7, of 2 symbols","field":"timeseries[0].labels_refs","error":"7, of 2 symbols"}`},
		{packed(&writev2.Request{Symbols: []string{"", "a"}, Timeseries: []writev2.TimeSeries{{LabelsRefs: []uint32{1}}}}), []string{"Content-Type", second}, 400, `{"type":"about:blank","title":"Bad Request","status":400,"detail":"want pairs, found 1","field":"timeseries[0].labels_refs","error":"want pairs, found 1"}`},
		{packed(&writev2.Request{Symbols: []string{"a"}}), []string{"Content-Type", second}, 400, `{"type":"about:blank","title":"Bad Request","status":400,"detail":"want the empty text","field":"symbols[0]","error":"want the empty text"}`},
	} {
		if status, got := p.request("/api/v1/write", c.body, c.headers...); status != c.status || got != c.want {
			t.Errorf("%v: %d %s\nwant %d %s", c.headers, status, got, c.status, c.want)
		}
	}
	p.expect(t)
}

// points is a request of OTLP's with every kind of metric.
func points(at time.Time) pmetricotlp.ExportRequest {
	m := pmetric.NewMetrics()
	r := m.ResourceMetrics().AppendEmpty()
	r.Resource().Attributes().PutStr("host.name", "n1")
	list := r.ScopeMetrics().AppendEmpty().Metrics()
	now := pcommon.NewTimestampFromTime(at)
	number := func(p pmetric.NumberDataPoint, gpu string) pmetric.NumberDataPoint {
		p.SetTimestamp(now)
		p.Attributes().PutStr("gpu", gpu)
		p.Attributes().PutStr("Hostname", "n1")
		return p
	}
	add := func(name string) pmetric.Metric {
		x := list.AppendEmpty()
		x.SetName(name)
		return x
	}
	number(add("DCGM_FI_DEV_GPU_TEMP").SetEmptyGauge().DataPoints().AppendEmpty(), "0").SetDoubleValue(61)
	energy := add("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION").SetEmptySum()
	energy.SetIsMonotonic(true)
	energy.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
	number(energy.DataPoints().AppendEmpty(), "0").SetIntValue(8125)
	requests := add("http.requests").SetEmptySum()
	requests.SetIsMonotonic(true)
	requests.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
	requests.DataPoints().AppendEmpty().SetIntValue(3)
	delta := add("since.last").SetEmptySum()
	delta.SetIsMonotonic(true)
	delta.SetAggregationTemporality(pmetric.AggregationTemporalityDelta)
	delta.DataPoints().AppendEmpty().SetIntValue(3)
	h := add("took").SetEmptyHistogram()
	h.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
	hp := h.DataPoints().AppendEmpty()
	hp.SetTimestamp(now)
	hp.ExplicitBounds().FromRaw([]float64{1, 2})
	n := uint64(at.Unix() - noon.Unix() + 1)
	hp.BucketCounts().FromRaw([]uint64{0, 10 * n, 0})
	hp.SetCount(10 * n)
	hp.SetSum(float64(15 * n))
	add("exponential").SetEmptyExponentialHistogram().DataPoints().AppendEmpty()
	s := add("quantiles").SetEmptySummary().DataPoints().AppendEmpty()
	s.SetTimestamp(now)
	s.SetCount(4)
	s.SetSum(5)
	return pmetricotlp.NewExportRequestFromMetrics(m)
}

// TestOTLP: protobuf and JSON, packed or not, give the same result; what cannot be
// accepted is reported in the response.
func TestOTLP(t *testing.T) {
	now := noon
	p, _ := pushed(t, Config{Now: func() time.Time { return now }})
	body, err := points(noon).MarshalProto()
	if err != nil {
		t.Fatal(err)
	}
	status, answer := p.request("/v1/metrics", string(body), "Content-Type", "application/x-protobuf")
	a := pmetricotlp.NewExportResponse()
	if err := a.UnmarshalProto([]byte(answer)); err != nil || status != 200 || a.PartialSuccess().RejectedDataPoints() != 2 || a.PartialSuccess().ErrorMessage() != "2 unsupported" {
		t.Error(status, answer, err)
	}
	p.expect(t,
		"edge node:n1 contains gpu:n1/0 by receive",
		"schema receive|otlp|gpu", "frame 0 at +0s received +0s gpu:n1/0 gpu_temperature_celsius=61 gpu:n1/0 gpu_energy_joules_total=8.125",
		"schema receive|otlp|collector",
		`frame 0 at +0s received +0s collector:receive/otlp http_requests_total{host_name="n1"}=3 collector:receive/otlp took_count{host_name="n1"}=10 `+
			`collector:receive/otlp took_sum{host_name="n1"}=15 collector:receive/otlp quantiles_count{host_name="n1"}=4 collector:receive/otlp quantiles_sum{host_name="n1"}=5`,
	)
	now = noon.Add(time.Second)
	if body, err = points(now).MarshalJSON(); err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(body)
	_ = z.Close()
	status, answer = p.request("/v1/metrics", packed.String(), "Content-Type", "application/json", "Content-Encoding", "gzip")
	if status != 200 || answer != `{"partialSuccess":{"rejectedDataPoints":"2","errorMessage":"2 unsupported"}}` {
		t.Error(status, answer)
	}
	got := strings.Join(p.drain(), "\n")
	for _, want := range []string{`took_p50{host_name="n1"}=1.5 `, `took_p99{host_name="n1"}=1.99 `, "frame 1 at +1s received +1s gpu:n1/0 gpu_temperature_celsius=61"} {
		if !strings.Contains(got+" ", want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	for _, c := range []struct {
		body    string
		headers []string
		status  int
	}{
		{"x", []string{"Content-Type", "text/plain"}, 415},
		{"x", nil, 415},
		{"\xff\xff", []string{"Content-Type", "application/x-protobuf"}, 400},
		{"{", []string{"Content-Type", "application/json"}, 400},
		{"x", []string{"Content-Type", "application/json", "Content-Encoding", "br"}, 415},
		{"x", []string{"Content-Type", "application/json", "Content-Encoding", "gzip"}, 400},
	} {
		if status, answer := p.request("/v1/metrics", c.body, c.headers...); status != c.status || !strings.HasPrefix(answer, `{"type":"about:blank",`) {
			t.Errorf("%v: %d %s", c.headers, status, answer)
		}
	}
}

// TestBusy: more requests at once than are taken are put off, not kept.
func TestBusy(t *testing.T) {
	p, _ := pushed(t, Config{})
	p.unpackTimeout = time.Millisecond
	for range atOnce {
		p.room <- struct{}{}
	}
	if status, answer := p.request("/api/v1/write", ""); status != 429 || !strings.Contains(answer, "try again") {
		t.Error(status, answer)
	}
	if n := p.counted()[collectors.OverLimit]; n != 1 {
		t.Error(n, "counted")
	}
}

// TestClosed: requests are refused while there is no sink.
func TestClosed(t *testing.T) {
	r := New(Config{})
	w := httptest.NewRecorder()
	r.Write(w, httptest.NewRequest(http.MethodPost, "/", nil))
	if w.Code != 503 || w.Header().Get("Retry-After") == "" {
		t.Error(w.Code)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Run(ctx, &keeper{t: t}); err != nil {
		t.Error(err)
	}
}

// FuzzWrite: no request of either message makes it panic or emit what the log
// refuses.
func FuzzWrite(f *testing.F) {
	one, err := (&prompb.WriteRequest{Timeseries: []prompb.TimeSeries{{Labels: series("a", "b", "c"), Samples: []prompb.Sample{{Timestamp: millis(0), Value: 1}}}}}).Marshal()
	if err != nil {
		f.Fatal(err)
	}
	two, err := (&writev2.Request{Symbols: []string{"", "__name__", "a"}, Timeseries: []writev2.TimeSeries{{LabelsRefs: []uint32{1, 2}, Samples: []writev2.Sample{{Timestamp: millis(0), Value: 1}}}}}).Marshal()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(one, false)
	f.Add(two, true)
	r := New(Config{Now: func() time.Time { return noon }})
	f.Fuzz(func(t *testing.T, body []byte, second bool) {
		read := readFirst
		if second {
			read = readSecond
		}
		var b batch
		var err error
		if n, most := allocated(func() { b, err = read(body) }), 2*uint64(weigh.Free+weigh.Growth*len(body)); n > most {
			t.Fatalf("%d bytes allocated for %d, at most %d", n, len(body), most)
		}
		if err != nil {
			return
		}
		r.sink = &keeper{t: t}
		if _, err := r.emitSeries(noon, newPush(r.cfg, "write"), b, nil); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzOTLP: the same of OTLP.
func FuzzOTLP(f *testing.F) {
	text, err := points(noon).MarshalProto()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	r := New(Config{Now: func() time.Time { return noon }})
	f.Fuzz(func(t *testing.T, body []byte) {
		var m pmetricotlp.ExportRequest
		var err error
		if n, most := allocated(func() { m, err = readOTLP(body, otlpProto) }), 2*uint64(weigh.Free+weigh.Growth*len(body)); n > most {
			t.Fatalf("%d bytes allocated for %d, at most %d", n, len(body), most)
		}
		if err != nil {
			return
		}
		r.sink = &keeper{t: t}
		if _, err := r.emitSeries(noon, newPush(r.cfg, "otlp"), &otlp{m.Metrics(), r.cfg.Mapper}, nil); err != nil {
			t.Fatal(err)
		}
	})
}

// BenchmarkWrite is the cost of a sample from its request to the frame: 1,000
// series in one request.
func BenchmarkWrite(b *testing.B) {
	now := noon
	r := New(Config{Now: func() time.Time { return now }})
	r.sink = nobody{}
	m := prompb.WriteRequest{}
	for i := range 1000 {
		m.Timeseries = append(m.Timeseries, prompb.TimeSeries{Labels: series("DCGM_FI_DEV_GPU_TEMP", "Hostname", "n"+string(rune('a'+i/100)), "UUID", "GPU-604ac76c", "gpu", string(rune('0'+i%100))), Samples: []prompb.Sample{{}}})
	}
	for b.Loop() {
		now = now.Add(time.Second)
		for i := range m.Timeseries {
			m.Timeseries[i].Samples[0] = prompb.Sample{Timestamp: now.UnixMilli(), Value: 60}
		}
		body, err := m.Marshal()
		if err != nil {
			b.Fatal(err)
		}
		req := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(snappy.Encode(nil, body)))
		w := httptest.NewRecorder()
		if r.Write(w, req); w.Code != http.StatusNoContent {
			b.Fatal(w.Code, w.Body)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/sample")
}

// nobody is a sink that discards everything.
type nobody struct{}

func (nobody) Emit(*telemetry.Record) {}

// Logger implements collectors.Sink.
func (nobody) Logger() *slog.Logger { return slog.New(slog.DiscardHandler) }

func (nobody) Swept(collectors.Sweep) {}
