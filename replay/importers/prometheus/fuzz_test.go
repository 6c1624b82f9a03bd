package prometheus_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"

	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/collectors/mapping"
	"github.com/quintet-dc/quintet/replay/importers/prometheus"
	"github.com/quintet-dc/quintet/telemetry"
)

// An answer takes at most importFree and importGrowth times its length to read.
const (
	importFree   = 8 << 20
	importGrowth = 512
)

// answers is a server that answers every question about names with one body, and
// every other with another.
type answers struct{ names, samples string }

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	body := a.samples
	if strings.Contains(r.URL.Path, "/label/") {
		body = a.names
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// FuzzFetch: whatever a server answers, an import ends with rows or an error, and takes
// a bounded amount of memory.
func FuzzFetch(f *testing.F) {
	const names = `{"status":"success","data":["gpu_power_watts"]}`
	f.Add(names, `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"gpu_power_watts","gpu":"n1/0"},"values":[[1700000000,"300"],[1700000001.5,"NaN"]]}]}}`)
	f.Add(names, `{"status":"success","data":{"resultType":"vector","result":[]}}`)
	f.Add(`{"status":"success","data":["DCGM_FI_DEV_POWER_USAGE"]}`, `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"DCGM_FI_DEV_POWER_USAGE","Hostname":"n1","gpu":"0","UUID":"x"},"values":[[1700000000,"300"],[-1,"1e999"]]}]}}`)
	f.Add(`{"status":"error","errorType":"x","error":"y"}`, ``)
	f.Add(`{"status":"success","data":[`+strings.Repeat(`"gpu_power_watts",`, 20)+`""]}`, `{"status":"success","data":{"resultType":"matrix","result":[{"histograms":[[1,{"count":"1"}]]}]}}`)
	mapper, err := mapping.Read(nil, nil)
	if err != nil {
		f.Fatal(err)
	}
	catalogue := telemetry.DefaultCatalogue()
	f.Fuzz(func(t *testing.T, names, samples string) {
		client, err := api.NewClient(api.Config{Address: "http://127.0.0.1:1", RoundTripper: answers{names, samples}})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		var got *prometheus.Result
		before := collectorstest.Allocated()
		got, err = prometheus.Fetch(t.Context(), promv1.NewAPI(client), prometheus.Config{From: began, To: began.Add(time.Minute), Window: time.Minute,
			Mapper: mapper, Catalogue: catalogue}, &out)
		asked := len(names) + len(samples)*max(1, got.Names) // every name is asked for
		if n, most := collectorstest.Allocated()-before, uint64(importFree+importGrowth*asked); n > most {
			t.Fatalf("%d bytes allocated for %d, at most %d", n, asked, most)
		}
		if err == nil && strings.Count(out.String(), "\n") < got.Samples {
			t.Fatalf("%d samples in %d bytes", got.Samples, out.Len())
		}
	})
}
