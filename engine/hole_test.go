package engine_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/quintet-dc/quintet/correlate/explain"
	"github.com/quintet-dc/quintet/engine"
	"github.com/quintet-dc/quintet/engine/enginetest"
	"github.com/quintet-dc/quintet/telemetry"
)

// holed applies a log to a runner from a position on, without so many entries from one
// of them on; records maps positions to what is applied there instead. It returns the
// last revision of each incident.
func holed(t *testing.T, r *engine.Runner, log []telemetry.Record, at, n int, records map[int]telemetry.Hole) map[string]explain.Incident {
	t.Helper()
	out := map[string]explain.Incident{}
	position, _ := r.Position()
	for i := int(position); i < len(log); i++ {
		record := &log[i]
		if h, ok := records[i]; ok {
			config, err := h.Record(0)
			if err != nil {
				t.Fatal(err)
			}
			record = &telemetry.Record{Kind: telemetry.ConfigRecord, Config: config}
		} else if i >= at && i < at+n {
			continue
		}
		changed, err := r.Apply(uint64(i+1), record)
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range changed {
			out[in.ID] = in
		}
	}
	return out
}

// blindTo returns the blind spots of incidents that are of the log itself.
func blindTo(list map[string]explain.Incident) (out []string) {
	for _, in := range list {
		for _, b := range in.BlindSpots {
			if b.Entity.Kind == telemetry.Site {
				out = append(out, b.Reason)
			}
		}
	}
	return out
}

// TestHolesOfTheLogAreBlindSpots: entries are missing while a job is degraded. A record
// in their place, or one that is appended later, makes the interval a blind spot of the
// incident, once; a hole long before does not.
func TestHolesOfTheLogAreBlindSpots(t *testing.T) {
	t.Parallel()
	rec, err := enginetest.Open(filepath.Join("..", "testdata", "roce", "slownic-2"))
	if err != nil {
		t.Fatal(err)
	}
	whole, err := enginetest.Play(rec.Log, 1)
	if err != nil {
		t.Fatal(err)
	}
	in := whole.Runner.Incidents()[0]
	// The frames after the third tick that follows the onset.
	at, ticks, tick := 0, 0, telemetry.Time(0)
	for i := range rec.Log {
		if r := &rec.Log[i]; r.Kind == telemetry.TickRecord && r.Tick.At > in.Onset.Latest {
			if ticks++; ticks == 3 {
				at, tick = i+1, r.Tick.At
				break
			}
		}
	}
	const lost = 5
	here := telemetry.Hole{First: uint64(at + 1), Last: uint64(at + lost)}
	stated := here
	stated.From, stated.To = tick, tick.Add(1e9)
	early := telemetry.Hole{First: 3, Last: 4, From: 1, To: in.Onset.Earliest.Add(-100e9)}
	want := "5 entries of the log are missing between " + tick.Clock() + " and "
	for name, c := range map[string]struct {
		records map[int]telemetry.Hole
		want    int
	}{
		"in place":      {map[int]telemetry.Hole{at + lost - 1: here}, 1},
		"appended":      {map[int]telemetry.Hole{at + lost + 20: stated}, 1},
		"both":          {map[int]telemetry.Hole{at + lost - 1: here, at + lost + 20: stated}, 1},
		"long before":   {map[int]telemetry.Hole{at + lost - 1: early}, 0},
		"none reported": {nil, 0},
	} {
		r, err := enginetest.NewRunner(1)
		if err != nil {
			t.Fatal(err)
		}
		got := blindTo(holed(t, r, rec.Log, at, lost, c.records))
		if len(got) != c.want {
			t.Errorf("%s: blind spots of the log %q, want %d", name, got, c.want)
		}
		for _, reason := range got {
			if !strings.HasPrefix(reason, want) {
				t.Errorf("%s: %q, want %q", name, reason, want)
			}
		}
	}
}

// TestRestoreKeepsHoles: a snapshot carries the holes.
func TestRestoreKeepsHoles(t *testing.T) {
	t.Parallel()
	rec, err := enginetest.Open(filepath.Join("..", "testdata", "roce", "slownic-2"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := enginetest.NewRunner(1)
	if err != nil {
		t.Fatal(err)
	}
	holed(t, r, rec.Log[:400], 300, 5, map[int]telemetry.Hole{304: {First: 301, Last: 305}})
	data, err := r.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	again, err := enginetest.NewRunner(1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Restore(data); err != nil {
		t.Fatal(err)
	}
	if a, b := r.Holes(), again.Holes(); len(a) != 1 || len(b) != 1 || a[0] != b[0] || a[0].From == 0 || a[0].To <= a[0].From {
		t.Errorf("holes %+v, restored %+v", a, b)
	}
}
