package detect_test

import (
	"path/filepath"
	"testing"

	"github.com/quintet-dc/quintet/correlate/detect"
	"github.com/quintet-dc/quintet/correlate/window"
	"github.com/quintet-dc/quintet/replay/bundle"
	"github.com/quintet-dc/quintet/telemetry"
)

// falseShare is how many findings a healthy run may have, as a share of its
// series: findings are evidence, not verdicts, but a flood is no evidence.
const falseShare = 0.15

// A healthy fabric has few findings. Marks, queues and pauses come and go on
// the busy one, so some there are.
func TestAHealthyFabricHasFewFindings(t *testing.T) {
	if testing.Short() {
		t.Skip("reads whole runs")
	}
	dirs, err := filepath.Glob("../../../shared/traces/roce/*healthy-*")
	if err != nil || len(dirs) == 0 {
		t.Skip("no shared traces beside the module")
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			r := replayed(t, dir)
			total := 0
			for _, n := range r.byShape {
				total += n
			}
			t.Logf("%d findings of %d series in %d grids: %v, by metric %v", total, r.w.Slots(), r.grids, r.byShape, r.byMetric)
			if float64(total) > falseShare*float64(r.w.Slots()) {
				t.Errorf("%d findings of %d series", total, r.w.Slots())
			}
		})
	}
}

// run is a bundle on its way through window and detectors.
type run struct {
	w        *window.Window
	d        *detect.Detector
	config   telemetry.SiteConfig
	grids    int
	byShape  map[telemetry.Shape]int
	byMetric map[telemetry.MetricName]int
}

func replayed(t *testing.T, dir string) *run {
	t.Helper()
	b, err := bundle.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	r := &run{d: detect.New(detect.Config{}), config: b.Site, byShape: map[telemetry.Shape]int{}, byMetric: map[telemetry.MetricName]int{}}
	r.w = window.New(window.Config{Grid: b.Site.Grid, Lateness: b.Site.Lateness})
	err = b.Records(func(x *telemetry.Record) error {
		switch x.Kind {
		case telemetry.SchemaRecord:
			r.w.AddSchema(x.Schema)
		case telemetry.FrameRecord:
			r.w.AddFrame(x.Frame)
		case telemetry.TickRecord:
			r.tick(x.Tick.At)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// tick closes what the tick lets be closed.
func (r *run) tick(now telemetry.Time) {
	for class := range telemetry.LatenessClasses {
		end := now.Add(-r.config.Lateness[class])
		end -= end % telemetry.Time(r.config.Grid)
		g, ok := r.w.Closed(class)
		if !ok {
			g = end.Add(-r.config.Grid)
		}
		for g = g.Add(r.config.Grid); g <= end; g = g.Add(r.config.Grid) {
			r.w.Close(class, g, window.Serial)
			r.note(r.d.Run(r.w, class, window.Serial))
			r.grids++
		}
	}
}

func (r *run) note(found []detect.Finding) {
	for i := range found {
		if found[i].Ended == 0 {
			r.byShape[found[i].Shape]++
			r.byMetric[found[i].Series.Metric]++
		}
	}
}
