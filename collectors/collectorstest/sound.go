package collectorstest

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/quintet-dc/quintet/collectors"
	"github.com/quintet-dc/quintet/telemetry"
)

// errUndeclared means that a metric is not in the catalogue.
var errUndeclared = errors.New("no catalogue declares it")

// catalogue is made once: fuzz targets ask for it with every schema.
var catalogue = sync.OnceValue(telemetry.DefaultCatalogue)

// Sound returns what is wrong with a record of a collector, nil if nothing is. A
// sound record is accepted by the log and read back, and the catalogue declares
// every metric that is stated of a device, a job or a place. Foreign series may be
// anything: they are the collector's own, have labels in their names or bear the
// name of the driver that has them (mlx5_lifespan of sysfs|h1|mlx5).
func Sound(r *telemetry.Record) error {
	b, err := telemetry.AppendRecord(nil, r)
	if err == nil {
		_, err = telemetry.ParseRecord(b)
	}
	if err != nil {
		return fmt.Errorf("a record that the log refuses: %w", err)
	}
	if r.Kind != telemetry.SchemaRecord || r.Schema.Entities[0].Kind == telemetry.Collector {
		return nil
	}
	for _, c := range r.Schema.Columns {
		if !declared(catalogue(), c.Metric) && !ofDriver(r.Schema.Source, c.Metric) {
			return fmt.Errorf("%s of %s, by %s: %w", c.Metric, r.Schema.Entities[0], r.Schema.Source, errUndeclared)
		}
	}
	return nil
}

// ofDriver reports whether a metric bears the name of the driver that has it:
// mlx5 in the parts mlx5, mlx5-queues and mlx5.2 of a host.
func ofDriver(s telemetry.Source, m telemetry.MetricName) bool {
	driver, _, _ := strings.Cut(s.Part, ".")
	driver, _, _ = strings.Cut(driver, "-")
	return s.Collector == "sysfs" && strings.HasPrefix(string(m), driver+"_")
}

// declared reports whether a metric is in the catalogue, by itself or as a part
// of a histogram whose median is.
func declared(catalogue *telemetry.Catalogue, m telemetry.MetricName) bool {
	if _, ok := catalogue.Lookup(m); ok || strings.Contains(string(m), "{") {
		return true
	}
	for _, part := range []string{"_count", "_sum"} {
		if base, ok := strings.CutSuffix(string(m), part); ok {
			_, ok = catalogue.Lookup(telemetry.MetricName(base + "_p50"))
			return ok
		}
	}
	return false
}

// Strict is a Sink that fails a test for every record that is not sound, and
// keeps none.
type Strict struct{ T testing.TB }

// Emit implements collectors.Sink.
func (s Strict) Emit(r *telemetry.Record) {
	if err := Sound(r); err != nil {
		s.T.Error(err)
	}
}

// Logger implements collectors.Sink.
func (s Strict) Logger() *slog.Logger { return slog.New(slog.DiscardHandler) }

// Swept implements collectors.Sink.
func (s Strict) Swept(collectors.Sweep) {}
