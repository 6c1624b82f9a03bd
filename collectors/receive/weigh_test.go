package receive

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/golang/snappy"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"

	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
)

// allocated returns the bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// inner is n bytes of empty messages of a field, inside the messages of the fields
// before it.
func inner(n int, fields ...byte) []byte {
	b := bytes.Repeat([]byte{fields[len(fields)-1]<<3 | 2, 0}, n/2)
	for i := len(fields) - 2; i >= 0; i-- {
		b = append(append([]byte{fields[i]<<3 | 2}, length(len(b))...), b...)
	}
	return b
}

func length(n int) []byte {
	var b []byte
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

func zipped(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(b)
	_ = w.Close()
	return out.Bytes()
}

// Requests of a few bytes for each structure of hundreds are refused before they are
// decoded: what they take is little more than what they unpack to.
func TestReceiverRefusesHeavyRequests(t *testing.T) {
	const size = 4 << 20
	r := New(Config{Now: func() time.Time { return noon }})
	r.sink = nobody{}
	for name, c := range map[string]struct {
		take   http.HandlerFunc
		body   []byte
		header http.Header
	}{
		"remote write 1.0: series":  {r.Write, snappy.Encode(nil, inner(size, 1)), nil},
		"remote write 1.0: labels":  {r.Write, snappy.Encode(nil, inner(size, 1, 1)), nil},
		"remote write 1.0: samples": {r.Write, snappy.Encode(nil, inner(size, 1, 2)), nil},
		"remote write 2.0: series":  {r.Write, snappy.Encode(nil, inner(size, 5)), http.Header{"Content-Type": {"application/x-protobuf;proto=" + secondMessage}}},
		"OTLP: resources":           {r.Metrics, zipped(inner(size, 1)), http.Header{"Content-Type": {otlpProto}, "Content-Encoding": {"gzip"}}},
		"OTLP: points":              {r.Metrics, zipped(inner(size, 1, 2, 2, 5, 1)), http.Header{"Content-Type": {otlpProto}, "Content-Encoding": {"gzip"}}},
		"OTLP: values":              {r.Metrics, zipped(inner(size, 1, 1, 1, 2, 5, 1)), http.Header{"Content-Type": {otlpProto}, "Content-Encoding": {"gzip"}}},
		"OTLP in JSON":              {r.Metrics, []byte(`{"resourceMetrics":[` + strings.Repeat(`{},`, size/3) + `{}]}`), http.Header{"Content-Type": {otlpJSON}}},
	} {
		req := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(c.body))
		if c.header != nil {
			req.Header = c.header
		}
		w := httptest.NewRecorder()
		n := allocated(func() { c.take(w, req) })
		if w.Code != http.StatusRequestEntityTooLarge || !strings.Contains(w.Body.String(), "times its size") {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
		if n > 6*size {
			t.Errorf("%s: %d bytes allocated for one of %d", name, n, size)
		}
	}
}

// The same over gRPC, whose codec decodes before anything of ours is called.
func TestWeighingCodec(t *testing.T) {
	c := weighingCodec{encoding.GetCodecV2("proto")}
	heavy := mem.BufferSlice{mem.SliceBuffer(inner(4<<20, 1, 2, 2))}
	m := pmetricotlp.NewExportRequest()
	n := allocated(func() {
		if err := c.Unmarshal(heavy, &m); err == nil || !strings.Contains(err.Error(), "times its size") {
			t.Errorf("a heavy request: %v", err)
		}
	})
	if n > 1<<20 {
		t.Errorf("%d bytes allocated", n)
	}
}

// A client over a real connection sends two bytes for each of a million points.
func TestOTLPOverGRPCRefusesHeavyRequests(t *testing.T) {
	_, address := listening(t, Config{Now: func() time.Time { return noon }})
	heavy := pmetric.NewMetrics()
	points := heavy.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty().SetEmptyGauge().DataPoints()
	points.EnsureCapacity(1 << 20)
	for range 1 << 20 {
		points.AppendEmpty()
	}
	_, err := client(t, address, insecure.NewCredentials()).Export(t.Context(), pmetricotlp.NewExportRequestFromMetrics(heavy))
	if err == nil || !strings.Contains(err.Error(), "times its size") {
		t.Errorf("a heavy request: %v", err)
	}
	if _, err := client(t, address, insecure.NewCredentials()).Export(t.Context(), pmetricotlp.NewExportRequestFromMetrics(points100(t))); err != nil {
		t.Errorf("an ordinary one: %v", err)
	}
}

// points100 is an ordinary request: a hundred points with two attributes.
func points100(t *testing.T) pmetric.Metrics {
	t.Helper()
	m := pmetric.NewMetrics()
	of := m.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
	of.SetName("m")
	points := of.SetEmptyGauge().DataPoints()
	for range 100 {
		p := points.AppendEmpty()
		p.SetDoubleValue(1)
		p.Attributes().PutStr("host", "n1")
		p.Attributes().PutStr("gpu", "0")
	}
	return m
}
