package redfish

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/collectors/dial"
	"github.com/quintet-dc/quintet/telemetry"
)

type nowhere struct{}

func (nowhere) Emit(*telemetry.Record) {}

// Logger implements collectors.Sink.
func (nowhere) Logger() *slog.Logger { return slog.New(slog.DiscardHandler) }

func (nowhere) Swept(s collectors.Sweep) {}

func benchReader(b *testing.B) *reader {
	b.Helper()
	c, err := New(Config{Address: "https://127.0.0.1", Entity: entityOf("node:n1")}, dial.Guard{})
	if err != nil {
		b.Fatal(err)
	}
	return c.newReader(nowhere{})
}

// BenchmarkPage: from the bytes of a GPU's metrics to the frame.
func BenchmarkPage(b *testing.B) {
	r := benchReader(b)
	body := []byte(`{"@odata.id": "/redfish/v1/Systems/HGX_Baseboard_0/Processors/GPU_0/ProcessorMetrics", "@odata.type": "#ProcessorMetrics.v1_6_1.ProcessorMetrics", "BandwidthPercent": 0.0,
"CacheMetricsTotal": {"LifeTime": {"CorrectableECCErrorCount": 0, "UncorrectableECCErrorCount": 0}}, "CoreVoltage": {"DataSourceUri": "/redfish/v1/Chassis/HGX_GPU_0/Sensors/V", "Reading": 0.7}, "Id": "ProcessorMetrics",
"OperatingSpeedMHz": 1980, "PCIeErrors": {"CorrectableErrorCount": 0, "FatalErrorCount": 0, "L0ToRecoveryCount": 4, "NAKReceivedCount": 0, "ReplayCount": 0}, "PowerLimitThrottleDuration": "PT1.5S",
"ThermalLimitThrottleDuration": "PT0S", "Oem": {"Nvidia": {"SMActivityPercent": 12.5, "TensorCoreActivityPercent": 3.5, "GraphicsEngineActivityPercent": 99.0, "ThrottleReasons": ["NA"]}}}`)
	p := r.page("/redfish/v1/Systems/HGX_Baseboard_0/Processors/GPU_0/ProcessorMetrics", nil)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		doc, err := parse(body)
		if err != nil {
			b.Fatal(err)
		}
		r.handle(p, answer{doc: doc, received: time.Now()})
		r.emit()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(p.readings)), "ns/reading")
}

// BenchmarkReport: a report of 704 rows, as an HGX baseboard's.
func BenchmarkReport(b *testing.B) {
	r := benchReader(b)
	at := time.Now()
	page := r.page("/redfish/v1/TelemetryService/MetricReports/HGX_ProcessorMetrics_0", nil)
	const rows = 704
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		at = at.Add(time.Millisecond)
		stamp := at.UTC().Format(time.RFC3339Nano)
		var s strings.Builder
		s.WriteString(`{"@odata.type": "#MetricReport.v1_4_2.MetricReport", "MetricValues": [`)
		for i := range rows {
			if i > 0 {
				s.WriteByte(',')
			}
			fmt.Fprintf(&s, `{"MetricProperty": "/redfish/v1/Systems/HGX_Baseboard_0/Processors/GPU_%d/ProcessorMetrics#/%s", "MetricValue": "%d.5", "Timestamp": %q}`, i/8,
				[]string{"OperatingSpeedMHz", "Oem/Nvidia/SMActivityPercent", "Oem/Nvidia/TensorCoreActivityPercent", "BandwidthPercent", "CoreVoltage/Reading", "PCIeErrors/NAKSentCount", "PCIeErrors/FatalErrorCount", "Oem/Nvidia/GraphicsEngineActivityPercent"}[i%8], i%90, stamp)
		}
		s.WriteString("]}")
		body := []byte(s.String())
		b.StartTimer()
		doc, err := parse(body)
		if err != nil {
			b.Fatal(err)
		}
		r.handle(page, answer{doc: doc, received: time.Now()})
		r.emit()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
}
