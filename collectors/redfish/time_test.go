package redfish

import (
	"fmt"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors/collectorstest"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/telemetry"
)

// TestWhenAReadingWas: readings that come within a moment bear the time of the
// first, or the device's where it states one; and what could not be read bears
// our time, not the device's of what came before it.
func TestWhenAReadingWas(t *testing.T) {
	c, err := New(Config{Address: "https://127.0.0.1", Entity: entityOf("node:n1")}, dial.Guard{})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	now := start
	c.clock = func() time.Time { return now }
	ear := collectorstest.Listen(t)
	r := c.newReader(ear)
	gpu := entityOf("gpu:n1/5")
	says := func(m telemetry.MetricName) *page {
		x := reading{series: series{gpu, m}, column: telemetry.Column{Metric: m, Type: telemetry.Float}, pace: fast}
		return &page{path: string(m), period: c.cfg.Every, readings: []reading{x}}
	}
	power, heat := says("gpu_power_watts"), says("gpu_temperature_celsius")

	r.again(power)
	now = start.Add(600 * time.Millisecond)
	r.again(heat)
	now = start.Add(1100 * time.Millisecond)
	r.flushDue()

	now = start.Add(10 * time.Second)
	r.again(power)
	now = start.Add(10500 * time.Millisecond)
	r.receive(message{data: fmt.Appendf(nil, `{"Id": "Live", "MetricValues": [{"MetricProperty": "/redfish/v1/Systems/H/Processors/GPU_5/ProcessorMetrics#/OperatingSpeedMHz", "MetricValue": "1410", "Timestamp": %q}]}`,
		start.Add(7*time.Second).UTC().Format(time.RFC3339Nano))})
	now = start.Add(10800 * time.Millisecond)
	r.lose(heat)
	r.flush()

	for m, want := range map[telemetry.MetricName]string{
		"gpu_power_watts":         "[0s 10s]",
		"gpu_temperature_celsius": "[0s gap 10.8s]",
		"gpu_sm_clock_hertz":      "[7s]",
	} {
		var got []string
		for _, x := range ear.Series[telemetry.Series{Entity: gpu, Metric: m}] {
			after := time.Duration(x.At.Sub(telemetry.Time(start.UnixNano()))).String()
			if x.State == telemetry.Gap {
				after = "gap " + after
			}
			got = append(got, after)
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s is at %v, want %s", m, got, want)
		}
	}
}
