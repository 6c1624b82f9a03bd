package scrape

import (
	"net/http"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/telemetry"
)

// FuzzPage: no page makes the reader panic or run on, and its output can be
// encoded.
func FuzzPage(f *testing.F) {
	for _, s := range []string{
		"a 1\n", "# TYPE a counter\na_total{b=\"c\"} 18446744073709551615 1700000000000\n# EOF\n", "<<<\n\n\na 1\n<<<", "a{b=\"\\n\"} NaN\r\nb", "{\"q\",x=\"y\"} 0x1p-2\n",
		"DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",Hostname=\"n\"} 61\n", "h_bucket{le=\"1\"} 3\nh_bucket{le=\"+Inf\"} 4\n", "# HELP\n# TYPE x\n#\n",
	} {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	c, err := New(Config{Targets: []Target{{URL: "http://127.0.0.1:1/"}}, Every: time.Second, MaxSeries: 64, MaxForeign: 32}, dial.Guard{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte, open bool) {
		defer collectorstest.Bounded(t, len(body))()
		_, r := c.reader(c.targets[0], http.DefaultClient)
		form := ""
		if open {
			form = openMetrics
		}
		e := listen(t)
		for i := range 2 {
			dropped := map[collectors.Reason]int{}
			err := r.read(append([]byte(nil), body...), form, dropped)
			if err != nil && dropped[collectors.Malformed] == 0 {
				t.Errorf("%v, and nothing is counted", err)
			}
			now := telemetry.Time(1e18 + int64(i)*1e9)
			if _, err := r.intake.Emit(e, telemetry.Instant{Source: now, Received: now}, true); err != nil {
				t.Fatal(err)
			}
		}
	})
}
