package scrape

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/telemetry"
)

// nobody is a sink that discards everything.
type nobody struct{}

func (nobody) Emit(*telemetry.Record) {}

// Logger implements collectors.Sink.
func (nobody) Logger() *slog.Logger { return slog.New(slog.DiscardHandler) }

func (nobody) Swept(collectors.Sweep) {}

// BenchmarkPage is the cost of a page of dcgm-exporter's, 8 GPUs with 24 series
// each, from its bytes to the frame.
func BenchmarkPage(b *testing.B) {
	var text strings.Builder
	for i := range 24 {
		name := []string{"DCGM_FI_DEV_SM_CLOCK", "DCGM_FI_DEV_MEM_CLOCK", "DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_POWER_USAGE"}[i%4]
		if i >= 4 {
			name = fmt.Sprintf("DCGM_FI_DEV_FIELD_%d", i)
		}
		fmt.Fprintf(&text, "# HELP %s something\n# TYPE %s gauge\n", name, name)
		for gpu := range 8 {
			fmt.Fprintf(&text, "%s{gpu=\"%d\",UUID=\"GPU-604ac76c-d9cf-fef3-62e9-d92044ab6e5%d\",pci_bus_id=\"00000000:1%d:00.0\",device=\"nvidia%d\",modelName=\"NVIDIA H100 80GB HBM3\",Hostname=\"n1\"} %d.125000\n",
				name, gpu, gpu, gpu, gpu, 1000+i*gpu)
		}
	}
	c, err := New(Config{Targets: []Target{{URL: "http://127.0.0.1:1/metrics"}}, Every: time.Second}, dial.Guard{})
	if err != nil {
		b.Fatal(err)
	}
	_, r := c.reader(c.targets[0], http.DefaultClient)
	body := []byte(text.String())
	dropped := map[collectors.Reason]int{}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	at := telemetry.Instant{Source: 1e9, Received: 1e9}
	for b.Loop() {
		at.Source += 1e9
		at.Received += 1e9
		if err := r.read(body, "", dropped); err != nil {
			b.Fatal(err)
		}
		if got, err := r.intake.Emit(nobody{}, at, true); err != nil || got.Read == 0 {
			b.Fatal(got, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/192, "ns/series")
}
