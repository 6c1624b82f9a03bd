package detect_test

import (
	"runtime"
	"testing"

	"github.com/quintet-dc/quintet/correlate/detect"
	"github.com/quintet-dc/quintet/correlate/window"
	"github.com/quintet-dc/quintet/lab/load"
	"github.com/quintet-dc/quintet/telemetry"
)

const (
	second = telemetry.Duration(1e9)
	start  = telemetry.Time(1_700_000_000e9)
)

// bench is a site on its way through window and detectors.
type bench struct {
	b      *testing.B
	site   *load.Site
	w      *window.Window
	d      *detect.Detector
	n      int // series
	frames []telemetry.EncodedFrame
	now    telemetry.Time
	bytes  int
	found  int
}

func newBench(b *testing.B, c load.Config) *bench {
	b.Helper()
	site, err := load.New(c)
	if err != nil {
		b.Fatal(err)
	}
	x := &bench{b: b, site: site, w: window.New(window.Config{}), d: detect.New(detect.Config{}), now: start, frames: make([]telemetry.EncodedFrame, site.Sources())}
	for i := range site.Sources() {
		x.w.AddSchema(site.Schema(i))
		x.n += site.Schema(i).Len()
	}
	return x
}

// prepare makes the frames of the next instants.
func (x *bench) prepare(instants int) {
	x.now = x.now.Add(telemetry.Duration(instants) * second)
	x.bytes = 0
	for i := range x.frames {
		b, err := x.site.AppendFrame(x.frames[i][:0], i, instants, x.now)
		if err != nil {
			x.b.Fatal(err)
		}
		x.frames[i] = b
		x.bytes += len(b)
	}
}

// take is what the engine does with them: file, close, judge.
func (x *bench) take(instants int) {
	for _, f := range x.frames {
		x.w.AddFrame(f)
	}
	for k := instants - 1; k >= 0; k-- {
		g := x.now.Add(-telemetry.Duration(k) * second)
		x.w.Close(telemetry.Prompt, g, window.Serial)
		x.found += len(x.d.Run(x.w, telemetry.Prompt, window.Serial))
	}
}

// run measures frame bytes to findings, one sample at a time.
func (x *bench) run(instants int) {
	for range 40 { // beyond what the detectors need to know a series
		x.prepare(instants)
		x.take(instants)
	}
	x.found = 0
	var before, after runtime.MemStats
	mallocs := uint64(0)
	x.b.ResetTimer()
	for range x.b.N {
		x.b.StopTimer()
		x.prepare(instants)
		runtime.ReadMemStats(&before)
		x.b.StartTimer()
		x.take(instants)
		x.b.StopTimer()
		runtime.ReadMemStats(&after)
		mallocs += after.Mallocs - before.Mallocs
		x.b.StartTimer()
	}
	samples := float64(x.b.N) * float64(instants) * float64(x.n)
	x.b.ReportMetric(float64(x.b.Elapsed().Nanoseconds())/samples, "ns/sample")
	x.b.ReportMetric(float64(mallocs)/float64(x.b.N), "mallocs/op")
	x.b.ReportMetric(float64(x.bytes)/float64(instants*x.n), "B/sample")
	x.b.ReportMetric(float64(x.found)/float64(x.b.N*instants), "findings/grid")
	x.b.ReportMetric(detect.StateBytes, "detectorB/series")
	x.b.ReportMetric(0, "ns/op")
}

// BenchmarkMillion is frame bytes to finding at a million series on one core.
// Run it with -cpu 1 -benchtime 30x.
func BenchmarkMillion(b *testing.B) {
	for _, c := range []struct {
		name     string
		noisy    bool
		instants int
	}{{"healthy/1", false, 1}, {"noisy/1", true, 1}, {"healthy/10", false, 10}} {
		b.Run(c.name, func(b *testing.B) {
			cfg := load.Part(1, 1_000_000)
			cfg.Noisy = c.noisy
			newBench(b, cfg).run(c.instants)
		})
	}
}

// BenchmarkReference is the reference site, 2.9 million series: time a sample
// and what it occupies.
func BenchmarkReference(b *testing.B) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	x := newBench(b, load.Reference(1))
	x.run(1)
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB")
	runtime.KeepAlive(x)
}
