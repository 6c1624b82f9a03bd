package scrape

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/collectors/dial"
)

// exporterModel is a page that can be taken away and spoilt.
type exporterModel struct {
	severed, spoilt, swollen atomic.Bool
	asked                    atomic.Int64
}

// RoundTrip answers without a connection: time in a bubble waits for none. What
// goes over connections is read in TestTheLabsPages.
func (m *exporterModel) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	m.ServeHTTP(w, r)
	return w.Result(), nil
}

func (m *exporterModel) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	n := m.asked.Add(1)
	if m.severed.Load() {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	var b strings.Builder
	for gpu := range 4 {
		fmt.Fprintf(&b, "DCGM_FI_DEV_GPU_TEMP{gpu=\"%d\",Hostname=\"n1\"} %d\n", gpu, 40+n%10)
	}
	if m.spoilt.Load() {
		b.WriteString("DCGM_FI_DEV_SM_CLOCK{gpu=\"0\" 1410\n")
	}
	fmt.Fprintf(&b, "requests_total{code=\"200\"} %d\n", n)
	if m.swollen.Load() {
		for i := range 30000 {
			fmt.Fprintf(&b, "thing{id=\"%d-%d\"} 1\n", n, i)
		}
	}
	_, _ = w.Write([]byte(b.String()))
}

func TestItConforms(t *testing.T) {
	collectorstest.Run(t, collectorstest.Harness{New: func(t *testing.T) collectorstest.Subject {
		m := &exporterModel{}
		c, err := New(Config{Targets: []Target{{URL: "http://exporter/metrics"}}, Every: time.Second}, dial.Guard{})
		if err != nil {
			t.Fatal(err)
		}
		c.clients = func() (*http.Client, func(), error) { return &http.Client{Transport: m}, func() {}, nil }
		return collectorstest.Subject{
			Collector: c,
			Sever:     func() { m.severed.Store(true) }, Restore: func() { m.severed.Store(false) },
			Spoil: func() { m.spoilt.Store(true) }, SpoiltAs: collectors.Malformed,
			Swell: func() { m.swollen.Store(true) },
		}
	}})
}
