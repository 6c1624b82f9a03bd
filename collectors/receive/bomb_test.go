package receive

import (
	"bytes"
	"encoding/binary"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// mostMemory is what one request of 32 MB may make a receiver allocate.
const mostMemory = 512 << 20

// TestReceiverMemoryOfLargestRequests: whatever 32 MB hold, compressed or not, they are
// refused, and all that is allocated for them is less than mostMemory, also where the
// configuration admits bodies of that size.
func TestReceiverMemoryOfLargestRequests(t *testing.T) {
	const size = 32 << 20
	member := zipped(make([]byte, 64<<20)) // members of gzip follow each other: 32 MB unpack to 32 GB
	gzipBomb := bytes.Repeat(member, size/len(member))
	snappyBomb := append(binary.AppendUvarint(nil, 1<<32-1), make([]byte, size-5)...)
	nested := []byte(strings.Repeat(`{"resourceMetrics":[`, size/20))
	for name, c := range map[string]struct {
		otlp   bool
		body   []byte
		header http.Header
	}{
		"gzip bomb":               {true, gzipBomb, http.Header{"Content-Type": {otlpProto}, "Content-Encoding": {"gzip"}}},
		"gzip bomb of JSON":       {true, gzipBomb, http.Header{"Content-Type": {otlpJSON}, "Content-Encoding": {"gzip"}}},
		"zstd":                    {true, gzipBomb, http.Header{"Content-Type": {otlpProto}, "Content-Encoding": {"zstd"}}},
		"nested JSON":             {true, nested, http.Header{"Content-Type": {otlpJSON}}},
		"OTLP: empty resources":   {true, inner(size, 1), http.Header{"Content-Type": {otlpProto}}},
		"OTLP: empty points":      {true, inner(size, 1, 2, 2, 5, 1), http.Header{"Content-Type": {otlpProto}}},
		"snappy bomb":             {false, snappyBomb, nil},
		"remote write: rubbish":   {false, bytes.Repeat([]byte{0xff}, size), nil},
		"remote write: zstd":      {false, gzipBomb, http.Header{"Content-Encoding": {"zstd"}}},
		"remote write 2: rubbish": {false, bytes.Repeat([]byte{0xff}, size), http.Header{"Content-Type": {"application/x-protobuf;proto=" + secondMessage}}},
	} {
		for _, most := range []int64{0, size} {
			r := New(Config{MaxBody: most, Now: func() time.Time { return noon }})
			r.sink = nobody{}
			req := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(c.body))
			if c.header != nil {
				req.Header = c.header
			}
			take := r.Write
			if c.otlp {
				take = r.Metrics
			}
			w := httptest.NewRecorder()
			n := allocated(func() { take(w, req) })
			if w.Code < 400 || w.Code >= 500 {
				t.Errorf("%s, bodies of %d: %d %.200s", name, most, w.Code, w.Body)
			}
			if n > mostMemory {
				t.Errorf("%s, bodies of %d: %d MB allocated", name, most, n>>20)
			}
		}
	}
}
