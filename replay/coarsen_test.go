package replay

import (
	"slices"
	"testing"

	"github.com/quintet-dc/quintet/telemetry"
)

const every = telemetry.Duration(1e9)

// host is a source with a cadence, steps one that reports a job's steps.
func host() *telemetry.Schema {
	return &telemetry.Schema{Source: telemetry.Source{Collector: "sysfs", Target: "h0", Part: "nic"}, Cadence: every,
		Entities: []telemetry.Entity{{Kind: telemetry.NIC, Name: "h0/nic0"}, {Kind: telemetry.NIC, Name: "h0/nic1"}},
		Columns:  []telemetry.Column{{Metric: "rx_bytes_total", Type: telemetry.Uint}}}
}

func steps() *telemetry.Schema {
	return &telemetry.Schema{Source: telemetry.Source{Collector: "receive", Target: "train", Part: "job"},
		Entities: []telemetry.Entity{{Kind: telemetry.Job, Name: "train"}}, Columns: []telemetry.Column{{Metric: stepSeconds, Type: telemetry.Uint}}}
}

// coarsened sends frames with the given numbers of instants through a coarsener
// and returns the times and the sequence numbers that are left.
func coarsened(t *testing.T, s *telemetry.Schema, k int, frames []uint64, instants int) (times []telemetry.Time, sequences []uint64) {
	t.Helper()
	c := newCoarsener(k, nil)
	r, err := c.record(&telemetry.Record{Kind: telemetry.SchemaRecord, Schema: s})
	if err != nil {
		t.Fatal(err)
	}
	is := r.Schema
	var enc telemetry.Encoder
	var dec telemetry.Decoder
	for _, n := range frames {
		f := telemetry.Frame{Incarnation: 1, Sequence: n}
		for i := range instants {
			at := telemetry.Time(int(n)*instants+i) * telemetry.Time(every)
			f.Instants = append(f.Instants, telemetry.Instant{Source: at})
			for range s.Len() {
				f.Words = append(f.Words, uint64(at))
			}
		}
		b, err := enc.AppendFrame(nil, s, &f)
		if err != nil {
			t.Fatal(err)
		}
		out, err := c.record(&telemetry.Record{Kind: telemetry.FrameRecord, Frame: b})
		if err != nil {
			t.Fatal(err)
		}
		if out == nil {
			continue
		}
		var got telemetry.Frame
		if err := dec.Decode(out.Frame, is, &got); err != nil {
			t.Fatal(err)
		}
		for i, x := range got.Instants {
			times = append(times, x.Source/telemetry.Time(every))
			if got.Words[i*s.Len()] != uint64(x.Source) {
				t.Errorf("instant %v carries the words of %d", x.Source, got.Words[i*s.Len()])
			}
		}
		sequences = append(sequences, got.Sequence)
	}
	return times, sequences
}

func TestCoarsenerKeepsEveryKthInstant(t *testing.T) {
	tests := []struct {
		name      string
		frames    []uint64
		instants  int
		times     []telemetry.Time
		sequences []uint64
	}{
		{"one instant a frame", []uint64{1, 2, 3, 4, 5, 6, 7}, 1, []telemetry.Time{3, 6}, []uint64{1, 2}},
		{"a lost frame stays lost", []uint64{1, 2, 4, 5, 6}, 1, []telemetry.Time{6}, []uint64{2}},
		{"several instants, fewer than K", []uint64{1, 2, 3, 4}, 2, []telemetry.Time{3, 6, 9}, []uint64{1, 2, 3}},
		{"several instants, more than K", []uint64{1, 2}, 4, []telemetry.Time{6, 9}, []uint64{1, 2}},
	}
	for _, tc := range tests {
		times, sequences := coarsened(t, host(), 3, tc.frames, tc.instants)
		if !slices.Equal(times, tc.times) || !slices.Equal(sequences, tc.sequences) {
			t.Errorf("%s: times %v, sequences %v, want %v, %v", tc.name, times, sequences, tc.times, tc.sequences)
		}
	}
}

func TestCoarsenerKeepsSteps(t *testing.T) {
	if times, _ := coarsened(t, steps(), 10, []uint64{1, 2, 3}, 1); len(times) != 3 {
		t.Errorf("%d steps are left of 3", len(times))
	}
}

func TestCoarsenerStatesTheLongerCadence(t *testing.T) {
	r, err := newCoarsener(10, nil).record(&telemetry.Record{Kind: telemetry.SchemaRecord, Schema: host()})
	if err != nil || r.Schema.Cadence != 10*every {
		t.Errorf("cadence %v, %v, want 10 s", r.Schema.Cadence, err)
	}
}
