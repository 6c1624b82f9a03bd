package receive

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/collectorstest"
)

// TestTheContract: what every collector must do.
func TestTheContract(t *testing.T) {
	collectorstest.Run(t, collectorstest.Harness{New: func(t *testing.T) collectorstest.Subject {
		r := New(Config{MaxItems: 4})
		n := 0
		event := func(k int) string {
			return fmt.Sprintf(`{"entity":"node:n1","time":%q,"name":"xid","text":"%d"}`, time.Now().Add(-time.Minute).Format(time.RFC3339Nano), k)
		}
		post := func(body string) {
			r.Events(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)))
		}
		more := "" // what else is posted
		return collectorstest.Subject{
			Collector: r,
			Poke: func() {
				<-time.After(10 * time.Millisecond) // nobody posts without end
				n++
				if more != "" {
					post(more)
				}
				post("[" + event(n) + "]")
				steps := fmt.Sprintf(`{"rank":0,"steps":[{"end":%q,"seconds":1,"compute_seconds":0.5}]}`, time.Now().Format(time.RFC3339Nano))
				req := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(steps))
				req.SetPathValue("job", "train")
				r.Steps(httptest.NewRecorder(), req)
				body, err := (&prompb.WriteRequest{Timeseries: []prompb.TimeSeries{
					{Labels: series("DCGM_FI_DEV_GPU_TEMP", "Hostname", "n1", "gpu", "0"), Samples: []prompb.Sample{{Timestamp: time.Now().UnixMilli(), Value: float64(n)}}},
					{Labels: series("thing"), Samples: []prompb.Sample{{Timestamp: time.Now().UnixMilli(), Value: 1}}},
				}}).Marshal()
				if err != nil {
					t.Error(err)
				}
				r.Write(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(snappy.Encode(nil, body))))
			},
			Spoil:    func() { more = `[{"entity":"nothing"}]` },
			SpoiltAs: collectors.Malformed,
			Swell:    func() { more = "[" + strings.Repeat(event(0)+",", 9) + event(0) + "]" },
		}
	}})
}
