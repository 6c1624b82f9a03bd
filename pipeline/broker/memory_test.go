package broker_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/pipeline/broker"
)

// anonymous returns the anonymous memory of this process, in bytes (RssAnon of
// Linux); 0 if it is unknown.
func anonymous() int {
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, ok := strings.Cut(string(status), "RssAnon:")
	if !ok {
		return 0
	}
	kilobytes, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		return 0
	}
	return kilobytes << 10
}

// BenchmarkIdle reports what a server with all streams holds in memory while
// nothing happens. Run it alone: what ran before is counted, too.
func BenchmarkIdle(b *testing.B) {
	for b.Loop() {
		s := start(b, broker.Config{Listen: "127.0.0.1:0"})
		if err := connect(b, s, broker.All).Create(within(b, 10*time.Second)); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(anonymous())/(1<<20), "MiB-anonymous")
	}
}
