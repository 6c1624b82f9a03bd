package thin

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

// BenchmarkRun thins sixty instants of a host: eight NICs and eight GPUs, 800
// series, two fifths of them gauges.
func BenchmarkRun(b *testing.B) {
	cs := []telemetry.Column{}
	for i := range 60 {
		cs = append(cs, telemetry.Column{Metric: telemetry.MetricName(fmt.Sprintf("c%02d_total", i)), Type: telemetry.Uint})
	}
	for i := range 40 {
		cs = append(cs, telemetry.Column{Metric: telemetry.MetricName(fmt.Sprintf("g%02d", i)), Type: telemetry.Uint})
	}
	in := noise(newSource(b, "h1", 8, cs), 1, 60)
	for _, level := range []int{1, 2, 3} {
		b.Run(fmt.Sprintf("level=%d", level), func(b *testing.B) {
			size, before := 0, processor(b)
			for range b.N {
				out, _ := run(b, in, Pass{Level: level})
				size = out.bytes()
			}
			b.ReportMetric(float64(processor(b)-before)/float64(b.N)/(60*800), "cpu-ns/sample")
			b.ReportMetric(float64(in.bytes())/float64(size), "times_smaller")
		})
	}
}

// processor returns the nanoseconds of processor time that this process used: on a
// busy machine the wall clock is not representative.
func processor(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
